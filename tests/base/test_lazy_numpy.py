"""Questions about all numbers of an array have the answers that NumPy's own, longer ones have."""

import warnings

import numpy as np
import pytest

from attncli.base.lazy_numpy import SQUARED_NUMBERS, all_finite, all_true

TYPES = ("float16", "float32", "float64", "longdouble")
SHAPES = [(3, 4), (4, 1), (1, 1), (2, 0), (SQUARED_NUMBERS + 1,), (2, 3, 5)]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf, 1.0])
def test_one_number_that_is_not_finite_is_found_wherever_it_stands(
    shape: tuple[int, ...], dtype: str, number: float
) -> None:
    numbers = np.ones(shape, dtype)
    assert all_finite(numbers)
    for place in {0, numbers.size // 2, numbers.size - 1} if numbers.size else set[int]():
        changed = numbers.copy()
        changed.flat[place] = number
        assert all_finite(changed) == (number == 1)
        assert all_finite(changed.T) == (number == 1)


@pytest.mark.parametrize("dtype", TYPES)
def test_numbers_whose_squares_overflow_or_vanish_are_finite(dtype: str) -> None:
    limits = np.finfo(dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert all_finite(np.array([[limits.max, limits.smallest_subnormal], [-limits.max, 0]], dtype))


@pytest.mark.parametrize("dtype", ["bool", "int64", *TYPES])
@pytest.mark.parametrize("shape", SHAPES)
def test_one_zero_is_found_wherever_it_stands(shape: tuple[int, ...], dtype: str) -> None:
    numbers = np.ones(shape, dtype)
    assert all_true(numbers)
    for place in {0, numbers.size - 1} if numbers.size else set[int]():
        changed = numbers.copy()
        changed.flat[place] = 0
        assert not all_true(changed)
        assert not all_true(changed.T)
