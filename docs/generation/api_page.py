"""The page docs/api.md: the public functions and classes, from their docstrings."""

import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import attncli

PAGE = Path(__file__).parent.parent / "api.md"

# The modules of the page beside the public names of `attncli` itself, in the order of the layers.
MODULES = (
    "attncli.ops.scores",
    "attncli.ops.distance_scores",
    "attncli.ops.normalizers",
    "attncli.ops.linear_normalizers",
    "attncli.ops.sparse_normalizers",
    "attncli.ops.contexts",
    "attncli.ops.positions",
    "attncli.ops.position_biases",
    "attncli.ops.masks",
    "attncli.ops.padding_masks",
    "attncli.ops.norms",
    "attncli.ops.initializers",
    "attncli.ops.structural",
    "attncli.ops.elementwise",
    "attncli.ops.tables",
    "attncli.ops.indices",
    "attncli.ops.records",
    "attncli.ops.registry",
    "attncli.ops.registration",
    "attncli.ops.decorators",
    "attncli.ops.rules",
    "attncli.base.arithmetic",
    "attncli.base.terms",
    "attncli.plan.graph",
    "attncli.plan.build",
    "attncli.engine.options",
    "attncli.engine.run",
    "attncli.trace.steps",
)

HEAD = """# API

Generated from the docstrings by `python docs/generate.py`. How the parts fit together is in
[architecture.md](architecture.md); what a problem may have, in [reference.md](reference.md).
Shapes are written with the letters of `attn show`: `query [n d]` has n queries of d features.
"""


def generate() -> str:
    """The page as Markdown."""
    parts = [HEAD, "## attncli\n", inspect.getdoc(attncli) or ""]
    for name in attncli.__all__:
        value = getattr(attncli, name)
        if callable(value) and value.__module__ not in MODULES:
            parts += _entry(f"attncli.{name}", value)
    for name in MODULES:
        module = import_module(name)
        parts += [f"## {name}\n", inspect.getdoc(module) or ""]
        for own, value in _public(module):
            parts += _entry(own, value)
    return "\n".join(part.rstrip() + "\n" for part in parts)


def _public(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """The functions and classes that a module defines or lists in `__all__`, without those that work out a cell."""
    for name, value in vars(module).items():
        is_own = getattr(value, "__module__", None) == module.__name__ or name in getattr(module, "__all__", ())
        is_public = not name.startswith("_") and not name.endswith("_by_hand")
        if is_own and is_public and (inspect.isclass(value) or inspect.isfunction(value)):
            yield name, value


def _entry(name: str, value: Any) -> list[str]:
    """A heading, the signature and the docstring of a function or class; a class with its public methods."""
    parts = [f"### {name}\n", "```python\n" + _signature(name.rpartition(".")[2], value) + "\n```", _docstring(value)]
    methods: list[str] = []
    if inspect.isclass(value):
        for own, method in vars(value).items():
            target = method.fget if isinstance(method, property) else method
            if not own.startswith("_") and inspect.isfunction(target) and inspect.getdoc(target):
                kind = "" if isinstance(method, property) else "()"
                first = (inspect.getdoc(target) or "").partition("\n\n")[0].replace("\n", " ")
                methods.append(f"- `{own}{kind}`: {first}")
    return [*parts, "\n".join(methods)] if methods else parts


def _signature(name: str, value: Any) -> str:
    """The name and the parameters with their defaults; types are in the source."""
    try:
        parameters = inspect.signature(value).parameters.values()
    except ValueError:
        return name
    bare = [p.replace(annotation=inspect.Parameter.empty, default=_default(p.default)) for p in parameters]
    try:
        return f"{name}{inspect.Signature(bare)}"
    except ValueError:
        return name


class _Text:
    """Shows itself as a text without quotes."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _default(value: Any) -> Any:
    """A default as a signature shows it: a function by its name, an object by its class."""
    if value is inspect.Parameter.empty or isinstance(value, (str, int, float, tuple, dict, type(None))):
        return value
    return _Text(value.__name__ if inspect.isfunction(value) else f"{type(value).__name__.strip('_')}()")


def _docstring(value: Any) -> str:
    """The docstring, its examples as Python."""
    lines: list[str] = []
    in_example = False
    for line in (inspect.getdoc(value) or "").split("\n"):
        if line.startswith(">>>") and not in_example:
            lines.append("```python")
            in_example = True
        elif in_example and not line:
            lines.append("```")
            in_example = False
        lines.append(line)
    return "\n".join([*lines, "```"] if in_example else lines)
