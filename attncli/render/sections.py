"""The document of a view: its results, an explanation or worked cells, after the edits."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from attncli.base.lazy_numpy import np
from attncli.base.text import count_of, escape_control
from attncli.numbers.formatting import decimal
from attncli.plan.trace import RunResult, Step, Trace
from attncli.problem.edits import EditedCell
from attncli.render.by_hand import worked_cells, worked_lines, worked_positions
from attncli.render.document import LABEL_END, LABEL_START, LEGEND, Document, Grid, Section, with_decimal_sign
from attncli.render.explanation import equality_remarks, explain, is_left_out
from attncli.render.rows import changed
from attncli.render.tables import selected_tables
from attncli.render.view import View

MAX_NUMBERS = 8  # numbers of a whole row or column that the line about edits has


def document_of(view: View) -> Document:
    """The document of a view."""
    document = Document(
        sections(view),
        view.decimals,
        view.heading,
        view.title,
        has_heatmaps=view.heatmap,
        are_matrices=view.matrices,
        has_captions=not (view.explain or view.cells or view.edited_cells),
    )
    return with_decimal_sign(document, view.result.trace.problem)


def marked_document_of(view: View) -> Document:
    """The document of a view, with its labels between LABEL_START and LABEL_END."""
    before = None if view.before is None else with_marked_labels(view.before)
    return document_of(replace(view, result=with_marked_labels(view.result), before=before))


def with_marked_labels(result: RunResult) -> RunResult:
    """The result with its labels between marks, so that readers can parse arithmetic with labels."""
    labels = {
        letter: tuple(f"{LABEL_START}{escape_control(label)}{LABEL_END}" for label in labels)
        for letter, labels in result.trace.labels.items()
    }
    return RunResult(replace(result.trace, given_labels=labels), result.select)


def sections(view: View) -> Iterator[Section]:
    """A section for each step to explain, for each step of the worked cells, or for each result.

    Edits of single numbers come first, with results before and after. The statistics of the weights, the largest keys
    and the data fit come last.
    """
    if view.edited_cells:
        yield section_of_edits(view)
    for section in _content(view):
        grids = tuple(grid.change for grid in section.grids) if view.changes else section.grids
        grids = tuple(grid.with_keys_down for grid in grids) if view.transpose else grids
        yield section if grids is section.grids else replace(section, grids=grids)
    if view.statistics:
        yield from _statistics(view)
    if view.top:
        from attncli.render.statistics import largest_keys_section  # noqa: PLC0415 - only `--top` needs it

        yield largest_keys_section(view)
    if view.curve:
        from attncli.render.data_fit import data_fit_section  # noqa: PLC0415 - only `--curve` needs it

        yield data_fit_section(view)


def _statistics(view: View) -> Iterator[Section]:
    """The statistics of the visible keys, if they are selected, and of the weights."""
    from attncli.render import visible_statistics as visible  # noqa: PLC0415 - only `--stats` needs it

    if visible.has_visible_statistics(view):
        yield visible.visible_section(view)
    if visible.has_weight_statistics(view):
        from attncli.render.statistics import statistics_section  # noqa: PLC0415 - only `--stats` needs it

        yield statistics_section(view)


def _content(view: View) -> Iterator[Section]:
    """The sections of an explanation, of worked cells or of results."""
    if view.explain:
        return explain(view, _named_steps(view))
    if view.cells:
        return _worked_cells(view)
    return changed_steps(view) if view.edited_cells else _selection(view)


def _named_steps(view: View) -> set[str]:
    """The steps that the view names, or earlier steps identical to them."""
    return {shown_step(view.result.trace, name).name for name in view.step_names}


def _selection(view: View) -> Iterator[Section]:
    """The selected results."""
    trace = view.result.trace
    for name in view.result.select:
        is_last = name == view.result.select[-1]
        remarks = tuple(filter(None, (*trace.problem.drawn_sentence, view.remark))) if is_last else ()
        yield Section(name, tuple(selected_tables(view, name)), formula=trace.same_as(name), remarks=remarks)


def _worked_cells(view: View) -> Iterator[Section]:
    """The arithmetic of cells in each step, without tables: the cells, then a section for each step that has any.

    Edits show the arithmetic before and after. Named steps omit the line of cells, unless only one of several heads or
    batch items is shown.
    """
    trace, worked = view.result.trace, worked_positions(view)
    named = _named_steps(view)
    if not named or len(trace.plan.pair_axes) > len(("n", "m")):
        yield worked_cells(view, worked)
    needed = named or trace.plan.needed_for(view.result.select)
    for step in trace.computed:
        if step.name not in needed or is_left_out(trace, step):
            continue
        arithmetic = worked_lines(view, step, worked)
        if view.edited_cells and view.before is not None and step.name in view.before.trace:
            view_before, step_before = replace(view, result=view.before), view.before.trace[step.name]
            arithmetic = lines_of_both(worked_lines(view_before, step_before, worked), arithmetic)
        if arithmetic or named:
            yield Section(step.name, symbol=step.symbol, formula=step.formula, arithmetic=arithmetic)


def section_of_edits(view: View) -> Section:
    """The edits, and which steps on the way to the results changed and which did not."""
    title = edits_text(view.edited_cells, view.decimals)
    if not view.result.select:  # a curve alone
        return Section(title)
    titles = _titles(view)
    named = [(titles.get(step.name, step.name), has_changed(view, step)) for step in _steps(view)]
    changed_names, same_names = ([name for name, differs in named if differs is wanted] for wanted in (True, False))
    remarks = [f"changed: {', '.join(changed_names) or 'nothing'}"]
    remarks += [f"the same: {', '.join(same_names)}"] if same_names else []
    has_tables = not view.changes and (view.explain or not view.cells)
    remarks += [LEGEND] if changed_names and has_tables else []
    return Section(title, remarks=tuple(remarks))


def changed_steps(view: View) -> Iterator[Section]:
    """A section for each step that changed, and for each selected result: its tables before and after.

    The default results include every step on the way to them; others are alone.
    """
    trace = view.result.trace
    titles = _titles(view)
    is_default = tuple(view.result.select) == trace.problem.default_selection
    for step in _steps(view):
        differs = has_changed(view, step)
        if step.name not in titles and not (is_default and differs):
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
    """A table of one of several slices; its label says if nothing in it changed."""
    if table.before is not None or not table.slice_label or table.changes is None:
        return table
    return replace(table, slice_label=f"{table.slice_label}, the same before and after")


def lines_of_both(before: Sequence[str], after: Sequence[str]) -> tuple[str, ...]:
    """The worked lines of a step before and after a change, or once if they are the same."""
    if tuple(before) == tuple(after) or not before:
        return tuple(after)
    return ("before:", *before, "after:", *after)


def has_changed(view: View, step: Step) -> bool:
    """Whether a step has other numbers than before, or is new."""
    assert view.before is not None
    if step.name not in view.before.trace:
        return True
    before = view.before.trace[step.name].value
    return before.shape != step.value.shape or bool(changed(before, step.value).any())


def _steps(view: View) -> Sequence[Step]:
    """The kept steps on the way to the selected results, without uninformative ones, and the selected results."""
    trace = view.result.trace
    needed = trace.plan.needed_for(view.result.select)
    shown = {step.name for step in trace.computed if step.name in needed and not is_left_out(trace, step)}
    shown |= _titles(view).keys()
    return [step for step in trace.steps if step.name in shown]


def shown_step(trace: Trace, name: str) -> Step:
    """The step of a result; if that repeats an earlier step, the earlier one, if it was kept."""
    step = trace[name]
    while is_left_out(trace, step) and (source := step.inputs.get("x")) in trace.by_name:
        step = trace.by_name[str(source)]
    return step


def _titles(view: View) -> Mapping[str, str]:
    """The title of each step that shows a selected result: the result's name if it repeats the step, or the step's."""
    trace = view.result.trace
    shown = {name: shown_step(trace, name).name for name in view.result.select}
    own = {step: step for step in shown.values()}
    return own | {step: name for name, step in shown.items() if is_left_out(trace, trace[name])}


def edits_text(cells: Iterable[EditedCell], decimals: int) -> str:
    """Each edited cell with its number before and after; for a row or column its numbers, or their count.

    >>> edits_text([EditedCell("w_q[0,1]", 0.0, 3.0), EditedCell("w_q[*,2]", [1.0, 0.25], 0.0)], 4)
    'set w_q[0,1]: 0 → 3; w_q[*,2]: 1 0.25 → 0'
    """
    edits = (f"{cell.cell}: {_numbers(cell.before, decimals)} → {_numbers(cell.after, decimals)}" for cell in cells)
    text = "; ".join(edits)
    return f"set {text}" if text else ""


def _numbers(value: Any, decimals: int) -> str:
    """One number, or several separated by spaces."""
    numbers = np.asarray(value).ravel()
    if numbers.size > MAX_NUMBERS:
        return count_of(numbers.size, "number")
    return " ".join(decimal(float(number), decimals) for number in numbers)
