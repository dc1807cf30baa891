"""The pages of the API: the public functions and classes of attncli and of its modules, from their docstrings."""

import inspect
from collections.abc import Iterable, Iterator
from importlib import import_module
from types import ModuleType
from typing import Any

import attncli
from attncli.ops.derivatives import DerivativeRecord
from attncli.ops.registry import DEFINITION

from .markdown import table

FOLDER = "api"
INDEX = "index.md"
MAX_WIDTH = 80  # of a signature in one line

# The modules of the public names with which a reader begins, in the order of use.
FIRST_MODULES = (
    "attncli.api.attention",
    "attncli.api.problem",
    "attncli.api.result",
    "attncli.api.compare",
    "attncli.api.check",
    "attncli.api.trial",
    "attncli.api.heads",
)

# The modules that have a page, in the order of the layers.
MODULES = (
    "attncli.ops.scores",
    "attncli.ops.distances",
    "attncli.ops.normalizers",
    "attncli.ops.sparse_normalizers",
    "attncli.ops.contexts",
    "attncli.ops.positions",
    "attncli.ops.position_biases",
    "attncli.ops.masks",
    "attncli.ops.norms",
    "attncli.ops.initializers",
    "attncli.ops.structural",
    "attncli.ops.elementwise",
    "attncli.ops.indices",
    "attncli.ops.records",
    "attncli.ops.registry",
    "attncli.ops.decorators",
    "attncli.numbers.arithmetic",
    "attncli.numbers.terms",
    "attncli.plan.graph",
    "attncli.plan.build",
    "attncli.engine.options",
    "attncli.engine.run",
    "attncli.plan.trace",
    "attncli.render.rows",
    "attncli.comparisons.differences",
    "attncli.comparisons.comparison",
    "attncli.models.heads",
)

HEAD = """# API

Generated from the docstrings, as `help(attncli)` in Python shows them. How the parts fit together is in
[architecture](../architecture.md); what a problem may have, in the [reference](../reference/keys.md).
Shapes are written with the letters of `attn show`: `query [n d]` has n queries of d features.
"""


def pages() -> dict[str, str]:
    """The pages as Markdown by their paths: the public names, then a page for each module."""
    named = {name: getattr(attncli, name) for name in attncli.__all__}
    public = {name: value for name, value in named.items() if callable(value) and value.__module__ not in MODULES}
    parts = [HEAD, inspect.getdoc(attncli) or ""]
    for name in sorted(public, key=lambda name: _place(public[name])):
        parts += _entry(f"attncli.{name}", public[name])
    return {INDEX: _joined(parts), **{f"{name}.md": _module_page(name) for name in MODULES}}


def _module_page(name: str) -> str:
    """The page of a module."""
    module = import_module(name)
    parts = [f"# {name}\n", inspect.getdoc(module) or ""]
    derivatives = []
    for own, value in _public(module):
        if isinstance(getattr(value, "record", None), DerivativeRecord):
            derivatives.append((f"`{_signature(own, value)}`", (inspect.getdoc(value) or "").replace("\n", " ")))
        else:
            parts += _entry(own, value)
    if derivatives:
        parts += ["## Derivatives\n", table(("function", "what it is"), derivatives)]
    return _joined(parts)


def _joined(parts: Iterable[str]) -> str:
    return "\n".join(part.rstrip() + "\n" for part in parts)


def _place(value: Any) -> tuple[int, int]:
    """The place of a public name: by its module and the line there; what a reader does not begin with comes last."""
    if value.__module__ not in FIRST_MODULES:
        return len(FIRST_MODULES), 0
    return FIRST_MODULES.index(value.__module__), inspect.getsourcelines(value)[1]


def _public(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """The functions and classes that a module defines or lists in `__all__`, without those that work out a cell."""
    for name, value in vars(module).items():
        is_own = getattr(value, "__module__", None) == module.__name__ or name in getattr(module, "__all__", ())
        is_public = not name.startswith("_") and not name.endswith("_by_hand")
        if is_own and is_public and (inspect.isclass(value) or inspect.isfunction(value)):
            yield name, value


def _entry(name: str, value: Any) -> list[str]:
    """A heading, the signature and the docstring of a function or class; a class with its public methods."""
    parts = [
        f"## {name}\n",
        f"```python\n{_in_lines(_signature(name.rpartition('.')[2], value))}\n```",
        _docstring(value),
    ]
    methods: list[str] = []
    if inspect.isclass(value):
        for own, method in _members(value).items():
            target = method.fget if isinstance(method, property) else getattr(method, "func", method)
            if not own.startswith("_") and inspect.isfunction(target) and inspect.getdoc(target):
                title = _signature(own, target, is_method=True) if target is method else own
                first = (inspect.getdoc(target) or "").partition("\n\n")[0].replace("\n", " ")
                methods.append(f"- `{title}`: {first}")
    return [*parts, "\n".join(methods)] if methods else parts


def _members(value: type) -> dict[str, Any]:
    """The attributes that a class defines, after those of our classes that it extends."""
    members: dict[str, Any] = {}
    for base in value.__mro__:
        if base.__module__.startswith("attncli"):
            members = {**vars(base), **members}
    return members


def _signature(name: str, value: Any, *, is_method: bool = False) -> str:
    """The name and the parameters with their defaults, of a method without the object; types are in the source."""
    try:
        parameters = inspect.signature(value).parameters.values()
    except ValueError:
        return name
    bare = [
        p.replace(annotation=inspect.Parameter.empty, default=_default(p.default))
        for p in list(parameters)[1 if is_method else 0 :]
    ]
    try:
        return f"{name}{inspect.Signature(bare)}"
    except ValueError:
        return name


def _in_lines(signature: str) -> str:
    """A signature that is too long for a line, with a line for each parameter."""
    if len(signature) <= MAX_WIDTH:
        return signature
    name, _, rest = signature.partition("(")
    parts, depth = [""], 0
    for character in rest.removesuffix(")"):
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    lines = "".join(f"    {part.strip()},\n" for part in parts)
    return f"{name}(\n{lines})"


class _Text:
    """Shows itself as a text without quotes."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _default(value: Any) -> Any:
    """A default as a signature shows it: a function by its name, an object by its class, a factory as `help` does."""
    is_text = isinstance(value, (str, int, float, tuple, dict, type(None))) or repr(value) == "<factory>"
    if value is inspect.Parameter.empty or is_text:
        return value
    return _Text(value.__name__ if inspect.isfunction(value) else f"{type(value).__name__.strip('_')}()")


def _docstring(value: Any) -> str:
    """The docstring: its examples as Python, the definition of an operator as it is."""
    text, _, definition = (inspect.getdoc(value) or "").partition(f"\n\n{DEFINITION}\n")
    lines: list[str] = []
    in_example = False
    for line in text.split("\n"):
        if line.startswith(">>>") and not in_example:
            lines.append("```python")
            in_example = True
        elif in_example and not line:
            lines.append("```")
            in_example = False
        lines.append(line)
    ends = ["```"] if in_example else []
    return "\n".join([*lines, *ends, *(["", "```text", definition, "```"] if definition else [])])
