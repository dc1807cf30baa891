"""The layout of a figure: groups of equal panels on a page, in inches from its upper left corner."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from attncli.render.figure_style import Size

MARGIN = 0.08  # around the figure
GROUP_GAP, ROW_GAP = 0.34, 0.26  # between two groups in a row, and between two rows
PANEL_GAP = 0.14  # between two panels of a group
TITLE_LINE_HEIGHT, TITLE_GAP = 0.19, 0.07  # of the title of the figure, and below it
HEADING_HEIGHT = 0.23  # of the title of a group
SUBTITLE_HEIGHT = 0.19
PANEL_TITLE_HEIGHT = 0.18
LINE_HEIGHT = 0.17  # heights of the names of axes, of a legend, of a note
LABEL_HEIGHT = 0.125
LABEL_SIZE, MIN_LABEL_SIZE = 9.0, 4.0  # points: labels shrink before some are left out
LABEL_PITCH = 0.131 / LABEL_SIZE  # inches between labels at least, per point of their size
LABEL_PADDING = 0.07  # between a panel and its labels
BAR_GAP, BAR_WIDTH, MAX_BAR_HEIGHT = 0.1, 0.1, 2.5
MIN_PANEL = 0.32  # the least width and height of a panel
MAX_WIDTH, MAX_HEIGHT = 7.0, 9.0  # inches of text on a page of paper
GROUP_MARGIN = 0.5  # inches of a page kept free around a single group
MAX_IN_ROW, MIN_IN_ROW = 6, 6.0  # panels to put into one row, and the least points of their labels
MIN_TITLE_SIZE = 6.0  # points to which the titles of panels shrink
TIMES_HIGHER = (1.5, 2, 3, 4.5)  # times a page of paper, if more does not fit
MIN_SCALE, MAX_SCALE, SCALES = 0.05, 4.0, 90

NO_SIZE, PAPER = Size(0.0, 0.0), Size(MAX_WIDTH, MAX_HEIGHT)


@dataclass(frozen=True)
class Box:
    """A rectangle: its left and upper edge, its width and its height."""

    left: float
    top: float
    width: float
    height: float

    def moved(self, left: float, top: float) -> "Box":
        """The same rectangle, moved to the right and down."""
        return Box(self.left + left, self.top + top, self.width, self.height)


@dataclass(frozen=True)
class GroupSize:
    """A group's measures for the layout: its panels, and the room for its texts; 0 for a missing text.

    `panel` is the preferred size of a panel, `flat_panel` its less high alternative, `cells` its rows and columns,
    `number_cell` the least cell that fits its number; the panels in a row are a multiple of `per_slice` if possible.
    The other numbers are widths.
    """

    count: int
    cells: tuple[int, int]
    panel: Size
    title: float
    row_labels: float  # for the widest label
    column_labels: float
    panel_title: float
    per_slice: int = 1
    keeps_rows: bool = False  # whether a slice in a row matters more than the labels of every word
    has_axis_names: bool = False
    subtitle: float = 0.0
    legend_lines: int = 0
    legend: float = 0.0
    color_bar: float = 0.0  # for its numbers
    flat_panel: Size | None = None
    number_cell: Size = NO_SIZE

    @property
    def heading_height(self) -> float:
        """The height of the content above the first panel."""
        return HEADING_HEIGHT + (SUBTITLE_HEIGHT if self.subtitle else 0)


@dataclass(frozen=True)
class GroupLayout:
    """The positions of a group's panels, colour bar, heading and legend, and the labels that it shows."""

    panels: tuple[Box, ...]
    columns: int  # panels in a row
    color_bar: Box
    heading: tuple[float, float]  # left, top
    legend: tuple[float, float]
    names: float  # the lower edge of everything below the panels, ending with the name of the columns
    size: Size
    is_rotated: bool  # the labels of columns
    label_steps: tuple[int, int]  # every k-th label of rows and columns is shown
    label_sizes: tuple[float, float]  # sizes of these, in points
    title_size: float  # size of the panels' titles

    def moved(self, left: float, top: float) -> "GroupLayout":
        """The same group at another position."""

        def move(point: tuple[float, float]) -> tuple[float, float]:
            return point[0] + left, point[1] + top

        return replace(
            self,
            panels=tuple(box.moved(left, top) for box in self.panels),
            color_bar=self.color_bar.moved(left, top),
            heading=move(self.heading),
            legend=move(self.legend),
            names=self.names + top,
        )

    @property
    def has_legible_labels(self) -> bool:
        """Whether no label is smaller than in a row of panels permitted."""
        return min(self.label_sizes) >= MIN_IN_ROW

    @property
    def area(self) -> Box:
        """The rectangle around the panels."""
        left, top = self.panels[0].left, self.panels[0].top
        right = max(box.left + box.width for box in self.panels)
        return Box(left, top, right - left, self.panels[-1].top + self.panels[-1].height - top)


