"""Arithmetic as text: numbers, sums and products."""

import numpy as np
import pytest

from attncli.base.arithmetic import ArithmeticWriter, decimal

WRITE = ArithmeticWriter(4, "q", "k", 0, 0)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (10.0, "10"), (5.773502691896258, "5.7735"), (-0.5, "−0.5"), (0.0, "0"), (-0.0, "0"), (1.2e-7, "1.2e−07"),
        (-1e20, "−1e+20"), (float("inf"), "∞"), (float("-inf"), "−∞"), (float("nan"), "NaN"), (0.00004, "4e−05"),
        (99999.99999, "100000"), (1e15, "1e+15"), (0.1 + 0.2, "0.3"),
    ],
)  # fmt: skip
def test_a_number_has_no_digits_too_many(number: float, text: str) -> None:
    assert decimal(number, 4) == text


def test_sums_and_products_are_formatted_term_by_term() -> None:
    assert WRITE.products([2, 0, 2], [2, 4, -3]) == "2·2 + 0·4 + 2·(−3)"
    assert WRITE.products([-1, -1], [1, 1]) == "−1·1 + (−1)·1"
    assert WRITE.products([0.5], np.array([[1, -2]])) == "0.5·[1 −2]"
    assert WRITE.sum([1, -2, 3]) == "1 + (−2) + 3"
    assert WRITE.minus(1, -2) == "1 − (−2)"
    assert WRITE(np.array([1.0, 0.25])) == "[1 0.25]"


def test_the_middle_of_a_long_sum_is_counted() -> None:
    assert WRITE.sum([1] * 12).count("1") == 12
    assert WRITE.sum([1] * 13) == "1 + 1 + 1 + 1 + 1 + 1 + … 1 more … + 1 + 1 + 1 + 1 + 1 + 1"
