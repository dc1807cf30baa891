"""Buffers that a thread reuses: rows of tables that would push each other out of the caches have gaps between them."""

import numpy as np
import pytest

from attncli.engine.scratch import CONFLICTING, SCRATCH


@pytest.mark.parametrize("columns", [CONFLICTING // 2, CONFLICTING, CONFLICTING + 1, 3 * CONFLICTING])
def test_no_row_of_a_table_begins_at_the_same_place_of_the_caches_as_the_one_before(columns: int) -> None:
    with SCRATCH.in_use():
        table = SCRATCH.get_table("scores", (2, 3, columns), "float32")
        table[...] = np.arange(table.size).reshape(table.shape)
        assert table.shape == (2, 3, columns)
        assert table.strides[-2] % (4 * CONFLICTING) != 0
        np.testing.assert_array_equal(table.ravel(), np.arange(table.size, dtype="float32"))


def test_a_table_takes_the_memory_of_the_one_before() -> None:
    with SCRATCH.in_use():
        first = SCRATCH.get_table("scores", (4, CONFLICTING), "float32")
        assert np.shares_memory(first, SCRATCH.get_table("scores", (4, 7), "float32"))
