"""Statistics of expected and computed numbers: which cell is the worst."""

import numpy as np
import pytest

from attncli.base.dtypes import Precision
from attncli.checks import compare
from attncli.checks.expected import ExpectedNumbers
from attncli.checks.tolerance import Tolerance

BY_ROW = Tolerance(Precision("float64"), "", error=1.0, error_of_row=0.1)


def worst(expected: list[list[float]], computed: list[list[float]]) -> int | None:
    """The index of the worst cell, where 0.1 of the largest number of a row is allowed, and 1 at most."""
    numbers = ExpectedNumbers(np.array(expected), np.ones((2, 2), bool))
    return compare.statistics(numbers, np.array(computed), BY_ROW).worst


@pytest.mark.parametrize("cells", [2**20, 2])  # both rows at once, and one after the other
def test_the_worst_cell_is_that_of_the_largest_error_beside_its_tolerance(
    cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compare, "CHUNK_CELLS", cells)
    assert worst([[10, 3], [1, 0.5]], [[10, 0], [1, 0]]) == 1  # 3 of 1 allowed, 0.5 of 0.1
    assert worst([[10, 3], [1, 0.9]], [[10, 0], [1, 0]]) == 3  # 0.9 of 0.1 allowed


@pytest.mark.parametrize("cells", [2**20, 2])
def test_of_errors_that_are_similar_beside_their_tolerances_the_largest_is_the_worst(
    cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compare, "CHUNK_CELLS", cells)
    assert worst([[10, 3], [1, 0.31]], [[10, 0], [1, 0]]) == 1
    assert worst([[1, 0.31], [10, 3]], [[1, 0], [10, 0]]) == 3


def test_a_number_that_is_not_finite_is_worse_than_any_error() -> None:
    assert worst([[10, 3], [1, np.nan]], [[10, 0], [1, 1]]) == 3


def test_nothing_is_the_worst_where_all_agree() -> None:
    assert worst([[1, 2], [3, 4]], [[1, 2], [3, 4]]) is None


TYPED = np.array([[0.12345678, 0.5, 0.25]])
UNITS = np.array([[5e-9, 0.05, 5e-9]])


def digits(half_units: np.ndarray, right: list[float]) -> list[tuple[int, int, float]]:
    numbers = ExpectedNumbers(TYPED, np.ones((1, 3), bool), half_units)
    found = compare.statistics(numbers, np.array([right]), Tolerance(Precision("float64"), ""))
    return [(group.count, group.digits, round(group.tolerance, 9)) for group in found.by_digits]


def test_numbers_typed_to_different_decimals_agree_to_digits_of_their_own() -> None:
    # Eight digits and one digit, of the largest number of the row, 0.5.
    assert digits(UNITS, [0.123456782, 0.46, 0.250000001]) == [(2, 8, 5e-9), (1, 1, 0.05)]


def test_numbers_typed_alike_have_one_count_of_digits() -> None:
    assert digits(np.full((1, 3), 5e-9), [0.123456782, 0.5, 0.25]) == []


def test_groups_that_agree_to_as_many_digits_are_one() -> None:
    assert digits(np.array([[5e-9, 0.05, 0.005]]), [0.12345678, 0.46, 0.21]) == [(1, 8, 5e-9), (2, 1, 0.05)]
