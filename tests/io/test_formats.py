"""Input formats: a format is one file with its reader and one row of the table; some are refused by their suffix."""

import io
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import import_object
from attncli.io import formats
from attncli.io.formats import INPUT_FORMATS, InputFormat, Lines, Reader
from attncli.io.inputs import Input
from attncli.io.parse import read_text_array
from attncli.io.problem_files import Origin, read_document
from attncli.problem.arrays import GivenArray
from tests.io.opened import opened


@pytest.fixture
def words_format(monkeypatch: pytest.MonkeyPatch) -> None:
    """A format of numbers as English words, for arrays and for problems."""
    words = {"one": 1.0, "two": 2.0, "three": 3.0}
    module: Any = ModuleType("words_format")

    class WordsReader(Reader):
        def array(self, source: Input, entry: str) -> GivenArray:
            rows = [[words[word] for word in line.split()] for line in source.text().splitlines()]
            return GivenArray(np.array(rows)[int(entry) if entry else slice(None)])

        def problem(self, source: Input) -> tuple[dict[str, Any], Lines]:
            array = self.array(source, "").array
            return {"query": array, "key": array.tolist(), "score": "dot"}, {}

    module.READER = WordsReader()
    monkeypatch.setitem(sys.modules, "words_format", module)
    row = InputFormat("words", (".words",), "words_format:READER")
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
    with pytest.raises(attncli.AttnError, match=r"\.npz, \.safetensors, \.xlsx, \.words$"):
        attncli.load(tmp_path / "p.yaml")
    with pytest.raises(attncli.AttnError, match=r"expected .*\.xlsx, \.words or -$"):
        attncli.load(tmp_path / "picture.png")


@pytest.mark.parametrize("row", INPUT_FORMATS, ids=lambda row: row.name)
def test_every_reader_of_the_table_is_there(row: InputFormat) -> None:
    reader = import_object(row.reader)
    holds_problems = type(reader).problem is not Reader.problem
    assert holds_problems == row.holds_problems
    for name in ("array", "descriptions", "expected"):
        assert getattr(type(reader), name) is not getattr(Reader, name)


def test_the_help_names_every_format() -> None:
    ((_, meaning), *_) = formats.FILES
    assert {row.suffixes[0].removeprefix(".") for row in INPUT_FORMATS} <= set(meaning.split())


def test_no_suffix_has_two_formats() -> None:
    suffixes = [suffix for row in INPUT_FORMATS for suffix in row.suffixes]
    assert len(set(suffixes)) == len(suffixes)
    assert set(suffixes) == set(formats.suffixes("array")) >= set(formats.suffixes("problem"))


def saved(save: Any, **arrays: np.ndarray) -> bytes:
    """The bytes that a function of NumPy's writes."""
    save(stream := io.BytesIO(), **arrays)
    return stream.getvalue()


TWO = np.array([[1.0, 2.0], [3.0, 4.0]])
ARRAYS = {
    "a table": b"a,1,2\nb,3,4\n",
    "a table with a header": b"x y\n1 2\n3 4\n",
    "a table with a byte-order mark": "\ufeff1,2\n3,4\n".encode(),
    "a table after comments": b"# x: y\n1,2\n3,4\n",
    "JSON": b'\n {"w": [[1, 2], [3, 4]]}',
    "a list of YAML": b"# numbers\n\n- [1, 2]\n- [3, 4]\n",
    "YAML in brackets": b"[[1, .2e1], [3, 0004]]",
    "a mapping of YAML": b"w:\n- [1, 2]\n- [3, 4]\n",
    "a NumPy array": saved(np.save, arr=TWO),
    "a NumPy archive": saved(np.savez, w=TWO),
}


