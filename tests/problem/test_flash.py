"""FlashAttention, which needs a GPU: its convention against the pictures and formulas of its documentation."""

from typing import Any

import numpy as np
import pytest

from attncli.engine.run import run
from attncli.problem.build import build
from tests.arrays import normal

LENGTHS = [(2, 5), (5, 2), (3, 3)]


def results(n: int, m: int, **words: Any) -> Any:
    """The results of n queries and m keys, read as FlashAttention reads the words."""
    spec = build({"query": normal(n, 3), "key": normal(m, 3), **words}, convention="flash")
    return run(spec, ("scores", "masked_scores", "weights"))


@pytest.mark.parametrize(
    ("n", "m", "picture"),
    [(2, 5, ["11110", "11111"]), (5, 2, ["00", "00", "00", "10", "11"])],
)
def test_causal_is_aligned_to_the_bottom_right_and_an_empty_row_gives_0(n: int, m: int, picture: list[str]) -> None:
    weights = results(n, m, causal=True).weights
    np.testing.assert_array_equal(weights > 0, [[cell == "1" for cell in row] for row in picture])


@pytest.mark.parametrize(("n", "m"), LENGTHS)
def test_a_window_is_around_i_plus_m_minus_n(n: int, m: int) -> None:
    i, j = np.ogrid[:n, :m]
    visible = (i + m - n - 1 <= j) & (j <= i + m - n + 2)
    np.testing.assert_array_equal(results(n, m, window=(1, 2)).weights > 0, visible)


@pytest.mark.parametrize(("n", "m"), LENGTHS)
def test_alibi_is_added_to_scores_that_are_capped_already(n: int, m: int) -> None:
    i, j = np.ogrid[:n, :m]
    found = results(n, m, softcap=0.5, position={"alibi": {"slopes": [0.25]}})
    expected = 0.5 * np.tanh(normal(n, 3) @ normal(m, 3).T / np.sqrt(3) / 0.5) - 0.25 * abs(i + m - n - j)
    np.testing.assert_allclose(found.masked_scores, expected)
