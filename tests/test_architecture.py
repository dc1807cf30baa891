"""The structure of the package: a layer imports those below it, and a file's first line says its purpose."""

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import attncli

ROOT = Path(attncli.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))

# A package imports itself and packages with a smaller number; base, ops … are folders.
LAYERS = {
    "base": 0,
    "numbers": 1,
    "ops": 2,
    "problem": 3,
    "plan": 4,
    "io": 4,
    "models": 5,
    "engine": 5,
    "analysis": 6,
    "render": 7,
    "api": 8,
    "cli": 9,
    "__init__": 10,
    "__main__": 11,
}
IMPORTS_OF_OPS = {
    "attncli",
    "bisect",
    "collections",
    "contextlib",
    "contextvars",
    "copyreg",
    "dataclasses",
    "functools",
    "importlib",
    "inspect",
    "linecache",
    "math",
    "numpy",
    "operator",
    "pathlib",
    "string",
    "sys",
    "types",
    "typing",
}
ONLY_IN = {"typer": {"cli"}, "rich": {"render", "cli"}, "yaml": {"io", "models"}}


def package(file: Path) -> str:
    """The folder of the package that a file is in, or the file's own name."""
    first = file.relative_to(ROOT).parts[0]
    return first.removesuffix(".py")


def statements(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """These statements and those inside them."""
    for node in nodes:
        yield node
        for name in ("body", "orelse", "handlers", "finalbody", "cases"):
            yield from statements(getattr(node, name, ()))


@cache
def imports(file: Path) -> tuple[str, ...]:
    """Every module that a file imports, inside functions and for the type checker too."""
    found: list[str] = []
    for node in statements([ast.parse(file.read_text(encoding="utf-8"))]):
        if isinstance(node, ast.Import):
            found.extend(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: imports are absolute"
            found.extend(f"{node.module}.{alias.name}" for alias in node.names)
    return tuple(found)


@cache
def module(name: str) -> str | None:
    """The file of ours that an import reads, without its suffix."""
    if not name.startswith("attncli"):
        return None
    path = ROOT.parent.joinpath(*name.split("."))
    if path.with_suffix(".py").exists():
        return name
    return f"{name}.__init__" if (path / "__init__.py").exists() else module(name.rpartition(".")[0])


def test_imports_run_downwards() -> None:
    for file in FILES:
        own = package(file)
        for name in imports(file):
            first = name.partition(".")[0]
            if first == "attncli":
                target = name.split(".")[1]
                target = target if target in LAYERS else "__init__"
                assert target == own or LAYERS[target] < LAYERS[own], f"{file} imports {name}"
            assert own in ONLY_IN.get(first, {own}), f"{file} imports {name}"
            assert own != "ops" or first in IMPORTS_OF_OPS, f"{file} imports {name}"


def test_no_file_imports_itself_through_others() -> None:
    graph = {module(f"attncli.{'.'.join(f.relative_to(ROOT).with_suffix('').parts)}"): f for f in FILES}
    edges = {name: {m for i in imports(file) if (m := module(i)) in graph} - {name} for name, file in graph.items()}
    done: set[str | None] = set()
    while free := [name for name in edges if name not in done and edges[name] <= done]:
        done.update(free)
    assert not set(edges) - done, f"a circle among {sorted(map(str, set(edges) - done))}"


def test_a_file_begins_with_its_purpose() -> None:
    for file in FILES:
        with file.open(encoding="utf-8") as lines:
            first = next(lines, "").strip().removesuffix('"""')
        assert first.startswith(('"""', 'r"""')), file
        assert first.endswith((".", ":", ")")), file


def test_every_package_has_a_layer() -> None:
    assert {package(file) for file in FILES} == set(LAYERS)
