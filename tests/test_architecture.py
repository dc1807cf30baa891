"""The plan of the house: a file is a room, and imports run one way."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import attncli

ROOT = Path(attncli.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))

LEAVES = {"errors", "literal", "delimited", "pen", "arrays", "numerals"}
RECORDS = LEAVES | {"shapes", "catalogue"}
MAY_IMPORT = {
    **{leaf: set() for leaf in LEAVES - {"numerals"}},
    "numerals": {"arrays"},
    "shapes": {"errors"},
    "catalogue": {"arrays", "errors", "shapes"},
    "pieces": {"arrays"},
    "ops": {"arrays", "catalogue", "pen", "pieces", "ops"},
    "notes": {"arrays", "shapes"},
    "trace": {"arrays", "catalogue", "errors", "precision", "shapes"},
    "comparison": {"arrays", "errors"},
    "precision": {"arrays"},
    "layout": {"errors", "shapes"},
    "checks": {"arrays", "catalogue", "checks", "errors", "layout", "shapes"},
    # Problem.compute is the public face of the pipeline, which stands on Problem: an import inside that method.
    "problem": RECORDS | {"checks", "layout", "ops", "means", "precision", "trace", "compute"},
    "recorder": {"arrays", "catalogue", "errors", "notes", "precision", "shapes", "trace"},
    "stages": RECORDS | {"checks", "ops", "problem", "recorder", "stages", "trace"},
    "pipeline": {"precision", "problem", "recorder", "stages", "trace"},
    "means": {"arrays", "errors"},
    "blockwise": RECORDS
    | {"blockwise", "means", "notes", "ops", "pieces", "pipeline", "precision", "problem", "recorder", "trace"},
    "compute": {"__init__", "blockwise", "means", "pipeline", "problem", "trace"},
    "io": RECORDS | {"ops", "precision", "problem", "trace", "io"},
    "render": RECORDS | {"comparison", "trace", "render"},
    "api": {"io", "trace"},
    "__init__": {"api", "errors", "problem", "trace"},
    "__main__": {"cli"},
}
ONLY_IN = {"typer": {"cli"}, "rich": {"render", "cli"}, "yaml": {"io"}}


def room(file: Path) -> str:
    return file.relative_to(ROOT).parts[0].removesuffix(".py")


def imports(file: Path) -> Iterator[str]:
    """The modules that a file imports when it runs; what only the type checker imports does not count."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for_types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in for_types:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_imports_run_one_way(file: Path) -> None:
    for module in imports(file):
        first, _, rest = module.partition(".")
        if first == "attncli" and room(file) != "cli":
            target = rest.partition(".")[0]
            inside = target if (ROOT / target).exists() or (ROOT / f"{target}.py").exists() else "__init__"
            assert inside in MAY_IMPORT[room(file)], f"{room(file)} imports {inside}"
        if first in ONLY_IN:
            assert room(file) in ONLY_IN[first], f"{first} is imported in {room(file)}"
        if room(file) == "ops":
            assert first in {"attncli", "collections", "math", "typing"}, f"the mathematics imports {first}"


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_a_files_first_line_says_what_it_is_for(file: Path) -> None:
    docstring = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    assert docstring.partition("\n")[0].endswith((".", ":", ")"))


def test_every_room_has_a_place_in_the_plan() -> None:
    assert {room(file) for file in FILES} - {"cli"} == set(MAY_IMPORT)
