"""Numbers as text: with fixed decimals many at once, and rows that read back as the same numbers."""

import json
import math
import sys
from decimal import Decimal
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import pytest

from attncli.numbers import formatting
from attncli.numbers.formatting import MAX_SCALED, Style, fixed_digits, fixed_width, has_fixed_digits


def texts(numbers: np.ndarray, decimals: int) -> list[str]:
    largest = float(abs(numbers).max())
    assert has_fixed_digits(largest, decimals)
    width = fixed_width(largest, decimals, has_sign=True)
    return [bytes(row).lstrip(b"\0").decode() for row in fixed_digits(numbers, decimals, width)]


@pytest.mark.parametrize("decimals", [0, 1, 2, 4, 9])
@pytest.mark.parametrize("magnitude", [1e-5, 0.01, 1.0, 1e3])
def test_the_digits_are_those_of_python(decimals: int, magnitude: float) -> None:
    numbers = np.random.default_rng(decimals).standard_normal(500) * magnitude + 2 * magnitude
    assert texts(numbers, decimals) == [f"{number:z.{decimals}f}" for number in numbers.tolist()]


@pytest.mark.parametrize("decimals", [0, 1, 2, 3])
def test_a_number_in_the_middle_of_two_is_rounded_as_python_rounds_it(decimals: int) -> None:
    """0.125 is exactly in the middle and becomes 0.12; 0.015 is a little less than its digits say and becomes 0.01."""
    middles = (np.arange(-300, 300) + 0.5) / 10.0**decimals
    numbers = np.concatenate([middles, np.nextafter(middles, np.inf), np.nextafter(middles, -np.inf), [1.0, -0.3]])
    assert texts(numbers, decimals) == [f"{number:z.{decimals}f}" for number in numbers.tolist()]


def test_a_number_that_rounds_to_0_has_no_sign() -> None:
    assert texts(np.array([-0.001, -0.004, 0.001, -0.0, -1.0]), 2) == ["0.00", "0.00", "0.00", "0.00", "-1.00"]


def test_numbers_up_to_the_limit_have_all_their_digits() -> None:
    numbers = np.array([MAX_SCALED - 1, -(MAX_SCALED - 2), 9_999_999_999.0, 10_000_000_000.0])
    assert texts(numbers, 0) == ["8796093022207", "-8796093022206", "9999999999", "10000000000"]
    assert texts(np.array([2.0**32, -(2.0**32), 1.0]), 0) == ["4294967296", "-4294967296", "1"]


def test_beyond_the_limit_python_writes_the_digits() -> None:
    assert [has_fixed_digits(MAX_SCALED - 1, 0), has_fixed_digits(MAX_SCALED, 0)] == [True, False]
    assert [has_fixed_digits(1e-12, 22), has_fixed_digits(1e-12, 23)] == [True, False]


@pytest.mark.parametrize(
    ("number", "padded", "unit"),
    [
        (1.5, "1.5000", "0.0001"), (-2.0, "−2.0000", "0.0001"), (1e20, "1e+20", "1E+16"), (1.2e-7, "1.2e−07", "1E-11"),
        (math.inf, "∞", "0"), (math.nan, "NaN", "0"), (0.0, "0.0000", "0.0001"),
    ],
)  # fmt: skip
def test_a_number_is_padded_unless_it_has_an_exponent(number: float, padded: str, unit: str) -> None:
    style = Style(4, has_exponents=True)
    assert style.padded(number) == padded
    assert style.unit(number) == Decimal(unit)


def test_no_numbers_have_no_characters() -> None:
    assert fixed_digits(np.array([]), 2, 4).shape == (0, 4)


SPELLED = {"nan": '"NaN"', "inf": '"Infinity"', "-inf": '"-Infinity"'}


def text(table: np.ndarray) -> str:
    return "[" + ",".join(f"[{row}]" for rows in formatting.format_rows(table, SPELLED) for row in rows) + "]"


@pytest.fixture(params=["with orjson", "without"])
def json_writer(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With and without the optional package orjson; where it is not installed, with one that writes as it does."""
    if request.param == "without":
        monkeypatch.setitem(sys.modules, "orjson", None)
    elif find_spec("orjson") is None:
        monkeypatch.setitem(sys.modules, "orjson", SimpleNamespace(OPT_SERIALIZE_NUMPY=16, dumps=compact_json))


def compact_json(table: np.ndarray, option: int) -> bytes:
    """A table as orjson writes it, which knows arrays by an option."""
    assert option == 16
    return json.dumps(table.tolist(), separators=(",", ":")).encode()


WIDE = np.random.default_rng(0).standard_normal((7, 5)) * 10.0 ** np.arange(-300, 305, 151)[:5]


@pytest.mark.usefixtures("json_writer")
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("chunk_size", [1, 12, 2**15])
def test_every_number_reads_back_the_same(dtype: str, chunk_size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(formatting, "NUMBERS_PER_CHUNK", chunk_size)
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
    ((row,),) = formatting.format_rows(np.array([[third]]), SPELLED)
    assert np.longdouble(row) == third


@pytest.mark.usefixtures("json_writer")
def test_a_view_is_formatted_in_its_own_order() -> None:
    table = np.arange(12.0).reshape(3, 4)
    assert json.loads(text(table.T)) == table.T.tolist()
    assert json.loads(text(table[:, ::2])) == table[:, ::2].tolist()


@pytest.mark.usefixtures("json_writer")
def test_a_function_of_ones_own_writes_every_finite_number() -> None:
    table = np.array([[1.0, 2.5], [np.inf, -3.0]])
    assert list(formatting.format_rows(table, {"inf": "∞"}, ";", formatting.format_whole)) == [["1;2.5", "∞;-3"]]


@pytest.mark.usefixtures("json_writer")
@pytest.mark.parametrize("separator", [",", "\t", ", "])
def test_numbers_are_separated_by_the_separator(separator: str) -> None:
    table = np.array([[1.5, -2.0, 1e-300], [0.1, np.inf, 3.0]])
    for row, numbers in zip(
        table, [row for rows in formatting.format_rows(table, {}, separator) for row in rows], strict=True
    ):
        cells = numbers.split(separator.strip(" "))
        assert [float(cell) for cell in cells] == row.tolist()
