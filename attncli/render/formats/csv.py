"""CSV: a header with the column labels, then a label and the numbers in each row; written a few rows at a time."""

from collections.abc import Iterator

from attncli.base import number_rows
from attncli.base.text import delimited_cell, delimited_rows, escape_control
from attncli.render.grid import Grid, grids
from attncli.render.view import View


def render(view: View, *, delimiter: str = ",") -> Iterator[str]:
    """One table for each selected result (and head); where there are several, each under a comment with its name."""
    trace = view.result.trace
    tables = [(name, grid) for name in view.names for grid in grids(trace, trace[name])]
    for number, (name, grid) in enumerate(tables):
        yield "\n" if number else ""
        yield from _table(name, grid, delimiter, len(tables) > 1)


def _table(name: str, grid: Grid, delimiter: str, titled: bool) -> Iterator[str]:
    """One grid, its numbers in full."""
    if titled:
        yield f"# {escape_control(', '.join(part for part in (name, grid.slice) if part))}\n"
    yield delimited_rows([["", *grid.columns]], delimiter)
    labels = iter(grid.rows)
    for rows in number_rows.rows(grid.values, {}, delimiter):
        named = zip(rows, labels, strict=False)  # the numbers first: where they end, no label is lost
        yield "".join([f"{delimited_cell(label, delimiter)}{delimiter}{row}\n" for row, label in named])
