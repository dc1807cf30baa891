"""Blocks: ranges of batch items, heads and queries, and the part of each array that belongs to them."""

from collections.abc import Iterator
from dataclasses import replace
from math import gcd
from typing import Any

from attncli.base.axes import Letters
from attncli.base.dataclasses import dataclass
from attncli.base.dtypes import to_single
from attncli.base.lazy_numpy import Array, np
from attncli.ops.structural import repeat_kv

ALL = slice(None)
FEW_ROWS = 8  # blocks of fewer have as many heads as one of so many: reading the keys takes most of their time
MIN_BLOCKS = 2  # so that there is work for two workers
FEW_BLOCKS = 8  # of fewer, one that is left over takes much of the time


@dataclass(frozen=True)
class Lengths:
    """How many batch items, query heads, key heads, queries and keys there are."""

    items: int
    heads: int
    kv_heads: int
    queries: int
    keys: int


@dataclass(frozen=True)
class Block:
    """A range of batch items, of query heads and of queries."""

    items: slice
    heads: slice
    queries: slice

    def index(self, axes: Letters) -> tuple[slice, ...]:
        """The index of the block in an array with these axes."""
        along = {"b": self.items, "h": self.heads, "n": self.queries}
        return tuple(along.get(letter, ALL) for letter in axes)


@dataclass(frozen=True)
class BlockInput:
    """An array that the nodes of a block read, with the letters of its axes.

    A lookup table is read by the indices of queries and keys: its rows and columns stay whole. What `is_shared` is not
    repeated for the query heads that share a key head.
    """

    name: str
    value: Array
    axes: Letters
    is_lookup: bool = False
    is_shared: bool = False

    @property
    def has_query_axis(self) -> bool:
        """Whether the array has a query axis, and is sliced per block."""
        return "n" in self.axes and not self.is_lookup

    def astype(self, dtype: str) -> "BlockInput":
        """The same with floating-point numbers in another type."""
        value = astype_float(self.value, dtype)
        return self if value is self.value else replace(self, value=value)

    def as_shared(self) -> "BlockInput":
        """The same, not repeated for the query heads that share a key head."""
        return BlockInput(self.name, self.value, self.axes, self.is_lookup, is_shared=True)

    def slice_block(self, block: Block, groups: int) -> Array:
        """The part that belongs to a block.

        `groups` query heads share a key head; its keys are repeated for each of them, unless they are shared.
        """
        along = {"b": block.items, "h": block.heads, "n": block.queries}
        if "g" in self.axes:
            along["g"] = slice(block.heads.start // groups, (block.heads.stop - 1) // groups + 1)
        if self.is_lookup:
            del along["n"]
        index = [
            along.get(letter, ALL) if size > 1 else ALL
            for letter, size in zip(self.axes, self.value.shape, strict=True)
        ]
        part: Array = self.value[tuple(index)]
        several = not self.is_shared and "g" in self.axes and part.shape[self.axes.index("g")] > 1
        return repeat_kv(part, heads=block.heads.stop - block.heads.start) if several else part

    @property
    def index_before_keys(self) -> tuple[Any, ...] | None:
        """Full slices, one for each axis before the keys; None where no axis of keys is sliced."""
        return (ALL,) * self.axes.index("m") if "m" in self.axes and not self.is_lookup else None


def astype_float(x: Array, dtype: str) -> Array:
    """Floating-point numbers in another type; anything else as it is."""
    if x.dtype == np.float16 and dtype == "float32":
        return to_single(x)
    return x.astype(dtype, copy=False) if x.dtype.kind == "f" else x


def heads_that_fit(lengths: Lengths, most: int) -> int:
    """The number of query heads of a block, at most `most` if possible: of one key head, or of several whole ones."""
    groups = lengths.heads // lengths.kv_heads
    return max(
        (
            count
            for count in range(1, min(most, lengths.heads) + 1)
            if lengths.heads % count == 0 and (groups % count == 0 or count % groups == 0)
        ),
        default=1,
    )


def heads_of_items_that_fit(lengths: Lengths, most: int) -> int:
    """The number of query heads of a block, at most `most` if possible, those of all its batch items together."""
    heads = heads_that_fit(lengths, most)
    return heads * _items_that_fit(lengths, heads, most)


def _items_that_fit(lengths: Lengths, heads: int, most: int) -> int:
    """The number of batch items of a block of so many query heads: with theirs it has `most` at most, if possible."""
    return max(min(most // heads, lengths.items), 1) if heads == lengths.heads else 1


def _heads_at_once(lengths: Lengths, most: int, in_queries: int, min_blocks: int) -> int:
    """The number of query heads of a block, at most `most` if possible; fewer where that shares few blocks evenly.

    Each head has `in_queries` blocks; they are shared evenly where their number is a multiple of `min_blocks`. Heads
    that share keys stay together where there are few queries.
    """
    fitting = heads = heads_that_fit(lengths, most)
    fewest = lengths.heads // lengths.kv_heads if lengths.queries < FEW_ROWS else 1
    while fewest < heads < lengths.heads:
        blocks = lengths.items * in_queries * lengths.heads // heads
        if blocks >= FEW_BLOCKS or blocks % min_blocks == 0:
            return heads
        heads = heads_that_fit(lengths, heads - 1)
    return fitting


def _even_parts(count: int, most: int, multiple: int) -> Iterator[slice]:
    """Nearly equal parts of an axis, at most `most` long; their number is a multiple of `multiple` if that can be."""
    parts = min(multiple * -(-count // (multiple * most)), count)
    ends = [-(-count * number // parts) for number in range(parts + 1)]
    yield from map(slice, ends, ends[1:])


def make_blocks(
    lengths: Lengths, rows: int, keys: int, cells: int, *, all_heads: bool = False, min_blocks: int = MIN_BLOCKS
) -> Iterator[Block]:
    """All blocks of at most `rows` queries, which with `keys` keys have about `cells` cells, the last queries first.

    A block has as many heads as fit, those of one key head or of several whole ones; then batch items; but of several
    of these there are at least `min_blocks` blocks. Those of few queries have all query heads of a key head, if these
    fit: each block reads the keys anew. With causal masks the last queries have most keys: the blocks that take longest
    are first. With `all_heads` every block has all heads, and fewer queries instead.
    """
    rows = min(rows, lengths.queries)
    if all_heads:
        rows = max(min(rows, cells // (keys * lengths.heads)), 1)
    in_queries = -(-lengths.queries // rows)
    single_head_blocks = lengths.items * lengths.heads * in_queries
    most = max(cells // (max(rows, FEW_ROWS) * keys), min(lengths.heads // lengths.kv_heads, cells // (rows * keys)))
    most = max(min(most, single_head_blocks // min_blocks), 1)  # heads of all items
    heads = lengths.heads if all_heads else _heads_at_once(lengths, most, in_queries, min_blocks)
    items = _items_that_fit(lengths, heads, most)
    # So that each worker has as many blocks, and all of them as many items.
    for some_items in _even_parts(lengths.items, items, min_blocks // gcd(min_blocks, in_queries)):
        for head in range(0, lengths.heads, heads):
            for row in reversed(range(0, lengths.queries, rows)):
                yield Block(
                    some_items,
                    slice(head, head + heads),
                    slice(row, min(row + rows, lengths.queries)),
                )
