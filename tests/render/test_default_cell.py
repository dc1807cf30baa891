"""The cell that is worked out where nobody chose one: a score that is not 0, not the largest, not hidden."""

from typing import Any

import numpy as np
import pytest

from attncli.render.by_hand import default_cell

CASES: dict[str, tuple[Any, Any, tuple[int, ...]]] = {
    "the second largest weight": ([[0.2, 0.1, 0.7]], None, (0, 0)),
    "not one that is equal to the largest": ([[0.4, 0.4, 0.2]], None, (0, 2)),
    "not one that a table shows equal": ([[0.4, 0.40000001, 0.2]], None, (0, 2)),
    "the first of two that are equal": ([[0.2, 0.2, 0.6]], None, (0, 0)),
    "not in a row of 1 and 0": ([[1, 0, 0], [0.3, 0.7, 0]], None, (1, 0)),
    "not in a row of equal weights": ([[0.5, 0.5, 0], [0.3, 0.3, 0.4]], None, (1, 0)),
    "not a weight that a table shows as 0": ([[1e-9, 1, 0], [0, 0.1, 0.9]], None, (1, 1)),
    "in the first head that has one": ([[[[1, 0]], [[0.4, 0.6]]]], None, (0, 1, 0, 0)),
    "not one whose score is 0": ([[0.3, 0.2, 0.5]], [[0, -1, 2]], (0, 1)),
    "not one whose score a table shows as 0": ([[0.3, 0.2, 0.5]], [[1e-9, -1, 2]], (0, 1)),
    "in a later row, where the first has zeros alone": ([[0.3, 0.7], [0.4, 0.6]], [[0, 2], [1, 2]], (1, 0)),
    "not a hidden one": ([[1, 0, 0], [0.4, 0.6, 0]], [[3, 3, 3], [1, 2, 9]], (1, 0)),
    "one whose score is 0 where all others are the largest": ([[0.3, 0.7]], [[0, 2]], (0, 0)),
    "the largest where no row has two": ([[0.5, 0.5], [0, 1]], [[2, 2], [0, 1]], (1, 1)),
    "the largest beside NaN": ([[np.nan, 0.5], [0.5, 0.5]], None, (0, 1)),
    "not one beside which no decimals are left": ([[1e308, 0.5], [0.4, 0.6]], None, (1, 0)),
    "the only one": ([[1]], [[5]], (0, 0)),
    "the first where all are hidden": ([[0, 0], [0, 0]], None, (0, 0)),
    "the first where none is a number": ([[np.nan, np.nan]], [[np.nan, np.nan]], (0, 0)),
}


@pytest.mark.parametrize(("weights", "scores", "expected"), CASES.values(), ids=CASES)
def test_the_default_cell_is(weights: Any, scores: Any, expected: tuple[int, ...]) -> None:
    assert default_cell(np.array(weights, float), None if scores is None else np.array(scores, float)) == expected
