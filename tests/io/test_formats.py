"""Input formats: a format is one file with its functions and one row of the table."""

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.io import formats
from attncli.io.formats import INPUT_FORMATS, InputFormat
from attncli.io.inputs import Input
from attncli.problem.convert.arrays import LabelledArray


@pytest.fixture
def words_format(monkeypatch: pytest.MonkeyPatch) -> None:
    """A format of numbers as English words, for arrays and for problems."""
    words = {"one": 1.0, "two": 2.0, "three": 3.0}
    module: Any = ModuleType("words_format")

    def read_array(source: Input, entry: str) -> LabelledArray:
        rows = [[words[word] for word in line.split()] for line in source.text().splitlines()]
        return LabelledArray(np.array(rows)[int(entry) if entry else slice(None)])

    def read_problem(source: Input) -> tuple[dict[str, Any], dict[int, int]]:
        array = read_array(source, "").array
        return {"query": array, "key": array.tolist(), "score": "dot"}, {}

    module.read_array, module.read_problem = read_array, read_problem
    monkeypatch.setitem(sys.modules, "words_format", module)
    row = InputFormat("words", (".words",), "words_format:read_array", "words_format:read_problem")
    monkeypatch.setattr(formats, "INPUT_FORMATS", [*INPUT_FORMATS, row])


@pytest.mark.usefixtures("words_format")
def test_a_new_row_is_read_by_its_suffix(tmp_path: Path) -> None:
    (tmp_path / "x.words").write_text("one two\nthree one\n")
    (tmp_path / "p.yaml").write_text("embeddings: x.words\nscore: {general: {w: x.words}}\n")
    problem = attncli.load(tmp_path / "p.yaml")
    assert problem.embeddings.tolist() == problem.score.parameters["w"].tolist() == [[1, 2], [3, 1]]
    assert attncli.load(tmp_path / "x.words").compute("scores").scores.tolist() == [[5, 5], [5, 10]]


@pytest.mark.usefixtures("words_format")
def test_errors_list_it(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("embeddings: x.png\n")
    with pytest.raises(attncli.AttnError, match=r"\.npz, \.safetensors, \.words$"):
        attncli.load(tmp_path / "p.yaml")
    with pytest.raises(attncli.AttnError, match=r"expected .*\.safetensors, \.words or -$"):
        attncli.load(tmp_path / "p.png")


@pytest.mark.parametrize("row", INPUT_FORMATS, ids=lambda row: row.name)
def test_every_function_of_the_table_is_there(row: InputFormat) -> None:
    assert row.reader("array") is not None
    assert (row.reader("problem") is None) == (row.read_problem is None)


def test_no_suffix_has_two_formats() -> None:
    suffixes = [suffix for row in INPUT_FORMATS for suffix in row.suffixes]
    assert len(set(suffixes)) == len(suffixes)
    assert set(suffixes) == set(formats.suffixes("array")) >= set(formats.suffixes("problem"))
