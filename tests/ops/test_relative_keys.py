"""Relative keys: the row of a table that each distance has, and its product with the query."""

from typing import Any

import numpy as np
import pytest

from attncli import AttnError, attention
from attncli.ops.position_biases import relative_row, shaw


def test_a_relative_key_is_the_tables_row_for_the_distance() -> None:
    assert relative_row(np.array([-9, -2, -1, 0, 1, 2, 9]), 5).tolist() == [0, 0, 1, 2, 3, 4, 4]
    query, table = np.array([[1.0, 10], [2, 20]]), np.array([[1.0, 0], [0, 0], [0, 1]])
    found = shaw(query, np.array([0, 2]), np.array([0, 1, 2]), table=table)
    assert found.tolist() == [[0, 10, 10], [2, 2, 0]]


def test_a_table_may_reach_farther_to_one_side() -> None:
    assert relative_row(np.array([-9, -3, -1, 0, 1, 9]), rows=5, left=3).tolist() == [0, 0, 2, 3, 4, 4]
    assert relative_row(np.array([-1, 0, 1, 2]), rows=3, left=0).tolist() == [0, 0, 1, 2]
    table = np.array([[7.0, 0], [0, 0], [0, 1], [0, 2]])
    found = shaw(np.array([[1.0, 10]]), np.array([1]), np.arange(5), table=table, left=1)
    assert found.tolist() == [[7, 0, 10, 20, 20]]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"table": np.ones((4, 2))}, "position, table: has 4 rows; expected an odd number.*or give left"),
        ({"table": np.ones((4, 2)), "left": 4}, "position, left: 4 keys to the left .* need 5 rows; the table has 4"),
    ],
    ids=["an even number of rows", "too far to the left"],
)
def test_a_table_without_the_row_of_distance_0_is_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(AttnError, match=message):
        attention(np.ones((3, 2)), np.ones((3, 2)), position={"shaw": parameters})
