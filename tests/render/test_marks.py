"""Marks: the rows, columns and cells that an explanation works on."""

from typing import Any

import numpy as np
import pytest

import attncli
from attncli.render.document import Grid
from attncli.render.view import Cell, View
from tests.problems import PROBLEMS
from tests.render.explanations import explained, explanation_of

X = [[1.0, 0], [0, 1], [1, 1], [2, 0]]
QUERY, KEY = 1, 3
MARKS: dict[str, tuple[dict[str, Any], dict[str, set[Any]]]] = {
    "self-attention": (
        {"embeddings": X, "w_q": [[2, 0], [0, 1]], "w_k": [[0, 1], [1, 0]]},
        {
            "embeddings": {(QUERY, None), (KEY, None)},
            "w_q": set(),
            "query": {(QUERY, None)},
            "key": {(KEY, None)},
            "scores": {(QUERY, KEY)},
            "weights": {(QUERY, KEY)},
            "context": {(QUERY, None)},
        },
    ),
    "selected queries": (
        {"embeddings": X, "w_q": [[2, 0], [0, 1]], "only": [3, 2]},
        {"embeddings": {(2, None), (KEY, None)}, "selected_rows": {(QUERY, None)}, "query": {(QUERY, None)}},
    ),
    "cross-attention": (
        {"embeddings": X, "query_embeddings": X[:2]},
        {"embeddings": {(KEY, None)}, "query_embeddings": {(QUERY, None)}},
    ),
    "positions": (
        {"embeddings": X, "position": "sinusoidal"},
        {name: {(QUERY, None), (KEY, None)} for name in ("embeddings", "positioned_embeddings")},
    ),
    "a cached key": (
        {"query": X, "key": X[:1], "past_key": X[:3], "past_value": X[:3]},
        {"key": {(0, None)}, "past_key": set(), "present_key": {(KEY, None)}},
    ),
    "one row of a mask for every query": (
        {"query": X, "key": X, "mask": [[1, 1, 0, 1]]},
        {"mask": {(0, KEY)}, "visible": {(QUERY, KEY)}, "masked_scores": {(QUERY, KEY)}},
    ),
    "a mask with fewer columns than keys": (
        {"query": X, "key": X, "mask": [[1, 1]] * 4},
        {"mask": set(), "visible": {(QUERY, KEY)}},
    ),
    "an array of positions": (
        {"query": X, "key": [*X, [1, 2]], "position": "alibi", "align": "bottom_right", "only": [1, 3]},
        {"query_positions": {(None, 1)}, "position_bias": {(QUERY, KEY)}},
    ),
}


def grids_of(view: View) -> dict[str, tuple[Grid, ...]]:
    """The grids of each step and input that is explained."""
    return {name: section.grids for name, section in explained(view).items()}


@pytest.mark.parametrize(("keys", "marks"), MARKS.values(), ids=MARKS)
def test_a_cell_is_marked_in_every_table_with_its_row_or_column(
    keys: dict[str, Any], marks: dict[str, set[Any]]
) -> None:
    shown = grids_of(View(attncli.Problem(**keys).compute(), explain=True, cells=(Cell(QUERY, KEY),)))
    assert {name: set(shown[name][0].marked) for name in marks} == marks


def test_the_hidden_layer_of_a_pair_is_marked_in_the_slice_of_its_query() -> None:
    score = {"additive": {"w1": X[:2], "w2": X[:2], "v": [1, 1]}}
    view = View(attncli.attention(X, X, score=score), explain=True, cells=(Cell(QUERY, KEY),))
    assert [set(grid.marked) for grid in grids_of(view)["hidden"]] == [set(), {(KEY, None)}, set(), set()]


def test_several_cells_are_marked_and_all_of_them_are_not() -> None:
    result = attncli.attention(X, X)
    for cells, expected in (((Cell(0, 1), Cell(2, 3)), {(0, 1), (2, 3)}), ((Cell(),), set())):
        assert set(grids_of(View(result, explain=True, cells=cells))["scores"][0].marked) == expected


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_mark_is_in_its_table(name: str) -> None:
    assert any(grid.marked for section in explanation_of(name) for grid in section.grids)
    for section in explanation_of(name):
        for grid in section.grids:
            rows, columns = np.shape(grid.values)
            assert grid.marked_rows <= set(range(rows))
            assert grid.marked_columns <= set(range(columns))
