"""Code of a step, as a person would write it in NumPy or PyTorch; the record of its function has the rule."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from attncli.base.lazy_numpy import Array

Library = Literal["numpy", "torch"]


@dataclass(frozen=True, eq=False)
class CodeCall:
    """The call of a function, as a step of a script.

    `variables` has the variable of each array argument, and of each inner quantity that is a step. `shapes` and, if
    known, `values` belong to the arguments, `shape` to the result. `options` are the other arguments.
    """

    variables: Mapping[str, str]
    shapes: Mapping[str, tuple[int, ...]]
    options: Mapping[str, Any]
    shape: tuple[int, ...]
    values: Mapping[str, Array] = field(default_factory=dict)

    def has(self, name: str) -> bool:
        """Whether an array is given, or an inner quantity is a step."""
        return name in self.variables

    def option(self, name: str, default: Any = None) -> Any:
        """An option, or its default."""
        value = self.options.get(name)
        return default if value is None else value


@dataclass(frozen=True, eq=False)
class NoCode:
    """The reason why a function has no code in a library: `PyTorch has no generator of these numbers`."""

    reason: str


# Lines of code; the last is the value. Arguments, inner quantities, options and lengths of axes (by their letters) are
# in braces. `{x}.mT` transposes matrices.
Template = str
CodeRule = Template | NoCode | Callable[[CodeCall], "Template | NoCode"]


@dataclass(frozen=True, eq=False)
class Code:
    """A function's rule for each library, if more than names differ."""

    numpy: CodeRule
    torch: CodeRule

    def rule(self, library: Library) -> CodeRule:
        """The rule for one library, in its names."""
        return self.numpy if library == "numpy" else self.torch
