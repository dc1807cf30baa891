"""The fast reader of large tables reads plain ones as the CSV reader does, and leaves it all others."""

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from attncli.base.errors import AttnError
from attncli.io import csv, tables
from attncli.io.parse import read_text_array
from attncli.io.problem_files import Origin
from tests.io.opened import opened
from tests.io.test_csv import READ, REFUSED


@pytest.fixture(params=["with orjson", "without"], autouse=True)
def reader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """With and without the optional package orjson; every table counts as large."""
    if request.param == "without":
        monkeypatch.setitem(sys.modules, "orjson", None)
    else:
        pytest.importorskip("orjson")
    monkeypatch.setattr(tables, "MIN_SIZE", 1)
    return request.param


@pytest.mark.parametrize("block_size", [5, 2**20])
@pytest.mark.parametrize("text", [text for text, *_ in READ.values()], ids=READ)
def test_the_fast_reader_reads_the_same_table(
    text: str, block_size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "BLOCK_SIZE", block_size)
    (tmp_path / "t.csv").write_text(text, newline="", encoding="utf-8")
    table, expected = tables.read_fast(opened(tmp_path / "t.csv")), csv.read(text, "t.csv")
    if table is not None:
        assert_same(table, expected)


def assert_same(table: csv.Table, expected: csv.Table) -> None:
    np.testing.assert_array_equal(table.numbers, expected.numbers)
    np.testing.assert_array_equal(np.signbit(table.numbers), np.signbit(expected.numbers))
    assert (table.labels, table.columns) == (expected.labels, expected.columns)
    assert list(table.lines) == list(expected.lines)


PLAIN = {
    "numbers": "1,2\n3,-4e-5\n.5,6.\n",
    "zeros with a sign": "-0,-0.0,0\n1,-0e5,-0\n",
    "a header": "x,y\n1,2\n3,4\n",
    "labels": "a,1,2\nb,3,4\nc,5,6\n",
    "both": "word,x,y\na,1,2\nb,3,4\n",
    "an empty corner": ",x,y\na,1,2\nb,3,4\n",
    "semicolons": "1;2\n3;4\n",
    "tabs": "1\t2\n3\t4\n",
    "blanks": "1 2\n3   4\n",
    "lines that end as Windows ends them": "1,2\r\n3,4\r\n",
    "the mark of UTF-8": "\ufeff1,2\n3,4\n",
    "one column": "1\n2\n3\n",
    "no newline at the end": "1,2\n3,4\n5,6",
    "comments": "# what\n1,2\n  # more\n3,4\n5,6\n",
    "a comment, a header and labels": "# what\nword,x,y\na,1,2\n# b\nc,5,6\n",
    "blank lines": "1,2\n\n3,4\n5,6\n\n",
    "a mark of numbers in a label": "a#1,1,2\na#2,3,4\n",
    "a row that is longer than the head": f"{'1,' * 5000}2\n{'3,' * 5000}4\n",
}


@pytest.mark.parametrize("text", PLAIN.values(), ids=PLAIN)
@pytest.mark.parametrize("block_size", [6, 2**20])
def test_plain_tables_are_accepted_by_the_fast_reader(
    text: str, block_size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "BLOCK_SIZE", block_size)
    (tmp_path / "t.csv").write_text(text, newline="", encoding="utf-8")
    table, expected = tables.read_fast(opened(tmp_path / "t.csv")), csv.read(text.removeprefix("\ufeff"), "t.csv")
    assert table is not None
    assert_same(table, expected)


NOT_PLAIN = {
    **{name: text for name, (text, _) in REFUSED.items()},
    "a comment behind numbers": "1,2\n4,5 # 3\n",
    "words for infinity": "1,2\ninf,4\n",
    "too large": "1,2\n1e999,4\n",
    "carriage returns alone": "1,2\r3,4\r",
    "quotes": '"a",1\n"b",2\n',
    "hexadecimal": "1,2\n0x10,3\n",
    "an underscore": "1,2\n1_0,3\n",
    "words of JSON": "1,2\ntrue,null\n",
    "lists of JSON": "1,2\n[3],4\n",
}


@pytest.mark.parametrize("text", NOT_PLAIN.values(), ids=NOT_PLAIN)
def test_other_tables_are_left_to_the_csv_reader(text: str, tmp_path: Path) -> None:
    """Both readers give the same numbers or the same error."""
    (tmp_path / "t.csv").write_text(text, newline="", encoding="utf-8")
    name = str(tmp_path / "t.csv")
    assert outcome(lambda: read_slow(text, name)) == outcome(lambda: read_fast_or_slow(name))


def read_slow(text: str, name: str) -> tuple[list[list[float]], tuple[str, ...] | None]:
    table = csv.read(text, name)
    return table.numbers.tolist(), table.labels


def read_fast_or_slow(name: str) -> tuple[list[list[float]], tuple[str, ...] | None]:
    found = read_text_array(name, ("embeddings",), Origin())
    return found.array.tolist(), found.labels


def outcome(read: Callable[[], object]) -> object:
    """The table, or the message of the error."""
    try:
        return read()
    except AttnError as error:
        return str(error)


def test_numbers_are_right_to_the_last_digit(tmp_path: Path) -> None:
    numbers = np.random.default_rng(3).standard_normal((500, 3)) * 10.0 ** np.array([-300, 0, 300])
    np.savetxt(tmp_path / "t.csv", numbers, fmt="%.17g", delimiter=",")
    table = tables.read_fast(opened(tmp_path / "t.csv"))
    assert table is not None
    np.testing.assert_array_equal(table.numbers, numbers)


def test_small_tables_are_left_to_the_csv_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MIN_SIZE", 100)
    (tmp_path / "t.csv").write_text("1,2\n")
    assert tables.read_fast(opened(tmp_path / "t.csv")) is None
