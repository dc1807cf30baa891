"""The digits that numbers were typed with say how exact they are."""

import numpy as np
import pytest

from attncli.analysis.check.expected import typed_digits
from attncli.base.dtypes import Precision
from attncli.numbers.parsing import TypedNumber


def texts(*words: str) -> list[float]:
    return [TypedNumber(word) for word in words]


@pytest.mark.parametrize(
    ("words", "half_units"),
    [
        (("0.50", "0.3"), (0.005, 0.05)),
        ((".5898", "1.3e-3", "2E2"), (0.00005, 0.00005, 50)),
        (("1", "0", "0.333"), (0.0005, 0.0005, 0.0005)),
        (("1", "1e-7"), (0.5, 5e-8)),
        (("5.", "0.2"), (0.5, 0.05)),
        (("nan", "0.25"), (np.nan, 0.005)),
    ],
)
def test_a_number_typed_with_a_point_or_an_exponent_has_the_unit_of_its_last_digit(
    words: tuple[str, ...], half_units: tuple[float, ...]
) -> None:
    np.testing.assert_allclose(typed_digits(texts(*words)).half_units, half_units, rtol=1e-12)


def test_floats_of_python_share_the_last_decimal_of_any_of_them() -> None:
    assert typed_digits([0.98522025, 0.5, 2.0]).half_units.tolist() == [5e-9] * 3
    assert typed_digits([1.5e-7, 0.25]).half_units.tolist() == [5e-9, 0.005]


@pytest.mark.parametrize("numbers", [texts("2", "-4"), [2.0, 4.0], texts("1", "inf", "nan"), [1e22]])
def test_whole_numbers_are_exact(numbers: list[float]) -> None:
    digits = typed_digits(numbers)
    assert np.isnan(digits.half_units).all()
    assert digits.dtype is None


def test_a_number_without_digits_to_go_by_is_exact_and_the_others_keep_theirs() -> None:
    half_units = typed_digits([TypedNumber("1/3", 1 / 3), TypedNumber("0.33")]).half_units
    assert np.isnan(half_units[0])
    assert half_units[1] == 0.005


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64"])
def test_numbers_with_every_digit_are_of_the_narrowest_type_that_holds_them(dtype: str) -> None:
    numbers = Precision(dtype).round(np.random.default_rng(0).random(8)).tolist()
    for written in (numbers, texts(*map(repr, numbers)), [0.5, *numbers]):
        digits = typed_digits(written)
        assert digits.dtype == dtype
        assert np.isnan(digits.half_units).all()


def test_short_binary_fractions_are_numbers_that_people_type() -> None:
    assert typed_digits(texts("0.96875", "0.03125")).half_units.tolist() == [5e-6, 5e-6]
