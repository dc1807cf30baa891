"""Sparse normalizers: weights of exactly 0 below the threshold."""

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
    lines = entmax_by_hand(ArithmeticWriter(4, "q", ["k"] * len(scores), 0, 0), np.array(scores), weights[0])
    assert any(line.startswith("δ = ") and line.endswith((" = 0", " = 0.0000")) for line in lines), lines
