"""The part of a step that a view selects: one batch item, one head; the axis is kept, of length 1."""

from collections.abc import Iterator
from dataclasses import replace

from attncli.base.lazy_numpy import Array
from attncli.plan.trace import AxisPositions, Step, add_dependent_axes, slice_at, value_at
from attncli.render.grid import Grid, grids
from attncli.render.view import View


def selected_value(view: View, step: Step) -> Array:
    """The value of a step at the positions of the view; whole where the view selects none, or the step lacks the axis.

    The output, whose heads are merged, has no axis of heads: `--head` leaves it as it is.
    """
    return value_at(view.result.trace, step, view.positions)


def selected_labels(view: View, step: Step, axis: int) -> tuple[str, ...]:
    """The labels along an axis (counted from the end) of what is selected of a step."""
    labels = view.result.trace.labels_of(step, axis)
    return labels[slice_at(step.axes[axis], len(labels), _positions(view))] if labels else labels


def selected_grids(view: View, step: Step) -> Iterator[Grid]:
    """The grids of what is selected of a step."""
    positions = _positions(view)
    cuts_grid = not positions.keys().isdisjoint(step.axes[-2:])  # a vector of one number a head is a grid of all heads
    for grid in grids(view.result.trace, step, positions):
        if not cuts_grid:
            yield grid
            continue
        slices = [slice_at(letter, size, positions) for letter, size in _axes(step)[-2:]]
        rows, columns = slices if len(slices) == 2 else (slice(None), *slices)
        yield grid.select(range(len(grid.rows))[rows], range(len(grid.columns))[columns])


def selected_plain_grids(view: View, step: Step) -> Iterator[Grid]:
    """The grids of what is selected of a step with the tokens as they are, equal ones without a number."""
    rows, columns = (selected_labels(view, step, axis) for axis in (-2, -1))
    for grid in selected_grids(view, step):
        yield replace(grid, rows=rows or grid.rows, columns=columns or grid.columns)


def _axes(step: Step) -> list[tuple[str, int]]:
    """The letter and the length of each axis of a step."""
    return list(zip(step.axes, step.value.shape, strict=True))


def _positions(view: View) -> AxisPositions:
    """The positions of the view, of key heads too."""
    return add_dependent_axes(view.result.trace, dict(view.positions))
