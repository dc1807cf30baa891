"""Rich prints pages of text: styled lines, wrapped text, tables for a screen, and pictures of them.

A separate module, because importing Rich takes longer than a small problem, and pages for a pipe or a file rarely need
it.
"""

import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import zip_longest
from typing import TextIO

from rich.cells import cell_len
from rich.console import Console
from rich.segment import Segment, Segments
from rich.style import Style
from rich.terminal_theme import TerminalTheme
from rich.text import Text

from attncli.base.lazy_numpy import Array
from attncli.render.color_map import MIN_SHADE
from attncli.render.document import LOWERED, OTHER, RAISED, Grid, column_blocks
from attncli.render.formats.text_table import Column, Gap, Positions, TableLayout, abbreviate, lay_out
from attncli.render.target import TextTarget

UNLIMITED_WIDTH = 1_000_000
COLORS = {"256": 256, "truecolor": 2**24}  # Rich's names for them; its other terminals have 16
MAX_LINES = 200  # rows, and columns, of a grid on a screen
ABRIDGED_LINES = 18  # the same for a longer axis in an explanation, whose worked lines name the first and last numbers
MIN_GAP = 2  # between columns that fit the width only so
MIN_LABEL_WIDTH = 6  # width of row labels on a narrow screen
PLAIN, DIM, BOLD, MARKED = Style(), Style(dim=True), Style(bold=True), Style(bold=True, reverse=True)
CHANGED = {
    RAISED: Style(bold=True, color="green"),
    LOWERED: Style(bold=True, color="red"),
    OTHER: Style(bold=True, color="yellow"),
}
MARGIN_COLUMNS = 3  # left and right together

