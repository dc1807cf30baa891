"""CSV: a header with the column labels, then a label and the numbers in each row."""

import csv
import io
from collections.abc import Iterator

from attncli.render.grid import Grid, grids
from attncli.render.view import View


def render(view: View, *, delimiter: str = ",") -> str:
    """One table for each selected result (and head); where there are several, each under a comment with its name."""
    trace = view.result.trace
    names = [step.name for step in trace.computed] if view.explain else view.result.select
    tables = [(name, grid) for name in names for grid in grids(trace, trace[name])]
    return "\n".join(_table(name, grid, delimiter, len(tables) > 1) for name, grid in tables)


def _table(name: str, grid: Grid, delimiter: str, titled: bool) -> str:
    """One grid, its numbers in full."""
    text = io.StringIO()
    if titled:
        text.write(f"# {', '.join(part for part in (name, grid.slice) if part)}\n")
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    writer.writerow(["", *grid.columns])
    writer.writerows(_rows(grid))
    return text.getvalue()


def _rows(grid: Grid) -> Iterator[list[object]]:
    for label, row in zip(grid.rows, grid.values.tolist(), strict=True):
        yield [label, *row]
