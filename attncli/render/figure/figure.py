"""The figure of a view: groups of panels laid out on a page and drawn with Matplotlib."""

from collections.abc import Sequence
from typing import Any

from attncli.base.errors import AttnError
from attncli.base.text import escape_control
from attncli.render.figure.canvas import Canvas
from attncli.render.figure.colors import FAINT
from attncli.render.figure.drawing import drawing
from attncli.render.figure.fonts import Fonts, fonts_for
from attncli.render.figure.layout import LINE_HEIGHT, MARGIN, GroupSize, lay_out
from attncli.render.figure.panels import Plots, notes_of, panels_of
from attncli.render.figure.plot_group import PlotGroup
from attncli.render.figure.size import Size
from attncli.render.figure.table_group import TableGroup
from attncli.render.view import View

Group = TableGroup | PlotGroup

# Inches: a larger table has cells without numbers.
ONE_TABLE, OF_SEVERAL = Size(6.0, 6.5), Size(3.3, 4.5)
TITLE_SIZE, NOTE_SIZE = 11.0, 8.0  # points


def make_figure(view: View) -> Any:
    """The figure of a view, a `matplotlib.figure.Figure`, of its size, without one as large as it has to be.

    Raises AttnError where Matplotlib is missing, or the view does not fit the size.
    """
    with drawing():
        groups = _groups(view)
        title, notes = escape_control(view.title), notes_of(view)
        fonts = _fonts(view, groups)
        sizes = _sizes(groups, fonts)
        title_width = fonts.width(title, TITLE_SIZE) if title else 0.0
        size = view.size
        page = lay_out(sizes, size, title_width, [fonts.width(note, NOTE_SIZE) for note in notes])
        if page is None:
            assert size is not None
            message = f"{size.width:.3g} × {size.height:.3g} inches have no room for the panels and their labels"
            raise AttnError(message, hint="choose a larger size, or show less")
        canvas = Canvas(page.size, fonts)
        if title:
            canvas.text(page.size.width / 2, MARGIN, title, TITLE_SIZE, ha="center", weight="bold")
        for group, place in zip(groups, page.groups, strict=True):
            group.draw(canvas, place)
        for line, note in enumerate(reversed(notes)):
            bottom = page.size.height - MARGIN - line * LINE_HEIGHT
            canvas.text(MARGIN, bottom, note, NOTE_SIZE, color=FAINT, va="bottom")
        return canvas.figure


def missing_characters(view: View) -> Sequence[str]:
    """The characters of a view's labels and titles that no installed font has."""
    with drawing():
        return _fonts(view, _groups(view)).missing


def _groups(view: View) -> Sequence[Group]:
    """What is drawn of a view."""
    return [
        PlotGroup(group) if isinstance(group, Plots) else TableGroup(group, view.decimals) for group in panels_of(view)
    ]


def _sizes(groups: Sequence[Group], fonts: Fonts) -> Sequence[GroupSize]:
    """What the layout knows of the groups."""
    width = max(group.number_width(fonts) for group in groups)
    is_one = len(groups) == groups[0].count == 1
    return [group.measure(fonts, width, ONE_TABLE if is_one else OF_SEVERAL) for group in groups]


def _fonts(view: View, groups: Sequence[Group]) -> Fonts:
    """The fonts of all texts of a figure."""
    return fonts_for([escape_control(view.title), *notes_of(view), *(text for group in groups for text in group.texts)])
