"""Rows of weights: numbers by hand, rows that are not distributions, types and sizes, and how much two differ."""

import math

import numpy as np
import pytest

from attncli.base.dtypes import Precision
from attncli.base.lazy_numpy import Array
from attncli.render import rows as module
from attncli.render.rows import RowStatistics, kl_divergence, reordered, row_statistics, total_variation
from tests.arrays import normal

NAN = math.nan
LN_2, LN_4 = 0.6931471805599453, 1.3862943611198906
NAMES = ("support", "entropy", "effective_keys", "largest", "largest_key")


def columns(statistics: RowStatistics) -> list[Array]:
    return [getattr(statistics, name) for name in NAMES]


def test_every_statistic_has_a_number_for_each_row() -> None:
    statistics = row_statistics(np.array([[[0.5, 0.5], [1.0, 0.0]]]))
    assert [column.shape for column in columns(statistics)] == [(1, 2)] * 5
    assert [column.dtype.kind for column in columns(statistics)] == ["i", "f", "f", "f", "i"]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ([0.5, 0.5, 0], (2, LN_2, 2, 0.5, 0)),
        ([0.25, 0.25, 0.25, 0.25], (4, LN_4, 4, 0.25, 0)),
        ([0, 0, 1], (1, 0, 1, 1, 2)),
        ([0.25, 0.5, 0.25], (3, 1.5 * LN_2, 2 * math.sqrt(2), 0.5, 1)),
        ([0.1] * 10, (10, math.log(10), 10, 0.1, 0)),
        ([0, 0, 0], (0, NAN, NAN, 0, -1)),
        ([], (0, NAN, NAN, 0, -1)),
        ([0.5, 0.25], (2, NAN, NAN, 0.5, 0)),
        ([2, 3], (2, NAN, NAN, 3, 1)),
        ([1.5, -0.5], (2, NAN, NAN, 1.5, 0)),
        ([-0.5, 0, -0.25], (2, NAN, NAN, -0.25, 2)),
        ([NAN, NAN], (0, NAN, NAN, NAN, -1)),
        ([NAN, 0.5], (1, NAN, NAN, NAN, -1)),
        ([math.inf, 0.5], (2, NAN, NAN, math.inf, 0)),
        ([-math.inf, 0], (1, NAN, NAN, -math.inf, 0)),
        ([1, 1e-320], (2, 320 * math.log(10) * 1e-320, 1, 1, 0)),
    ],
)
def test_a_row_has_the_statistics_of_hand_work(row: list[float], expected: tuple[float, ...]) -> None:
    found = [column.tolist() for column in columns(row_statistics(np.array([row], dtype=float)))]
    assert found == [[pytest.approx(number, rel=1e-14, abs=1e-300, nan_ok=True)] for number in expected]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "longdouble"])
@pytest.mark.parametrize("count", [3, 7, 1000])
def test_equal_weights_have_as_many_effective_keys_in_every_type(dtype: str, count: int) -> None:
    weights = np.ones((2, count), dtype) / np.asarray(count, dtype)
    statistics = row_statistics(weights)
    assert statistics.largest.dtype == weights.dtype
    assert statistics.entropy.dtype == (np.longdouble if dtype == "longdouble" else np.float64)
    np.testing.assert_allclose(statistics.effective_keys.astype(float), count, rtol=0.01)


@pytest.mark.parametrize(("precision", "is_distribution"), [(None, False), ("bfloat16", True), ("float32", False)])
def test_a_sum_that_misses_1_by_the_rounding_of_the_type_is_a_distribution(
    precision: str | None, *, is_distribution: bool
) -> None:
    weights = np.array([[0.33203125, 0.33203125, 0.33203125]], np.float32)  # 1/3 in bfloat16, which float32 holds
    statistics = row_statistics(weights, None if precision is None else Precision(precision))
    assert bool(np.isfinite(statistics.entropy[0])) == is_distribution


def test_a_hundred_thousand_weights_below_the_smallest_normal_number_are_a_distribution() -> None:
    statistics = row_statistics(np.full((1, 100_000), 1e-5, np.float16))
    assert statistics.effective_keys[0] == pytest.approx(100_000, rel=0.02)


def test_a_table_in_chunks_has_the_statistics_of_its_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    weights = np.random.default_rng(3).dirichlet(np.ones(5), (2, 3, 7))
    whole = row_statistics(weights)
    monkeypatch.setattr(module, "CHUNK_CELLS", 11)
    for expected, found in zip(columns(whole), columns(row_statistics(weights)), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("shape", [(0, 3), (2, 0, 3), (2, 3, 0), (0, 0)])
def test_empty_axes_have_empty_statistics(shape: tuple[int, ...]) -> None:
    assert [column.shape for column in columns(row_statistics(np.zeros(shape)))] == [shape[:-1]] * 5


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
