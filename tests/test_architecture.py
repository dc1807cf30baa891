"""The structure of the package, as docs/architecture.md has it: who imports whom, and how large each package is."""

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from docs.generation.packages import ROOT, packages

FILES = sorted(ROOT.rglob("*.py"))
CORE, WINGS = packages("core"), packages("wing")
FACE, COMMAND = "api", re.compile(r"(\w+_)?command\.py")
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
# Who may import a package of somebody else's: of wings, that have commands, these alone Typer.
ONLY_IN = {"rich": {"render", "cli", *WINGS}, "yaml": {"io", "models"}}


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


def importable(file: Path) -> set[str]:
    """The packages of ours that a file may import besides its own."""
    own, core = package(file), list(CORE)
    if own in CORE:
        return set(core[: core.index(own)])
    if own in WINGS:
        return {*core[:-1], *WINGS[own].imports} | ({"cli"} if COMMAND.fullmatch(file.name) else set())
    return {*core, *WINGS, FACE}  # api, and what starts a process


def test_a_package_imports_what_the_tables_say() -> None:
    for file in FILES:
        own = package(file)
        for name in imports(file):
            first = name.partition(".")[0]
            if first == "attncli" and (target := name.split(".")[1]) in {*CORE, *WINGS, FACE}:
                assert target == own or target in importable(file), f"{file} imports {name}"
            assert own in ONLY_IN.get(first, {own}), f"{file} imports {name}"
            assert first != "typer" or own == "cli" or COMMAND.fullmatch(file.name), f"{file} imports {name}"
            assert own != "ops" or first in IMPORTS_OF_OPS, f"{file} imports {name}"


def test_the_tables_have_every_package_and_its_size() -> None:
    folders = {path.name for path in ROOT.iterdir() if (path / "__init__.py").exists()}
    assert folders == {*CORE, *WINGS, FACE}
    for row in (*CORE.values(), *WINGS.values()):
        files, lines = row.size()
        over = f"{row.name} has {lines:,} lines: shorten it, or raise its budget in docs/architecture.md and say why"
        assert lines <= row.budget, f"{over}, in the commit"
        assert abs(files - row.files) <= max(2, files // 10), f"{row.name}: run docs/generate.py"
        assert abs(lines - row.lines) <= max(100, lines // 10), f"{row.name}: run docs/generate.py"


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
