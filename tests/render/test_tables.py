"""The tables of steps: their slices and labels, and what the worked cells read and compute in them."""

from typing import Any

import numpy as np
import pytest

import attncli
from attncli import attention
from attncli.render.document import Grid
from attncli.render.tables import grids
from attncli.render.view import Cell, View
from tests.problems import PROBLEMS
from tests.render.explanations import explained, explanation_of
from tests.traces import make_step, make_trace


@pytest.mark.parametrize("shape", [(3,), (2, 3), (5, 2, 3), (2, 5, 2, 3)])
def test_an_array_of_any_number_of_axes_is_shown_in_full(shape: tuple[int, ...]) -> None:
    value = np.arange(np.prod(shape), dtype=float).reshape(shape)
    axes = ("h", "n", "m", "a")[-len(shape) :] if len(shape) > 2 else ("m", "a")[-len(shape) :]
    labels = {"n": tuple("pqrst"[: shape[-3]]) if len(shape) > 2 else (), "m": ("x", "y")}
    step = make_step("hidden", axes, value, "score")
    every = list(grids(make_trace([step], labels), step))
    np.testing.assert_array_equal(np.concatenate([grid.values for grid in every]).ravel(), value.ravel())
    assert len({grid.slice_label for grid in every}) == len(every)
    assert every[0].columns == ("a1", "a2", "a3")


def test_a_position_on_an_axis_selects_one_grid() -> None:
    value = np.arange(24.0).reshape(2, 3, 4)
    step = make_step("weights", ("h", "n", "m"), value, "normalize")
    trace = make_trace([step], {"n": tuple("abc"), "m": tuple("wxyz")})
    (grid,) = grids(trace, step, {"h": 1})
    np.testing.assert_array_equal(grid.values, value[1])
    assert grid.slice_label == "head 1"


def test_what_holds_for_all_heads_has_none_in_its_label() -> None:
    x = np.ones((2, 3, 5, 7))  # 3 heads
    trace = attention(x, x, key_mask=np.ones((2, 5))).trace
    assert [grid.slice_label for grid in grids(trace, trace["visible"])] == ["batch item 0", "batch item 1"]


def test_marks_move_with_the_rows_and_columns_that_are_selected() -> None:
    marked = frozenset({(0, 1), (2, 2), (2, None), (None, 3)})
    grid = Grid(np.zeros((3, 4)), tuple("abc"), tuple("wxyz"), marked=marked)
    assert grid.select([2, 1], [1, 2]).marked == {(0, 1), (0, None)}
    assert grid.marked_rows == {0, 2}
    assert grid.marked_columns == {1, 2, 3}
    assert [grid.is_marked(row, 3) for row in range(3)] == [True, True, True]
    assert [grid.is_marked(row, 1) for row in range(3)] == [True, False, True]


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