@dataclass(frozen=True)
class PageLayout:
    """The size of a page, and the positions of its groups."""

    size: Size
    groups: tuple[GroupLayout, ...]


def lay_out(
    groups: Sequence[GroupSize],
    size: Size | None,
    title: Sequence[float],
    notes: Sequence[float],
    paper: Size = PAPER,
) -> PageLayout | None:
    """The layout of groups in rows; None if they do not fit a size.

    Without a size a page is as large as necessary, and no larger than a sheet of paper if smaller panels permit.
    `title` has the widths of the lines at its head, `notes` at its end.
    """
    head = len(title) * TITLE_LINE_HEIGHT + (TITLE_GAP if title else 0)
    foot = len(notes) * LINE_HEIGHT + (0.08 if notes else 0)
    least_width = min(max([*title, *notes], default=0.0), paper.width) if size is None else 0.0
    edges = paper.height - 2 * MARGIN if size is None else size.height - 2 * MARGIN
    room = Size(paper.width if size is None else size.width - 2 * MARGIN, edges - head - foot)
    found = _unsized_candidates(groups, room, paper) if size is None else list(_candidates(groups, room, MAX_SCALE))
    best = max(found, key=lambda blocks: _quality(groups, blocks), default=None)
    return None if best is None else _page(best, room.width, head, foot, least_width, size)


def _unsized_candidates(groups: Sequence[GroupSize], room: Size, paper: Size) -> list[Sequence[GroupLayout]]:
    """The groups at their preferred size, or smaller, so that they fit a page of paper.

    If that fails, the page is as high as the labels of every word need; if it fits only without some labels, it may be
    half as high again to fit all.
    """
    natural = [_fitting_group(group, paper) for group in groups]
    found = list(_candidates(groups, room, 1.0))
    if _flow(natural, room.width)[1].height <= room.height:
        found.append(natural)
    if any(map(_has_every_label, found)):
        return found
    for times in TIMES_HIGHER[:1] if found else TIMES_HIGHER:
        higher = _candidates(groups, Size(room.width, room.height * times), 1.0)
        labelled = list(filter(_has_every_label, higher))
        if labelled:
            return labelled
    return found or [natural]


def _has_every_label(blocks: Sequence[GroupLayout]) -> bool:
    """Whether the groups show the label of every row and column."""
    return all(max(block.label_steps) == 1 for block in blocks)


def _candidates(groups: Sequence[GroupSize], room: Size, largest: float) -> Iterator[Sequence[GroupLayout]]:
    """The groups as large as possible: with square cells or flat ones, in rows as they fit or in one each."""
    flat = [group if group.flat_panel is None else replace(group, panel=group.flat_panel) for group in groups]
    for variant in (groups, flat) if flat != list(groups) else (groups,):
        for least in (_no_least, _least_of_slices, _least_of_row):
            fitting = _fitting_groups(variant, room, largest, least)
            if fitting is not None:
                yield fitting


def _no_least(_group: GroupSize) -> int:
    """At least one panel in a row."""
    return 1


def _least_of_slices(group: GroupSize) -> int:
    """The panels of a slice, such as before and after a change, in a row."""
    return min(group.per_slice, group.count)


def _least_of_row(group: GroupSize) -> int:
    """All panels in one row, if a group has few."""
    return group.count if group.count <= MAX_IN_ROW else 1


