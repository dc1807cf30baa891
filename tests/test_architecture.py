"""The structure of the package: a layer imports those below it, and a file's first line says its purpose."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import attncli

ROOT = Path(attncli.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))

# A package imports itself and packages with a smaller number; base, ops … are folders.
LAYERS = {
    "base": 0,
    "ops": 1,
    "problem": 2,
    "plan": 3,
    "io": 3,
    "trace": 4,
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
    "collections",
    "contextlib",
    "copyreg",
    "dataclasses",
    "importlib",
    "inspect",
    "math",
    "sys",
    "types",
    "typing",
}
ONLY_IN = {"typer": {"cli"}, "rich": {"render", "cli"}, "yaml": {"io"}}


def package(file: Path) -> str:
    """The folder of the package that a file is in, or the file's own name."""
    first = file.relative_to(ROOT).parts[0]
    return first.removesuffix(".py")


def imports(file: Path) -> Iterator[str]:
    """Every module that a file imports, inside functions and for the type checker too."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: imports are absolute"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def module(name: str) -> str | None:
    """The file of ours that an import reads, without its suffix."""
    parts = name.split(".")
    while parts:
        path = ROOT.parent.joinpath(*parts)
        if path.with_suffix(".py").exists():
            return ".".join(parts)
        if (path / "__init__.py").exists():
            return ".".join([*parts, "__init__"])
        parts.pop()
    return None


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_imports_run_downwards(file: Path) -> None:
    own = package(file)
    for name in imports(file):
        first = name.partition(".")[0]
        if first == "attncli":
            target = name.split(".")[1]
            target = target if target in LAYERS else "__init__"
            # what `attncli/__init__.py` itself defines (the version) is in no layer
            if name != "attncli.__version__":
                assert target == own or LAYERS[target] < LAYERS[own], f"{own} imports {name}"
        assert own in ONLY_IN.get(first, {own}), f"{first} is imported in {own}"
        if own == "ops":
            assert first in IMPORTS_OF_OPS, name


def test_no_file_imports_itself_through_others() -> None:
    graph = {module(f"attncli.{'.'.join(f.relative_to(ROOT).with_suffix('').parts)}"): f for f in FILES}
    edges = {name: {m for i in imports(file) if (m := module(i)) in graph} - {name} for name, file in graph.items()}
    done: set[str | None] = set()
    while free := [name for name in edges if name not in done and edges[name] <= done]:
        done.update(free)
    assert not set(edges) - done, f"a circle among {sorted(map(str, set(edges) - done))}"


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_a_file_begins_with_its_purpose(file: Path) -> None:
    docstring = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    assert docstring.partition("\n")[0].endswith((".", ":", ")"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_frozen_dataclasses_generate_no_methods_at_the_start(file: Path) -> None:
    source = file.read_text(encoding="utf-8")
    if "dataclasses.dataclass" in set(imports(file)) and file != ROOT / "base" / "dataclasses.py":
        assert "@dataclass(frozen=True" not in source


def test_every_package_has_a_layer() -> None:
    assert {package(file) for file in FILES} == set(LAYERS)
