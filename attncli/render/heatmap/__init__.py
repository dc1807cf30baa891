"""The tables of a section as heat maps on a page of text, side by side, with the meaning of their colours."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style

from attncli.base.axes import AXIS_NOUNS
from attncli.base.lazy_numpy import np
from attncli.base.text import count_of
from attncli.render.aligned_numbers import align_numbers
from attncli.render.color_map import ColorScale
from attncli.render.document import Grid
from attncli.render.formats.text_page import TextPage
from attncli.render.heatmap.layout import (
    GAP,
    Layout,
    Space,
    Texts,
    choose_layout,
    column_labels,
    cut,
    row_labels,
    sparse_line,
    split_grid,
    table_titles,
    wrapped_headings,
)
from attncli.render.heatmap.palette import (
    DIM,
    MASKED,
    NAN_SIGN,
    VISIBLE_LEVEL,
    Palette,
    Scale,
    is_masked,
    pool,
    scale_of,
)
from attncli.render.tables import OPTION_OF_AXIS
from attncli.render.target import TextTarget

PAGE_LINES = 60  # on a page in a pipe or a file, and for a single table, which may be longer than a screen
LABELLED_LINES, LINES_OF_ONE = 120, 240  # for tables with every label, and for a single one
OTHER_LINES = 6  # on a screen: the heading, an empty line, the title, two lines of the legend, the prompt
BAR_WIDTH, MIN_BAR_WIDTH = 16, 2
PLAIN, BOLD, ITALIC = Style(), Style(bold=True), Style(italic=True)

Line = list[Segment]


def print_heatmaps(page: TextPage, grids: Sequence[Grid], decimals: int) -> None:
    """Print grids of one shape as heat maps on one scale, as many side by side as fit, above the legend.

    A table whose columns are different quantities is not a heat map.
    """
    if not grids or grids[0].aligns_columns or not grids[0].values.size:
        for grid in grids:
            page.print_grid(grid, decimals)
        return
    tables = [table for grid in grids for table in grid.before_and_after]
    palette = Palette(page.colors, page.target.has_unicode)
    height = page.target.height
    lines = PAGE_LINES if height is None else height - OTHER_LINES
    space = Space(
        page.page_width,
        lines,
        lines_of_one=max(lines, PAGE_LINES),
        lines_of_labels=max(lines, LABELLED_LINES),
        lines_of_numbers=max(lines, LINES_OF_ONE),
        is_screen=height is not None,
    )
    layout = choose_layout(tables, decimals, palette, page.target, space)
    scale = scale_of(tables, is_dark=not page.target.is_light)
    palette = palette if scale.colors is None else replace(palette, scale=scale.colors)
    drawn = _Heatmaps(tables, layout, scale, palette, page.target)
    page.print_segments((drawn.in_blocks if layout.per_block else drawn).lines())
    meanings = list(drawn.notes(decimals))
    if tables[0].signs is None and scale.colors is not None:
        bar = drawn.color_bar(scale.colors, decimals, page.page_width - 2)
        note = drawn.scale_note(scale.colors)
        if note and Segment.get_line_length(bar) + cell_len(note) + 2 * GAP <= page.page_width:
            bar.append(Segment(f"{' ' * GAP}{note}", DIM))
        elif note:
            meanings.insert(0, note)
        page.print_segments([[Segment("  "), *bar]])
    if meanings:
        page.print_lines([f"  {'   '.join(meanings)}"], "dim")


@dataclass(frozen=True)
class _Heatmaps:
    """Tables of one shape in one layout, on one scale."""

    tables: Sequence[Grid]
    layout: Layout
    scale: Scale
    palette: Palette
    target: TextTarget

    @property
    def has_titles(self) -> bool:
        """Whether tables have titles: there are several."""
        return any(table.slice_label for table in self.tables)

    @property
    def in_blocks(self) -> "_Heatmaps":
        """The tables in blocks of as many columns as fit, each block a table."""
        per_block, cells = self.layout.per_block, self.layout.cells
        tables = [block for table in self.tables for block in split_grid(table, per_block)]
        texts = [
            [row[start : start + per_block] for row in own]
            for own in cells.texts or ()
            for start in range(0, len(own[0]), per_block)
        ]
        layout = replace(self.layout, cells=replace(cells, texts=texts), shown=len(tables))
        return replace(self, tables=tables, layout=layout)

    def lines(self) -> Iterator[Line]:
        """The lines of all shown tables."""
        layout, texts = self.layout, self.layout.cells.texts
        titles = table_titles([table.slice_label for table in self.tables], layout.cells.count_columns(self.tables[0]))
        for first in range(0, layout.shown, layout.per_line):
            if first and layout.gap_lines:
                yield []
            row = range(first, min(first + layout.per_line, layout.shown))
            has_titles = any(self.tables[at].slice_label for at in row)
            shown_titles = [titles[at] if has_titles else None for at in row]
            panels = [
                list(self._panel(self.tables[at], title, None if texts is None else texts[at]))
                for at, title in zip(row, shown_titles, strict=True)
            ]
            labels = self._labels([self.tables[at] for at in row], has_titles=has_titles)
            for label, *parts in zip_longest(labels, *panels, fillvalue=[]):
                yield [*label, *(segment for part in parts for segment in (*part, Segment(" " * GAP)))][:-1]

    def _labels(self, grids: Sequence[Grid], *, has_titles: bool) -> list[Line]:
        """The labels of the rows, before tables side by side; a line of several rows has the first label.

        A row that is marked in any table is marked.
        """
        grid = replace(grids[0], marked=frozenset().union(*(grid.marked for grid in grids)))
        if not self.layout.label_width:
            return []
        width, step = self.layout.label_width - 1, self.layout.cells.rows_of_line
        above = has_titles + self.layout.heading_lines
        texts = [("", PLAIN)] * (above - 1) + [(grid.corner, DIM)] * bool(above)
        for first, label in list(enumerate(row_labels(grid, self.target)))[::step]:
            is_marked = not grid.marked_rows.isdisjoint(range(first, first + step))
            texts.append((label, BOLD if is_marked else PLAIN))
        return [[Segment(cut(text, width, self.target), style), Segment(" ")] for text, style in texts]

    def _panel(self, grid: Grid, title: str | None, texts: Texts | None) -> Iterator[Line]:
        """The lines of a table, all of the same width; `texts` belong to its cells, if they fit."""
        width = self.layout.cells.count_columns(grid)
        if title is not None:
            yield [Segment(cut(self.target.text(title), width, self.target), ITALIC)]
        if self.layout.heading_lines:
            yield from self._headings(grid, width)
        levels = pool(self.scale.levels(grid), self.layout.cells.block).tolist()
        if texts is not None:
            draw = self.palette.cell if grid.signs is None else self.palette.sign
            for row, row_texts in zip(levels, texts, strict=True):
                yield [draw(level, text) for level, text in zip(row, row_texts, strict=True)]
        elif self.layout.cells.rows_per_line == 1:
            blank = " " * self.layout.cells.columns
            yield from ([self.palette.cell(level, blank) for level in row] for row in levels)
        else:
            empty = [MASKED] * len(levels[0])
            for top, bottom in zip(levels[::2], [*levels[1::2], empty], strict=False):
                yield [self.palette.halves(*pair) for pair in zip(top, bottom, strict=True)]

    def _headings(self, grid: Grid, width: int) -> Iterator[Line]:
        """The labels of the columns, each over its own in as many lines as it needs; small blocks have every k-th."""
        labels, cells = column_labels(grid, self.target), self.layout.cells
        if not self.layout.is_complete:
            yield [Segment(sparse_line(labels[:: cells.block[1]], cells.columns, width, self.target))]
            return
        wrapped = wrapped_headings(labels, cells.columns, self.target)
        styles = [BOLD if at in grid.marked_columns else PLAIN for at in range(len(labels))]
        missing = self.layout.heading_lines - len(wrapped[0])  # a block's labels may be shorter than another's
        yield from ([Segment(" " * width)] for _ in range(missing))
        for parts in zip(*wrapped, strict=True):
            yield [Segment(part, style) for part, style in zip(parts, styles, strict=True)]

    def color_bar(self, colors: ColorScale, decimals: int, width: int) -> list[Segment]:
        """The colours between their first and last numbers, in lines of a width."""
        ends = np.array([[colors.least], [colors.largest]])
        least, largest = (row[0].strip() for row in align_numbers(ends, decimals))
        room = max(min(width - len(f"{least}  {largest}"), BAR_WIDTH), MIN_BAR_WIDTH)
        return [Segment(f"{least} "), *self.palette.bar(room), Segment(f" {largest}")]

    def scale_note(self, colors: ColorScale) -> str:
        """What the colours mean, if the bar does not show it, and whether several tables share them."""
        of_all = f" of {len(self.tables)} tables" if len(self.tables) > 1 else ""
        if colors.zero is None:
            return "" if colors.largest == 1 else f"from 0 to the largest number{of_all}"
        if self.palette.colors:
            return "the stronger the further from 0"
        return f"from the lowest to the highest number{of_all}"

    def notes(self, decimals: int) -> Iterator[str]:
        """The meaning of signs, the rounding of numbers, the size of a block, and how to see the rest."""
        tables, cells = self.tables, self.layout.cells
        is_mask = tables[0].signs is not None
        if is_mask:
            yield self._meanings()
        elif any(is_masked(grid).any() for grid in tables):
            is_hidden = any(grid.hidden is not None and grid.hidden.any() for grid in tables)
            yield f"{self.palette.masked_sign} {'masked' if is_hidden else '−∞'}"
        if any(np.isnan(grid.values).any() for grid in tables):
            yield f"{NAN_SIGN if cells.texts is None else 'NaN'} not a number"
        if any((np.isposinf(grid.values) & ~is_masked(grid)).any() for grid in tables):
            yield "∞ has the last colour"
        if cells.decimals is not None and cells.decimals < decimals:
            yield f"rounded to {count_of(cells.decimals, 'decimal')}"
        axes = (letter for letter in ("h", "b") if AXIS_NOUNS[letter] in tables[0].slice_label)
        option = next((OPTION_OF_AXIS[letter] for letter in axes), None)  # shows one of several tables
        rows, columns = cells.block
        if rows * columns > 1:
            larger = f"; {option} N shows one table larger" if option and len(tables) > 1 else ""
            shown = "is visible where one of" if is_mask else "shows the largest of"
            yield f"a block {shown} {rows} × {columns} cells{' is' if is_mask else ''}{larger}"
        elif not self.layout.is_complete and option and len(tables) > 1:
            yield f"{option} N shows every label"
        if self.layout.shown < len(tables):
            yield f"{len(tables) - self.layout.shown} more tables are left out: {option} N shows one, a file has all"

    def _meanings(self) -> str:
        """The meaning of masks' signs, with counts for a single mask; if cells have no signs, their look."""
        if self.layout.cells.texts is None:
            look = "colour" if self.palette.colors else self.palette.cell(VISIBLE_LEVEL, " ").text
            return f"{look}: visible   {self.palette.masked_sign}: hidden"
        if len(self.tables) == 1:
            return self.tables[0].legend
        return "   ".join(f"{sign} {meaning}" for sign, meaning in self.tables[0].meanings.items())
