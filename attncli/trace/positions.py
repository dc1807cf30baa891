"""Positions on axes: those that follow from others, and the part of a step that they select."""

from collections.abc import Mapping
from types import EllipsisType

from attncli.base.lazy_numpy import Array
from attncli.trace.steps import Step, Trace

AxisPositions = dict[str, int]  # the position on each axis, by the letter of the axis


def add_dependent_axes(trace: Trace, positions: AxisPositions) -> AxisPositions:
    """The positions, with those that follow from them.

    A selected query n is a row q of its sequence; a query head h has its key head g; a key m is either the cached key p
    or the new key k, and it is m + 1 behind a sink.
    """
    completed = dict(positions)
    if "n" in positions and trace.selected_queries is not None:
        completed["q"] = trace.selected_queries[positions["n"]]
    if "h" in positions:
        completed["g"] = positions["h"] * trace.plan.axis_length("g") // max(trace.plan.axis_length("h"), 1)
    if "m" in positions:
        key, past_count = positions["m"], len(trace.labels["p"])
        completed["m+1"] = key
        completed["p" if key < past_count else "k"] = key if key < past_count else key - past_count
    return completed


def value_at(trace: Trace, step: Step, positions: Mapping[str, int]) -> Array:
    """The value of a step at some positions, whose axes are kept, of length 1; whole where the step lacks the axes."""
    index: tuple[slice | EllipsisType, ...] = (..., *slices_at(trace, step, positions))
    return step.value[index]  # by the ellipsis an array, also where the step has no axes


def slices_at(trace: Trace, step: Step, positions: Mapping[str, int]) -> tuple[slice, ...]:
    """The selected part of each axis of a step."""
    completed = add_dependent_axes(trace, dict(positions))
    axes = zip(step.axes, step.value.shape, strict=True)
    return tuple(slice_at(letter, size, completed) for letter, size in axes)


def weight_rows_at(trace: Trace, positions: Mapping[str, int]) -> tuple[slice, ...]:
    """The selected part of the axes [… n] of the rows of weights, whether or not the trace has kept the weights."""
    completed = add_dependent_axes(trace, dict(positions))
    return tuple(slice_at(letter, size, completed) for letter, size in trace.plan["weights"].axes[:-1])


def slice_at(letter: str, size: int, positions: AxisPositions) -> slice:
    """The selected part of an axis; of one of length 1, which broadcasts, all of it."""
    if letter not in positions or size == 1:
        return slice(None)
    return slice(positions[letter], positions[letter] + 1)
