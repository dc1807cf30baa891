"""The tables of a selected result or a step, with what changed since an earlier result marked."""

from collections.abc import Iterator
from dataclasses import replace

from attncli.plan.trace import add_dependent_axes
from attncli.render.change_marks import mark_grids
from attncli.render.grid import Grid
from attncli.render.hidden_cells import VISIBLE_STEP
from attncli.render.mask_signs import sign_grids
from attncli.render.selection import selected_grids
from attncli.render.view import View


def selected_tables(view: View, name: str) -> Iterator[Grid]:
    """The tables of what a view selects of a result or a step; where edits made the change, with those before."""
    tables = _tables(view, name)
    if view.before is None or name not in view.before.trace:
        return tables
    before = _tables(replace(view, result=view.before), name)
    return mark_grids(tables, before, are_beside=bool(view.edited_cells))


def _tables(view: View, name: str) -> Iterator[Grid]:
    """The tables of one result; those of a mask are of signs."""
    trace = view.result.trace
    step = trace[name]
    if step.name == VISIBLE_STEP:
        return sign_grids(trace, step, add_dependent_axes(trace, dict(view.positions)))
    return selected_grids(view, step)
