"""Plain text: a grid of any size as one table, for a pipe or a file."""

from rich.cells import cell_len

from attncli.render.formats.table_layout import lay_out
from attncli.render.grid import Grid
from attncli.render.target import TEXT_FILE, TextTarget


def text_table(grid: Grid, decimals: int, target: TextTarget = TEXT_FILE) -> str:
    """The row labels on the left, under the grid's corner, and every column as wide as its widest cell."""
    layout, gap = lay_out(grid, decimals, target), " " * target.column_gap
    label_width, widths = layout.label_width, [column.width for column in layout.columns]
    headings = [" " * (column.width - cell_len(column.heading)) + column.heading for column in layout.columns]
    lines = [
        gap.join([layout.corner.ljust(label_width), *headings]),
        "─" * (label_width + sum(widths) + len(gap) * len(widths)),
    ]
    margins = [" " * (column.width - column.number_width) for column in layout.columns]
    cells = [
        [margin + cell for cell in column.cells] if margin else column.cells
        for margin, column in zip(margins, layout.columns, strict=True)
    ]
    for label, *numbers in zip(layout.labels, *cells, strict=True):
        lines.append(gap.join([label + " " * (label_width - cell_len(label)), *numbers]))
    return "\n".join(lines)
