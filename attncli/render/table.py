"""Tables for a terminal and for a pipe: one that fits a screen, one that is never cut."""

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.style import Style
from rich.table import Table
from rich.text import Text

from attncli.arrays import np
from attncli.literal import clean
from attncli.render.grid import Grid
from attncli.render.sections import Section

MOST_ROWS = 40
GAP = "…"
BETWEEN = 3  # blanks between two columns
UNLIMITED = 1_000_000


@dataclass(frozen=True)
class Screen:
    """What is known of where the text goes: its width (None: a pipe or a file), and whether it shows styles."""

    width: int | None = None
    styled: bool = False


def render(parts: Iterable[Section], screen: Screen, places: int, heading: str = "") -> str:
    """The sections as text, one under the other."""
    console = open_console(screen)
    if heading:
        console.print(Text(heading, "bold"))
    for section in parts:
        console.print()
        print_section(console, section, screen, places)
    return closed(console)


def open_console(screen: Screen) -> Console:
    """A console that keeps what is printed; nothing in it reads markup, emoji codes or the environment's width."""
    return Console(
        file=io.StringIO(),
        width=screen.width or UNLIMITED,
        force_terminal=screen.styled,
        legacy_windows=False,
        markup=False,
        emoji=False,
        highlight=False,
    )


def closed(console: Console) -> str:
    """What a console has kept, without blanks at the ends of lines."""
    assert isinstance(console.file, io.StringIO)
    return "\n".join(line.rstrip() for line in console.file.getvalue().split("\n"))


def print_section(console: Console, section: Section, screen: Screen, places: int) -> None:
    """Print one section: its title, how it comes about, its grids, one cell by hand."""
    console.print(Text.assemble((section.title, "bold"), f"  {section.formula}" if section.formula else ""))
    if section.shapes:
        console.print(Text(section.shapes, "dim"))
    for grid in section.grids:
        console.print(_table(grid, screen, places))
    for line in section.arithmetic:
        console.print(Text(f"  {clean(line)}", "cyan"))
    for remark in section.remarks:
        console.print(Text(f"  {remark}", "dim"))


def _table(grid: Grid, screen: Screen, places: int) -> Table:
    """One grid; on a screen the middle of long rows and columns is left out, with the count."""
    cells = grid.cells(places)
    rows = _kept(len(cells), MOST_ROWS if screen.width else None)
    columns = _kept(len(grid.columns), _fitting(grid, cells, rows, screen.width))
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, title_justify="left")
    if grid.slice:
        table.title = Text(clean(grid.slice), "italic")
    table.add_column(Text(grid.corner, "dim"), no_wrap=True)
    for column in columns:
        heading = (
            Text(_missing(columns, len(grid.columns)), "dim") if column is None else Text(clean(grid.columns[column]))
        )
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        if row is None:
            table.add_row(Text(_missing(rows, len(cells)), "dim"), *[Text(GAP, "dim")] * len(columns))
            continue
        shades = _shades(grid, row)
        numbers = [Text(GAP, "dim") if at is None else Text(cells[row][at], shades[at]) for at in columns]
        table.add_row(Text(clean(grid.rows[row])), *numbers)
    return table


def _missing(kept: Sequence[int | None], count: int) -> str:
    """`… 12 more`."""
    return f"{GAP} {count - len(kept) + 1} more"


def _kept(count: int, most: int | None) -> list[int | None]:
    """The positions that are shown, at most so many; None stands for those left out between the first and the last."""
    if most is None or count <= most:
        return list(range(count))
    last = most // 3
    return [*range(most - last), None, *range(count - last, count)]


def _fitting(grid: Grid, cells: Sequence[Sequence[str]], rows: Sequence[int | None], width: int | None) -> int | None:
    """How many columns fit on the screen beside the labels; None where all of them do."""
    if width is None:
        return None
    shown = [row for row in rows if row is not None]
    labels = max(
        cell_len(text) for text in (grid.corner, _missing(rows, len(cells)), *(clean(grid.rows[row]) for row in shown))
    )
    widths = [
        max([cell_len(clean(heading)), *(len(cells[row][at]) for row in shown)]) + BETWEEN
        for at, heading in enumerate(grid.columns)
    ]
    if labels + sum(widths) <= width:
        return None
    room = width - labels - len(f"{GAP} {len(widths)} more") - BETWEEN
    return max(room // max(widths), 1)


def _shades(grid: Grid, row: int) -> list[Style]:
    """A background for each cell, the darker the larger its weight; the largest of a row is bold as well."""
    plain = [Style()] * grid.values.shape[1]
    if not grid.shaded:
        return plain
    weights = np.nan_to_num(grid.values[row], posinf=0, neginf=0)
    largest = weights.max()
    if largest <= 0:
        return plain
    return [_shade(float(weight / largest)) for weight in weights]


def _shade(share: float) -> Style:
    """From no background at all to a full blue."""
    if share < 0.05:
        return Style()
    red, green, blue = (int(start + (end - start) * share) for start, end in ((210, 8), (230, 81), (245, 156)))
    ink = "rgb(0,0,0)" if share < 0.5 else "rgb(255,255,255)"
    return Style(bgcolor=f"rgb({red},{green},{blue})", color=ink, bold=share == 1)
