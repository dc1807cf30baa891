"""Grids of tokens: the row of a table for each difference of rows and columns."""

from typing import Any

import numpy as np
import pytest

from attncli import AttnError, attention
from attncli.ops.position_biases import grid_bias

# Three rows and two columns of tokens: the rows of the table are (Δrow, Δcolumn) from (−2, −1) to (2, 1).
OFFSETS = [(rows, columns) for rows in range(-2, 3) for columns in range(-1, 2)]
CELLS = [(row, column) for row in range(3) for column in range(2)]
TABLE = np.array([[100 * rows + columns, 0.5] for rows, columns in OFFSETS])
EXPECTED = [[100 * (row - key_row) + column - key_column for key_row, key_column in CELLS] for row, column in CELLS]


def test_a_grid_has_a_number_for_each_difference_of_rows_and_columns() -> None:
    found = grid_bias(np.arange(6), np.arange(6), 2, table=TABLE, height=3, width=2)
    assert found[0].tolist() == EXPECTED
    assert (found[1] == 0.5).all()


def test_a_block_of_a_grid_is_part_of_it() -> None:
    found = grid_bias(np.array([5, 1]), np.array([2, 3]), table=TABLE[:, :1], height=3, width=2)
    assert found.tolist() == [EXPECTED[5][2:4], EXPECTED[1][2:4]]


def test_a_class_token_has_three_numbers_of_its_own() -> None:
    table = np.concatenate([TABLE, [[7, 0], [8, 0], [9, 0]]])
    found = grid_bias(np.arange(7), np.arange(7), 2, table=table, height=3, width=2, class_token=True)[0]
    assert found[0].tolist() == [9, *[7] * 6]  # to itself, to the others
    assert found[1:, 0].tolist() == [8] * 6
    assert found[1:, 1:].tolist() == EXPECTED


def test_a_grid_is_square_unless_it_has_a_width() -> None:
    table = np.arange(9.0)[:, None]
    square = grid_bias(np.arange(4), np.arange(4), table=table, height=2)
    assert square.tolist() == [[4, 3, 1, 0], [5, 4, 2, 1], [7, 6, 4, 3], [8, 7, 5, 4]]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"table": np.ones((9, 1)), "height": 2, "class_token": True},
            "table: has 9 rows; expected 12: 3 · 3 of a grid of 2 × 2 cells and 3 of the class token",
        ),
        (
            {"table": np.ones((3, 1)), "height": 1, "width": 2},
            "a grid of 1 × 2 has 2 cells; there are 4 tokens; class_token: true is for one token before them",
        ),
        ({"table": np.ones((9, 3)), "height": 2}, "table has 3 query heads \\(h\\); there is one head"),
    ],
    ids=["rows", "cells", "heads"],
)
def test_a_table_or_tokens_that_do_not_fit_the_grid_are_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(AttnError, match=message):
        attention(np.ones((4, 2)), np.ones((4, 2)), position={"grid_bias": parameters})
