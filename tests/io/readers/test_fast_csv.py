"""Large tables are read as small ones are, only faster; what takes care is left to the careful reader."""

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from attncli.base.errors import AttnError
from attncli.io.origin import Origin
from attncli.io.parse.matrix import read_text_array
from attncli.io.readers import csv, fast_csv
from tests.io.readers.test_csv import READ, REFUSED


@pytest.fixture(params=["with orjson", "without"], autouse=True)
def reader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The optional package that reads faster, or its absence; and every table is large, its blocks are small."""
    if request.param == "without":
        monkeypatch.setitem(sys.modules, "orjson", None)
    else:
        pytest.importorskip("orjson")
    monkeypatch.setattr(fast_csv, "MIN_SIZE", 1)
    return request.param


@pytest.mark.parametrize("at_once", [5, 2**20])
@pytest.mark.parametrize("text", [text for text, *_ in READ.values()], ids=READ)
def test_a_table_that_is_plain_is_the_table_that_it_is(
    text: str, at_once: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fast_csv, "BLOCK_SIZE", at_once)
    (tmp_path / "t.csv").write_text(text, newline="", encoding="utf-8")
    table, expected = fast_csv.read(tmp_path / "t.csv"), csv.read(text, "t.csv")
    if table is not None:
        assert_same(table, expected)


def assert_same(table: csv.Table, expected: csv.Table) -> None:
    np.testing.assert_array_equal(table.numbers, expected.numbers)
    np.testing.assert_array_equal(np.signbit(table.numbers), np.signbit(expected.numbers))
    assert (table.labels, table.columns) == (expected.labels, expected.columns)


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
}


@pytest.mark.parametrize("text", PLAIN.values(), ids=PLAIN)
@pytest.mark.parametrize("at_once", [6, 2**20])
def test_these_are_plain(text: str, at_once: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast_csv, "BLOCK_SIZE", at_once)
    (tmp_path / "t.csv").write_text(text, newline="", encoding="utf-8")
    table, expected = fast_csv.read(tmp_path / "t.csv"), csv.read(text.removeprefix("\ufeff"), "t.csv")
    assert table is not None
    assert_same(table, expected)


CAREFUL = {
    **{name: text for name, (text, _) in REFUSED.items()},
    "a comment": "1,2\n# 3\n4,5\n",
    "words for infinity": "1,2\ninf,4\n",
    "too large": "1,2\n1e999,4\n",
    "carriage returns alone": "1,2\r3,4\r",
    "quotes": '"a",1\n"b",2\n',
    "hexadecimal": "1,2\n0x10,3\n",
    "an underscore": "1,2\n1_0,3\n",
    "words of JSON": "1,2\ntrue,null\n",
    "lists of JSON": "1,2\n[3],4\n",
}


@pytest.mark.parametrize("text", CAREFUL.values(), ids=CAREFUL)
def test_whatever_takes_care_is_read_with_care(text: str, tmp_path: Path) -> None:
    """Both readers end alike: in the same numbers, or in the same error."""
    (tmp_path / "t.csv").write_text(text, newline="", encoding="utf-8")
    name = str(tmp_path / "t.csv")
    assert outcome(lambda: with_care(text, name)) == outcome(lambda: by_either(name))


def with_care(text: str, name: str) -> tuple[list[list[float]], tuple[str, ...] | None]:
    table = csv.read(text, name)
    return table.numbers.tolist(), table.labels


def by_either(name: str) -> tuple[list[list[float]], tuple[str, ...] | None]:
    found = read_text_array(name, ("embeddings",), Origin())
    return found.array.tolist(), found.labels


def outcome(read: Callable[[], object]) -> object:
    """What was read, or what the error says."""
    try:
        return read()
    except AttnError as error:
        return str(error)


def test_numbers_are_right_to_the_last_digit(tmp_path: Path) -> None:
    numbers = np.random.default_rng(3).standard_normal((500, 3)) * 10.0 ** np.array([-300, 0, 300])
    np.savetxt(tmp_path / "t.csv", numbers, fmt="%.17g", delimiter=",")
    table = fast_csv.read(tmp_path / "t.csv")
    assert table is not None
    np.testing.assert_array_equal(table.numbers, numbers)


def test_a_small_table_is_read_with_care_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast_csv, "MIN_SIZE", 100)
    (tmp_path / "t.csv").write_text("1,2\n")
    assert fast_csv.read(tmp_path / "t.csv") is None
