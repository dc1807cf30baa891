"""Work sheets: the exercise of a problem, with some computed numbers blank, and the key with the worked lines."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from html import escape
from pathlib import PurePath

from attncli.base.axes import legend
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, import_object, np
from attncli.base.text import escape_unseen
from attncli.io.problem_files import KEY_SUFFIX
from attncli.io.problem_text import ExampleValues, problem_yaml
from attncli.plan.trace import AxisPositions, RunResult, Step, Trace
from attncli.problem.fields import EXPECTED
from attncli.render.by_hand import worked_lines, worked_positions
from attncli.render.document import Document, Grid, Lines, Section, Statement, section_with_comma
from attncli.render.explanation import ExplainedStep, explained_steps, section_of_copies, shapes_of, step_remarks
from attncli.render.formats import html_tables, latex, markdown
from attncli.render.masks import VISIBLE_STEP
from attncli.render.sections import with_marked_labels
from attncli.render.tables import grids, sign_grids
from attncli.render.target import TEXT_FILE
from attncli.render.view import Cell, View
from attncli.worksheet.blanks import Blanks, unanswered

BLANK = "……"
MAX_NUMBERS = 20_000  # numbers of all steps together: nobody fills in more
MIN_ROOM, MAX_ROOM = 3, 8  # empty lines below a table with blanks


@dataclass(frozen=True)
class Sheet:
    """The content of a work sheet: a result, its blanks, and its head.

    `name` is the student's; without `has_formulas` it gives no hints about the computation.
    """

    result: RunResult
    blanks: Blanks
    decimals: int
    title: str = "Exercise"
    about: str = ""
    name: str = ""
    has_formulas: bool = True


def exercise(sheet: Sheet) -> Document:
    """The exercise: inputs and steps in order, the blanks without their numbers, and space to write."""
    name = Statement("Name:", f" {sheet.name or BLANK * 8}")
    about = [Lines((sheet.about,), wrapped="page")] if sheet.about else []
    ask = f"Fill in the blanks ({BLANK}), to {sheet.decimals} decimals unless the number is whole."
    head = Section("", blocks=(name, *about, Lines((ask,), wrapped="page")))
    return Document([head, *_sections(sheet, is_key=False)], sheet.decimals, sheet.title)


def key(sheet: Sheet) -> Document:
    """The key: the tables of the exercise with all numbers, the requested ones marked, and their arithmetic."""
    name = [Section("", blocks=(Statement("Name:", f" {sheet.name}"),))] if sheet.name else []
    return Document([*name, *_sections(sheet, is_key=True)], sheet.decimals, f"Key: {sheet.title}")


def tells_an_answer(sheet: Sheet, text: str) -> bool:
    """Whether a text has a blank number that is not an integer, with the decimals of its computation."""
    trace = sheet.result.trace
    numbers = {round(float(number), sheet.decimals) for number in re.findall(r"-?\d+\.\d+", text)}
    asked = (trace[name].value[blank].ravel().tolist() for name, blank in sheet.blanks.cells.items())
    return any(round(number, sheet.decimals) in numbers for own in asked for number in own)


def _sections(sheet: Sheet, *, is_key: bool) -> Iterable[Section]:
    """The letters of the axes, and a section for each input and step, with the decimal sign of the problem."""
    sections = _sections_with_points(sheet, is_key=is_key)
    return map(section_with_comma, sections) if sheet.result.trace.problem.decimal_comma else sections


def _sections_with_points(sheet: Sheet, *, is_key: bool) -> Iterator[Section]:
    """The sections, with decimal points."""
    trace = sheet.result.trace
    names = shown_steps(trace) - sheet.blanks.left_out
    yield Section(
        "letters", formula=legend(letter for step in trace.steps if step.name in names for letter in step.axes)
    )
    view = View(sheet.result, True, sheet.decimals, (Cell(),), expanded_axes=frozenset("bh"), max_terms=None)
    worked = [] if not is_key else worked_positions(view)
    for entry in explained_steps(trace, names):
        if entry.are_copies:
            yield section_of_copies(trace, entry)
        else:
            section = _section(sheet, entry)
            blank = sheet.blanks.of(entry.steps[0])
            if blank is None:
                yield section
            elif is_key:
                at = [at for at in worked if _is_blank_at(entry.steps[0], blank, at)]
                yield replace(section, arithmetic=worked_lines(view, entry.steps[0], at) if at else ())
            else:
                yield _with_blanks(sheet, section, _grids(trace, replace(entry.steps[0], value=blank)))


def shown_steps(trace: Trace) -> frozenset[str]:
    """The names of the steps of a sheet: those of an explanation of the results."""
    return frozenset(trace.plan.needed_for(trace.problem.default_selection))


def _section(sheet: Sheet, entry: ExplainedStep) -> Section:
    """A step with all its numbers, blank ones marked."""
    trace, step = sheet.result.trace, entry.steps[0]
    blank = sheet.blanks.of(step)
    tables = list(_grids(trace, step))
    if blank is not None:
        masks = _grids(trace, replace(step, value=blank))
        tables = [replace(table, marked=_marks(mask.values)) for table, mask in zip(tables, masks, strict=True)]
    is_given = entry.number is None
    has_hints = sheet.has_formulas or is_given
    return Section(
        entry.title,
        tuple(tables),
        symbol=step.symbol,
        formula=step.formula if sheet.has_formulas else "",
        shapes=shapes_of(trace, step) if sheet.has_formulas else "",
        purpose=step.node.purpose if has_hints else "",
        remarks=tuple(step_remarks(trace, step, says_drawn=False)),
    )


def _grids(trace: Trace, step: Step) -> Iterator[Grid]:
    """The tables of a step, of every batch item and head."""
    make_grids = sign_grids if step.name == VISIBLE_STEP else grids
    yield from (replace(grid, is_heatmap=False) for grid in make_grids(trace, step, {}))


def _marks(mask: Array) -> frozenset[tuple[int | None, int | None]]:
    return frozenset((int(row), int(column)) for row, column in np.argwhere(mask))


def _is_blank_at(step: Step, blank: Array, at: AxisPositions) -> bool:
    """Whether a step has a blank at some positions."""
    axes = zip(step.axes, blank.shape, strict=True)
    index = tuple(min(at[letter], size - 1) if letter in at else slice(None) for letter, size in axes)
    return bool(np.any(blank[index]))


def _with_blanks(sheet: Sheet, section: Section, masks: Iterable[Grid]) -> Section:
    """A section without its blank numbers, and with space to write."""
    tables = []
    for grid, mask in zip(section.grids, masks, strict=True):
        signs = [
            [BLANK if is_blank else text for text, is_blank in zip(texts, row, strict=True)]
            for texts, row in zip(grid.cell_texts(sheet.decimals), mask.values.astype(bool).tolist(), strict=True)
        ]
        values = np.where(mask.values.astype(bool), np.nan, grid.values)
        tables.append(replace(grid, values=values, signs=signs, marked=frozenset()))
    lines = min(max(len(section.grids[0].rows), MIN_ROOM), MAX_ROOM)
    return replace(section, grids=tuple(tables), blocks=(Lines(("",) * lines, kind="room"),))


def answer_text(sheet: Sheet) -> str:
    """The problem with an `expected` to fill in, as YAML: null for each blank."""
    trace = sheet.result.trace
    before = {"title": f"{sheet.title}: {sheet.name}" if sheet.name else sheet.title}
    example = ExampleValues(before, {EXPECTED: unanswered(trace, sheet.blanks)})
    return "".join(problem_yaml(trace.problem, example))


def _latex_document(document: Document) -> str:
    """A complete document for LaTeX."""
    text = "".join(latex.render(document, TEXT_FILE))
    begin = "\\documentclass[11pt,a4paper]{article}\n\\usepackage{amsmath,booktabs}\n\\begin{document}"
    return f"{begin}\n{text}\\end{{document}}\n"


def _html_page(document: Document) -> str:
    """A document as a page of its own."""
    whole = html_tables.HtmlLimits(MAX_NUMBERS, MAX_NUMBERS, MAX_NUMBERS)
    body = html_tables.render(document, limits=whole)
    title = escape(escape_unseen(document.heading))
    style = (
        "body{font-family:sans-serif;max-width:50em;margin:2em auto;padding:0 1em}"
        "table{break-inside:avoid}pre{white-space:pre-wrap}"
    )
    head = f'<meta charset="utf-8">\n<title>{title}</title>\n<style>{style}</style>'
    return f'<!DOCTYPE html>\n<html lang="en">\n<head>\n{head}\n</head>\n<body>\n{body}\n</body>\n</html>\n'


SPREADSHEET = ".xlsx"
# The formats of a sheet, by suffix; spreadsheets have formulas instead of a document.
WRITERS: Mapping[str, Callable[[Document], str]] = {
    ".md": lambda document: "".join(markdown.render(document, TEXT_FILE)),
    ".tex": _latex_document,
    ".html": _html_page,
}


def key_file(file: str) -> str:
    """The file of the key, next to the exercise.

    >>> key_file("folder/sheet.md")
    'folder/sheet.key.md'
    """
    path = PurePath(file)
    return str(path.with_name(f"{path.stem}{KEY_SUFFIX}{path.suffix}"))


def sheet_suffixes() -> tuple[str, ...]:
    """The suffixes of a sheet's formats."""
    return (*WRITERS, SPREADSHEET)


def check_suffix(file: str) -> str:
    """The suffix of a sheet's file, in lower case; raises AttnError for other suffixes."""
    suffix = PurePath(file).suffix.lower()
    if suffix not in sheet_suffixes():
        hint = f"expected {', '.join(WRITERS)} or {SPREADSHEET}"
        raise AttnError("a work sheet has another suffix", where=f"--output {file}", hint=hint)
    return suffix


def render_sheet(sheet: Sheet, suffix: str) -> tuple[str | bytes, str | bytes]:
    """The contents of the exercise's file, and of the key's."""
    if suffix == SPREADSHEET:
        write = import_object("attncli.worksheet.spreadsheet:render")
        names = shown_steps(sheet.result.trace)
        return write(sheet, names - sheet.blanks.left_out, is_key=False), write(sheet, names, is_key=True)
    if suffix == ".tex":  # worked lines must know which text is a label
        sheet = replace(sheet, result=with_marked_labels(sheet.result))
    return WRITERS[suffix](exercise(sheet)), WRITERS[suffix](key(sheet))
