"""A grid as a Rich table that fits a screen: the middle of long axes is left out, and weights are shaded."""

from collections.abc import Callable, Sequence

from rich import box
from rich.cells import cell_len
from rich.style import Style
from rich.table import Table
from rich.text import Text

from attncli.base.lazy_numpy import np
from attncli.base.text import escape_control
from attncli.render.formats.text_table import COLUMN_GAP
from attncli.render.grid import Grid

MAX_ROWS = 40  # on a screen
ELLIPSIS = "…"

Positions = list[int | None]  # positions on an axis; None in place of those that are left out


def screen_table(grid: Grid, width: int | None, decimals: int) -> Table:
    """The grid in at most `width` columns of a screen and MAX_ROWS rows, or whole where `width` is None.

    What is left out is counted in its place: `… 12 more`.
    """
    rows = _abbreviate(len(grid.rows), MAX_ROWS if width else None)
    # More columns than these never fit: only their cells are formatted, to find out how many do.
    candidates = _abbreviate(len(grid.columns), width // (1 + COLUMN_GAP) if width else None)
    formatted = grid.select(_without_gap(rows), _without_gap(candidates))
    cells = dict(zip(_without_gap(rows), formatted.cell_texts(decimals), strict=True))
    cell_index = {column: index for index, column in enumerate(_without_gap(candidates))}
    columns = _abbreviate(len(grid.columns), _max_columns(grid, formatted, list(cells.values()), width))
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column(Text(grid.corner, "dim"), no_wrap=True)
    for column in columns:
        heading = (
            Text(_count_left_out(columns, len(grid.columns)), "dim")
            if column is None
            else Text(escape_control(grid.columns[column]))
        )
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        if row is None:
            table.add_row(Text(_count_left_out(rows, len(grid.rows)), "dim"), *[Text(ELLIPSIS, "dim")] * len(columns))
            continue
        style_of = _row_styles(grid, row)
        numbers = [
            Text(ELLIPSIS, "dim") if column is None else Text(cells[row][cell_index[column]], style_of(column))
            for column in columns
        ]
        table.add_row(Text(escape_control(grid.rows[row])), *numbers)
    return table


def _abbreviate(count: int, max_count: int | None) -> Positions:
    """The positions 0 … count - 1, at most `max_count` of them, with None for those left out of the middle."""
    if max_count is None or count <= max_count:
        return list(range(count))
    last = max_count // 3
    return [*range(max_count - last), None, *range(count - last, count)]


def _without_gap(positions: Positions) -> list[int]:
    """The positions without the None among them."""
    return [position for position in positions if position is not None]


def _count_left_out(positions: Sequence[object], count: int) -> str:
    """How many of `count` are left out, `… 12 more`; None is one of the positions."""
    return f"{ELLIPSIS} {count - len(positions) + 1} more"


def _max_columns(grid: Grid, formatted: Grid, cells: Sequence[Sequence[str]], width: int | None) -> int | None:
    """How many columns fit on the screen after the row labels; None where all of them do."""
    if width is None:
        return None
    rows_left_out = _count_left_out((*formatted.rows, None), len(grid.rows))
    label_width = max(cell_len(text) for text in (grid.corner, rows_left_out, *map(escape_control, formatted.rows)))
    column_widths = [
        max([cell_len(escape_control(heading)), *(len(row[index]) for row in cells)]) + COLUMN_GAP
        for index, heading in enumerate(formatted.columns)
    ]
    if len(formatted.columns) == len(grid.columns) and label_width + sum(column_widths) <= width:
        return None
    available = width - label_width - len(f"{ELLIPSIS} {len(grid.columns)} more") - COLUMN_GAP
    return max(available // max(column_widths), 1)


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
