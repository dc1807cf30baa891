"""Blocks: which batch items, heads and queries are computed together."""

import numpy as np
import pytest

from attncli.engine.blocks import Block, Lengths, make_blocks


def cover(lengths: Lengths, rows: int, cells: int) -> tuple[list[Block], np.ndarray]:
    """The blocks, and how often each query of each head and batch item is in one."""
    found = list(make_blocks(lengths, rows, lengths.keys, cells))
    times = np.zeros((lengths.items, lengths.heads, lengths.queries), int)
    for block in found:
        times[block.items, block.heads, block.queries] += 1
    return found, times


@pytest.mark.parametrize("heads", [(1, 1), (6, 2), (6, 6), (6, 1)])
@pytest.mark.parametrize("rows", [1, 3, 7, 100])
@pytest.mark.parametrize("cells", [1, 50, 200, 10**6])
def test_every_query_is_in_one_block(heads: tuple[int, int], rows: int, cells: int) -> None:
    _, times = cover(Lengths(3, *heads, 7, 11), rows, cells)
    assert (times == 1).all()


def test_batch_items_and_heads_that_fit_are_one_block() -> None:
    found, _ = cover(Lengths(5, 4, 2, 40, 11), rows=100, cells=5 * 4 * 40 * 11)
    assert found == [Block(slice(0, 5), slice(0, 4), slice(0, 40))]


def test_heads_of_one_query_over_many_keys_are_blocks_of_their_own() -> None:
    """To read the keys is the work: workers share it head by head."""
    found, _ = cover(Lengths(1, 4, 4, 1, 1000), rows=100, cells=4 * 1000)
    assert [(block.heads.start, block.heads.stop) for block in found] == [(0, 1), (1, 2), (2, 3), (3, 4)]


def test_batch_items_and_heads_that_do_not_fit_are_several_blocks() -> None:
    found, _ = cover(Lengths(2, 3, 3, 7, 11), rows=100, cells=7 * 11)
    assert [(block.items.start, block.heads.start) for block in found] == [(b, h) for b in range(2) for h in range(3)]


def test_blocks_keep_the_query_heads_of_a_key_head_together() -> None:
    found, _ = cover(Lengths(1, 6, 2, 40, 11), rows=100, cells=4 * 40 * 11)
    assert [(block.heads.start, block.heads.stop) for block in found] == [(0, 3), (3, 6)]
