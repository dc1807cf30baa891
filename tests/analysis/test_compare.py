"""Numbers against expected ones, to all printed digits."""

import numpy as np
import pytest

from attncli.analysis.compare import compare
from attncli.base.dtypes import Precision
from attncli.base.errors import AttnError

PUBLISHED = np.array([[0.98522025, 1.74174051, 0.5]])


def test_numbers_that_round_to_the_printed_digits_agree() -> None:
    assert compare("output", PUBLISHED, PUBLISHED + 4.9e-9).differences == []
    assert compare("output", PUBLISHED, PUBLISHED).decimals == 8


@pytest.mark.parametrize("column", [0, 1, 2])
@pytest.mark.parametrize("error", [1e-8, -1e-8, 6e-9])
def test_one_unit_of_the_last_printed_digit_is_found(column: int, error: float) -> None:
    """Also in 0.5, which was printed with eight decimals like its neighbours."""
    computed = PUBLISHED.copy()
    computed[0, column] += error
    (difference,) = compare("output", PUBLISHED, computed).differences
    assert difference.position == (0, column)
    assert difference.expected == PUBLISHED[0, column]
    assert difference.computed == computed[0, column]


def test_whole_numbers_are_compared_up_to_the_rounding_of_arithmetic() -> None:
    expected = np.array([8.0, 1e6])
    assert compare("scores", expected, expected * (1 + 1e-12)).differences == []
    assert len(compare("scores", expected, expected + np.array([0.001, 0.01])).differences) == 2


def test_numbers_with_powers_of_ten_have_their_decimals_counted() -> None:
    assert compare("x", np.array([1.5e-7]), np.array([1.5e-7])).decimals == 8
    assert compare("x", np.array([1e22]), np.array([1e22])).decimals == 0


def test_infinity_and_nan_agree_with_themselves_alone() -> None:
    expected = np.array([np.inf, np.nan, -np.inf])
    assert compare("x", expected, expected).differences == []
    assert len(compare("x", expected, np.array([-np.inf, 0, 1])).differences) == 3


def test_another_shape_is_an_error_that_names_both_shapes() -> None:
    with pytest.raises(AttnError, match="expected, output: 1 × 3 numbers are expected and 1 × 2 computed"):
        compare("output", PUBLISHED, PUBLISHED[:, :2])


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32"])
def test_more_digits_than_the_type_has_mean_nothing(name: str) -> None:
    precision, expected = Precision(name), np.array([0.123456789012345, 1234.56789, -1e-3 / 3])
    rounded = precision.round(expected)
    assert compare("x", expected, rounded, precision).differences == []
    assert len(compare("x", expected, rounded * (1 + 4 * precision.epsilon), precision).differences) == 3
    assert len(compare("x", expected, rounded).differences) == 3


@pytest.mark.parametrize(("dtype", "decimals"), [("float64", 8), ("float32", 6), ("float16", 2)])
def test_only_the_decimals_that_the_type_has_are_said_to_agree(dtype: str, decimals: int) -> None:
    expected = np.array([0.12345678, 0.9])
    comparison = compare("x", expected, expected.astype(dtype), Precision(dtype))
    assert (comparison.differences, comparison.decimals) == ([], decimals)
    assert comparison.has_every_digit == (dtype == "float64")
