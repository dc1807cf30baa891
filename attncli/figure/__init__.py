"""The figure of a view: its tables and plots in groups of panels, laid out on a page and drawn with Matplotlib."""

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any, Protocol

from attncli.base.errors import AttnError
from attncli.base.text import escape_control
from attncli.figure.drawing import Canvas, Fonts, check_matplotlib, drawing, fonts_for
from attncli.figure.layout import LINE_HEIGHT, MARGIN, PAPER, TITLE_LINE_HEIGHT, GroupSize, PageLayout, lay_out
from attncli.figure.lines_group import LinesGroup
from attncli.figure.plot_group import PlotGroup
from attncli.figure.table_group import TableGroup
from attncli.plan.graph import Plan
from attncli.problem.fields import CONTEXT, OUTPUT, WEIGHTS
from attncli.render.data_fit import has_data_fit
from attncli.render.document import LABEL_SEPARATOR, Section
from attncli.render.document import LEGEND as CHANGES
from attncli.render.figure_style import FigureStyle, Size
from attncli.render.sections import edits_text, sections
from attncli.render.view import Drawable, View

MAX_PANELS = 300  # tables of one figure
HINT = "choose some with --head N, --batch N or --select NAME"
MAX_NAMED = 12  # characters that a warning names
ONE_TABLE, OF_SEVERAL = Size(6.0, 6.5), Size(3.3, 4.5)  # inches: a larger table has cells without numbers
TITLE_SIZE, NOTE_SIZE = 11.0, 8.0  # points
TITLE_WEIGHT = "bold"


Group = TableGroup | PlotGroup | LinesGroup


class FigureSource(Drawable, Protocol):
    """A replacement for a view, which makes its own groups of panels."""

    @property
    def notes(self) -> tuple[str, ...]:
        """The lines below the panels."""
        ...

    @property
    def hint(self) -> str:
        """The hint if it has too many tables."""
        ...

    def groups(self) -> Iterable[Group]:
        """The groups of panels."""
        ...


Drawn = View | FigureSource


def check_figure(plan: Plan, names: Iterable[str], cut_axes: Collection[str]) -> None:
    """Raise AttnError if Matplotlib is not installed, or some results have more tables than a figure shows.

    `cut_axes` are the letters of axes with one shown position.
    """
    check_matplotlib()
    leading = (plan[name].axes[:-2] for name in names)
    _check_count(sum(math.prod(length for letter, length in axes if letter not in cut_axes) for axes in leading))


def _check_count(count: int, hint: str = HINT) -> None:
    """Raise AttnError if there are more tables than a figure shows."""
    if count > MAX_PANELS:
        message = f"a figure shows {MAX_PANELS} tables at most, and these are {count:,}"
        raise AttnError(message, hint=hint)


def warnings_of_fonts(view: Drawn) -> Sequence[str]:
    """A warning of the characters that no installed font has, if there are any."""
    with drawing():
        missing = content_of(view).fonts.missing
    if not missing:
        return []
    named = " ".join(missing[:MAX_NAMED]) + (" …" if len(missing) > MAX_NAMED else "")
    message = f"no installed font has {named}: the figure has boxes in their place"
    return [f"{message}; install a font such as Noto Sans, or write a .svg, which leaves them to its viewer"]


def make_figure(view: Drawn, *, has_images: bool = True) -> Any:
    """The figure, a `matplotlib.figure.Figure`, of the view's size, by default as large as necessary.

    With `has_images` the small cells of large tables are images.

    Raises AttnError if Matplotlib is missing, there is nothing to draw, or the view does not fit the size.
    """
    with drawing():
        content = content_of(view)
        page, title, notes = _lay_out(content)
        canvas = Canvas(page.size, content.fonts, content.style, has_images=has_images)
        room = page.size.width - 2 * MARGIN
        for line, text in enumerate(title):
            points = TITLE_SIZE * min(1, room / content.title_width(text))
            top = MARGIN + line * TITLE_LINE_HEIGHT
            canvas.text(page.size.width / 2, top, text, points, ha="center", weight=TITLE_WEIGHT)
        pairs = list(zip(content.groups, page.groups, strict=True))
        sizes = [group.number_size(content.fonts, layout) for group, layout in pairs]
        smallest = min((size for size in sizes if size is not None), default=None)
        for (group, layout), own in zip(pairs, sizes, strict=True):
            group.draw(canvas, layout, None if own is None else smallest)  # all numbers have the same size
        for line, note in enumerate(reversed(notes)):
            bottom = page.size.height - MARGIN - line * LINE_HEIGHT
            canvas.text(MARGIN, bottom, note, NOTE_SIZE, color=canvas.theme.faint, va="bottom")
        return canvas.figure


@dataclass(frozen=True)
class FigureContent:
    """The content to draw, and the fonts of its texts."""

    title: str
    groups: Sequence[Group]
    notes: Sequence[str]
    fonts: Fonts
    style: FigureStyle

    def title_width(self, text: str) -> float:
        """The width of a line of the title."""
        return self.fonts.width(text, TITLE_SIZE, TITLE_WEIGHT)

    @property
    def size(self) -> Size | None:
        """The requested size, in inches of a figure with the usual text size."""
        return None if self.style.size is None else self.style.size.scaled(1 / self.style.scale)

    @property
    def paper(self) -> Size:
        """The maximum size of a figure without a requested one, in the same inches."""
        return PAPER.scaled(1 / self.style.scale)

    @cached_property
    def sizes(self) -> Sequence[GroupSize]:
        """The groups' measures for the layout."""
        width = max(group.number_width(self.fonts) for group in self.groups)
        largest = ONE_TABLE if len(self.groups) == self.groups[0].count == 1 else OF_SEVERAL
        return [group.measure(self.fonts, width, largest) for group in self.groups]


