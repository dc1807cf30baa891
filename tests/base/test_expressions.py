"""Expressions: numbers written with fractions, products and square roots."""

import math

import pytest

from attncli.base.errors import AttnError
from attncli.base.expressions import MAX_LENGTH, evaluate

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
    "2*pi": 2 * math.pi,
    "--1/2": 0.5,
    "2*-3": -6.0,
}


@pytest.mark.parametrize(("text", "value"), VALUES.items(), ids=str)
def test_the_value_is_that_of_floating_point_arithmetic(text: str, value: float) -> None:
    assert evaluate(text) == value


NOT_EXPRESSIONS = ["", "1", "-.5E3", "cat", "2026-11-22", "1-1", "1 2", "1/", "/2", "sqrt", "sqrt 3", "sqrt()", "(1"]
NOT_EXPRESSIONS += ["1)", "2**3", "2(3)", "w_q/2", "x.csv", "1/2/", "exp(1)", "__import__('os')", "1_0/2", "½", "٣/2"]
NOT_EXPRESSIONS += [f"1/{'2' * MAX_LENGTH}"]


@pytest.mark.parametrize("text", NOT_EXPRESSIONS)
def test_any_other_text_is_no_expression(text: str) -> None:
    assert evaluate(text) is None


@pytest.mark.parametrize("text", ["1/0", "sqrt(-1)", "1e308*10", "1/(2-2)", "1e999*0"])
def test_what_has_no_finite_value_is_an_error(text: str) -> None:
    with pytest.raises(AttnError, match="is no finite number"):
        evaluate(text)
