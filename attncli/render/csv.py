"""CSV: a header with the column labels, then a label and the numbers in each row."""

from attncli import delimited
from attncli.literal import clean
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
    title = f"# {clean(', '.join(part for part in (name, grid.slice) if part))}\n" if titled else ""
    rows = ([label, *row] for label, row in zip(grid.rows, grid.values.tolist(), strict=True))
    return title + delimited.text([["", *grid.columns], *rows], delimiter)
