"""The content of a view, independent of its format: a title, grids and arithmetic for each quantity, in order."""

from collections.abc import Iterator

from attncli.render.explanation import explain, is_left_out, worked_cells
from attncli.render.focus import add_dependent_axes, worked_positions
from attncli.render.mask_signs import VISIBLE_STEP, sign_grids
from attncli.render.section import Section
from attncli.render.selection import selected_grids
from attncli.render.statistics import statistics_section
from attncli.render.view import View
from attncli.render.worked_lines import worked_lines


def sections(view: View) -> Iterator[Section]:
    """A section for each step to explain, for each step that the chosen cells are computed in, or for each result.

    The statistics of the weights come last.
    """
    if view.explain:
        yield from explain(view)
    else:
        yield from _worked_cells(view) if view.cells else _selection(view)
    if view.statistics is not None:
        yield statistics_section(view, view.statistics)


def _selection(view: View) -> Iterator[Section]:
    """The selected results."""
    trace, positions = view.result.trace, add_dependent_axes(view.result.trace, dict(view.positions))
    for name in view.result.select:
        step, is_last = trace[name], name == view.result.select[-1]
        is_mask = step.name == VISIBLE_STEP
        step_grids = sign_grids(trace, step, positions) if is_mask else selected_grids(view, step)
        remarks = (view.remark,) if is_last and view.remark else ()
        yield Section(name, tuple(step_grids), formula=trace.same_as(name), remarks=remarks)


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
