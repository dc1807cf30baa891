"""Readings: the shapes that mean the same as that of a step, and how an array of such a shape gets the step's axes."""

from collections.abc import Iterator, Mapping

from attncli.base.axes import Letters, format_lengths
from attncli.base.dataclasses import dataclass
from attncli.base.lazy_numpy import Array, np
from attncli.plan.graph import Axes, Axis
from attncli.problem.layout import Layout

ROWS, FEATURES = ("n", "q", "m", "k", "p"), ("d", "c", "e")

Part = Mapping[str, int]  # the one head and the one batch item that are checked, by the letters of their axes


@dataclass(frozen=True)
class Reading:
    """Axes that an array may have in place of a step's, by which operation it gets those of the step.

    `step_axes` are those that it has afterwards: they are shorter than the step's where a part is given alone, longer
    where queries are given that are not computed.
    """

    axes: Axes
    step_axes: Axes
    operation: str = "none"  # or "split", "merge", "swap", "swap and merge"

    def to_step(self, x: Array) -> Array:
        """An array of this reading with the axes of the step."""
        x = x.reshape([axis.length for axis in self.axes])
        if self.operation == "split":
            heads = self.step_axes[-3].length
            x = x.reshape(*x.shape[:-1], heads, x.shape[-1] // heads)
        if self.operation in ("split", "swap", "swap and merge"):
            x = x.swapaxes(-2, -3)
        return x.reshape([axis.length for axis in self.step_axes])

    def remark(self, shape: tuple[int, ...]) -> str:
        """How an array of a shape was read, in a sentence; empty where it has the axes of the step."""
        if shape == tuple(axis.length for axis in self.step_axes):
            return ""
        lengths, letters = format_lengths(shape), " ".join(axis.letter for axis in self.step_axes)
        if self.operation == "none":
            return f"{lengths} numbers are read as {format_lengths(axis.length for axis in self.step_axes)} [{letters}]"
        return f"{lengths} numbers are read as [{' '.join(axis.letter for axis in self.axes)}] of [{letters}]"


def find_reading(shape: tuple[int, ...], readings: Iterator[Reading]) -> Reading | None:
    """The first reading of the same lengths, axes of length 1 apart."""
    lengths = [size for size in shape if size != 1]
    return next((r for r in readings if lengths == [a.length for a in r.axes if a.length != 1]), None)


def readings_of(axes: Axes, layout: Layout, part: Part, query_count: int) -> Iterator[Reading]:
    """The readings of a step, the likeliest first: all of it, every query, the part that is checked alone.

    `query_count` is how many queries there are, with those that are not computed.
    """
    alone = [
        tuple(axis._replace(length=1) if axis.letter in letters and axis.letter in part else axis for axis in axes)
        for letters in ((), ("b",), ("h", "g"), ("b", "h", "g"))
    ]
    for some in dict.fromkeys(alone):
        every = tuple(axis._replace(length=query_count) if axis.letter == "n" else axis for axis in some)
        for step_axes in dict.fromkeys((some, every)):
            yield Reading(step_axes, step_axes)
            yield from _with_other_heads(step_axes, layout)


def _with_other_heads(axes: Axes, layout: Layout) -> Iterator[Reading]:
    """The readings in which the heads have another place: on an axis of their own, or side by side."""
    letters: Letters = tuple(axis.letter for axis in axes)
    if not layout.has_heads or len(axes) < 2 or letters[-2] not in ROWS or letters[-1] not in FEATURES:
        return
    *before, rows, features = axes
    if before and before[-1].letter in ("h", "g"):
        heads = before.pop()
        joined = Axis(f"{heads.letter}·{features.letter}", heads.length * features.length)
        yield Reading((*before, rows, joined), axes, "split")
        yield Reading((*before, rows, heads, features), axes, "swap")
        return
    count = layout.heads if rows.letter in ("n", "q") else layout.kv_heads
    if features.length % count == 0:
        heads = Axis("h" if count == layout.heads else "g", count)
        one = features._replace(length=features.length // count)
        yield Reading((*before, heads, rows, one), axes, "swap and merge")
        yield Reading((*before, rows, heads, one), axes, "merge")


def place(x: Array, reading: Reading, axes: Axes, part: Part, selected: list[int] | None, fill: float | bool) -> Array:
    """An array with the axes of a reading's step in one with those of the step: its part, of the computed queries."""
    lengths = tuple(axis.length for axis in axes)
    index = [slice(None)] * len(axes)
    for at, (axis, own) in enumerate(zip(axes, reading.step_axes, strict=True)):
        if axis.letter == "n" and own.length != axis.length and selected is not None:
            x = x.take(selected, axis=at)
        elif own.length != axis.length:
            index[at] = slice(part[axis.letter], part[axis.letter] + 1)
    if x.shape == lengths:
        return x
    whole = np.full(lengths, fill, dtype=x.dtype)
    whole[tuple(index)] = x
    return whole
