"""A group of tables as heat maps or as signs: what it takes in room, and its drawing."""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain
from typing import Any

from attncli.render.figure.canvas import Canvas
from attncli.render.figure.color_bar import bar_label_width, draw_color_bar
from attncli.render.figure.colors import FAINT, HATCHES, cells_by_hatch
from attncli.render.figure.drawing import FONT_SIZE
from attncli.render.figure.fonts import Fonts
from attncli.render.figure.heat_map import NUMBER_SIZES, cell_texts, draw_heat_map, number_size, pooling_steps
from attncli.render.figure.layout import LINE_HEIGHT, MAX_WIDTH, Box, GroupLayout, GroupSize
from attncli.render.figure.legend import LegendEntry, draw_legend, legend_size
from attncli.render.figure.panels import Panels
from attncli.render.figure.signs import draw_signs, sign_entries, signs_fit
from attncli.render.figure.size import Size

HEADING_SIZE, SUBTITLE_SIZE = 10.0, 8.5  # points
MIN_NUMBER_CELL = 0.32  # inches
NUMBER_ROOM = 0.13  # inches beside a number in a cell that is as large as it should be
MIN_NUMBER_HEIGHT = 0.22
MIN_NAME_SIZE = 6.5  # points of the name of an axis; it is left out where it does not fit
LABEL_CELL, MAX_LABEL_PANEL = 0.17, 4.5  # the edge of a cell that has a label; beyond that size labels are left out


