"""Sparse normalizers: weights of exactly 0 below the threshold."""

import numpy as np
import pytest

from attncli.ops.sparse_normalizers import entmax


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
