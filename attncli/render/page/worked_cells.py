"""The arithmetic of steps whose function the page does not have: the program's own lines for each of their cells."""

import math
from collections.abc import Sequence
from typing import Any

from attncli.base.axes import COUNTED_FROM_0
from attncli.base.lazy_numpy import np
from attncli.plan.trace import AxisPositions, Step, Trace, add_dependent_axes
from attncli.problem.results import WEIGHTS
from attncli.render.by_hand import has_lines, lines
from attncli.render.page.functions import computing_function, page_functions
from attncli.render.page.limits import WORKED_CELLS
from attncli.render.view import View

_CELL_AXES = (*COUNTED_FROM_0, "n", "m", "k", "p")  # the axes in whose positions the lines of a step differ


def worked_cells(view: View, steps: Sequence[Step]) -> tuple[dict[str, Any], str]:
    """The lines of the steps whose function the page does not have, by name, and a sentence where they are too many.

    `lines` of a step has those of each cell, in the order of rows over the step's `axes` that are named.
    """
    missing = [step for step in steps if _is_missing(step)]
    count = sum(math.prod(length for _, length in _axes(step)) for step in missing)
    if count > WORKED_CELLS:
        names = ", ".join(step.name for step in missing)
        return {}, f"The arithmetic of {names} is left out: {count:,} cells, and a page has up to {WORKED_CELLS:,}."
    worked = {step.name: _worked(view, step) for step in missing}
    return {name: cells for name, cells in worked.items() if any(cells["lines"])}, ""


def _is_missing(step: Step) -> bool:
    """Whether a function computes a step that the page does not have, and the program works out its cells."""
    name = computing_function(step.node)
    return name is not None and name not in page_functions() and has_lines(step)


def _axes(step: Step) -> list[tuple[str, int]]:
    """The letters and lengths of the axes of a step in which its lines differ."""
    return [(letter, size) for letter, size in zip(step.axes, step.value.shape, strict=True) if letter in _CELL_AXES]


def _worked(view: View, step: Step) -> dict[str, Any]:
    """The lines of each cell of a step."""
    trace, axes = view.result.trace, _axes(step)
    shape = tuple(size for _, size in axes)
    cells = [dict(zip((letter for letter, _ in axes), at, strict=True)) for at in np.ndindex(shape)]
    return {
        "axes": [letter for letter, _ in axes],
        "lines": [lines(view, step, _positions(trace, cell)) for cell in cells],
    }


def _positions(trace: Trace, cell: AxisPositions) -> AxisPositions:
    """The positions of a query, a key and a head whose arithmetic goes through a cell."""
    positions = {"n": 0, "m": 0, **dict.fromkeys(trace[WEIGHTS].axes[:-2], 0), **cell}
    past, heads = len(trace.labels["p"]), trace.plan.axis_length("h")
    if "p" in cell:
        positions["m"] = cell["p"]
    if "k" in cell:
        positions["m"] = past + cell["k"]
    if "g" in cell:
        positions["h"] = cell["g"] * heads // trace.plan.axis_length("g")
    return add_dependent_axes(trace, positions)