class TableGroup:
    """The tables of one quantity, which share their axes and a range of colours."""

    def __init__(self, panels: Panels, decimals: int) -> None:
        self.panels = panels
        self.decimals = decimals
        self.count = len(panels.tables)
        self.has_signs = panels.tables[0].signs is not None

    @property
    def texts(self) -> Iterator[str]:
        """Every text that is drawn, numbers apart."""
        yield from (self.panels.title, self.panels.subtitle, *self.panels.axis_names)
        yield from (*self.panels.row_labels, *self.panels.column_labels)
        for table in self.panels.tables:
            yield table.slice_label
            yield from (*table.meanings, *table.meanings.values())

    @cached_property
    def numbers(self) -> Sequence[str]:
        """The texts of all cells, each digit a 0, which is as wide; none of tables that are too large anyway."""
        rows, columns = self.panels.tables[0].values.shape
        is_large = columns * MIN_NUMBER_CELL > 2 * MAX_WIDTH or rows > 100
        if self.has_signs or is_large:
            return []
        texts = chain.from_iterable(
            chain.from_iterable(cell_texts(table, self.decimals)) for table in self.panels.tables
        )
        return sorted({re.sub(r"\d", "0", text) for text in texts})

    def number_width(self, fonts: Fonts) -> float:
        """The width of a cell that has room for the widest number, in inches."""
        return max(fonts.widest(self.numbers, NUMBER_SIZES[0]) + NUMBER_ROOM, MIN_NUMBER_CELL)

    def measure(self, fonts: Fonts, number_width: float, largest: Size) -> GroupSize:
        """What the layout knows of the group.

        `number_width` is the width of the cells of all groups of the figure, so that they are of one size; a panel
        larger than `largest` has cells without numbers.
        """
        panels, tables = self.panels, self.panels.tables
        panel = self._panel(number_width, largest)
        legend_lines, legend = legend_size(self._legend(panel), fonts)
        return GroupSize(
            count=len(tables),
            per_slice=panels.per_slice,
            cells=tables[0].values.shape,
            panel=panel,
            row_labels=fonts.widest(panels.row_labels),
            column_labels=fonts.widest(panels.column_labels),
            has_axis_names=any(panels.axis_names),
            title=fonts.width(panels.title, HEADING_SIZE),
            panel_title=fonts.widest(table.slice_label for table in tables),
            subtitle=fonts.width(panels.subtitle, SUBTITLE_SIZE),
            legend_lines=legend_lines,
            legend=legend,
            color_bar=0.0 if self.has_signs else bar_label_width(panels.range, fonts),
        )

    def draw(self, canvas: Canvas, place: GroupLayout, points: float | None) -> None:
        """Draw the group at its place, with numbers of a size in points; None for no numbers."""
        from matplotlib.colors import Normalize  # noqa: PLC0415 - an extra

        panels, (left, top) = self.panels, place.heading
        canvas.text(left, top, panels.title, HEADING_SIZE)
        if panels.subtitle:
            canvas.text(left, top + 0.2, panels.subtitle, SUBTITLE_SIZE, color=FAINT)
        norm, drawn = Normalize(*panels.range), None
        for at, (table, box) in enumerate(zip(panels.tables, place.panels, strict=True)):
            axes = canvas.axes(box)
            if table.slice_label:
                self._title(canvas, axes, table.slice_label, box)
            if self.has_signs:
                draw_signs(axes, table, box)
            else:
                drawn = draw_heat_map(axes, table, box, norm, points, self.decimals)
            is_last_row = at + place.columns >= len(panels.tables)
            self._label(canvas, axes, place, has_rows=at % place.columns == 0, has_columns=is_last_row)
        if drawn is not None:
            draw_color_bar(canvas, drawn, place.color_bar, panels.range)
        self._name_axes(canvas, place)
        draw_legend(canvas, self._legend(place.panels[0]), *place.legend)

    def pooling(self, place: GroupLayout) -> tuple[int, int]:
        """How many rows and columns of cells one pixel stands for."""
        return pooling_steps(self.panels.tables[0], place.panels[0])

    def _panel(self, number_width: float, largest: Size) -> Size:
        """The size that a panel should have: with room for its numbers, or for its labels, or as a page has it."""
        rows, columns = self.panels.tables[0].values.shape
        if self.has_signs or self.numbers:
            for height in (number_width, MIN_NUMBER_HEIGHT):  # square cells, or flat ones
                panel = Size(columns * number_width, rows * height)
                if panel.width <= largest.width and panel.height <= largest.height:
                    return panel
        edge = min(LABEL_CELL, MAX_LABEL_PANEL / max(rows, columns))
        return Size(columns * edge, rows * edge)

    def number_size(self, fonts: Fonts, place: GroupLayout) -> float | None:
        """The largest size in points of the numbers in the cells; None where there is no room for them."""
        (rows, columns), box = self.panels.tables[0].values.shape, place.panels[0]
        return number_size(fonts, self.numbers, box.width / columns, box.height / rows) if self.numbers else None

    def _legend(self, panel: Size | Box) -> Sequence[LegendEntry]:
        """What the signs or the hatches mean that the tables have."""
        tables = self.panels.tables
        if self.has_signs:
            return sign_entries(tables, has_signs=signs_fit(panel, *tables[0].values.shape))
        found = {name for table in tables for name in cells_by_hatch(table)}
        return [LegendEntry(hatch, name) for name, hatch in HATCHES.items() if name in found]

    def _title(self, canvas: Canvas, axes: Any, text: str, box: Box) -> None:
        """Write the title of a panel over its middle, or where it is wider from its left edge on."""
        place = "left" if canvas.fonts.width(text) > box.width else "center"
        axes.set_title(text, size=FONT_SIZE, color=FAINT, pad=3, family=canvas.fonts.families, loc=place)

    def _label(self, canvas: Canvas, axes: Any, place: GroupLayout, *, has_rows: bool, has_columns: bool) -> None:
        """Write the labels of the rows and columns of a panel, as many as have room."""
        row_step, column_step = place.label_steps
        rows = self.panels.row_labels[::row_step] if has_rows else []
        columns = self.panels.column_labels[::column_step] if has_columns else []
        style = {"size": FONT_SIZE, "family": canvas.fonts.families}
        axes.set_yticks([at * row_step + 0.5 for at in range(len(rows))], labels=rows, **style)
        rotation = {"rotation": 90} if place.is_rotated else {}
        axes.set_xticks([at * column_step + 0.5 for at in range(len(columns))], labels=columns, **style, **rotation)

    def _name_axes(self, canvas: Canvas, place: GroupLayout) -> None:
        """Write what the rows and the columns are, once beside and below all panels."""
        (rows, columns), area = self.panels.axis_names, place.area
        middle, bottom = area.top + area.height / 2, place.legend[1] - (0.05 if self._legend(area) else 0)
        style = {"color": FAINT, "ha": "center"}
        if (points := _fitting_size(canvas.fonts, rows, area.height)) is not None:
            left = place.heading[0] + LINE_HEIGHT / 2
            canvas.text(left, middle, rows, points, rotation=90, va="center", **style)
        if (points := _fitting_size(canvas.fonts, columns, area.width + 0.6)) is not None:
            canvas.text(area.left + area.width / 2, bottom - 0.02, columns, points, va="bottom", **style)


def _fitting_size(fonts: Fonts, text: str, length: float) -> float | None:
    """The size in points at which a text is not longer than a length in inches; None where it is too long or empty."""
    points = min(FONT_SIZE, FONT_SIZE * length / max(fonts.width(text), 0.1))
    return points if text and points >= MIN_NAME_SIZE else None
