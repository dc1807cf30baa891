"""Numbers with fixed decimals, many at once: the digits that Python writes."""

import numpy as np
import pytest

from attncli.base.fixed_digits import MAX_SCALED, fixed_digits, fixed_width, has_fixed_digits


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
    numbers = np.concatenate([middles, np.nextafter(middles, np.inf), np.nextafter(middles, -np.inf)])
    assert texts(numbers, decimals) == [f"{number:z.{decimals}f}" for number in numbers.tolist()]


def test_a_number_that_rounds_to_0_has_no_sign() -> None:
    assert texts(np.array([-0.001, -0.004, 0.001, -0.0, -1.0]), 2) == ["0.00", "0.00", "0.00", "0.00", "-1.00"]


def test_numbers_up_to_the_limit_have_all_their_digits() -> None:
    numbers = np.array([MAX_SCALED - 1, -(MAX_SCALED - 2), 9_999_999_999.0, 10_000_000_000.0])
    assert texts(numbers, 0) == ["8796093022207", "-8796093022206", "9999999999", "10000000000"]


def test_no_numbers_have_no_characters() -> None:
    assert fixed_digits(np.array([]), 2, 4).shape == (0, 4)