def content_of(view: Drawn) -> FigureContent:
    """The content of a view, a comparison or maps; raises AttnError if it is empty."""
    if isinstance(view, View):
        groups = list(_groups_of(view))
        notes, hint = _notes_of(view, groups), HINT
    else:
        groups, notes, hint = list(view.groups()), view.notes, view.hint
    if not groups:
        raise AttnError("no table of the result has numbers to draw")
    title = escape_control(" ".join(view.title.split()))
    _check_count(sum(group.count for group in groups), hint)
    texts = [title, *notes, *(text for group in groups for text in group.texts)]
    return FigureContent(title, groups, notes, fonts_for(texts), style_of(view))


def style_of(view: Drawn) -> FigureStyle:
    """The style of a view."""
    return FigureStyle() if view.style is None else view.style


def _groups_of(view: View) -> Iterator[Group]:
    """The groups of panels of a view: one for each of its sections with tables or plots.

    An output of one feature over one axis is a curve, as with `curve`.
    """
    trace = view.result.trace
    is_selected = not (view.curve or view.explain) and OUTPUT in view.result.select and CONTEXT in trace
    is_curve = is_selected and trace[CONTEXT].value.shape[-1] == 1 and has_data_fit(trace)
    content = replace(view, cells=(), statistics=False, curve=view.curve or is_curve)
    for section in sections(content):
        if section.plots:
            yield PlotGroup(section.title, section.plots)
        elif any(grid.values.size for grid in section.grids) and not (is_curve and section.title == OUTPUT):
            yield _table_group(view, section)


def _heads_of(view: View, count: int, per_slice: int) -> tuple[int, ...]:
    """The head's number for each of so many tables of weights; before and after share one."""
    trace = view.result.trace
    heads = dict(trace.plan[WEIGHTS].axes).get("h", 1)
    first, step = view.positions.get("h"), max(per_slice, 1)
    return tuple(at // step % heads if first is None else first for at in range(count))


def _table_group(view: View, section: Section) -> TableGroup | LinesGroup:
    """The tables of a section, changed ones before and after; the title has the text common to their labels."""
    trace = view.result.trace
    pairs = [zip(trace.numbered_labels[letter], labels, strict=True) for letter, labels in trace.labels.items()]
    tokens = dict(chain.from_iterable(pairs))  # `the` for `the#1`: on an axis the position distinguishes them
    tables = [
        replace(
            table,
            rows=tuple(tokens.get(label, label) for label in table.rows),
            columns=tuple(tokens.get(label, label) for label in table.columns),
        )
        for table in section.tables
    ]
    has_both = any(grid.before is not None for grid in section.grids)
    labels = [table.slice_label.split(LABEL_SEPARATOR) for table in tables]
    common = [part for part in labels[0] if part and all(part in parts for parts in labels)]
    own = [LABEL_SEPARATOR.join(part for part in parts if part not in common) for parts in labels]
    per_slice = 2 if has_both else 1
    title = LABEL_SEPARATOR.join([section.title, *common])
    named = tuple(replace(table, slice_label=label) for table, label in zip(tables, own, strict=True))
    if view.lines and named[0].is_heatmap:
        return LinesGroup(title, named, _heads_of(view, len(named), per_slice), per_slice)
    return TableGroup(
        title=title,
        subtitle=section.formula if view.explain else "",
        tables=named,
        per_slice=per_slice,
        decimals=view.decimals,
        style=style_of(view),
    )


def _notes_of(view: View, groups: Iterable[Group]) -> tuple[str, ...]:
    """The lines below the panels: the edits, and the meaning of the marks of changes."""
    tables = (table for group in groups if isinstance(group, TableGroup) for table in group.tables)
    has_marks = any(table.has_changes for table in tables)
    notes = (edits_text(view.edited_cells, view.decimals), CHANGES if has_marks else "")
    return tuple(note for note in notes if note)


def _lay_out(content: FigureContent) -> tuple[PageLayout, Sequence[str], Sequence[str]]:
    """The layout of a page, and the lines of its title and its notes.

    If cells are smaller than pixels, a note says how many cells a pixel shows.
    """
    size = content.size
    width = content.paper.width if size is None else size.width - 2 * MARGIN
    title = content.fonts.wrap(content.title, width, TITLE_SIZE, TITLE_WEIGHT)
    notes = [line for note in content.notes for line in content.fonts.wrap(note, width, NOTE_SIZE)]
    page = _page(content, title, notes)
    if _pooling_note(content, page):  # room for the note may reduce the panels
        page = _page(content, title, [*notes, _pooling_note(content, page)])
    note = _pooling_note(content, page)
    return page, title, [*notes, note] if note else notes


def _pooling_note(content: FigureContent, page: PageLayout) -> str:
    """How many cells a pixel shows; empty if each cell is at least as large as a pixel."""
    poolings = {group.pooling(layout) for group, layout in zip(content.groups, page.groups, strict=True)} - {(1, 1)}
    blocks = " or ".join(f"{rows} × {columns}" for rows, columns in sorted(poolings))
    return f"a pixel shows the largest of {blocks} cells" if poolings else ""


def _page(content: FigureContent, title: Sequence[str], notes: Sequence[str]) -> PageLayout:
    """The layout of a page with lines of a title and of notes; raises AttnError if it does not fit the size."""
    widths = [content.fonts.width(note, NOTE_SIZE) for note in notes]
    titles = [content.title_width(line) for line in title]
    page = lay_out(content.sizes, content.size, titles, widths, content.paper)
    if page is None:
        size = content.style.size
        assert size is not None
        message = f"{size.width:.3g} × {size.height:.3g} inches are too small for the panels and their labels"
        raise AttnError(message, hint="choose a larger size, or show less")
    return page
