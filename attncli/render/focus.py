"""The one query, key, head and batch item that an explanation computes by hand in every step."""

from attncli.base.lazy_numpy import np
from attncli.render.view import View
from attncli.trace.steps import Trace

AxisPositions = dict[str, int]  # the position on each axis, by the letter of the axis


def focus_positions(view: View) -> AxisPositions:
    """The positions of the cell that is computed by hand: those of the view, elsewhere those of the largest weight."""
    trace = view.result.trace
    weights = trace["weights"]
    requested = dict(view.positions)
    if view.cell is not None:
        requested |= {"n": view.cell[0], "m": view.cell[1]}
    index = tuple(slice(requested[x], requested[x] + 1) if x in requested else slice(None) for x in weights.axes)
    value = weights.value[index]
    largest = np.unravel_index(int(np.nanargmax(np.where(np.isnan(value), -np.inf, value))), value.shape)
    return add_dependent_axes(trace, dict(zip(weights.axes, map(int, largest), strict=True)) | requested)


def add_dependent_axes(trace: Trace, positions: AxisPositions) -> AxisPositions:
    """The positions, with those that follow from them.

    A query head h has its key head g; a key m is either the cached key p or the new key k, and it is m + 1 behind a
    sink.
    """
    completed = dict(positions)
    if "h" in positions:
        completed["g"] = positions["h"] * trace.plan.axis_length("g") // max(trace.plan.axis_length("h"), 1)
    if "m" in positions:
        key, past_count = positions["m"], len(trace.labels["p"])
        completed["m+1"] = key
        completed["p" if key < past_count else "k"] = key if key < past_count else key - past_count
    return completed
