"""The page of a check: the verdict, the reason, the map of errors of the first step that differs, its worst cell."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from attncli.base.axes import AXIS_NOUNS
from attncli.base.lazy_numpy import np
from attncli.checks.document import explanation_blocks, report_sections, short_verdict, summary_blocks, verdict
from attncli.checks.objects import NOTHING_GIVEN
from attncli.checks.quantity import quantity_blocks, worst_arithmetic, worst_cell_lines
from attncli.checks.report import CheckOutcome, CheckReport, QuantityCheck
from attncli.numbers.parsing import with_decimal_commas
from attncli.page.report_objects import block_objects, section_blocks, shared_content, table_object
from attncli.problem.fields import WEIGHTS
from attncli.render.document import Section, Statement, section_with_comma
from attncli.render.sections import edits_text
from attncli.render.tables import grids as tables_of_step
from attncli.render.tables import leading_slices

FORMAT = "attn.check_page/1"
MOST_NUMBERS = 200_000  # numbers of all maps of errors together: later maps are left out
MOST_TABLES = 40  # tables of one map


def check_page(outcomes: Sequence[CheckOutcome], left_out: Sequence[str], decimals: int) -> dict[str, Any]:
    """The object of the page.

    - `summary`: blocks of text: how many of several agree, and in which files nothing is expected.
    - `outcomes`: `name`, `state` (agrees, differs, failed, unanswered, unchecked), `line` (the verdict in a part of a
      line), `verdict`, and blocks of text: `edits`, `reason`, `quantities` (a line each), `report` (all of it).
    - `map` of an outcome: of the first step that differs its `name`, `are_weights`, `nouns`, `tables`, one for each
      slice in which a number differs, and `worst`: the position of its `table`, its `cell`, lines of text and of
      arithmetic. A table has `yours`, `correct` and `differs` in the order of rows; numbers that are not given are
      NaN, and `is_given` is null where all are. The map is null where there is none or no room.
    """
    name = outcomes[0].name if len(outcomes) == 1 else outcomes[0].file or f"{len(outcomes)} problems"
    files = {outcome.file for outcome in outcomes}
    title = f"Check of {name if len(files) == 1 else f'{len(outcomes)} problems'}"
    room = MOST_NUMBERS
    objects = []
    for outcome in outcomes:
        part = f"part {outcome.part}" if outcome.part.isdecimal() else outcome.part
        content: dict[str, Any] = {"name": part if part and len(files) == 1 else outcome.name}
        content |= _outcome_object(outcome, decimals, room)
        if content["map"] is not None:
            room -= sum(len(table["correct"]) for table in content["map"]["tables"])
        objects.append(content)
    is_one = len(outcomes) == 1 and not left_out
    return {
        "format": FORMAT,
        **shared_content(title, decimals),
        "summary": [] if is_one else list(block_objects(summary_blocks(outcomes, left_out))),
        "outcomes": objects,
    }


def _outcome_object(outcome: CheckOutcome, decimals: int, room: int) -> dict[str, Any]:
    """The object of a checked problem, whose map may have so many numbers."""
    report = outcome.report
    content: dict[str, Any] = {"edits": [], "map": None}
    if report is None:
        text = NOTHING_GIVEN if outcome.error is None else outcome.error.typed
        state = "unanswered" if outcome.is_unanswered else "failed"
        return {**content, "reason": [], "quantities": [], "report": [], "state": state, "line": text, "verdict": text}
    state = "unchecked" if not report.has_verdict else "agrees" if report.agrees else "differs"
    content |= {"state": state, "line": short_verdict(report), "verdict": f"{verdict(report)}."}
    if outcome.before is not None:
        before = f"; before: {short_verdict(outcome.before.report)}"
        content["edits"] = list(block_objects([Statement(edits_text(outcome.before.cells, decimals), before)]))
    has_comma = report.trace.problem.decimal_comma
    for name, section in _texts_of(report, decimals).items():
        content[name] = list(section_blocks(section_with_comma(own) if has_comma else own for own in section))
    if report.differing:
        content["map"] = _map_object(report, report.differing[0], decimals, room)
    return content


def _texts_of(report: CheckReport, decimals: int) -> Mapping[str, Sequence[Section]]:
    """The texts of a report by their names."""
    lines = (
        block
        for result in report.results
        for block in quantity_blocks(report, result, decimals)
        if isinstance(block, Statement)
    )
    return {
        "reason": [Section("", blocks=tuple(explanation_blocks(report)))],
        "quantities": [Section("", blocks=tuple(lines))],
        "report": list(report_sections(report, decimals)),
    }


@dataclass(frozen=True)
class _ErrorTable:
    """A slice of a quantity by its index on the leading axes: its count of wrong numbers, and its object."""

    index: tuple[int, ...]
    differ: int
    content: dict[str, Any]

    @property
    def size(self) -> int:
        """The size of the table."""
        return len(self.content["correct"])


def _map_object(report: CheckReport, result: QuantityCheck, decimals: int, room: int) -> dict[str, Any] | None:
    """The tables of a step with wrong numbers, or only the one with the worst cell; None without room for that."""
    assert result.worst is not None  # some number differs
    trace, position = report.trace, result.worst.position
    tables = list(_error_tables(report, result))
    shown = [table for table in tables if table.differ]
    if len(shown) > MOST_TABLES or sum(table.size for table in shown) > room:
        shown = [table for table in tables if table.index == tuple(position[:-2])]
    if sum(table.size for table in shown) > room:
        return None
    step = trace[result.name]
    lines, arithmetic = worst_cell_lines(trace, result), worst_arithmetic(trace, result, decimals)
    text = with_decimal_commas if trace.problem.decimal_comma else str
    return {
        "name": result.name,
        "are_weights": step.name == WEIGHTS,
        "nouns": [AXIS_NOUNS.get(letter, "") for letter in ("", "", *step.axes)[-2:]],
        "tables": [table.content for table in shown],
        "worst": {
            "table": [table.index for table in shown].index(tuple(position[:-2])),
            "cell": list((0, *position)[-2:]),
            "lines": [text(line) for line in lines],
            "arithmetic": [text(line.strip()) for line in arithmetic],
        },
    }


def _error_tables(report: CheckReport, result: QuantityCheck) -> Iterator[_ErrorTable]:
    """The tables of a quantity, one for each slice."""
    trace, step = report.trace, report.trace[result.name]
    indices = [index for index, _ in leading_slices(trace, step)] if step.value.ndim > 1 else [()]
    arrays = (result.computed, result.expected, result.differs, result.is_given)
    slices = zip(*(tables_of_step(trace, replace(step, value=np.asarray(array))) for array in arrays), strict=True)
    for index, (correct, yours, differs, is_given) in zip(indices, slices, strict=True):
        content = {
            **table_object(correct),
            "yours": yours.values.reshape(-1),
            "differs": differs.values.reshape(-1),
            "is_given": None if is_given.values.all() else is_given.values.reshape(-1),
        }
        content["correct"] = content.pop("data")
        yield _ErrorTable(index, int(differs.values.sum()), content)
