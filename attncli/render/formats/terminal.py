"""Tables for a terminal and for a pipe: one that fits a screen, one that is never cut."""

import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.style import Style
from rich.table import Table
from rich.text import Text

from attncli.base.lazy_numpy import np
from attncli.base.text import escape_control
from attncli.render.formats import text_table
from attncli.render.formats.text_table import BETWEEN
from attncli.render.grid import Grid
from attncli.render.sections import Section

MOST_ROWS = 40
GAP = "…"
UNLIMITED = 1_000_000


@dataclass(frozen=True)
class TextTarget:
    """What is known of where the text goes: its width (None: a pipe or a file), and whether it shows styles."""

    width: int | None = None
    styled: bool = False


def render(parts: Iterable[Section], screen: TextTarget, places: int, heading: str = "") -> str:
    """The sections as text, one under the other."""
    console = open_console(screen)
    if heading:
        console.print(Text(heading, "bold"))
    for section in parts:
        console.print()
        print_section(console, section, screen, places)
    return closed(console)


def open_console(screen: TextTarget) -> Console:
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


def print_section(console: Console, section: Section, screen: TextTarget, places: int) -> None:
    """Print one section: its title, how it comes about, its grids, one cell by hand."""
    console.print(Text.assemble((section.title, "bold"), f"  {section.formula}" if section.formula else ""))
    if section.shapes:
        console.print(Text(section.shapes, "dim"))
    for grid in section.grids:
        if grid.slice:
            console.print(Text(escape_control(grid.slice), "italic"))
        if screen.width is None and not screen.styled:
            console.out(text_table.text(grid, places), highlight=False)
        else:
            console.print(_table(grid, screen, places))
    for line in section.arithmetic:
        console.print(Text(f"  {escape_control(line)}", "cyan"))
    for remark in section.remarks:
        console.print(Text(f"  {remark}", "dim"))


def _table(grid: Grid, screen: TextTarget, places: int) -> Table:
    """One grid; on a screen the middle of long rows and columns is left out, with the count."""
    rows = _kept(len(grid.rows), MOST_ROWS if screen.width else None)
    near = _kept(
        len(grid.columns), screen.width // (1 + BETWEEN) if screen.width else None
    )  # more than these never fit
    shown = grid.only(_present(rows), _present(near))
    cells = dict(zip(_present(rows), shown.cells(places), strict=True))
    place = {at: number for number, at in enumerate(_present(near))}
    columns = _kept(len(grid.columns), _fitting(grid, shown, list(cells.values()), screen.width))
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column(Text(grid.corner, "dim"), no_wrap=True)
    for column in columns:
        heading = (
            Text(_missing(columns, len(grid.columns)), "dim")
            if column is None
            else Text(escape_control(grid.columns[column]))
        )
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        if row is None:
            table.add_row(Text(_missing(rows, len(grid.rows)), "dim"), *[Text(GAP, "dim")] * len(columns))
            continue
        shade = _shades(grid, row)
        numbers = [Text(GAP, "dim") if at is None else Text(cells[row][place[at]], shade(at)) for at in columns]
        table.add_row(Text(escape_control(grid.rows[row])), *numbers)
    return table


def _missing(kept: Sequence[object], count: int) -> str:
    """`… 12 more`; what stands for them is among those kept."""
    return f"{GAP} {count - len(kept) + 1} more"


def _kept(count: int, most: int | None) -> list[int | None]:
    """The positions that are shown, at most so many; None stands for those left out between the first and the last."""
    if most is None or count <= most:
        return list(range(count))
    last = most // 3
    return [*range(most - last), None, *range(count - last, count)]


def _present(kept: Sequence[int | None]) -> list[int]:
    """The positions that are shown."""
    return [at for at in kept if at is not None]


def _fitting(grid: Grid, shown: Grid, cells: Sequence[Sequence[str]], width: int | None) -> int | None:
    """How many columns fit on the screen beside the labels; None where all of them do."""
    if width is None:
        return None
    left_out = _missing((*shown.rows, GAP), len(grid.rows))
    labels = max(cell_len(text) for text in (grid.corner, left_out, *map(escape_control, shown.rows)))
    widths = [
        max([cell_len(escape_control(heading)), *(len(row[at]) for row in cells)]) + BETWEEN
        for at, heading in enumerate(shown.columns)
    ]
    if len(shown.columns) == len(grid.columns) and labels + sum(widths) <= width:
        return None
    room = width - labels - len(f"{GAP} {len(grid.columns)} more") - BETWEEN
    return max(room // max(widths), 1)


def _shades(grid: Grid, row: int) -> Callable[[int], Style]:
    """A background for each cell of a row, the darker the larger its weight; the largest is bold as well."""
    if not grid.shaded:
        return lambda at: Style()
    weights = np.nan_to_num(grid.values[row], posinf=0, neginf=0)
    largest = weights.max()
    return lambda at: _shade(float(weights[at] / largest)) if largest > 0 else Style()


def _shade(share: float) -> Style:
    """From no background at all to a full blue."""
    if share < 0.05:
        return Style()
    red, green, blue = (int(start + (end - start) * share) for start, end in ((210, 8), (230, 81), (245, 156)))
    ink = "rgb(0,0,0)" if share < 0.5 else "rgb(255,255,255)"
    return Style(bgcolor=f"rgb({red},{green},{blue})", color=ink, bold=share == 1)
