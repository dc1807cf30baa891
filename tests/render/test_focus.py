"""The cells that are worked out: those that are asked for, otherwise one that teaches something."""

from typing import Any

import numpy as np
import pytest

from attncli import attention
from attncli.render.by_hand import worked_positions
from attncli.render.view import Cell, View


def weighted(weights: Any, **view: Any) -> View:
    """A view of a problem with these weights [… n m]: the scores are the weights."""
    weights = np.array(weights, dtype=float)
    *leading, _, m = weights.shape
    keys = np.broadcast_to(np.eye(m), (*leading, m, m))
    return View(attention(weights, keys, score="dot", normalize="none"), **view)


def cells(view: View) -> list[tuple[int, ...]]:
    """The positions of the worked cells on the axes of the weights."""
    axes = view.result.trace["weights"].axes
    return [tuple(at[letter] for letter in axes) for at in worked_positions(view)]


SECOND_LARGEST = {
    "the second largest weight": ([[0.2, 0.1, 0.7]], (0, 0)),
    "not one that is equal to the largest": ([[0.4, 0.4, 0.2]], (0, 2)),
    "not one that a table shows equal": ([[0.4, 0.40000001, 0.2]], (0, 2)),
    "the first of two that are equal": ([[0.2, 0.2, 0.6]], (0, 0)),
    "not in a row of 1 and 0": ([[1, 0, 0], [0.3, 0.7, 0]], (1, 0)),
    "not in a row of equal weights": ([[0.5, 0.5, 0], [0.3, 0.3, 0.4]], (1, 0)),
    "not a weight that a table shows as 0": ([[1e-9, 1, 0], [0, 0.1, 0.9]], (1, 1)),
    "the largest where no row has two": ([[0.5, 0.5], [0, 1]], (1, 1)),
    "the largest beside NaN": ([[np.nan, 0.5], [0.5, 0.5]], (1, 0)),
    "not one beside which no decimals are left": ([[1e308, 0.5], [0.4, 0.6]], (1, 0)),
    "in the first head that has one": ([[[[1, 0]], [[0.4, 0.6]]]], (0, 1, 0, 0)),
}


@pytest.mark.parametrize(("weights", "expected"), SECOND_LARGEST.values(), ids=SECOND_LARGEST)
def test_the_cell_that_teaches_is(weights: Any, expected: tuple[int, ...]) -> None:
    assert cells(weighted(weights)) == [expected]


TABLE = np.array([[[[0.1, 0.9], [0.3, 0.7]], [[0.2, 0.8], [0.6, 0.4]]]])  # 1 batch item, 2 heads


def test_the_cell_is_in_the_head_of_the_view() -> None:
    assert cells(weighted(TABLE, positions={"h": 1})) == [(0, 1, 0, 0)]


ASKED = {
    "one": ((Cell(1, 0),), [(1, 0)]),
    "several in their order": ((Cell(1, 0), Cell(0, 1)), [(1, 0), (0, 1)]),
    "a row": ((Cell(1, None),), [(1, 0), (1, 1)]),
    "a column": ((Cell(None, 1),), [(0, 1), (1, 1)]),
    "all": ((Cell(),), [(0, 0), (0, 1), (1, 0), (1, 1)]),
    "each once": ((Cell(0, 1), Cell(0, None)), [(0, 1), (0, 0)]),
}


@pytest.mark.parametrize(("asked", "expected"), ASKED.values(), ids=ASKED)
def test_the_cells_that_are_asked_for_are(asked: tuple[Cell, ...], expected: list[tuple[int, int]]) -> None:
    assert cells(weighted(TABLE[0, 0], cells=asked)) == expected
    every_head = weighted(TABLE, cells=asked, expanded_axes=frozenset("h"))
    assert cells(every_head) == [(0, head, *pair) for head in (0, 1) for pair in expected]
