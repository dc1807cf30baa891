"""CSV and TSV: a header with the column labels, then a label and the numbers of each row; a few rows at a time."""

from collections.abc import Iterator

from attncli.base.text import delimited_cell, delimited_rows, escape_control
from attncli.numbers.formatting import format_rows
from attncli.render.grid import Grid
from attncli.render.selection import selected_plain_grids
from attncli.render.target import TEXT_FILE, TextTarget
from attncli.render.view import View


def render(view: View, _target: TextTarget = TEXT_FILE) -> Iterator[str]:
    """One comma-separated table for each result and head; several tables have their names in comments above them."""
    return _tables(view, ",")


def render_tsv(view: View, _target: TextTarget = TEXT_FILE) -> Iterator[str]:
    """The same tables, separated by tabs."""
    return _tables(view, "\t")


def _tables(view: View, delimiter: str) -> Iterator[str]:
    """Every table, with an empty line between two."""
    trace = view.result.trace
    tables = [(name, grid) for name in view.names for grid in selected_plain_grids(view, trace[name])]
    for number, (name, grid) in enumerate(tables):
        yield "\n" if number else ""
        if len(tables) > 1:
            yield f"# {escape_control(', '.join(label for label in (name, grid.slice_label) if label))}\n"
        yield from _table(grid, delimiter)


def _table(grid: Grid, delimiter: str) -> Iterator[str]:
    """One grid, its numbers in full."""
    yield delimited_rows([["", *grid.columns]], delimiter)
    labels = iter(grid.rows)
    for rows in format_rows(grid.values, {}, delimiter):
        labelled_rows = zip(
            rows, labels, strict=False
        )  # the numbers first: after the last chunk zip must not consume a label
        yield "".join([f"{delimited_cell(label, delimiter)}{delimiter}{row}\n" for row, label in labelled_rows])
