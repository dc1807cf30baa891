"""Rows of numbers as text, which read back as the same numbers."""

import json
import sys

import numpy as np
import pytest

from attncli.base import number_rows

SPELLED = {"nan": '"NaN"', "inf": '"Infinity"', "-inf": '"-Infinity"'}


def text(table: np.ndarray) -> str:
    return "[" + ",".join(f"[{row}]" for rows in number_rows.format_rows(table, SPELLED) for row in rows) + "]"


@pytest.fixture(params=["with orjson", "without"])
def json_writer(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With and without the optional package orjson."""
    if request.param == "without":
        monkeypatch.setitem(sys.modules, "orjson", None)
    else:
        pytest.importorskip("orjson")


WIDE = np.random.default_rng(0).standard_normal((7, 5)) * 10.0 ** np.arange(-300, 305, 151)[:5]


@pytest.mark.usefixtures("json_writer")
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("chunk_size", [1, 12, 2**15])
def test_every_number_reads_back_the_same(dtype: str, chunk_size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(number_rows, "NUMBERS_PER_CHUNK", chunk_size)
    with np.errstate(over="ignore", under="ignore"):
        table = np.nan_to_num(WIDE.astype(dtype))
    np.testing.assert_array_equal(np.array(json.loads(text(table))), table.astype(float))


@pytest.mark.usefixtures("json_writer")
def test_infinity_and_nan_are_spelled() -> None:
    table = np.array([[1.5, np.nan], [np.inf, -np.inf], [0.0, -2.0]])
    assert json.loads(text(table)) == [[1.5, "NaN"], ["Infinity", "-Infinity"], [0.0, -2.0]]


@pytest.mark.usefixtures("json_writer")
def test_integers_and_booleans_keep_their_type() -> None:
    assert text(np.array([[1, -2], [3, 2**60]])) == "[[1, -2],[3, 1152921504606846976]]"
    assert text(np.array([[True], [False]])) == "[[true],[false]]"


def test_a_longdouble_keeps_its_digits() -> None:
    third = np.longdouble(1) / 3
    ((row,),) = number_rows.format_rows(np.array([[third]]), SPELLED)
    assert np.longdouble(row) == third


@pytest.mark.usefixtures("json_writer")
def test_a_view_is_formatted_in_its_own_order() -> None:
    table = np.arange(12.0).reshape(3, 4)
    assert json.loads(text(table.T)) == table.T.tolist()
    assert json.loads(text(table[:, ::2])) == table[:, ::2].tolist()


@pytest.mark.usefixtures("json_writer")
@pytest.mark.parametrize("separator", [",", "\t", ", "])
def test_numbers_are_separated_by_the_separator(separator: str) -> None:
    table = np.array([[1.5, -2.0, 1e-300], [0.1, np.inf, 3.0]])
    for row, numbers in zip(
        table, [row for rows in number_rows.format_rows(table, {}, separator) for row in rows], strict=True
    ):
        cells = numbers.split(separator.strip(" "))
        assert [float(cell) for cell in cells] == row.tolist()
