"""The figure of a view: groups of panels laid out on a page and drawn with Matplotlib."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from attncli.base.dataclasses import dataclass
from attncli.base.errors import AttnError
from attncli.base.text import escape_control
from attncli.render.figure.canvas import Canvas
from attncli.render.figure.colors import FAINT
from attncli.render.figure.drawing import drawing
from attncli.render.figure.fonts import Fonts, fonts_for
from attncli.render.figure.layout import (
    LINE_HEIGHT,
    MARGIN,
    MAX_WIDTH,
    TITLE_LINE_HEIGHT,
    GroupSize,
    PageLayout,
    lay_out,
)
from attncli.render.figure.limits import check_count
from attncli.render.figure.panels import Plots, notes_of, panels_of
from attncli.render.figure.plot_group import PlotGroup
from attncli.render.figure.size import Size
from attncli.render.figure.table_group import TableGroup
from attncli.render.view import View

# Inches: a larger table has cells without numbers.
ONE_TABLE, OF_SEVERAL = Size(6.0, 6.5), Size(3.3, 4.5)
TITLE_SIZE, NOTE_SIZE = 11.0, 8.0  # points
TITLE_WEIGHT = "bold"


def make_figure(view: View) -> Any:
    """The figure of a view, a `matplotlib.figure.Figure`, of its size, without one as large as it has to be.

    Raises AttnError where Matplotlib is missing, there is nothing to draw, or the view does not fit the size.
    """
    with drawing():
        content = _content_of(view)
        page, title, notes = _lay_out(content, view.size)
        canvas = Canvas(page.size, content.fonts)
        room = page.size.width - 2 * MARGIN
        for line, text in enumerate(title):
            points = TITLE_SIZE * min(1, room / content.title_width(text))
            top = MARGIN + line * TITLE_LINE_HEIGHT
            canvas.text(page.size.width / 2, top, text, points, ha="center", weight=TITLE_WEIGHT)
        pairs = list(zip(content.groups, page.groups, strict=True))
        sizes = [group.number_size(content.fonts, place) for group, place in pairs]
        smallest = min((size for size in sizes if size is not None), default=None)
        for (group, place), own in zip(pairs, sizes, strict=True):
            group.draw(canvas, place, None if own is None else smallest)  # numbers are of one size
        for line, note in enumerate(reversed(notes)):
            bottom = page.size.height - MARGIN - line * LINE_HEIGHT
            canvas.text(MARGIN, bottom, note, NOTE_SIZE, color=FAINT, va="bottom")
        return canvas.figure


def missing_characters(view: View) -> Sequence[str]:
    """The characters of a view's labels and titles that no installed font has."""
    with drawing():
        return _content_of(view).fonts.missing


@dataclass(frozen=True)
class _Content:
    """What is drawn of a view, and the fonts of its texts."""

    title: str
    groups: Sequence[TableGroup | PlotGroup]
    notes: Sequence[str]
    fonts: Fonts

    def title_width(self, text: str) -> float:
        """The width of a line of the title."""
        return self.fonts.width(text, TITLE_SIZE, TITLE_WEIGHT)

    @cached_property
    def sizes(self) -> Sequence[GroupSize]:
        """What the layout knows of the groups."""
        width = max(group.number_width(self.fonts) for group in self.groups)
        largest = ONE_TABLE if len(self.groups) == self.groups[0].count == 1 else OF_SEVERAL
        return [group.measure(self.fonts, width, largest) for group in self.groups]


def _content_of(view: View) -> _Content:
    """What is drawn of a view; raises AttnError where that is nothing."""
    panels = list(panels_of(view))
    if not panels:
        raise AttnError("there is nothing to draw: no table of the result has numbers")
    title, notes = escape_control(" ".join(view.title.split())), notes_of(view, panels)
    groups = [PlotGroup(one) if isinstance(one, Plots) else TableGroup(one, view.decimals) for one in panels]
    check_count(sum(group.count for group in groups))
    texts = [title, *notes, *(text for group in groups for text in group.texts)]
    return _Content(title, groups, notes, fonts_for(texts))


def _lay_out(content: _Content, size: Size | None) -> tuple[PageLayout, Sequence[str], Sequence[str]]:
    """The layout of a page, and the lines of its title and its notes.

    Where cells are smaller than pixels, a note says what a pixel is.
    """
    width = MAX_WIDTH if size is None else size.width - 2 * MARGIN
    title = content.fonts.wrap(content.title, width, TITLE_SIZE, TITLE_WEIGHT)
    notes = [line for note in content.notes for line in content.fonts.wrap(note, width, NOTE_SIZE)]
    page = _page(content, size, title, notes)
    if _pooling_note(content, page):  # room for the note may take some from the panels
        page = _page(content, size, title, [*notes, _pooling_note(content, page)])
    note = _pooling_note(content, page)
    return page, title, [*notes, note] if note else notes


def _pooling_note(content: _Content, page: PageLayout) -> str:
    """How many cells a pixel stands for; empty where each cell is as large as a pixel or larger."""
    poolings = {group.pooling(place) for group, place in zip(content.groups, page.groups, strict=True)} - {(1, 1)}
    blocks = " or ".join(f"{rows} × {columns}" for rows, columns in sorted(poolings))
    return f"a pixel shows the largest of {blocks} cells" if poolings else ""


def _page(content: _Content, size: Size | None, title: Sequence[str], notes: Sequence[str]) -> PageLayout:
    """The layout of a page with lines of a title and of notes; raises AttnError where it does not fit the size."""
    widths = [content.fonts.width(note, NOTE_SIZE) for note in notes]
    page = lay_out(content.sizes, size, [content.title_width(line) for line in title], widths)
    if page is None:
        assert size is not None
        message = f"{size.width:.3g} × {size.height:.3g} inches have no room for the panels and their labels"
        raise AttnError(message, hint="choose a larger size, or show less")
    return page