# Dark on white, with a colour for each of a terminal's eight: readable on paper and on a screen.
_THEME = TerminalTheme(
    (255, 255, 255),
    (36, 41, 47),
    [
        (36, 41, 47),
        (180, 35, 40),
        (26, 110, 50),
        (130, 90, 0),
        (9, 85, 190),
        (120, 60, 180),
        (0, 105, 115),
        (95, 105, 115),
    ],
)
# An SVG that loads no font: each piece of text has its width in a terminal.
_FORMAT = """<svg xmlns="http://www.w3.org/2000/svg" xml:space="preserve"
     viewBox="0 0 {terminal_width} {terminal_height}">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, monospace; font-size: {char_height}px; }}
{styles}
</style>
<defs>{lines}</defs>
<rect width="100%" height="100%" rx="8" fill="#ffffff" stroke="#d0d7de"/>
<g transform="translate(16, 12)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


class RichPrinter:
    """Prints to a file in memory; Rich ignores markup, emoji codes and the environment's width.

    The console is wide enough for any table, so that Rich cuts no number; lines wrap to the width of the target.
    """

    def __init__(self, target: TextTarget, file: TextIO) -> None:
        self.target = target
        self._console = Console(
            file=file,
            width=UNLIMITED_WIDTH,
            force_terminal=target.has_styles,
            color_system=target.color_system,
            no_color=None if target.color_system == "auto" else False,  # None: obey NO_COLOR
            force_jupyter=False,  # in a notebook Rich would show each line there, and leave the text empty
            legacy_windows=False,
            markup=False,
            emoji=False,
            highlight=False,
        )

    @property
    def colors(self) -> int:
        """How many colours the target shows, as Rich reads the environment; 0 for none."""
        system = None if self._console.no_color else self._console.color_system
        return 0 if system is None else COLORS.get(system, 16)

    def print_line(self, parts: Iterable[tuple[str, str]], *, is_wrapped: bool = True) -> None:
        """Print a line of texts and their styles, wrapped to the target unless it is for copying."""
        self._console.print(Text.assemble(*parts), width=self.target.width, soft_wrap=not is_wrapped)

    def wrap(self, text: str, width: int) -> list[str]:
        """The pieces of a text that fit a width."""
        return [line.plain for line in Text(text).wrap(self._console, width)]

    def print_grid(self, grid: Grid, decimals: int) -> None:
        """Print a grid as tables that fit the target, and how to see the rest."""
        self._print_pieces(screen_tables(grid, decimals, self.target))
        if self.target.width and (note := left_out_note(grid)):
            self.print_line([(f"  {note}", "dim")])

    def print_segments(self, lines: Iterable[Iterable[Segment]]) -> None:
        """Print lines of pieces with their own styles, unwrapped."""
        self._print_pieces(piece for line in lines for piece in (*line, Segment("\n")))

    def _print_pieces(self, pieces: Iterable[Segment]) -> None:
        """Print pieces unchanged."""
        self._console.print(Segments(pieces), crop=False, end="")

    def print_columns(self, rows: Iterable[tuple[str, Sequence[str]]], style: str) -> None:
        """Print titles in a style, and the lines of the text of each next to it, wrapped to the width of the target."""
        from rich.table import Table  # noqa: PLC0415 - few pages have one

        table = Table(box=None, show_header=False, pad_edge=True)
        table.add_column(style=style, no_wrap=True)
        table.add_column(overflow="fold")
        for title, lines in rows:
            table.add_row(Text(title), Text("\n".join(lines)))
        self._console.print(table, width=self.target.width)


def left_out_note(grid: Grid) -> str:
    """How to see the rows and columns that a screen leaves out; empty if it shows all."""
    if max(len(grid.rows), len(grid.columns)) <= MAX_LINES:
        return ""
    if grid.is_abridged:
        return f"a screen shows {ABRIDGED_LINES} of more than {MAX_LINES}; a file and a pipe get all of them"
    return f"a screen shows {MAX_LINES} rows and columns; a file and a pipe get all of them"


def screen_tables(grid: Grid, decimals: int, target: TextTarget) -> Iterator[Segment]:
    """The grid in blocks of columns as wide as the target; one block if the target has no width.

    Beyond MAX_LINES rows or columns, a count replaces the unmarked middle: `… 12 more`; an abridged grid keeps only
    ABRIDGED_LINES of these. No number is ever cut, so the terminal wraps a number wider than a line.
    """
    most = ABRIDGED_LINES if grid.is_abridged else MAX_LINES
    rows, columns = (
        abbreviate(count, most if target.width and count > MAX_LINES else count, marked)
        for count, marked in ((len(grid.rows), grid.marked_rows), (len(grid.columns), grid.marked_columns))
    )
    layout = lay_out(grid, decimals, target, rows, columns)
    label_width, available, gap = layout.label_width, None, target.column_gap
    if target.width:
        widest = max((column.number_width for column in layout.columns), default=0) + gap
        label_width = min(label_width, max(target.width - widest, MIN_LABEL_WIDTH))
        available = target.width - label_width
    widths = [
        column.width if available is None else max(min(column.width, available - gap), column.number_width)
        for column in layout.columns
    ]
    if available is not None:
        gap = _narrowed_gap(gap, widths, available, has_marks=grid.changes is not None)
    styles = _Styles(grid, rows)
    for block in column_blocks([width + gap for width in widths], available):
        if block.start:
            yield Segment("\n")
        block_columns = [(layout.columns[position], widths[position]) for position in block]
        yield from _block(layout, label_width, block_columns, styles, gap)


def _narrowed_gap(gap: int, widths: Sequence[int], available: int, *, has_marks: bool) -> int:
    """The gap between columns, narrower if all of them then fit; the marks of changes act as a gap."""
    fitting = (gap - less for less in range(gap) if sum(widths) + (gap - less) * len(widths) <= available)
    narrowed = next(fitting, gap)
    return narrowed if narrowed >= (1 if has_marks else MIN_GAP) else gap


@dataclass(frozen=True)
class _Styles:
    """The styles of a grid: weights are shaded, marked and changed cells bold, gaps dim."""

    grid: Grid
    rows: Positions

    def of_label(self, index: int) -> Style:
        """The style of a row's label, by its index among the shown rows."""
        row = self.rows[index]
        return DIM if isinstance(row, Gap) else BOLD if row in self.grid.marked_rows else PLAIN

    def of_heading(self, column: Column) -> Style:
        """The style of the heading of a column."""
        return DIM if column.position is None else BOLD if column.position in self.grid.marked_columns else PLAIN

    def of_cells(self, index: int, columns: Sequence[Column]) -> list[Style]:
        """The style of each of some cells of a row."""
        row = self.rows[index]
        if isinstance(row, Gap):
            return [DIM] * len(columns)
        shades = None if self.grid.shades is None else self.grid.shades[row]
        return [DIM if column.position is None else self._of_cell(row, column.position, shades) for column in columns]

    def _of_cell(self, row: int, column: int, shades: Array | None) -> Style:
        """The style of a cell, by its position in the grid and the shades of its row."""
        if (row, column) in self.grid.marked:
            return MARKED
        mark = self.grid.change_mark(row, column)
        if not mark and self.grid.masked[row, column]:
            return DIM
        if mark and shades is None:
            return CHANGED[mark]
        style = PLAIN if shades is None else _shade(int(shades[column]))
        return style + BOLD if mark or self.grid.is_marked(row, column) else style


