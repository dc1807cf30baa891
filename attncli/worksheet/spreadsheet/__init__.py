"""Work sheets as spreadsheets: a sheet for each step, with a formula in each computed cell; needs openpyxl.

A changed input changes all later numbers. Formulas are for single cells: no array formulas.
"""

import io
import json
from collections.abc import Iterator, Mapping
from typing import Any

from attncli.base.errors import AttnError, missing_package
from attncli.base.lazy_numpy import np
from attncli.base.text import escape_control
from attncli.io.problem_files import parse_document
from attncli.io.spreadsheets import PROBLEM_SHEET
from attncli.plan.trace import Step
from attncli.problem.fields import EXPECTED
from attncli.render.tables import leading_slices
from attncli.worksheet.sheets import Sheet, answer_text
from attncli.worksheet.spreadsheet.cells import FIRST_ROW, Book, Cell
from attncli.worksheet.spreadsheet.formulas import HIDDEN, formula_of

MAX_FORMULA = 8000  # characters, slightly fewer than spreadsheets permit
BLANK_FILL, INPUT_FILL = "FFFFF2CC", "FFDDEBF7"


def render(sheet: Sheet, names: frozenset[str], *, is_key: bool) -> bytes:
    """The workbook of an exercise, its blanks marked and empty, or of its key; raises AttnError without openpyxl."""
    try:
        from openpyxl import Workbook  # noqa: PLC0415 - an extra
    except ImportError:
        raise missing_package("openpyxl", "sheet", where="--output", needs="a spreadsheet needs") from None
    trace = sheet.result.trace
    book, workbook = Book(trace, names), Workbook()
    _write_cover(workbook.active, book, sheet, is_key=is_key)
    for name, title in book.titles.items():
        page = workbook.create_sheet(title)
        _write_step(book, trace[name], page, sheet, is_key=is_key)
        _lay_out(page, has_blanks=name in sheet.blanks.cells)
    if not is_key:
        _write_problem(book, workbook.create_sheet(PROBLEM_SHEET), sheet)
    stream = io.BytesIO()
    workbook.save(stream)
    return stream.getvalue()


def _write_cover(page: Any, book: Book, sheet: Sheet, *, is_key: bool) -> None:
    """Write the first sheet: the requested numbers, their sheets, and the meaning of the colours."""
    page.title = "exercise"
    asked = [title for name, title in book.titles.items() if name in sheet.blanks.cells]
    what = "The key: blanks have their formulas." if is_key else f"Fill in the blanks, to {sheet.decimals} decimals."
    for row, line in enumerate((sheet.title, f"Name: {sheet.name}", sheet.about, what), 1):
        _put_text(page.cell(row, 1), line)
    for row, (fill, line) in enumerate(((BLANK_FILL, "to be filled in"), (INPUT_FILL, "given")), 6):
        _fill(page.cell(row, 1), fill)
        _put_text(page.cell(row, 2), line)
    _put_text(page.cell(9, 1), "Blanks:")
    for row, title in enumerate(asked, 9):
        link = page.cell(row, 2)
        _put_text(link, title)
        link.hyperlink, link.style = f"#'{title}'!A1", "Hyperlink"
    _lay_out(page, has_blanks=False)


def _lay_out(page: Any, *, has_blanks: bool) -> None:
    """Fit a sheet on a page of paper: its title in bold, columns as wide as labels; mark one with blanks."""
    from openpyxl.styles import Font  # noqa: PLC0415 - an extra

    page.cell(1, 1).font = Font(page.cell(1, 1).font.name, size=14, bold=True)
    page.sheet_properties.pageSetUpPr.fitToPage = True
    page.page_setup.fitToHeight = 0
    labels = [*page.iter_rows(min_row=FIRST_ROW + 1, max_col=1)]
    page.column_dimensions["A"].width = max([10, *(len(str(cell.value or "")) + 2 for (cell,) in labels)])
    if has_blanks:
        page.sheet_properties.tabColor = BLANK_FILL


def _write_problem(book: Book, page: Any, sheet: Sheet) -> None:
    """Write the hidden sheet for reading the answers: the problem, and the cell of each of its numbers."""
    page.sheet_state = "hidden"
    text = answer_text(sheet)
    for row, line in enumerate(text.splitlines(), 1):
        _put_text(page.cell(row, 1), line)
    for row, (path, cell) in enumerate(_cells_of_numbers(book, sheet, text), 1):
        for column, part in enumerate((json.dumps(path), cell.title, str(cell).rpartition("!")[2]), 2):
            _put_text(page.cell(row, column), part)


