"""The one query, key, head and batch item that an explanation follows through all steps."""

from attncli.base.lazy_numpy import np
from attncli.render.view import View
from attncli.trace.steps import Trace

Place = dict[str, int]


def focus(view: View) -> Place:
    """The cell that is worked out by hand: the one asked for, or the largest weight there is."""
    trace = view.result.trace
    weights = trace["weights"]
    wanted = dict(view.chosen)
    if view.cell is not None:
        wanted |= {"n": view.cell[0], "m": view.cell[1]}
    kept = tuple(slice(wanted[x], wanted[x] + 1) if x in wanted else slice(None) for x in weights.axes)
    value = weights.value[kept]
    largest = np.unravel_index(int(np.nanargmax(np.where(np.isnan(value), -np.inf, value))), value.shape)
    return along(trace, dict(zip(weights.axes, map(int, largest), strict=True)) | wanted)


def along(trace: Trace, at: Place) -> Place:
    """The place with the axes that follow from it: the key head of a query head, the new key or the cached one."""
    found = dict(at)
    if "h" in at:
        found["g"] = at["h"] * _count(trace, "g") // max(_count(trace, "h"), 1)
    if "m" in at:
        past = len(trace.labels["p"])
        found["m+1"] = at["m"]
        found["p" if at["m"] < past else "k"] = at["m"] if at["m"] < past else at["m"] - past
    return found


def _count(trace: Trace, letter: str) -> int:
    """How long an axis is, where a step has it."""
    sizes = [step.value.shape[step.axes.index(letter)] for step in trace.steps if letter in step.axes]
    return max(sizes, default=0)
