"""The table of output formats: a format is a row of it, and nothing else has to know it."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import import_object
from attncli.engine.run import run
from attncli.io.paths import check_is_not_refused
from attncli.render import formats
from attncli.render.document import Document, Grid, Section
from attncli.render.formats import (
    DOCUMENT,
    FORMATS,
    MARKED_DOCUMENT,
    OutputFormat,
    find_format,
    format_choices,
    format_in_file,
    format_of_file,
    html_tables,
    latex,
    markdown,
    terminal,
)
from attncli.render.target import TEXT_FILE
from attncli.render.view import View
from tests.arrays import normal
from tests.cli.running import run_in_process
from tests.problems import problem

PROBLEM = ("compute", "--query", "[[1, 2]]", "--key", "[[1, 2]]", "--select", "weights,output")
DOCUMENT_FORMATS = [row for row in FORMATS if row.content in (DOCUMENT, MARKED_DOCUMENT)]
WRITERS = """
def names(view, target):
    yield f"{' '.join(view.names)}, {target.width}\\n"


def count(view, stream):
    stream.write(len(view.names).to_bytes(1, "big"))
"""


@pytest.fixture
def more_formats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A format of text and one of bytes: a file, and a row each."""
    (tmp_path / "writers_of_a_test.py").write_text(WRITERS)
    monkeypatch.syspath_prepend(tmp_path)
    rows = (
        OutputFormat("names", (".names", ".nam"), "writers_of_a_test:names", is_lossless=False),
        OutputFormat("count", (".count",), "writers_of_a_test:count", is_binary=True, is_choice=False),
    )
    monkeypatch.setattr(formats, "FORMATS", (*FORMATS, *rows))
    modules = ("attncli.cli.commands.compute", "attncli.cli.output_options")
    for module in modules:
        monkeypatch.delitem(sys.modules, module, raising=False)  # as in a new process: help reads the table
    yield
    for module in modules:
        sys.modules.pop(module, None)


@pytest.mark.usefixtures("more_formats")
def test_a_new_format_is_selected_by_name(tmp_path: Path) -> None:
    ran = run_in_process(*PROBLEM, "--format", "names", folder=tmp_path)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "weights output, None\n", "")


@pytest.mark.usefixtures("more_formats")
@pytest.mark.parametrize(
    ("file", "contents"),
    [("x.names", b"weights output, None\n"), ("x.NAM", b"weights output, None\n"), ("x.count", b"\x02")],
)
def test_a_new_format_is_selected_by_suffix(file: str, contents: bytes, tmp_path: Path) -> None:
    ran = run_in_process(*PROBLEM, "-o", file, folder=tmp_path)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    assert (tmp_path / file).read_bytes() == contents


@pytest.mark.usefixtures("more_formats")
def test_a_new_format_is_in_the_help_the_completion_and_the_errors(tmp_path: Path) -> None:
    def run(*words: str, **env: str) -> str:
        ran = run_in_process(*words, folder=tmp_path, env=env)
        return ran.stdout + ran.stderr

    assert " torch ipynb names." in run("compute", "--help", COLUMNS="300")
    words = {"COMP_WORDS": "attn compute --format na", "COMP_CWORD": "3"}
    assert run(_ATTN_COMPLETE="complete_bash", **words) == "names\n"
    assert "torch, ipynb, names\n" in run(*PROBLEM, "--format", "xyzzy")
    assert ".safetensors, .names, .nam, .count, or --format" in run(*PROBLEM, "-o", "x.xyz")
    assert "unknown format 'count'" in run(*PROBLEM, "--format", "count")


@pytest.mark.parametrize("row", FORMATS, ids=lambda row: row.name)
def test_every_row_names_functions_that_exist_and_suffixes_of_its_own(row: OutputFormat) -> None:
    others = (row.file_allocator, row.long_table, row.picture, row.check, row.warnings, row.files_beside)
    for name in (row.function, row.content, *others):
        assert not name or callable(import_object(name))
    for suffix in row.suffixes:
        first, *others_of_suffix = [other for other in FORMATS if suffix in other.suffixes]
        assert row is first or row in others_of_suffix
        assert all(other.is_choice for other in others_of_suffix), "by the suffix alone it is not found"
        assert format_of_file(f"a.b{suffix.upper()}") is first
        assert format_in_file(row, f"a.b{suffix}") is row
    assert not (row.is_binary and row.is_choice), "standard output is text"


def test_a_format_that_is_a_choice_is_found_by_name_and_no_other() -> None:
    assert [find_format(name).name for name in format_choices()] == format_choices()
    with pytest.raises(AttnError, match=r"unknown format 'svg'; expected one of .*, or a file: --output FILE\.svg"):
        find_format("svg")


@pytest.mark.parametrize("row", DOCUMENT_FORMATS, ids=lambda row: row.name)
def test_a_format_of_documents_writes_all_that_they_have(row: OutputFormat) -> None:
    table = Grid(np.array([[0.5, 2.5]]), ("cat",), ("dog", "owl"), slice_label="head 3")
    signs = Grid(np.zeros((1, 1)), ("hen",), ("fox",), signs=[["o"]], meanings={"o": "hidden"})
    texts = {"formula": "p + q", "purpose": "How much is taken.", "arithmetic": ("6 + 7 = 13",), "remarks": ("So.",)}
    document = Document([Section("weights", (table, signs), "W", **texts)], 1, "all stages")
    text = "".join(import_object(row.function)(document, TEXT_FILE))
    shown = ["all stages", "weights", "W", "cat", "dog", "owl", "0.5", "2.5", "head 3", "hen", "fox", "hidden: 1"]
    assert [word for word in [*shown, "p + q", "How much is taken.", "6 + 7 = 13", "So."] if word not in text] == []


@pytest.mark.parametrize("suffix", [suffix for row in DOCUMENT_FORMATS for suffix in row.suffixes if suffix != ".txt"])
def test_a_document_is_not_read_as_a_problem(suffix: str) -> None:
    with pytest.raises(AttnError, match="is a text for people"):
        check_is_not_refused(Path(f"x{suffix}"))


@pytest.mark.parametrize("module", [html_tables, latex, markdown, terminal])
def test_the_purpose_of_a_section_is_below_its_heading(module: ModuleType) -> None:
    section = Section("weights", formula="x", shapes="[n m]", purpose="How much is taken.")
    target = () if module is html_tables else (TEXT_FILE,)
    lines = "".join(module.render(Document([section], 4), *target)).splitlines()
    heading, purpose = (
        next(at for at, line in enumerate(lines) if text in line) for text in ("weights", "How much is taken.")
    )
    assert purpose - heading in (1, 2)


@pytest.mark.parametrize("name", ["markdown", "latex", "ipynb"])
def test_a_document_has_no_options_of_the_command_line_in_it(name: str) -> None:
    view = View(run(problem(embeddings=normal(3, 4), heads=2)), explain=True)
    text = "".join(find_format(name).render(view, TEXT_FILE))
    assert not re.search(r"(?<![-\w])--[a-z]", text)
