"""A grid as Rich tables that fit a screen: the middle of long axes is left out, and weights are shaded."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.style import Style
from rich.table import Table
from rich.text import Text

from attncli.base.lazy_numpy import np
from attncli.render.formats.text_table import COLUMN_GAP, encodable_cell
from attncli.render.grid import Grid, column_blocks
from attncli.render.target import TextTarget

MAX_ROWS = 40  # on a screen
USUAL_WIDTH = 80  # a narrower screen shows the columns that one of this width does, in several tables
MIN_LABEL_WIDTH = 6  # to which the labels of rows are folded on a narrow screen
ELLIPSIS = "…"

Positions = Sequence[int | None]  # positions on an axis; None in place of those that are left out


@dataclass(frozen=True)
class _Column:
    """A column of a table on a screen: its heading, and the text of its cells."""

    position: int | None  # in the grid; None for the column in place of those that are left out
    heading: str
    cells: Sequence[str]

    @property
    def number_width(self) -> int:
        """The width of its widest cell."""
        return max((cell_len(cell) for cell in self.cells), default=0)

    @property
    def width(self) -> int:
        """The width of its widest cell or heading, and of the gap before it."""
        return max(cell_len(self.heading), self.number_width) + COLUMN_GAP


def screen_tables(grid: Grid, decimals: int, target: TextTarget) -> Iterator[Table]:
    """The grid in tables of at most MAX_ROWS rows and the target's width, or in one whole where that is None.

    What is left out is counted in its place: `… 12 more`. Columns that a usual screen has beside each other are in
    several tables where the target is narrower; no number is ever cut, so one of more digits than a line has is wrapped
    by the terminal.
    """
    rows = _abbreviate(len(grid.rows), MAX_ROWS if target.width else None)
    labels = [target.text(_count_left_out(rows, len(grid.rows)) if at is None else grid.rows[at]) for at in rows]
    label_width = max(cell_len(text) for text in (grid.corner, *labels))
    columns = _shown_columns(grid, rows, decimals, target, label_width)
    if target.width:
        widest = max((column.number_width for column in columns), default=0) + COLUMN_GAP
        label_width = min(label_width, max(target.width - widest, MIN_LABEL_WIDTH))
    styles = [None if at is None else _row_styles(grid, at) for at in rows]
    available = None if target.width is None else target.width - label_width
    for block in column_blocks([column.width for column in columns], available):
        table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
        table.add_column(_folded(grid.corner, label_width, "dim"))
        for column in (columns[position] for position in block):
            width = column.width if available is None else min(column.width, available)
            width = max(width - COLUMN_GAP, column.number_width)
            style = "dim" if column.position is None else ""
            table.add_column(_folded(column.heading, width, style), justify="right", no_wrap=True)
        for index, (label, style_of) in enumerate(zip(labels, styles, strict=True)):
            cells = [
                Text(
                    column.cells[index],
                    "dim" if style_of is None or column.position is None else style_of(column.position),
                )
                for column in (columns[position] for position in block)
            ]
            table.add_row(_folded(label, label_width, "dim" if style_of is None else ""), *cells)
        yield table


def _folded(text: str, width: int, style: str) -> Text:
    """A text in lines of at most that width, broken at blanks where it has some.

    Rich would fold it to the width of its column, which its versions pad differently.
    """
    return (
        Text("\n").join(Text(text, style).wrap(Console(width=width), width, overflow="fold"))
        if cell_len(text) > width
        else Text(text, style)
    )


def _shown_columns(
    grid: Grid, rows: Positions, decimals: int, target: TextTarget, label_width: int
) -> Sequence[_Column]:
    """The columns that are shown: all that fit on a screen of the target's width, or of the usual one."""
    width = None if target.width is None else max(target.width, USUAL_WIDTH)
    # More columns than these never fit: only their cells are formatted, to find out how many do.
    candidates = _abbreviate(len(grid.columns), None if width is None else width // (1 + COLUMN_GAP))
    formatted = grid.select(_without_gap(rows), _without_gap(candidates))
    texts = iter(formatted.cell_texts(decimals))
    cells = [None if row is None else [encodable_cell(cell, target) for cell in next(texts)] for row in rows]
    gap = target.encodable(ELLIPSIS)
    columns = {
        column: _Column(column, target.text(heading), [gap if row is None else row[index] for row in cells])
        for index, (column, heading) in enumerate(zip(_without_gap(candidates), formatted.columns, strict=True))
    }
    shown = _abbreviate(len(grid.columns), _max_columns(len(grid.columns), list(columns.values()), width, label_width))
    left_out = _Column(None, target.text(_count_left_out(shown, len(grid.columns))), [gap] * len(rows))
    return [left_out if column is None else columns[column] for column in shown]


def _abbreviate(count: int, max_count: int | None) -> Positions:
    """The positions 0 … count - 1, at most `max_count` of them, with None for those left out of the middle."""
    if max_count is None or count <= max_count:
        return list(range(count))
    last = max_count // 3
    return [*range(max_count - last), None, *range(count - last, count)]


def _without_gap(positions: Positions) -> list[int]:
    """The positions without the None among them."""
    return [position for position in positions if position is not None]


def _count_left_out(positions: Positions, count: int) -> str:
    """How many of `count` are left out, `… 12 more`; None is one of the positions."""
    return f"{ELLIPSIS} {count - len(positions) + 1} more"


def _max_columns(count: int, candidates: Sequence[_Column], width: int | None, label_width: int) -> int | None:
    """How many of `count` columns fit on a screen after the row labels; None where all of them do."""
    widths = [column.width for column in candidates]
    if width is None or (len(candidates) == count and label_width + sum(widths) <= width):
        return None
    available = width - label_width - len(f"{ELLIPSIS} {count} more") - COLUMN_GAP
    return max(available // max(widths), 1)


def _row_styles(grid: Grid, row: int) -> Callable[[int], Style]:
    """The style of each column of a row: in a heatmap a background, the darker the closer to the row's largest."""
    if not grid.is_heatmap:
        return lambda column: Style()
    weights = np.nan_to_num(grid.values[row], posinf=0, neginf=0)
    largest = weights.max()
    return lambda column: _shade(float(weights[column] / largest)) if largest > 0 else Style()


def _shade(fraction: float) -> Style:
    """A background from none (a fraction below 0.05) to full blue (1, which is bold as well)."""
    if fraction < 0.05:
        return Style()
    red, green, blue = (int(start + (end - start) * fraction) for start, end in ((210, 8), (230, 81), (245, 156)))
    text_color = "rgb(0,0,0)" if fraction < 0.5 else "rgb(255,255,255)"
    return Style(bgcolor=f"rgb({red},{green},{blue})", color=text_color, bold=fraction == 1)