def _quality(groups: Sequence[GroupSize], blocks: Sequence[GroupLayout]) -> tuple[float, ...]:
    """The quality of a layout: kept rows, labels of every word, slices side by side, numbers, rows, size."""
    cells = [
        Size(block.panels[0].width / group.cells[1], block.panels[0].height / group.cells[0])
        for group, block in zip(groups, blocks, strict=True)
    ]
    numbers = sum(
        cell.width >= group.number_cell.width and cell.height >= group.number_cell.height
        for group, cell in zip(groups, cells, strict=True)
    )
    together = sum(block.columns >= _least_of_slices(group) for group, block in zip(groups, blocks, strict=True))
    in_one_row = sum(len(block.panels) == block.columns and block.has_legible_labels for block in blocks)
    area = sum(block.panels[0].width * block.panels[0].height for block in blocks)
    kept = sum(
        block.columns >= _least_of_slices(group)
        for group, block in zip(groups, blocks, strict=True)
        if group.keeps_rows
    )
    return kept, -sum(sum(block.label_steps) for block in blocks), together, numbers, in_one_row, area


def _fitting_groups(
    groups: Sequence[GroupSize], room: Size, largest: float, least: Callable[[GroupSize], int]
) -> Sequence[GroupLayout] | None:
    """The fitting groups at the largest scale; None if there is none."""
    for scale in _scales(largest):
        scaled = [group_layout(group, room.width, scale, least(group)) for group in groups]
        fitting = [block for block in scaled if block is not None]
        if len(fitting) == len(groups) and _flow(fitting, room.width)[1].height <= room.height:
            return fitting
    return None


def _scales(largest: float) -> Iterator[float]:
    """The scales to try, from the largest to the least."""
    for step in range(SCALES + 1):
        yield largest * (MIN_SCALE / largest) ** (step / SCALES)


def _fitting_group(group: GroupSize, paper: Size) -> GroupLayout:
    """A group at its preferred size, or smaller, no larger than a page of paper if possible."""
    made = None
    for scale in _scales(1.0):
        made = group_layout(group, paper.width, scale) or made
        if made is not None and made.size.height <= paper.height - GROUP_MARGIN:
            break
    assert made is not None  # a panel of the least size fits
    return made


