"""Sparse normalizers: weights of exactly 0 below the threshold, and the roots that entmax has no formula for."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

from attncli.numbers.arithmetic import ArithmeticWriter
from attncli.ops.sparse_normalizers import entmax, entmax_by_hand


@pytest.mark.parametrize("alpha", [1.2, 1.5, 1.8, 2.0, 3.0])
@pytest.mark.parametrize("keys", [2, 3, 4, 6, 7, 29])
@pytest.mark.parametrize("distance", [1.0, 1e4, 1e300, np.inf])
def test_a_key_too_far_below_the_best_one_gets_exactly_zero(alpha: float, keys: int, distance: float) -> None:
    """(α − 1)(max − s) ≥ 1 has weight 0; in closed form, rounding could leave 1e-32."""
    scores = np.full((1, keys), -distance / (alpha - 1))
    scores[0, 1] = 0
    weights = entmax(scores * (1 + 1e-12), alpha=alpha)[0]
    assert weights[1] == 1
    assert np.count_nonzero(weights) == 1


@pytest.mark.parametrize("scores", [[4.4, -3.3], [4.4, 4.4, 4.4], [-3.15], [-24.956315157]])
def test_the_spread_of_equal_scores_is_zero(scores: list[float]) -> None:
    """Fifty digits of 0.5·4.4 leave 5e-50 of the difference."""
    weights = entmax(np.array([scores]))[0]
    lines = entmax_by_hand(ArithmeticWriter(4, "q", ["k"] * len(scores), 0, 0), np.array(scores), weights[0], alpha=1.5)
    assert any(line.startswith("δ = ") and line.endswith((" = 0", " = 0.0000")) for line in lines), lines


ALPHAS = [1 + 1e-12, 1.0001, 1.05, 1.3, 1.6, 1.9, 1.999, 2 - 1e-12, 2 + 1e-12, 2.001, 2.1, 3.0, 5.0, 20.0]
GENERATOR = np.random.default_rng(11)
ROWS = {
    "normal": GENERATOR.standard_normal((5, 61)),
    "nearly equal": GENERATOR.standard_normal((5, 61)) * 1e-3,
    "far apart": GENERATOR.standard_normal((5, 61)) * 1e3,
    "ties": GENERATOR.integers(-3, 4, (5, 61)) / 8,
    "all equal": np.full((2, 61), 0.3),
    "one key": np.full((2, 1), -7.25),
    "two keys": np.array([[0.0, -0.125], [3.0, 3.0]]),
    "the best one alone": np.where(np.arange(61) == 3, 1e4, GENERATOR.standard_normal((2, 61))),
}


def threshold_by_halving(x: Sequence[np.longdouble], power: np.longdouble) -> np.longdouble:
    """The distance of the threshold below the largest x [m] of 0, by halving in extended precision."""
    low, high = np.longdouble(0), np.longdouble(1)
    shifted = np.asarray(x)
    while low < (middle := (low + high) / 2) < high:
        excess = np.maximum(shifted + middle, 0)
        low, high = (low, middle) if (excess**power).sum() >= 1 else (middle, high)
    return high


def expected_weights(row: np.ndarray, alpha: float) -> np.ndarray:
    """The weights of a row in extended precision; where α is near 1 or large only their conditions are well-posed."""
    wide = np.longdouble(alpha) - 1
    x = (row.astype(np.longdouble) - row.astype(np.longdouble).max()) * wide
    weights = np.maximum(x + threshold_by_halving(x, 1 / wide), 0) ** (1 / wide)
    return weights / weights.sum()


def assert_is_optimal(row: np.ndarray, weights: np.ndarray, alpha: float, slack: float) -> None:
    """The conditions of the optimum: weights^(α−1) / (α−1) fall by the differences of the scores, down to 0."""
    wide = np.longdouble(alpha) - 1
    distance = row.max().astype(np.longdouble) - row.astype(np.longdouble)
    top = np.longdouble(weights.max())
    # w_top^(α−1) − w^(α−1) = (α−1) distance, solved for w from the largest weight.
    with np.errstate(divide="ignore"):
        from_top = np.exp(np.log1p(np.maximum(np.expm1(np.log(top) * wide) - wide * distance, -1)) / wide)
    np.testing.assert_allclose(weights.astype(float), from_top.astype(float), rtol=0, atol=slack)
    assert abs(weights.sum() - 1) < slack


@pytest.mark.parametrize("alpha", [1.05, 1.3, 1.6, 1.9, 1.999, 2 - 1e-12, 2 + 1e-12, 2.001, 2.1])
@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
def test_the_weights_are_those_of_extended_precision(rows: np.ndarray, alpha: float) -> None:
    expected = np.array([expected_weights(row, alpha) for row in rows])
    np.testing.assert_allclose(entmax(rows, alpha=alpha), expected.astype(float), rtol=0, atol=8 * 2.0**-53)


@pytest.mark.parametrize("alpha", [*ALPHAS[:2], *ALPHAS[3:]])
@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
def test_the_weights_are_the_optimum(rows: np.ndarray, alpha: float) -> None:
    for row, weights in zip(rows, entmax(rows, alpha=alpha), strict=True):
        # The largest weight, from which the others follow, is rounded; the power 1/(α−1) is steep near 0.
        assert_is_optimal(row, weights, alpha, 1e-13 if alpha <= 2 else (2.0**-46) ** min(1 / (alpha - 1), 1))


@pytest.mark.parametrize("alpha", [3.0, 5.0, 20.0])
def test_a_small_weight_is_exact_however_steep_the_power_is(alpha: float) -> None:
    """Three scores whose weights ½, 3/10 and 1/5 are known: their differences are those of w^(α−1) / (α−1)."""
    shares = [Fraction(1, 2), Fraction(3, 10), Fraction(1, 5)]
    scores = np.array([[float(share ** int(alpha - 1) / int(alpha - 1)) for share in shares]])
    # A rounding of the scores moves a weight w by w^(2−α) times as much.
    slack = 2.0**-52 * (0.2 ** (2 - alpha) * scores.max() + 1)
    np.testing.assert_allclose(entmax(scores, alpha=alpha), [[0.5, 0.3, 0.2]], rtol=0, atol=slack)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_rows_with_one_visible_key_and_with_none(alpha: float) -> None:
    scores = np.full((3, 37), -np.inf)
    scores[0, 5], scores[2] = -3.5, GENERATOR.standard_normal(37)
    weights = entmax(scores, alpha=alpha)
    assert weights[0].tolist() == [float(key == 5) for key in range(37)]
    assert not weights[1].any()
    np.testing.assert_allclose(weights[2], entmax(scores[2:], alpha=alpha)[0], rtol=0, atol=4e-16)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("keys", [7, 8, 9, 100, 1000])
def test_equal_scores_share_alike_however_many_keys_there_are(alpha: float, keys: int) -> None:
    """More keys count than the root is looked for among at first."""
    scores = np.where(np.arange(keys) % 2, 0.25, -1e6 / (alpha - 1))
    np.testing.assert_allclose(entmax(scores[None], alpha=alpha)[0], (np.arange(keys) % 2) / (keys // 2), rtol=1e-13)


@pytest.mark.parametrize("alpha", [1.3, 3.0])
def test_a_nan_fills_its_row_and_no_other(alpha: float) -> None:
    scores = GENERATOR.standard_normal((3, 41))
    scores[1, 7], scores[:, 9] = np.nan, -np.inf
    with np.errstate(invalid="ignore"):
        weights = entmax(scores, alpha=alpha)
    assert np.isnan(np.delete(weights[1], 9)).all()
    assert not weights[:, 9].any()
    np.testing.assert_allclose(weights[[0, 2]], entmax(scores[[0, 2]], alpha=alpha), rtol=0, atol=4e-16)


@pytest.mark.parametrize("alpha", [1.05, 1.3, 1.9, 3.0])
def test_leading_axes_and_the_order_in_memory_change_nothing(alpha: float) -> None:
    scores = GENERATOR.standard_normal((2, 3, 5, 29))
    weights = entmax(scores, alpha=alpha)
    np.testing.assert_allclose(entmax(np.asfortranarray(scores), alpha=alpha), weights, rtol=0, atol=4e-16)
    np.testing.assert_allclose(entmax(scores[1, 2], alpha=alpha), weights[1, 2], rtol=0, atol=4e-16)


@pytest.mark.parametrize("alpha", [1.3, 3.0])
@pytest.mark.parametrize("exponent", [-300, -20, 20, 300])
def test_scores_of_extreme_size_are_all_equal_or_one_of_them_is_all(alpha: float, exponent: int) -> None:
    scores = np.array([[3.0, 1.0, -2.0]]) * 10.0**exponent
    expected = [[1, 0, 0]] if exponent > 0 else [[1 / 3, 1 / 3, 1 / 3]]
    np.testing.assert_allclose(entmax(scores, alpha=alpha), expected, rtol=1e-15)
