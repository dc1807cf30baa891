"""Blocks: some batch items, heads and queries, and what of each array belongs to them."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from attncli.base.axes import Letters
from attncli.base.lazy_numpy import Array
from attncli.ops import structural as head_axis

TABLES = {"mask", "bias"}  # looked up by the indices of queries and keys: rows and columns stay whole
EVERYTHING = slice(None)


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

    def place(self, axes: Letters) -> tuple[slice, ...]:
        """Where the block is in an array with these axes."""
        along = {"b": self.items, "h": self.heads, "n": self.queries}
        return tuple(along.get(letter, EVERYTHING) for letter in axes)


@dataclass(frozen=True)
class Source:
    """An array that the steps of a block read, with the letters of its axes."""

    name: str
    value: Array
    axes: Letters

    @cached_property
    def asks(self) -> bool:
        """Whether it belongs to the queries, and a block needs its own rows alone."""
        return "n" in self._cut_along

    @cached_property
    def _cut_along(self) -> Letters:
        """The letters along which blocks differ."""
        wanted = "bhg" if self.name in TABLES else "bhgnm"
        return tuple(letter for letter in self.axes if letter in wanted)

    def typed(self, dtype: str) -> "Source":
        """The same with floating-point numbers in the type that is computed in."""
        value = typed(self.value, dtype)
        return self if value is self.value else Source(self.name, value, self.axes)

    def cut(self, block: Block, groups: int) -> Array:
        """What belongs to a block.

        `groups` query heads share a key head; the axis of key heads is then as long as that of query heads, or 1.
        """
        along = {"b": block.items, "h": block.heads, "n": block.queries}
        if "g" in self.axes:
            along["g"] = slice(block.heads.start // groups, (block.heads.stop - 1) // groups + 1)
        kept = self._cut_along
        index = [
            along.get(letter, EVERYTHING) if letter in kept and size > 1 else EVERYTHING
            for letter, size in zip(self.axes, self.value.shape, strict=True)
        ]
        found: Array = self.value[tuple(index)]
        several = "g" in self.axes and found.shape[self.axes.index("g")] > 1
        return head_axis.repeat_kv(found, heads=block.heads.stop - block.heads.start) if several else found

    @cached_property
    def before_keys(self) -> tuple[Any, ...] | None:
        """How the axes before the keys are taken, whole; None where there is no axis of keys, or none that is cut."""
        return (EVERYTHING,) * self.axes.index("m") if "m" in self._cut_along else None


def typed(x: Array, dtype: str) -> Array:
    """Floating-point numbers in another type."""
    return x.astype(dtype, copy=False) if x.dtype.kind == "f" else x


def blocks(lengths: Lengths, rows: int, keys: int, cells: int) -> Iterator[Block]:
    """All blocks of at most `rows` queries, which with so many keys have about so many cells, the last queries first.

    Heads that fit are taken together, those of one key head or of several whole ones; then batch items. Where masks
    hide what comes later, the last queries see most: the longest work begins first.
    """
    rows = min(rows, lengths.queries)
    wanted = max(cells // (rows * keys), 1)
    groups = lengths.heads // lengths.kv_heads
    heads = max(
        count
        for count in range(1, min(wanted, lengths.heads) + 1)
        if lengths.heads % count == 0 and (groups % count == 0 or count % groups == 0)
    )
    items = max(wanted // heads, 1) if heads == lengths.heads else 1
    for item in range(0, lengths.items, items):
        for head in range(0, lengths.heads, heads):
            for row in reversed(range(0, lengths.queries, rows)):
                yield Block(
                    slice(item, min(item + items, lengths.items)),
                    slice(head, head + heads),
                    slice(row, min(row + rows, lengths.queries)),
                )
