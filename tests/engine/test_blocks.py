"""Blocks: which batch items, heads and queries are computed together."""

import numpy as np
import pytest

from attncli.engine.blocks import Block, Lengths, key_bounds, make_blocks
from attncli.engine.blockwise import _rows
from attncli.engine.options import BlockSizes
from attncli.engine.run import is_large
from attncli.plan.build import plan_of
from tests.arrays import normal
from tests.problems import dense_trace, problem

ONE = slice(0, 1)


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


def test_batch_items_and_heads_that_fit_are_two_blocks() -> None:
    """So that two workers have a part each, though all of them would fit in one."""
    for lengths, parts in ((Lengths(6, 4, 2, 40, 11), (3, 4)), (Lengths(1, 8, 2, 40, 11), (1, 4))):
        found, _ = cover(lengths, rows=100, cells=6 * 4 * 40 * 11)
        sizes = [(block.items.stop - block.items.start, block.heads.stop - block.heads.start) for block in found]
        assert sizes == [parts, parts]


def test_a_single_head_is_one_block_and_queries_that_are_split_are_of_all_heads() -> None:
    assert cover(Lengths(1, 1, 1, 40, 11), rows=100, cells=40 * 11)[0] == [Block(ONE, ONE, slice(0, 40))]
    halves = cover(Lengths(1, 3, 3, 40, 11), rows=20, cells=3 * 20 * 11)[0]
    assert halves == [Block(ONE, slice(0, 3), slice(20, 40)), Block(ONE, slice(0, 3), slice(0, 20))]


def test_heads_of_one_query_over_many_keys_are_blocks_of_their_own() -> None:
    """To read the keys is the work: workers share it head by head."""
    found, _ = cover(Lengths(1, 4, 4, 1, 1000), rows=100, cells=4 * 1000)
    assert [(block.heads.start, block.heads.stop) for block in found] == [(0, 1), (1, 2), (2, 3), (3, 4)]


@pytest.mark.parametrize(
    ("key_heads", "fitting", "heads"),
    [(8, 8, 4), (8, 4, 4), (8, 3, 2), (8, 1, 1), (8, 64, 8), (8, 1000, 16), (5, 4, 4), (3, 4, 4)],
)
def test_heads_of_one_query_that_share_a_key_head_are_one_block_as_far_as_they_fit(
    key_heads: int, fitting: int, heads: int
) -> None:
    """The four of a key head, of which each block reads the keys; fewer where only so many fit, more of few keys."""
    found, times = cover(Lengths(1, 4 * key_heads, key_heads, 1, 1000), rows=100, cells=fitting * 1000)
    assert {block.heads.stop - block.heads.start for block in found} == {heads}
    assert (times == 1).all()


def test_batch_items_and_heads_that_do_not_fit_are_several_blocks() -> None:
    found, _ = cover(Lengths(2, 3, 3, 7, 11), rows=100, cells=7 * 11)
    assert [(block.items.start, block.heads.start) for block in found] == [(b, h) for b in range(2) for h in range(3)]


@pytest.mark.parametrize(
    ("items", "heads", "parts"),  # where five heads, or as many batch items of a head, fit in a block
    [
        (1, 12, [3, 3, 3, 3]),  # rather than three blocks of four
        (1, 9, [3, 3, 3]),  # of which two workers can't have as many
        (1, 5, [1, 1, 1, 1, 1]),
        (16, 1, [4, 4, 4, 4]),
        (11, 1, [3, 3, 3, 2]),
        (9, 1, [3, 2, 2, 2]),
        (14, 1, [4, 3, 4, 3]),
        (1, 48, [4] * 12),
    ],
)
def test_few_blocks_are_shared_evenly_by_two_workers(items: int, heads: int, parts: list[int]) -> None:
    found, times = cover(Lengths(items, heads, heads, 40, 11), rows=100, cells=5 * 40 * 11)
    lengths = [(block.items.stop - block.items.start) * (block.heads.stop - block.heads.start) for block in found]
    assert lengths == parts
    assert (times == 1).all()


@pytest.mark.parametrize(
    ("items", "heads", "queries", "most", "rows"),
    [
        (1, 1, 100, 60, 50),  # two blocks for two workers, of one head
        (1, 1, 100, 100, 50),
        (1, 1, 100, 49, 25),  # rather than three, of which one worker would have two
        (1, 1, 5, 60, 3),
        (1, 7, 32, 60, 16),  # many queries of few heads
        (1, 7, 31, 60, 31),  # few queries stay together
        (1, 8, 100, 100, 100),  # many heads are blocks enough
        (2, 4, 100, 49, 34),
    ],
)
def test_the_rows_of_a_block_are_shared_by_two_workers_where_heads_are_not(
    items: int, heads: int, queries: int, most: int, rows: int
) -> None:
    assert _rows(Lengths(items, heads, heads, queries, 50), most, min_blocks=2) == rows


def test_a_plan_is_computed_in_blocks_from_one_number_more_than_fits() -> None:
    """Of 3 queries and 5 keys there are 15 scores; the keys have 20 numbers."""
    plan = plan_of(problem(query=normal(3, 4), key=normal(5, 4)))
    for dense_cells, row_cells, is_in_blocks in ((15, 20, False), (14, 20, True), (15, 19, True)):
        assert is_large(plan, BlockSizes(dense_cells=dense_cells, row_cells=row_cells)) == is_in_blocks


def test_blocks_keep_the_query_heads_of_a_key_head_together() -> None:
    found, _ = cover(Lengths(1, 6, 2, 40, 11), rows=100, cells=4 * 40 * 11)
    assert [(block.heads.start, block.heads.stop) for block in found] == [(0, 3), (3, 6)]


def test_masks_together_bound_the_keys_of_a_block() -> None:
    """Queries 5 and 7 see keys 2 to 9 by the window and up to 7 by their order, and both of them 4 and 5."""
    trace = dense_trace(problem(query=normal(11, 4), key=normal(11, 4), window=(3, 2), causal=True, only=[5, 7]))
    values = {step.name: step.value for step in trace.steps}
    nodes = [step.node for step in trace.steps]
    bounds = key_bounds(nodes, values, 11)
    assert (bounds.any_visible, bounds.all_visible) == ((2, 8), (4, 6))
