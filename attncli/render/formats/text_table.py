"""Plain text: a grid of any size, never cut, laid out as Rich lays out a table but many times as fast."""

from rich.cells import cell_len

from attncli.render.grid import Grid
from attncli.render.target import TEXT_FILE, TextTarget

COLUMN_GAP = 3  # blanks between two columns


def text_table(grid: Grid, decimals: int, target: TextTarget = TEXT_FILE) -> str:
    """The row labels on the left, under the grid's corner, and every column as wide as its widest cell."""
    cells, gap = grid.cell_texts(decimals), " " * COLUMN_GAP
    if not target.has_unicode:
        cells = [[encodable_cell(cell, target) for cell in row] for row in cells]
    labels = [grid.corner, *map(target.text, grid.rows)]
    headings = [target.text(column) for column in grid.columns]
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


def encodable_cell(cell: str, target: TextTarget) -> str:
    """A cell in the target's encoding; where its text gets longer it is padded less, so that points stay aligned."""
    text = target.encodable(cell.rstrip())
    return text + " " * (len(cell) - len(text))
