"""Numbers from text: expressions, NaN and infinities in every spelling, and hints for what is not a number."""

import math
from typing import Any

import pytest

from attncli.base.errors import AttnError
from attncli.numbers.parsing import (
    MAX_LENGTH,
    evaluate,
    non_finite,
    number_hint,
    text_with_points,
    with_decimal_points,
)

VALUES = {
    "1/2": 0.5,
    "1/3": 1 / 3,
    "sqrt(3)": math.sqrt(3),
    "-2*sqrt(2)": -2 * math.sqrt(2),
    " 1 / sqrt( 3 ) ": 1 / math.sqrt(3),
    "2/3/4": 2 / 3 / 4,
    "2/3*4": 2 / 3 * 4,
    "1e2/.5": 200.0,
    "-(1 - sqrt(5))/2": -(1 - math.sqrt(5)) / 2,
    "sqrt(sqrt(16))": 2.0,
    "exp(0)/(exp(0) + 1)": 0.5,
    "2*pi": 2 * math.pi,
    "2*-3": -6.0,
}


@pytest.mark.parametrize(("text", "value"), VALUES.items(), ids=str)
def test_the_value_is_that_of_floating_point_arithmetic(text: str, value: float) -> None:
    assert evaluate(text) == value


NOT_EXPRESSIONS = ["", "1", "-.5E3", "cat", "2026-11-22", "1-1", "1 2", "1/", "/2", "sqrt", "sqrt 3", "sqrt()", "(1"]
NOT_EXPRESSIONS += [
    "--1",
    "+-1",
    "2*--3",
    "1)",
    "2**3",
    "2(3)",
    "w_q/2",
    "x.csv",
    "1/2/",
    "log(1)",
    "__import__('os')",
    "1_0/2",
    "½",
    "٣/2",
]
NOT_EXPRESSIONS += ["--1", "--1/2", "+-1/2", "2*--3", f"1/{'2' * MAX_LENGTH}"]


@pytest.mark.parametrize("text", NOT_EXPRESSIONS)
def test_any_other_text_is_no_expression(text: str) -> None:
    assert evaluate(text) is None


def test_an_expression_may_have_a_hundred_characters() -> None:
    text = f"{'0' * (MAX_LENGTH - 3)}1/2"
    assert (len(text), evaluate(text), evaluate(f"0{text}")) == (MAX_LENGTH, 0.5, None)


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ("0,50", 0.5), ("-1,5", -1.5), ("1", "1"), ("1 2", "1 2"), ("x1,5", "x1,5"), ("a,b", "a,b"), (3, 3),
        (None, None), ("1,5 2", "1.5 2"), (["1,5 2"], [[1.5, 2.0]]), (["1 a"], ["1 a"]), (["1 2", 3], [[1.0, 2.0], 3]),
        ({"w": "0,5"}, {"w": 0.5}),
    ],
)  # fmt: skip
def test_a_comma_between_digits_is_a_decimal_point_where_there_are_numbers_alone(value: Any, read: Any) -> None:
    found = with_decimal_points(value)
    assert found == read
    assert isinstance(found, str) == isinstance(read, str)


@pytest.mark.parametrize(
    ("text", "read"),
    [("w=0,5 1", "w=0.5 1"), ("w=x1,5.csv", "w=x1,5.csv"), ("1,5", "1,5"), ("a,1=1,5", "a,1=1.5")],
)
def test_the_numbers_after_a_name_have_decimal_points(text: str, read: str) -> None:
    assert text_with_points(text) == read


@pytest.mark.parametrize("text", ["1/0", "sqrt(-1)", "exp(1000)", "1e308*10", "1/(2-2)", "1e999*0"])
def test_what_has_no_finite_value_is_an_error(text: str) -> None:
    with pytest.raises(AttnError, match="is not a finite number"):
        evaluate(text)


SPELLINGS = ["inf", "Inf", "INF", ".inf", ".Inf", "+inf", "+.inf", "infinity", "Infinity", "+Infinity"]


@pytest.mark.parametrize("word", SPELLINGS)
def test_infinity_is_read_however_it_is_spelt(word: str) -> None:
    assert non_finite(word) == math.inf
    assert non_finite(f"-{word.removeprefix('+')}") == -math.inf


@pytest.mark.parametrize("word", ["nan", "NaN", "NAN", ".nan", ".NaN", "-nan", "+nan"])
def test_nan_is_read_however_it_is_spelt(word: str) -> None:
    assert math.isnan(non_finite(word) or 0)


@pytest.mark.parametrize("word", ["", "-", "in", "info", "nano", "..inf", "inf.", "1", "na", "ınf", "null", " inf"])
def test_any_other_word_is_no_number(word: str) -> None:
    assert non_finite(word) is None


HINTS = {
    "0x1F": "write it in decimal digits: 31",
    "0o17": "write it in decimal digits: 15",
    "0b101": "write it in decimal digits: 5",
    "1_000": "write it in decimal digits: 1000",
    "-1_0.5": "write it in decimal digits: -10.5",
    "1": "write it without quotes",
    "-.5E3": "write it without quotes",
    "1,5": "use a decimal point: 1.5",
    "1\u00a0000": "write its digits without spaces: 1000",
    "-12\u202f345\u202f678.5": "write its digits without spaces: -12345678.5",
    "−1.5": "use a hyphen as the minus sign: -1.5",
    "1−2": None,
    "1.2.3": None,
    "cat": None,
    "1__0": None,
}


@pytest.mark.parametrize(("word", "hint"), HINTS.items(), ids=HINTS)
def test_a_word_that_is_meant_as_a_number_has_a_hint(word: str, hint: str | None) -> None:
    assert number_hint(word) == hint
