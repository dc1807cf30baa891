"""The labels of the rows and columns of heat maps, cut to their room."""

import re
from collections.abc import Collection, Sequence

from rich.cells import cell_len, set_cell_size

from attncli.base.axes import AXIS_NOUNS
from attncli.render.grid import Grid
from attncli.render.target import TextTarget

MARK = "*"  # before the labels of marked rows and columns
MAX_LABEL_WIDTH = 12
_NOUNS = re.compile(rf"\b({'|'.join(sorted(AXIS_NOUNS.values(), key=len, reverse=True))}) (?=\d)")


def row_labels(grid: Grid, target: TextTarget) -> Sequence[str]:
    """The labels of the rows; where some are marked the others have a blank before them."""
    return _labels(grid.rows, grid.marked_rows, " " if grid.marked_rows else "", target)


def column_labels(grid: Grid, target: TextTarget) -> Sequence[str]:
    """The labels of the columns, with the mark of those that have one."""
    return _labels(grid.columns, grid.marked_columns, "", target)


def widest(labels: Sequence[str]) -> int:
    """The width of the longest label, at most that to which labels are cut."""
    return min(max(map(cell_len, labels)), MAX_LABEL_WIDTH)


def cut(text: str, width: int, target: TextTarget) -> str:
    """A text filled with blanks to a width, or cut where it is longer.

    >>> cut("transformer", 6, TextTarget()), cut("a", 3, TextTarget())
    ('trans…', 'a  ')
    """
    is_cut = cell_len(text) > width > 1 and target.has_unicode
    return f"{set_cell_size(text, width - 1)}…" if is_cut else set_cell_size(text, width)


def on_right(text: str, width: int, target: TextTarget) -> str:
    """A text on the right of a width, or cut where it is longer.

    >>> on_right("猫", 4, TextTarget()), on_right("transformer", 6, TextTarget())
    ('  猫', 'trans…')
    """
    return " " * (width - cell_len(text)) + text if cell_len(text) <= width else cut(text, width, target)


def short_title(slice_label: str) -> str:
    """The label of a slice without what its axes count, where the labels of some are wider than their tables.

    >>> short_title("batch item 0, head 12")
    '0, 12'
    """
    return _NOUNS.sub("", slice_label)


def label_step(labels: Sequence[str], columns: int) -> int:
    """Every how many cells of so many columns a label has room."""
    return -(-(widest(labels) + 1) // columns)


def sparse_line(labels: Sequence[str], columns: int, width: int, target: TextTarget) -> str:
    """Every k-th label in a line of a width, where the cell of each is so many columns wide; no two touch.

    >>> sparse_line(["the", "cat", "sat", "on", "it"], 2, 10, TextTarget())
    'the sat it'
    """
    step = label_step(labels, columns)
    line = ""
    for at in range(0, len(labels), step):
        room = min(step * columns - 1, width - at * columns)
        if at == 0 or room >= min(cell_len(labels[at]), MAX_LABEL_WIDTH):
            line = set_cell_size(line, at * columns) + cut(labels[at], room, target)
    return set_cell_size(line, width)


def _labels(labels: Sequence[str], marked: Collection[int], margin: str, target: TextTarget) -> Sequence[str]:
    """Labels as the target shows them, behind the mark or the margin."""
    return [target.text(f"{MARK if at in marked else margin}{label}") for at, label in enumerate(labels)]
