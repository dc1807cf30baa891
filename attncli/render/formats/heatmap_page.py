"""The tables of a section as heat maps on a page of text, side by side, with what their colours mean."""

from collections.abc import Iterator, Sequence
from itertools import zip_longest

from rich.cells import cell_len
from rich.segment import Segment

from attncli.render.formats.text_page import TextPage
from attncli.render.grid import Grid
from attncli.render.heatmap.layout import GAP, Layout, Space, choose_layout
from attncli.render.heatmap.legend import color_bar, notes, scale_note
from attncli.render.heatmap.levels import scale_of
from attncli.render.heatmap.palette import DIM, Palette
from attncli.render.heatmap.panel import Line, PanelWriter

PAGE_LINES = 60  # of a page in a pipe or a file, and of a single table, which may be longer than a screen
MIN_NUMBER_LINES = 30  # that tables with numbers may have on a low screen
OTHER_LINES = 6  # of a screen: the heading, an empty line, the title, two lines of the legend, the prompt


def print_heatmaps(page: TextPage, grids: Sequence[Grid], decimals: int) -> None:
    """Print grids of one shape as heat maps on one scale, as many side by side as fit, and below them the legend.

    A table whose columns are different quantities stays a table.
    """
    if not grids or grids[0].aligns_columns or not grids[0].values.size:
        for grid in grids:
            page.print_grid(grid, decimals)
        return
    tables = [table for grid in grids for table in grid.before_and_after]
    palette = Palette(page.colors, page.target.has_unicode)
    height = page.target.height
    screen_lines = PAGE_LINES if height is None else height - OTHER_LINES
    space = Space(
        page.page_width,
        screen_lines,
        max(screen_lines, MIN_NUMBER_LINES),
        max(screen_lines, PAGE_LINES),
        is_screen=height is not None,
    )
    layout = choose_layout(tables, decimals, palette, page.target, space)
    scale = scale_of(tables)
    title_width = max(cell_len(table.slice_label) for table in tables)
    writer = PanelWriter(layout, scale, palette, page.target, title_width)
    page.print_segments(_lines(tables, layout, writer))
    meanings = list(notes(tables, layout, palette, decimals))
    if tables[0].signs is None and scale.has_numbers:
        bar = [] if scale.has_one_number else color_bar(scale, palette, decimals, page.page_width - 2)
        note = scale_note(scale, decimals, len(tables))
        if bar and Segment.get_line_length(bar) + cell_len(note) + 2 * GAP <= page.page_width:
            bar.append(Segment(f"{' ' * GAP}{note}", DIM))
        else:
            meanings.insert(0, note)
        if bar:
            page.print_segments([[Segment("  "), *bar]])
    if meanings:
        page.print_lines([f"  {'   '.join(meanings)}"], "dim")


def _lines(tables: Sequence[Grid], layout: Layout, writer: PanelWriter) -> Iterator[Line]:
    """The lines of all tables that are shown."""
    for first in range(0, layout.shown, layout.per_line):
        if first and layout.gap_lines:
            yield []
        row = range(first, min(first + layout.per_line, layout.shown))
        texts = layout.cells.texts
        panels = [list(writer.panel(tables[at], None if texts is None else texts[at])) for at in row]
        labels = writer.labels([tables[at] for at in row])
        for label, *parts in zip_longest(labels, *panels, fillvalue=[]):
            yield [*label, *(segment for part in parts for segment in (*part, Segment(" " * GAP)))][:-1]
