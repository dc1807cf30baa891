"""Code of a step: what a person would write for it in NumPy or PyTorch; its rule is on the record of its function."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from attncli.base.lazy_numpy import Array

Library = Literal["numpy", "torch"]


@dataclass(frozen=True, eq=False)
class CodeCall:
    """The call of a function that a step of a script writes.

    `variables` has the variable of each argument that is an array, and of each inner quantity that is a step; `shapes`
    and, as far as they are known, `values` are those of the arguments. `options` are the other arguments, `shape` is
    that of the result.
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
        """An option; the default where it is not given, or None."""
        value = self.options.get(name)
        return default if value is None else value


@dataclass(frozen=True, eq=False)
class NoCode:
    """That a function has no code in some library, and why: `PyTorch has no generator of these numbers`."""

    reason: str


# Lines of code, of which the last is the value: arguments, inner quantities, options and the lengths of axes, by their
# letters, are in braces. `{x}.mT` is the transpose of matrices.
Template = str
CodeRule = Template | NoCode | Callable[[CodeCall], "Template | NoCode"]


@dataclass(frozen=True, eq=False)
class Code:
    """The rules of a function in each library, where names alone do not make one of the other."""

    numpy: CodeRule
    torch: CodeRule

    def rule(self, library: Library) -> CodeRule:
        """The rule for one library, whose names it has."""
        return self.numpy if library == "numpy" else self.torch