def group_layout(group: GroupSize, width: float, scale: float, least: int = 1) -> GroupLayout | None:
    """A group with scaled panels, as many in a row as fit a width; None if fewer than `least` fit."""
    panel = Size(max(group.panel.width * scale, MIN_PANEL), max(group.panel.height * scale, MIN_PANEL))
    is_rotated, (row_size, column_size), label_steps = _fitting_labels(group, panel)
    name = LINE_HEIGHT if group.has_axis_names else 0
    left = name + (group.row_labels * row_size / LABEL_SIZE + LABEL_PADDING if group.row_labels else 0)
    labels = group.column_labels * column_size / LABEL_SIZE if is_rotated else LABEL_HEIGHT
    bottom = name + (labels + LABEL_PADDING if group.column_labels else 0)
    right = BAR_GAP + BAR_WIDTH + group.color_bar if group.color_bar else 0
    title_size = _title_size(group.panel_title, panel.width)
    panel_title = group.panel_title * title_size / LABEL_SIZE
    pitch = max(panel.width, panel_title) + PANEL_GAP
    fitting = int((width - left - right - pitch + PANEL_GAP) // pitch) + 1
    if fitting < least:
        return None
    per_row = _panels_per_row(group.count, group.per_slice, fitting)
    title = PANEL_TITLE_HEIGHT if group.panel_title else 0
    top = group.heading_height
    boxes = tuple(
        Box(
            left + (at % per_row) * pitch,
            top + title + (at // per_row) * (title + panel.height + PANEL_GAP),
            panel.width,
            panel.height,
        )
        for at in range(group.count)
    )
    end = boxes[min(per_row, group.count) - 1]
    body_end = boxes[-1].top + panel.height
    bar_height = min(body_end - boxes[0].top, MAX_BAR_HEIGHT)
    overhang = max(panel_title - panel.width, 0)
    bar_width = BAR_WIDTH if group.color_bar else 0
    bar = Box(end.left + end.width + overhang + BAR_GAP, boxes[0].top, bar_width, bar_height)
    legend_top = body_end + bottom + (0.05 if group.legend_lines else 0)
    size = Size(
        max(end.left + end.width + overhang + right, group.title, group.subtitle, left + group.legend),
        legend_top + group.legend_lines * LINE_HEIGHT,
    )
    return GroupLayout(
        panels=boxes,
        columns=per_row,
        color_bar=bar,
        heading=(0.0, 0.0),
        legend=(left, legend_top),
        names=body_end + bottom,
        size=size,
        is_rotated=is_rotated,
        label_steps=label_steps,
        label_sizes=(row_size, column_size),
        title_size=title_size,
    )


def _fitting_labels(group: GroupSize, panel: Size) -> tuple[bool, tuple[float, float], tuple[int, int]]:
    """The labels of a panel: whether the columns' are turned, the sizes of both, and the step k between shown ones."""
    rows, columns = group.cells
    cell = Size(panel.width / columns, panel.height / rows)
    is_rotated = group.column_labels + 0.05 > cell.width and columns > 1
    row_size, column_size = _label_size(cell.height), _label_size(cell.width) if is_rotated else LABEL_SIZE
    row_step = math.ceil(LABEL_PITCH * row_size / cell.height)
    column_step = math.ceil(LABEL_PITCH * column_size / cell.width) if is_rotated else 1
    return is_rotated, (row_size, column_size), (row_step, column_step)


def _title_size(title: float, width: float) -> float:
    """The size of panels' titles in points; the widest has this width at the usual size.

    >>> _title_size(0.5, 1.0), _title_size(1.2, 1.0), _title_size(3.0, 1.0)
    (9.0, 7.5, 6.0)
    """
    return max(min(LABEL_SIZE * width / max(title, width), LABEL_SIZE), MIN_TITLE_SIZE)


def _label_size(edge: float) -> float:
    """The size of labels next to cells of an edge, in points.

    >>> _label_size(0.2), round(_label_size(0.1), 1), _label_size(0.01)
    (9.0, 6.9, 4.0)
    """
    return min(max(edge / LABEL_PITCH, MIN_LABEL_SIZE), LABEL_SIZE)


def _panels_per_row(count: int, per_slice: int, fitting: int) -> int:
    """The panels in a row, at most as many as fit, and such that rows are full if that adds at most one row.

    >>> [_panels_per_row(count, 1, 5) for count in (3, 6, 12, 16, 7)], _panels_per_row(3, 2, 2)
    ([3, 3, 4, 4, 4], 2)
    """
    if count <= fitting:
        return count
    multiple = per_slice if per_slice <= fitting else 1
    fitting -= fitting % multiple
    rows = math.ceil(count / fitting)
    full = max((number for number in range(multiple, fitting + 1, multiple) if count % number == 0), default=0)
    if full and count // full <= rows + 1:
        return full
    return math.ceil(count / rows / multiple) * multiple


def _flow(blocks: Sequence[GroupLayout], width: float) -> tuple[Sequence[GroupLayout], Size]:
    """The groups in rows of a width, with aligned panels, and the total size."""
    rows = list[list[GroupLayout]]()
    for block in blocks:
        used = sum(other.size.width + GROUP_GAP for other in rows[-1]) if rows else 0.0
        if rows and used + block.size.width <= width:
            rows[-1].append(block)
        else:
            rows.append([block])
    placed = list[GroupLayout]()
    top, widest = 0.0, 0.0
    for row in rows:
        first_panel = max(block.panels[0].top for block in row)
        left, below = 0.0, 0.0
        for block in row:
            down = first_panel - block.panels[0].top
            moved = block.moved(left, top + down)
            placed.append(replace(moved, heading=(left, top)))  # the headings of a row are aligned
            left += block.size.width + GROUP_GAP
            below = max(below, down + block.size.height)
        widest = max(widest, left - GROUP_GAP)
        top += below + ROW_GAP
    return placed, Size(widest, top - ROW_GAP)


def _page(
    blocks: Sequence[GroupLayout], width: float, head: float, foot: float, least_width: float, size: Size | None
) -> PageLayout:
    """The page of the groups: of a given size, with the groups in the middle, or as large as they are."""
    placed, content = _flow(blocks, width)
    if size is None:
        size = Size(max(content.width, least_width) + 2 * MARGIN, content.height + head + foot + 2 * MARGIN)
    left = (size.width - content.width) / 2
    top = MARGIN + head + (size.height - 2 * MARGIN - head - foot - content.height) / 2
    return PageLayout(size, tuple(block.moved(left, top) for block in placed))