def _cells_of_numbers(book: Book, sheet: Sheet, text: str) -> Iterator[tuple[list[str | int], Cell]]:
    """The path in the problem of each input and each blank, and its cell."""
    values = {key: raw.value for key, raw in parse_document(text, "sheet.yaml").items()}
    trace = book.trace
    for step in trace.steps:
        given = dict(_leaves(values.get(step.name)))
        numbers = [value if isinstance(value, (int, float)) else np.nan for value in given.values()]
        if step.node.is_input and step.name in book.titles and np.array_equal(numbers, step.value.ravel()):
            for path, at in zip(given, book.ids[step.name].ravel().tolist(), strict=True):
                yield [step.name, *path], book.cells[at]
    for name, asked in (values.get(EXPECTED) or {}).items():
        cells = book.ids[name][sheet.blanks.cells[name]].tolist()
        for (path, _), at in zip(_leaves(asked), cells, strict=True):
            yield [EXPECTED, name, *path], book.cells[at]


def _leaves(value: Any) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """The values in nested lists and mappings, in order, with their paths."""
    parts = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else None
    if parts is None:
        yield (), value
        return
    for key, part in parts:
        yield from (((key, *path), leaf) for path, leaf in _leaves(part))


def _put_text(cell: Any, text: str) -> None:
    """Put a text into a cell, as text: one that begins with `=` is not a formula."""
    cell.value = escape_control(text)
    cell.data_type = "s"


def _write_step(book: Book, step: Step, page: Any, sheet: Sheet, *, is_key: bool) -> None:
    """Write a sheet: the description of the step, and its tables."""
    from openpyxl.styles import Alignment  # noqa: PLC0415 - an extra

    _put_text(page.cell(1, 1), f"{step.name}  {step.symbol}")
    if sheet.has_formulas:
        _put_text(page.cell(2, 1), step.node.purpose)
        _put_text(page.cell(3, 1), step.formula)
    for row, column, text in _labels(book, step):
        _put_text(page.cell(row, column), text)
        if column > 1:
            page.cell(row, column).alignment = Alignment(horizontal="right")
    blank = sheet.blanks.of(step)
    is_constant = step.node.is_input or step.value.dtype.kind != "f" or step.name in book.constants
    write, outer = (None, step) if is_constant else formula_of(book, step)
    decimals = sheet.decimals if np.any(step.value != np.rint(step.value)) else 0
    for at in np.ndindex(step.value.shape):
        place = book.cells[int(book.ids[step.name][at])]
        cell = page.cell(place.row, place.column)
        is_blank = blank is not None and bool(blank[at])
        if is_blank or write is None:
            _fill(cell, BLANK_FILL if is_blank else INPUT_FILL)
        if is_blank and not is_key:
            cell.number_format = _number_format(sheet.decimals)
            continue
        if write is None:
            number = step.value[at].item()
            cell.value = HIDDEN if not np.isfinite(number) else int(number) if isinstance(number, bool) else number
        else:
            cell.value = _checked(f"={write(book, outer, at)}", step.name)
            cell.number_format = _number_format(decimals)


def _number_format(decimals: int) -> str:
    return f"0.{'0' * decimals}" if decimals else "General"


def _checked(formula: str, name: str) -> str:
    """A formula; raises AttnError if it is too long for spreadsheets."""
    if len(formula) > MAX_FORMULA:
        raise AttnError(f"a formula of {name} is too long for a spreadsheet", where="--output", hint="write .md")
    return formula


def _fill(cell: Any, color: str) -> None:
    from openpyxl.styles import PatternFill  # noqa: PLC0415 - an extra

    cell.fill = PatternFill("solid", fgColor=color)


def _labels(book: Book, step: Step) -> Iterator[tuple[int, int, str]]:
    """The row, the column and the text of each label: of slices, rows and columns."""
    trace, ids = book.trace, book.ids[step.name]
    columns = trace.numbered_labels_of(step, -1)
    slices = list(leading_slices(trace, step)) if ids.ndim > 1 else [((), "")]
    for index, label in slices:
        table = ids[index] if ids.ndim > 1 else np.atleast_1d(ids)[None]
        top = book.cells[int(table[0, 0])].row
        if label:
            yield top - 2, 1, label
        yield from ((top - 1, 2 + at, text) for at, text in enumerate(columns))
        rows = trace.numbered_labels_of(step, -2) if ids.ndim > 1 else (step.symbol,)
        yield from ((top + at, 1, text) for at, text in enumerate(rows))
