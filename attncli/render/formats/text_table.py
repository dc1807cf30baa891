"""Plain text: a grid of any size, never cut, laid out as Rich lays out a table but many times as fast."""

from rich.cells import cell_len

from attncli.base.text import escape_control
from attncli.render.grid import Grid

COLUMN_GAP = 3  # blanks between two columns


def text_table(grid: Grid, decimals: int) -> str:
    """The row labels on the left, under the grid's corner, and every column as wide as its widest cell."""
    cells, gap = grid.cell_texts(decimals), " " * COLUMN_GAP
    labels = [grid.corner, *map(escape_control, grid.rows)]
    headings = [escape_control(column) for column in grid.columns]
    # Blanks at the end of a heading count for the width of its column, as Rich counts them, and are not printed.
    widths = [max([cell_len(heading), *[len(row[at]) for row in cells]]) for at, heading in enumerate(headings)]
    label_width = max(map(cell_len, labels))
    padded_labels = [label + " " * (label_width - cell_len(label)) for label in labels]
    stripped = [heading.rstrip() for heading in headings]
    aligned = [" " * (width - cell_len(heading)) + heading for heading, width in zip(stripped, widths, strict=True)]
    lines = [gap.join([padded_labels[0], *aligned]), "─" * (label_width + sum(widths) + COLUMN_GAP * len(widths))]
    for label, row in zip(padded_labels[1:], cells, strict=True):
        numbers = [cell.rstrip().rjust(width) for cell, width in zip(row, widths, strict=True)]
        lines.append(gap.join([label, *numbers]))
    return "\n".join(lines)
