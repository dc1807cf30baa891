"""CSV and TSV: a table for each result and head, one of statistics; in chunks."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from attncli.base.text import delimited_cell, delimited_rows, escape_control, without_formula
from attncli.numbers.formatting import MINUS, decimal, format_rows
from attncli.problem.spec import ProblemSpec
from attncli.render.document import Grid
from attncli.render.tables import selected_plain_grids
from attncli.render.target import TEXT_FILE, TextTarget
from attncli.render.view import View


def texts_for(target: TextTarget) -> Callable[[str], str]:
    """How to write the text of a cell: as it is, or so that no spreadsheet reads it as a formula."""
    return without_formula if target.quotes_formulas else str


def numbers_for(target: TextTarget) -> Callable[[Any], str] | None:
    """How to write a number: with so many decimals, or with every digit for None."""
    decimals = target.decimals
    return None if decimals is None else lambda number: decimal(number, decimals).replace(MINUS, "-")


def delimiter_of(problem: ProblemSpec, delimiter: str) -> str:
    """The separator of cells: a semicolon if numbers have decimal commas, as in spreadsheets."""
    return ";" if problem.decimal_comma and delimiter == "," else delimiter


def with_sign(numbers: str, delimiter: str) -> str:
    """Numbers with the decimal sign that suits the separator."""
    return numbers.replace(".", ",") if delimiter == ";" else numbers


def _tables(view: View, target: TextTarget = TEXT_FILE, *, delimiter: str) -> Iterator[str]:
    """A table for each result and head, an empty line between two, and its name in a comment if there are several."""
    trace = view.result.trace
    delimiter = delimiter_of(trace.problem, delimiter)
    tables = [(name, grid) for name in view.names for grid in selected_plain_grids(view, trace[name])]
    others = _tables_of_queries(view)
    for number, (name, grid) in enumerate(tables):
        yield "\n" if number else ""
        if len(tables) > 1 or others:
            yield f"# {escape_control(', '.join(label for label in (name, grid.slice_label) if label))}\n"
        yield from _table(grid, delimiter, target)
    for title, rows in others.items():
        yield f"\n# {title}\n"
        yield from _written_rows(rows, target, delimiter=delimiter)


def _written_rows(rows: Iterable[Sequence[object]], target: TextTarget = TEXT_FILE, *, delimiter: str) -> Iterator[str]:
    """Rows of texts and numbers, the numbers in full unless the target has decimals."""
    as_text, as_number = texts_for(target), numbers_for(target)
    for row in rows:
        yield delimited_rows([[_cell(cell, as_text, as_number or str, delimiter) for cell in row]], delimiter)


def _cell(cell: object, as_text: Callable[[str], str], as_number: Callable[[Any], str], delimiter: str) -> str:
    """A cell of a row: a text, a whole number, which is never rounded, or another number."""
    if isinstance(cell, str):
        return as_text(cell)
    return str(cell) if isinstance(cell, int) else with_sign(as_number(cell), delimiter)


def _tables_of_queries(view: View) -> Mapping[str, Iterator[Sequence[object]]]:
    """The tables after the results with one or more rows for each batch item, head and query."""
    if not (view.statistics or view.top):
        return {}
    from attncli.render import statistics  # noqa: PLC0415 - only `--stats` and `--top` need it
    from attncli.render import visible_statistics as visible  # noqa: PLC0415 - only `--stats` needs it

    tables = {visible.TITLE: visible.visible_table(view)} if visible.has_visible_statistics(view) else {}
    tables |= {statistics.TITLE: statistics.statistics_table(view)} if visible.has_weight_statistics(view) else {}
    return tables | ({statistics.TOP_TITLE: statistics.largest_keys_table(view)} if view.top else {})


def _table(grid: Grid, delimiter: str, target: TextTarget) -> Iterator[str]:
    """One grid, its numbers in full unless the target has decimals."""
    as_text = texts_for(target)
    yield delimited_rows([["", *map(as_text, grid.columns)]], delimiter)
    labels = map(as_text, grid.rows)
    for rows in format_rows(grid.values, {}, delimiter, numbers_for(target)):
        # the numbers first: after the last chunk zip must not consume a label
        labelled_rows = zip(rows, labels, strict=False)
        yield "".join(
            [
                f"{delimited_cell(label, delimiter)}{delimiter}{with_sign(row, delimiter)}\n"
                for row, label in labelled_rows
            ]
        )


write_csv, write_tsv = (partial(_tables, delimiter=delimiter) for delimiter in ",\t")
write_csv_rows, write_tsv_rows = (partial(_written_rows, delimiter=delimiter) for delimiter in ",\t")
