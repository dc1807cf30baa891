"""Plain text: a grid of any size, never cut, laid out as Rich lays out a table and many times as fast."""

from rich.cells import cell_len

from attncli.base.text import escape_control
from attncli.render.grid import Grid

BETWEEN = 3  # blanks between two columns


def text(grid: Grid, places: int) -> str:
    """The labels on the left, under the grid's corner, and every column as wide as its widest cell."""
    cells, blanks = grid.cells(places), " " * BETWEEN
    labels = [grid.corner, *map(escape_control, grid.rows)]
    headings = [escape_control(column) for column in grid.columns]  # blanks at their end count, and are not shown
    widths = [max([cell_len(heading), *[len(row[at]) for row in cells]]) for at, heading in enumerate(headings)]
    widest = max(map(cell_len, labels))
    begun = [label + " " * (widest - cell_len(label)) for label in labels]
    above = [heading.rstrip() for heading in headings]
    above = [" " * (width - cell_len(heading)) + heading for heading, width in zip(above, widths, strict=True)]
    lines = [blanks.join([begun[0], *above]), "─" * (widest + sum(widths) + BETWEEN * len(widths))]
    for label, row in zip(begun[1:], cells, strict=True):
        numbers = [cell.rstrip().rjust(width) for cell, width in zip(row, widths, strict=True)]
        lines.append(blanks.join([label, *numbers]))
    return "\n".join(lines)
