"""Cells of steps that are compared: whether the steps have the same axes, and the position and labels of a cell."""

from collections.abc import Mapping, Sequence
from typing import Any

from attncli.base.axes import COUNTED_FROM_0, format_lengths
from attncli.plan.trace import Step, Trace, slices_at


def shape_difference(first: Step, second: Step) -> str:
    """Why the numbers of two steps can't be compared one by one; "" where they can.

    Their lengths differ, or one has heads where the other has batch items. Features may have other letters: the output
    has those of values (e) without `w_o`, and its own (o) with it.
    """
    if first.value.shape != second.value.shape:
        return f"the shapes differ: {_shape_text(first)} and {_shape_text(second)}"
    axes = [[letter for letter in step.axes if letter in COUNTED_FROM_0] for step in (first, second)]
    if axes[0] != axes[1]:
        return f"the axes differ: [{' '.join(first.axes)}] and [{' '.join(second.axes)}]"
    return ""


def _shape_text(step: Step) -> str:
    """The lengths of the axes of a step: `3 × 4`."""
    return format_lengths(step.value.shape) or "one number"


def cell_of_index(trace: Trace, step: Step, index: Sequence[Any], positions: Mapping[str, int]) -> tuple[int, ...]:
    """The position of a cell in the whole step, from its index in the part at some positions."""
    parts = slices_at(trace, step, positions)
    return tuple((part.start or 0) + int(at) for part, at in zip(parts, index, strict=True))


def labels_of_cell(trace: Trace, step: Step, cell: Sequence[int]) -> tuple[str, ...]:
    """The label of a cell along each axis: `head 1`, `cat`, `sat`; equal ones with their number."""
    axes = range(-len(cell), 0)
    return tuple(trace.numbered_labels_of(step, axis)[at] for axis, at in zip(axes, cell, strict=True))