def _block(
    layout: TableLayout, label_width: int, columns: Sequence[tuple[Column, int]], styles: _Styles, gap: int
) -> Iterator[Segment]:
    """The labels of the rows and some columns, with widths and gaps: headings, a rule, the rows."""
    headings = [_fold(column.heading, width) for column, width in columns]
    has_head = layout.corner or any(column.heading for column, _ in columns)  # one number has no label
    for corner, *texts in zip_longest(_fold(layout.corner, label_width), *headings, fillvalue="") if has_head else ():
        yield from _padded(corner, label_width, DIM)
        for text, (column, width) in zip(texts, columns, strict=True):
            yield Segment(" " * (gap + width - cell_len(text)))
            yield Segment(text, styles.of_heading(column))
        yield Segment("\n")
    if has_head:
        yield Segment("─" * (label_width + sum(gap + width for _, width in columns)) + "\n")
    for index, label in enumerate(layout.labels):
        first, *rest = _fold(label, label_width)
        yield from _padded(first, label_width, styles.of_label(index))
        cell_styles = styles.of_cells(index, [column for column, _ in columns])
        for (column, width), style in zip(columns, cell_styles, strict=True):
            text = column.cells[index]
            number = text.strip()
            at = text.index(number)
            yield Segment(" " * (gap + width - len(text) + at))
            yield Segment(number, style)
            yield Segment(text[at + len(number) :])
        yield Segment("\n")
        for line in rest:
            yield Segment(line, styles.of_label(index))
            yield Segment("\n")


def _padded(text: str, width: int, style: Style) -> Iterator[Segment]:
    """A text in a style, and spaces up to a width."""
    yield Segment(text, style)
    yield Segment(" " * (width - cell_len(text)))


def _fold(text: str, width: int) -> list[str]:
    """A text in lines of at most that width, broken at spaces if it has any."""
    if cell_len(text) <= width:
        return [text]
    return [line.plain.rstrip() for line in Text(text).wrap(Console(width=width), width, overflow="fold")]


@cache  # a table has many cells
def _shade(percent: int) -> Style:
    """A background from none (below MIN_SHADE percent) to full blue (100, which is bold as well)."""
    if percent < MIN_SHADE:
        return PLAIN
    red, green, blue = (start + (end - start) * percent // 100 for start, end in ((210, 8), (230, 81), (245, 156)))
    text_color = "rgb(0,0,0)" if percent < 50 else "rgb(255,255,255)"
    return Style(bgcolor=f"rgb({red},{green},{blue})", color=text_color, bold=percent == 100)


def picture(text: str, title: str) -> str:
    """A picture of a text with styles, under a title if it has one: an SVG."""
    page = Text.assemble(*([(f"{title}\n", "bold")] if title else []), Text.from_ansi(text))
    width = max(cell_len(line) for line in page.plain.splitlines()) + MARGIN_COLUMNS
    console = Console(
        record=True,
        file=io.StringIO(),
        width=width,
        height=1,  # given a height, Rich uses the width in a dumb terminal too
        force_terminal=True,
        color_system="truecolor",
        no_color=False,
        legacy_windows=False,
    )
    console.print(page)
    svg = console.export_svg(theme=_THEME, code_format=_FORMAT, unique_id="attn")
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"
