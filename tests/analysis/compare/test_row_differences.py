"""The distances of rows of weights, by hand and by definition."""

import math

import numpy as np
import pytest

from attncli.analysis.rows import kl_divergence, reordered, total_variation
from tests.arrays import normal

THIRD = 1 / 3
UNIT = 2.0**-53


def test_total_variation_is_the_weight_that_moves() -> None:
    before = np.array([[0.5, 0.5, 0], [0.2, 0.3, 0.5], [1, 0, 0]])
    after = np.array([[0.5, 0.25, 0.25], [0.2, 0.3, 0.5], [0, 0, 1]])
    assert total_variation(before, after).tolist() == [0.25, 0, 1]


def test_kl_divergence_is_in_nats_and_infinite_where_the_other_has_no_weight() -> None:
    before = np.array([[0.5, 0.5], [1.0, 0.0], [0.5, 0.5], [0.25, 0.75]])
    after = np.array([[0.25, 0.75], [0.5, 0.5], [1.0, 0.0], [0.25, 0.75]])
    expected = [0.5 * math.log(2) + 0.5 * math.log(2 / 3), math.log(2), math.inf, 0]
    np.testing.assert_allclose(kl_divergence(before, after), expected, rtol=1e-15)


@pytest.mark.parametrize(
    ("before", "after", "is_reordered"),
    [
        ([0.5, 0.3, 0.2], [0.4, 0.35, 0.25], False),
        ([0.5, 0.3, 0.2], [0.3, 0.5, 0.2], True),
        ([0.5, 0.3, 0.2], [0.4, 0.4, 0.2], False),  # a tie is not inverted
        ([0.4, 0.4, 0.2], [0.3, 0.5, 0.2], False),
        ([0.4, 0.2, 0.4], [0.3, 0.4, 0.3], True),
        ([THIRD, THIRD + UNIT, THIRD], [0.5, 0.3, 0.2], False),  # rounding alone told the first two apart
        ([0.2, 0.3, 0.5], [0.5, 0.5 - UNIT, 0.5 + UNIT], False),
        ([0, 0, 0], [0.2, 0.3, 0.5], False),
        ([0.2, math.nan, 0.5], [0.5, 0.3, 0.2], False),
        ([-math.inf, 1, 2], [3, 1, 2], True),
        ([1, 0, 0, 0], [0, 0, 0, 1], True),
        ([-1.5e308, 1.5e308], [1, 0], True),
        ([1], [1], False),
        ([], [], False),
    ],
)
def test_the_order_of_keys_changes_where_one_overtakes_another(
    before: list[float], after: list[float], is_reordered: bool
) -> None:
    assert bool(reordered(np.array(before, float), np.array(after, float))) is is_reordered


def test_reordered_looks_at_every_pair() -> None:
    before, after = normal(3, 7, 3).round(1), normal(3, 7, 3, seed=1).round(1)
    rows = zip(before.reshape(-1, 3), after.reshape(-1, 3), strict=True)
    pairs = [(i, j) for i in range(3) for j in range(3)]
    expected = [any(a[i] > a[j] and b[i] < b[j] for i, j in pairs) for a, b in rows]
    assert reordered(before, after).reshape(-1).tolist() == expected
    assert set(expected) == {True, False}
