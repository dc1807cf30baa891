"""Results before and after edits: what was set, which steps changed by it, and the tables and worked lines of both."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from attncli.analysis.rows import changed
from attncli.plan.trace import Step, Trace
from attncli.render.change_marks import LEGEND
from attncli.render.edits_text import edits_text
from attncli.render.explanation import is_left_out
from attncli.render.grid import Grid
from attncli.render.section import Section
from attncli.render.selected_tables import selected_tables
from attncli.render.step_text import equality_remarks
from attncli.render.view import View


def section_of_edits(view: View) -> Section:
    """What was set, which of the steps that the results are computed from changed by it, and which did not."""
    title = edits_text(view.edited_cells, view.decimals)
    if not view.result.select:  # a curve alone
        return Section(title)
    titles = _titles(view)
    named = [(titles.get(step.name, step.name), has_changed(view, step)) for step in _steps(view)]
    changed_names, same_names = ([name for name, differs in named if differs is wanted] for wanted in (True, False))
    remarks = [f"changed: {', '.join(changed_names) or 'nothing'}"]
    remarks += [f"the same: {', '.join(same_names)}"] if same_names else []
    has_tables = view.explain or not view.cells
    remarks += [LEGEND] if changed_names and has_tables else []
    return Section(title, remarks=tuple(remarks))


def changed_steps(view: View) -> Iterator[Section]:
    """A section for each step that changed, and for each selected result: its tables before and after.

    Of the default results every step that they are computed from is among them, of others they alone.
    """
    trace = view.result.trace
    selected = _selected_steps(view)
    titles = _titles(view)
    is_default = tuple(view.result.select) == trace.problem.default_selection
    for step in _steps(view):
        differs = has_changed(view, step)
        if step.name not in selected and not (is_default and differs):
            continue
        remarks = list(equality_remarks(trace, step))
        if not differs:
            remarks.insert(0, "the same before and after")
        elif view.before is not None and step.name not in view.before.trace:
            remarks.insert(0, "before there was no such step")
        if view.remark and step.name == shown_step(trace, view.result.select[-1]).name:
            remarks.append(view.remark)
        tables = tuple(map(_with_label, selected_tables(view, step.name)))
        yield Section(titles.get(step.name, step.name), tables, step.symbol, step.formula, remarks=tuple(remarks))


def _with_label(table: Grid) -> Grid:
    """A table of one of several slices, which says so where nothing in it has changed."""
    if table.before is not None or not table.slice_label or table.changes is None:
        return table
    return replace(table, slice_label=f"{table.slice_label}, the same before and after")


def lines_of_both(before: Sequence[str], after: Sequence[str]) -> tuple[str, ...]:
    """The worked lines of a step before and after a change, or once where they are the same."""
    if tuple(before) == tuple(after) or not before:
        return tuple(after)
    return ("before:", *before, "after:", *after)


def has_changed(view: View, step: Step) -> bool:
    """Whether a step has other numbers than before, or was not there."""
    assert view.before is not None
    if step.name not in view.before.trace:
        return True
    before = view.before.trace[step.name].value
    return before.shape != step.value.shape or bool(changed(before, step.value).any())


def _steps(view: View) -> Sequence[Step]:
    """The kept steps that the selected results are computed from, without those that say nothing, and the selected."""
    trace = view.result.trace
    needed = trace.plan.needed_for(view.result.select)
    shown = {step.name for step in trace.computed if step.name in needed and not is_left_out(trace, step)}
    shown |= _selected_steps(view)
    return [step for step in trace.steps if step.name in shown]


def _selected_steps(view: View) -> frozenset[str]:
    """The names of the steps that show the selected results."""
    return frozenset(shown_step(view.result.trace, name).name for name in view.result.select)


def shown_step(trace: Trace, name: str) -> Step:
    """The step of a result; where that is the step before it unchanged, that one, as far as it was kept."""
    step = trace[name]
    while is_left_out(trace, step) and (source := step.inputs.get("x")) in trace.by_name:
        step = trace.by_name[str(source)]
    return step


def _titles(view: View) -> Mapping[str, str]:
    """The selected result that a step is titled as, where nothing but that step makes it: `output` of one head."""
    trace = view.result.trace
    return {shown_step(trace, name).name: name for name in view.result.select if is_left_out(trace, trace[name])}
