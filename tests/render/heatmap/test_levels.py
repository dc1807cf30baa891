"""Levels of the colour map: the scale of some tables, masked cells, NaN, and blocks of cells."""

import numpy as np
import pytest

from attncli.render.document import Grid
from attncli.render.heatmap.palette import MASKED, VISIBLE_LEVEL, pool, scale_of

NAN, INFINITY = float("nan"), float("inf")


def table(*rows: list[float], is_heatmap: bool = False, hidden: list[list[bool]] | None = None) -> Grid:
    values = np.array(rows)
    labels = [tuple(f"{word}{at}" for at in range(size)) for word, size in zip("rc", values.shape, strict=True)]
    return Grid(values, *labels, is_heatmap=is_heatmap, hidden=None if hidden is None else np.array(hidden))


def levels(*grids: Grid) -> list[list[list[float]]]:
    scale = scale_of(grids)
    return [scale.levels(grid).tolist() for grid in grids]


def test_scores_are_between_their_least_and_their_largest() -> None:
    assert levels(table([-1.0, 1.0], [3.0, 0.0])) == [[[0, 0.5], [1, 0.25]]]


def test_weights_are_between_0_and_their_largest() -> None:
    assert levels(table([0.2, 0.4], [0.8, 0.0], is_heatmap=True)) == [[[0.25, 0.5], [1, 0]]]


def test_negative_weights_are_scaled_as_scores_are() -> None:
    assert levels(table([-1.0, 0.0, 1.0], is_heatmap=True)) == [[[0, 0.5, 1]]]


def test_several_tables_have_one_scale() -> None:
    assert levels(table([0.0, 1.0]), table([2.0, 4.0])) == [[[0, 0.25]], [[0.5, 1]]]


def test_what_is_not_finite_does_not_count() -> None:
    ((row,),) = levels(table([1.0, 3.0, INFINITY, -INFINITY]))
    assert row == [0, 1, 1, MASKED]
    ((row,),) = levels(table([1.0, NAN, 3.0]))
    assert (row[0], row[2]) == (0, 1)
    assert np.isnan(row[1])


def test_a_number_that_a_mask_hides_does_not_count() -> None:
    assert levels(table([1.0, 3.0, 9.0], hidden=[[False, False, True]])) == [[[0, 1, MASKED]]]


@pytest.mark.parametrize("row", [[2.0, 2.0], [INFINITY, INFINITY]])
def test_equal_numbers_have_the_last_colour(row: list[float]) -> None:
    assert levels(table(row)) == [[[1, 1]]]


def test_weights_that_are_all_0_have_the_first_colour() -> None:
    assert levels(table([0.0, 0.0], is_heatmap=True)) == [[[0, 0]]]


def test_numbers_may_be_as_far_apart_as_floats_are() -> None:
    assert levels(table([-1e308, 0.0, 1e308])) == [[[0, 0.5, 1]]]


def test_a_mask_is_visible_or_hidden() -> None:
    mask = Grid(np.array([[1, 0]]), ("q",), ("a", "b"), signs=[["●", "▷"]])
    assert levels(mask) == [[[VISIBLE_LEVEL, MASKED]]]


def test_a_block_has_the_largest_level_of_its_cells() -> None:
    cells = np.array([[0.1, 0.2, 0.3], [0.4, 0.0, MASKED], [MASKED, MASKED, NAN]])
    assert pool(cells, (1, 1)) is cells
    np.testing.assert_array_equal(pool(cells, (2, 2)), [[0.4, 0.3], [MASKED, NAN]])
    np.testing.assert_array_equal(pool(cells, (3, 2)), [[0.4, NAN]])
