"""The content of a view, independent of its format: a title, grids and arithmetic for each quantity, in order."""

from collections.abc import Iterator
from dataclasses import replace

from attncli.render.before_after import changed_steps, lines_of_both, section_of_edits
from attncli.render.explanation import explain, is_left_out, worked_cells
from attncli.render.focus import worked_positions
from attncli.render.section import Section
from attncli.render.selected_tables import selected_tables
from attncli.render.view import View
from attncli.render.worked_lines import worked_lines


def sections(view: View) -> Iterator[Section]:
    """A section for each step to explain, for each step that the chosen cells are computed in, or for each result.

    Where single numbers of the problem were set it is said first, and results are shown before and after. The
    statistics of the weights and the data fit come last.
    """
    if view.edited_cells:
        yield section_of_edits(view)
    yield from _content(view)
    if view.statistics:
        from attncli.render.statistics import statistics_section  # noqa: PLC0415 - only `--stats` needs it

        yield statistics_section(view)
    if view.curve:
        from attncli.render.data_fit_section import data_fit_section  # noqa: PLC0415 - only `--curve` needs it

        yield data_fit_section(view)


def _content(view: View) -> Iterator[Section]:
    """The sections of an explanation, of worked cells or of results."""
    if view.explain:
        return explain(view)
    if view.cells:
        return _worked_cells(view)
    return changed_steps(view) if view.edited_cells else _selection(view)


def _selection(view: View) -> Iterator[Section]:
    """The selected results."""
    trace = view.result.trace
    for name in view.result.select:
        is_last = name == view.result.select[-1]
        remarks = (view.remark,) if is_last and view.remark else ()
        yield Section(name, tuple(selected_tables(view, name)), formula=trace.same_as(name), remarks=remarks)


def _worked_cells(view: View) -> Iterator[Section]:
    """The arithmetic of cells in each step, without tables: the cells, then a section for each step that has any.

    Where numbers were set it is that before and after.
    """
    trace, worked = view.result.trace, worked_positions(view)
    yield worked_cells(view, worked)
    needed = trace.plan.needed_for(view.result.select)
    for step in trace.computed:
        if step.name not in needed or is_left_out(trace, step):
            continue
        arithmetic = worked_lines(view, step, worked)
        if view.edited_cells and view.before is not None and step.name in view.before.trace:
            view_before, step_before = replace(view, result=view.before), view.before.trace[step.name]
            arithmetic = lines_of_both(worked_lines(view_before, step_before, worked), arithmetic)
        if arithmetic:
            yield Section(step.name, symbol=step.symbol, formula=step.formula, arithmetic=arithmetic)
