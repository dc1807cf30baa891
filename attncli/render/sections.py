"""The content of a view, independent of its format: a title, grids and arithmetic for each quantity, in order."""

from collections.abc import Iterator
from dataclasses import replace

from attncli.render.change_marks import mark_grids
from attncli.render.explanation import explain, is_left_out, worked_cells
from attncli.render.focus import worked_positions
from attncli.render.grid import Grid
from attncli.render.mask_signs import VISIBLE_STEP, sign_grids
from attncli.render.section import Section
from attncli.render.selection import selected_grids
from attncli.render.statistics import statistics_section
from attncli.render.view import View
from attncli.render.worked_lines import worked_lines
from attncli.trace.positions import add_dependent_axes


def sections(view: View) -> Iterator[Section]:
    """A section for each step to explain, for each step that the chosen cells are computed in, or for each result.

    The statistics of the weights come last.
    """
    if view.explain:
        yield from explain(view)
    else:
        yield from _worked_cells(view) if view.cells else _selection(view)
    if view.statistics:
        yield statistics_section(view)


def _selection(view: View) -> Iterator[Section]:
    """The selected results."""
    trace = view.result.trace
    for name in view.result.select:
        is_last = name == view.result.select[-1]
        step_grids = _selected_grids(view, name)
        if view.before is not None and name in view.before.trace:
            step_grids = mark_grids(step_grids, _selected_grids(replace(view, result=view.before), name))
        remarks = (view.remark,) if is_last and view.remark else ()
        yield Section(name, tuple(step_grids), formula=trace.same_as(name), remarks=remarks)


def _selected_grids(view: View, name: str) -> Iterator[Grid]:
    """The tables of what is selected of a result; those of a mask are of signs."""
    trace = view.result.trace
    step = trace[name]
    if step.name == VISIBLE_STEP:
        return sign_grids(trace, step, add_dependent_axes(trace, dict(view.positions)))
    return selected_grids(view, step)


def _worked_cells(view: View) -> Iterator[Section]:
    """The arithmetic of cells in each step, without tables: the cells, then a section for each step that has any."""
    trace, worked = view.result.trace, worked_positions(view)
    yield worked_cells(view, worked)
    needed = trace.plan.needed_for(view.result.select)
    for step in trace.computed:
        if step.name not in needed or is_left_out(trace, step):
            continue
        arithmetic = worked_lines(view, step, worked)
        if arithmetic:
            yield Section(step.name, symbol=step.symbol, formula=step.formula, arithmetic=arithmetic)