@pytest.mark.parametrize("name", ["file", "file.dat"])
@pytest.mark.parametrize("raw", ARRAYS.values(), ids=ARRAYS)
def test_an_array_without_a_known_suffix_is_told_by_its_content(raw: bytes, name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(raw)
    (tmp_path / "p.yaml").write_text(f"embeddings: {name}\n")
    assert attncli.load(tmp_path / "p.yaml").embeddings.tolist() == TWO.tolist()


PROBLEMS = {
    "YAML": b"# a problem\nembeddings:\n- [1, 2]\n- [3, 4]\n",
    "YAML in braces": b"{embeddings: [[1, 2], [3, 4]]}",
    "JSON": b'{"embeddings": [[1, 2], [3, 4]]}',
    "an archive": saved(np.savez, embeddings=TWO),
}


@pytest.mark.parametrize("raw", PROBLEMS.values(), ids=PROBLEMS)
@pytest.mark.parametrize("name", ["problem", "-"])
def test_a_problem_without_a_suffix_is_told_by_its_content(
    raw: bytes, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "problem").write_bytes(raw)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))
    problem = attncli.load(name if name == "-" else tmp_path / name)
    assert problem.embeddings.tolist() == TWO.tolist()


@pytest.mark.parametrize("content", ["array", "problem"])
def test_tensors_without_a_suffix_are_told_by_their_content(content: str, tmp_path: Path) -> None:
    numpy = pytest.importorskip("safetensors.numpy")
    (tmp_path / "file").write_bytes(numpy.save({"embeddings": TWO}))
    (tmp_path / "p.yaml").write_text("embeddings: file\n")
    problem = attncli.load(tmp_path / ("file" if content == "problem" else "p.yaml"))
    assert problem.embeddings.tolist() == TWO.tolist()


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="there is no /dev/fd here")
@pytest.mark.parametrize("raw", ARRAYS.values(), ids=ARRAYS)
def test_a_pipe_is_told_by_its_content(raw: bytes, tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.write(writing, raw)
    os.close(writing)
    (tmp_path / "p.yaml").write_text(f"embeddings: /dev/fd/{reading}\n")
    assert attncli.load(tmp_path / "p.yaml").embeddings.tolist() == TWO.tolist()
    os.close(reading)


UNREADABLE = {
    "a picture": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "is not a file of numbers; expected .csv, .tsv, .txt, .json"),
    "UTF-16": ("1,2\n".encode("utf-16"), "is UTF-16 text; save it as UTF-8"),
    "Latin 1": (b"1,2\n\xe9,3\n", "line 2: is not UTF-8 text; save it as UTF-8"),
    "nothing": (b"", "is empty"),
    "words": (b"hello\n", "has a header and no numbers"),
}


@pytest.mark.parametrize(("raw", "message"), UNREADABLE.values(), ids=UNREADABLE)
def test_content_of_no_format_is_an_error(raw: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(raw)
    (tmp_path / "p.yaml").write_text("embeddings: file\n")
    with pytest.raises(attncli.AttnError, match=message):
        attncli.load(tmp_path / "p.yaml")


def test_an_array_is_no_problem(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", TWO)
    with pytest.raises(attncli.AttnError, match=r"is a NumPy array, not a problem; give it as an option: embeddings="):
        attncli.load(tmp_path / "x.npy")


@pytest.mark.parametrize("name", ["model.pt", "model.bin", "model.PTH", "model.ckpt"])
def test_a_pickle_is_refused_with_the_lines_that_convert_it(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"PK\3\4, as an archive of NumPy begins")
    for read in (
        lambda: read_document(str(path)),
        lambda: read_text_array(f"{path}#w_q", ("w_q",), Origin()),
        lambda: formats.list_arrays(opened(path)),
    ):
        with pytest.raises(
            AttnError, match=r"pickle, .* torch\.load\(FILE, weights_only=True\)\.items\(\)\}; safetensors\.torch"
        ) as e:
            read()
        assert str(e.value).startswith(str(path))


def test_a_work_sheet_on_paper_is_refused_with_what_is_filled_in_instead() -> None:
    with pytest.raises(AttnError, match=r"^sheet\.md: is a text for people.*; write the numbers .* \.yaml or \.xlsx"):
        read_document("sheet.md")


def test_a_gguf_file_is_refused() -> None:
    with pytest.raises(AttnError, match="is a GGUF file, which attn can't read"):
        read_document("model.gguf")
