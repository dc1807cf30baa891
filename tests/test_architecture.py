"""The structure of the package: a file's first line says its purpose."""

import ast
from pathlib import Path

import pytest

import attncli

ROOT = Path(attncli.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(ROOT)))
def test_a_files_first_line_says_what_it_is_for(file: Path) -> None:
    docstring = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    assert docstring.partition("\n")[0].endswith((".", ":", ")"))
