"""Grids of quantities of any number of axes."""

import numpy as np
import pytest

from attncli import attention
from attncli.render.document import Grid
from attncli.render.tables import grids
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
