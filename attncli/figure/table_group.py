"""A group of tables as heat maps, or of masks as signs: its measures, and its drawing."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

from attncli.base.axes import LEGEND
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import escape_control, shorten
from attncli.figure.drawing import (
    HEADING_SIZE,
    INTERVALS_PER_INCH,
    MAX_TICKS,
    TICK_ROOM,
    Canvas,
    Fonts,
    color_map,
    has_paper,
    hex_color,
    ink_on,
    name_axes,
    round_ticks,
)
from attncli.figure.hatches import (
    ABOVE,
    BELOW,
    HATCHES,
    MASKED,
    NOT_A_NUMBER,
    RULE_HATCHES,
    VISIBLE_HATCH,
    Hatch,
    LegendEntry,
    draw_legend,
    hatch_cells,
    legend_size,
    pooled,
    sign_ink,
)
from attncli.figure.layout import LABEL_PITCH, MAX_WIDTH, MIN_LABEL_SIZE, Box, GroupLayout, GroupSize
from attncli.render.color_map import ColorScale, color_scale
from attncli.render.document import Grid
from attncli.render.figure_style import FigureStyle, Size
from attncli.render.masks import VISIBLE

LIMIT = 1e300  # beyond it a range of colours would be infinite
MAX_LABEL = 24  # characters of a label; longer ones are cut
SUBTITLE_SIZE = 8.5  # points
MIN_NUMBER_CELL, MIN_NUMBER_HEIGHT = 0.32, 0.22  # inches of a cell with a number
NUMBER_ROOM = 0.13  # inches around a number in a cell of the preferred size
NUMBER_SIZES = (8.0, 7.0, 6.0, 5.0)  # points, the largest that fits
NUMBER_LINE = 1.25  # share of its size: the height of a number
NUMBER_PADDING = 0.06  # inches around a number in the smallest cell that fits it
SIGN_SIZE, MIN_SIGN_CELL = 8.0, 0.16  # points, and the edge in inches of a cell that fits a sign
LABEL_CELL, MAX_LABEL_PANEL = 0.17, 4.5  # inches: a cell with a label, and a panel above which cells shrink
PIXELS_PER_INCH = 300  # resolution of cells drawn as an image
MIN_CELL = 0.08  # inches: a table with smaller cells is drawn as an image
MAX_GAP, GAP_SHARE = 0.8, 0.05  # points of white between two cells, and the share of a small cell
EMBEDDING_FEATURES, SEQUENCES = "x", ("n", "q", "m")  # letters of axes
MIN_MINUS_CELL = 0.05  # inches of a cell with a minus
BAR_LABEL = "<colorbar>"  # Matplotlib's label for axes that it makes for a colour bar


@dataclass(frozen=True)
class TableGroup:
    """Tables of one quantity with the same rows and columns and a shared range of colours: one for each head."""

    title: str
    subtitle: str
    tables: tuple[Grid, ...]
    per_slice: int  # 2 if each table is shown before and after
    decimals: int
    style: FigureStyle
    keeps_rows: bool = False  # as many panels as a slice has

    @property
    def count(self) -> int:
        """The number of panels in the group."""
        return len(self.tables)

    @property
    def shape(self) -> tuple[int, int]:
        """The rows and columns of each table."""
        rows, columns = self.tables[0].values.shape
        return rows, columns

    @property
    def has_signs(self) -> bool:
        """Whether the tables are masks, with signs in place of numbers."""
        return self.tables[0].signs is not None

    @cached_property
    def row_labels(self) -> Sequence[str]:
        """The labels of the rows, each on one line."""
        return [shorten(escape_control(text), MAX_LABEL) for text in self.tables[0].rows]

    @cached_property
    def column_labels(self) -> Sequence[str]:
        """The labels of the columns, each on one line."""
        return [shorten(escape_control(text), MAX_LABEL) for text in self.tables[0].columns]

    @property
    def axis_names(self) -> tuple[str, str]:
        """The names of the rows and the columns: `queries`, `keys`; empty if the table does not give them."""
        letters = self.tables[0].corner.split("\\")
        names = [" · ".join(LEGEND.get(part, part) for part in letter.split("·")) for letter in letters]
        if letters[1:] == [EMBEDDING_FEATURES]:  # source of queries, keys and values
            names[0] = "tokens" if letters[0] in SEQUENCES else names[0]
        return (names[0], names[1]) if len(names) == 2 else ("", "")

    @cached_property
    def scale(self) -> ColorScale:
        """The colours of the drawn numbers."""
        drawn = [_shown_numbers(table) for table in self.tables]
        numbers = np.concatenate([array[np.isfinite(array)] for array in drawn])
        ends = np.clip([numbers.min(), numbers.max()], -LIMIT, LIMIT) if numbers.size else (0.0, 0.0)
        is_dark, palette, are_weights = self.style.is_dark, self.style.palette, self.tables[0].is_heatmap
        return color_scale(*map(float, ends), are_weights=are_weights, is_dark=is_dark, palette=palette)

    @property
    def range(self) -> tuple[float, float]:
        """The numbers at the first and the last colour."""
        return self.scale.least, self.scale.largest

    @property
    def texts(self) -> Iterator[str]:
        """Every text to draw, except numbers."""
        yield from (self.title, self.subtitle, *self.axis_names, *self.row_labels, *self.column_labels)
        for table in self.tables:
            yield from (table.slice_label, *table.meanings, *table.meanings.values())

    @cached_property
    def numbers(self) -> Sequence[str]:
        """The texts of all cells, each digit a 0, which is as wide; none for tables that are too large anyway."""
        rows, columns = self.shape
        if self.has_signs or columns * MIN_NUMBER_CELL > 2 * MAX_WIDTH or rows > 100:
            return []
        texts = chain.from_iterable(chain.from_iterable(_cell_texts(table, self.decimals)) for table in self.tables)
        return sorted({re.sub(r"\d", "0", text) for text in texts})

    def number_width(self, fonts: Fonts) -> float:
        """The width of a cell that fits the widest number, in inches."""
        return max(fonts.widest(self.numbers, NUMBER_SIZES[0]) + NUMBER_ROOM, MIN_NUMBER_CELL)

    def measure(self, fonts: Fonts, number_width: float, largest: Size) -> GroupSize:
        """The group's measures for the layout.

        `number_width` is the cell width shared by all groups of the figure, for equal cells; a panel larger than
        `largest` has cells without numbers.
        """
        panel, flat = self._panels(number_width, largest)
        legend_lines, legend = legend_size(self._legend(panel), fonts)
        return GroupSize(
            count=self.count,
            cells=self.shape,
            panel=panel,
            flat_panel=flat,
            number_cell=self._least_cell(fonts),
            title=fonts.width(self.title, HEADING_SIZE),
            row_labels=fonts.widest(self.row_labels),
            column_labels=fonts.widest(self.column_labels),
            panel_title=fonts.widest(table.slice_label for table in self.tables),
            per_slice=self.per_slice,
            keeps_rows=self.keeps_rows,
            has_axis_names=any(self.axis_names),
            subtitle=fonts.width(self.subtitle, SUBTITLE_SIZE),
            legend_lines=legend_lines,
            legend=legend,
            color_bar=0.0 if self.has_signs else self._bar_label_width(fonts),
        )

    def _panels(self, number_width: float, largest: Size) -> tuple[Size, Size]:
        """The preferred size of a panel, and a less high one with flat cells.

        It fits its numbers, or its labels, or has the page's shape.
        """
        rows, columns = self.shape
        if self.has_signs or self.numbers:
            sizes = [Size(columns * number_width, rows * height) for height in (number_width, MIN_NUMBER_HEIGHT)]
            fitting = [each for each in sizes if each.width <= largest.width and each.height <= largest.height]
            if fitting:
                return fitting[0], fitting[-1]
        least = min(MIN_LABEL_SIZE * LABEL_PITCH, largest.width / max(rows, columns))
        edge = min(LABEL_CELL, max(MAX_LABEL_PANEL / max(rows, columns), least))
        return (Size(columns * edge, rows * edge),) * 2

    def _least_cell(self, fonts: Fonts) -> Size:
        """The least cell that fits its number; 0 if there are no numbers."""
        if not self.numbers:
            return Size(0.0, 0.0)
        points = NUMBER_SIZES[-1]
        return Size(fonts.widest(self.numbers, points) + NUMBER_PADDING, points / 72 * NUMBER_LINE)

    def _bar_label_width(self, fonts: Fonts) -> float:
        """The width of the numbers of a colour bar of any height, in inches."""
        heights = (count / INTERVALS_PER_INCH for count in range(1, MAX_TICKS + 1))
        return fonts.widest({text for height in heights for _, text in round_ticks(*self.range, height)}) + TICK_ROOM

    def pooling(self, layout: GroupLayout) -> tuple[int, int]:
        """The rows and columns of cells per pixel."""
        return _pooling_steps(self.tables[0], layout.panels[0])

    def number_size(self, fonts: Fonts, layout: GroupLayout) -> float | None:
        """The largest size in points of the numbers in the cells; None if they do not fit."""
        (rows, columns), box = self.shape, layout.panels[0]
        width, height = box.width / columns, box.height / rows
        widest = {points: fonts.widest(self.numbers, points) + NUMBER_PADDING for points in NUMBER_SIZES}
        fitting = (points for points in NUMBER_SIZES if widest[points] <= width and points / 72 * NUMBER_LINE <= height)
        return next(fitting, None) if self.numbers else None

    def _legend(self, panel: Size | Box) -> Sequence[LegendEntry]:
        """The meaning of the tables' signs or hatches, in the order of their rules."""
        if not self.has_signs:
            found = {name for table in self.tables for name in _cells_by_hatch(table)}
            return [LegendEntry(hatch, name) for name, hatch in HATCHES.items() if name in found]
        meanings = {sign: meaning for table in self.tables for sign, meaning in table.meanings.items()}
        found = {sign for table in self.tables for row in table.signs or () for sign in row}
        has_room = _signs_fit(panel, *self.shape)
        return [
            LegendEntry(hatch, meanings[sign], sign if has_room else "")
            for sign, hatch in _hatches(meanings).items()
            if sign in found
        ]

    def draw(self, canvas: Canvas, layout: GroupLayout, points: float | None) -> None:
        """Draw the group at its layout's position, with numbers of a size in points; None for no numbers."""
        from matplotlib.colors import Normalize  # noqa: PLC0415 - an extra

        left, top = layout.heading
        canvas.text(left, top, self.title, HEADING_SIZE)
        if self.subtitle:
            canvas.text(left, top + 0.2, self.subtitle, SUBTITLE_SIZE, color=canvas.theme.faint)
        norm, drawn = Normalize(*self.range), None
        for at, (table, box) in enumerate(zip(self.tables, layout.panels, strict=True)):
            axes = canvas.axes(box)
            if table.slice_label:  # over the middle, or, if wider than the panel, from its left edge on
                loc = "left" if canvas.fonts.width(table.slice_label, layout.title_size) > box.width else "center"
                axes.set_title(
                    table.slice_label, color=canvas.theme.faint, pad=3, loc=loc, **canvas.label_style(layout.title_size)
                )
            drawn = self._draw_cells(canvas, axes, table, box, norm)
            self._write_texts(canvas, axes, table, box, norm, points)
            is_last_row = at + layout.columns >= self.count
            self._label(canvas, axes, layout, has_rows=at % layout.columns == 0, has_columns=is_last_row)
        if drawn is not None:
            self._draw_color_bar(canvas, drawn, layout.color_bar)
        legend = self._legend(layout.panels[0])
        name_axes(canvas, layout, self.axis_names)
        draw_legend(canvas, legend, *layout.legend)

    def _draw_cells(self, canvas: Canvas, axes: Any, table: Grid, box: Box, norm: Any) -> Any:
        """Draw the cells of a table on axes of the size of a box, without texts, and return the coloured artist."""
        (rows, columns), steps = table.values.shape, _pooling_steps(table, box)
        colors = color_map(self.scale, self.style)
        drawn = None if table.signs is not None else _draw_colors(canvas, axes, table, box, norm, colors)
        axes.set_xlim(0, columns)
        axes.set_ylim(rows, 0)
        if table.signs is None:
            for name, cells in _cells_by_hatch(table).items():
                hatch_cells(canvas, axes, cells, HATCHES[name], steps)
        else:
            has_lines = not _signs_fit(box, rows, columns)
            for sign, hatch in _hatches(table.meanings).items():
                hatch_cells(canvas, axes, np.array(table.signs) == sign, hatch, steps, has_lines=has_lines)
        is_on_paper = table.signs is None and has_paper(self.scale, self.style)
        _draw_gaps(canvas, axes, box, table.values.shape, is_on_paper=is_on_paper)
        return drawn

    def _write_texts(self, canvas: Canvas, axes: Any, table: Grid, box: Box, norm: Any, points: float | None) -> None:
        """Write the signs or the numbers of a table into its cells, if they fit."""
        if table.signs is not None:
            texts, size = table.signs, SIGN_SIZE if _signs_fit(box, *self.shape) else None
        else:
            texts, size = _cell_texts(table, self.decimals), points
        if size is None:
            if table.signs is None and not self.style.palette.has_hues:
                self._draw_minus_signs(axes, table, box, norm)
            return
        levels = None if table.signs is not None else norm(_shown_numbers(table))
        for row, column in np.ndindex(self.shape):
            if text := texts[row][column]:
                ink = sign_ink(canvas, text) if levels is None else ink_on(self.scale.color(float(levels[row, column])))
                where = {"ha": "center", "va": "center_baseline"}
                axes.text(column + 0.5, row + 0.5, text, color=ink, **where, **canvas.label_style(size))

    def _draw_minus_signs(self, axes: Any, table: Grid, box: Box, norm: Any) -> None:
        """Draw a minus in negative cells that fit it: for colours that do not show signs."""
        from matplotlib.collections import LineCollection  # noqa: PLC0415 - an extra

        numbers = _shown_numbers(table)
        cells = np.argwhere(numbers < 0)
        if len(cells) and min(box.width / self.shape[1], box.height / self.shape[0]) >= MIN_MINUS_CELL:
            lines = [((column + 0.3, row + 0.5), (column + 0.7, row + 0.5)) for row, column in cells]
            inks = [ink_on(self.scale.color(float(norm(numbers[row, column])))) for row, column in cells]
            axes.add_collection(LineCollection(lines, colors=inks, linewidths=0.7, zorder=1.9), autolim=False)

    def _label(self, canvas: Canvas, axes: Any, layout: GroupLayout, *, has_rows: bool, has_columns: bool) -> None:
        """Write as many labels of a panel's rows and columns as fit."""
        row_step, column_step = layout.label_steps
        rows = self.row_labels[::row_step] if has_rows else []
        columns = self.column_labels[::column_step] if has_columns else []
        row_size, column_size = map(canvas.label_style, layout.label_sizes)
        axes.set_yticks([at * row_step + 0.5 for at in range(len(rows))], labels=rows, **row_size)
        ticks = [at * column_step + 0.5 for at in range(len(columns))]
        axes.set_xticks(ticks, labels=columns, rotation=90 if layout.is_rotated else 0, **column_size)

    def _draw_color_bar(self, canvas: Canvas, drawn: Any, box: Box) -> None:
        """Draw the colour bar of the coloured artist, with round numbers of the range."""
        axes = canvas.axes(box)
        axes.set_label(BAR_LABEL)
        bar = canvas.figure.colorbar(drawn, cax=axes)
        ticks = round_ticks(*self.range, box.height)
        bar.outline.set_visible(False)
        bar.set_ticks([tick for tick, _ in ticks], labels=[text for _, text in ticks], **canvas.label_style())
        axes.tick_params(length=2, width=0.6, pad=2 * self.style.scale)


def _shown_numbers(table: Grid) -> Array:
    """The numbers of a table [rows columns] as float64, NaN for masked cells."""
    numbers = table.values.astype(np.float64)
    return numbers if table.hidden is None else np.where(table.hidden, np.nan, numbers)


def _cells_by_hatch(table: Grid) -> Mapping[str, Array]:
    """The hatched cells of a table [rows columns], by the name of the hatch, if it has any."""
    values = table.values
    hidden = np.zeros(values.shape, bool) if table.hidden is None else table.hidden
    where = {
        MASKED: hidden,
        BELOW: np.isneginf(values) & ~hidden,
        ABOVE: np.isposinf(values) & ~hidden,
        NOT_A_NUMBER: np.isnan(values) & ~hidden,
    }
    return {name: cells for name, cells in where.items() if cells.any()}


def _cell_texts(table: Grid, decimals: int) -> list[list[str]]:
    """The text of each cell of a table [rows columns], with the mark of its change; empty if it is hatched."""
    hatched = np.zeros(table.values.shape, bool)
    for cells in _cells_by_hatch(table).values():
        hatched |= cells
    return [
        [
            "" if hatched[row, column] else text.strip().replace("-", "−") + table.change_mark(row, column)
            for column, text in enumerate(texts)
        ]
        for row, texts in enumerate(table.cell_texts(decimals))
    ]


def _hatches(meanings: Mapping[str, str]) -> Mapping[str, Hatch]:
    """The look of the cells for each sign of a mask."""
    rules = [sign for sign in meanings if sign != VISIBLE]
    hatches = {sign: RULE_HATCHES[at % len(RULE_HATCHES)] for at, sign in enumerate(rules)}
    return {VISIBLE: VISIBLE_HATCH, **hatches}


def _signs_fit(panel: Box | Size, rows: int, columns: int) -> bool:
    """Whether signs fit the cells of a panel."""
    return min(panel.width / columns, panel.height / rows) >= MIN_SIGN_CELL


def _pooling_steps(table: Grid, box: Box) -> tuple[int, int]:
    """The rows and columns of a table per pixel of an image."""
    rows, columns = table.values.shape
    return (
        max(-(-rows // int(box.height * PIXELS_PER_INCH)), 1),
        max(-(-columns // int(box.width * PIXELS_PER_INCH)), 1),
    )


def _draw_colors(canvas: Canvas, axes: Any, table: Grid, box: Box, norm: Any, colors: Any) -> Any:
    """Draw the numbers of a table as colours, small cells as an image, and return the coloured artist."""
    rows, columns = table.values.shape
    numbers = np.ma.masked_invalid(_shown_numbers(table))
    if min(box.width / columns, box.height / rows) >= MIN_CELL:
        edges = np.arange(columns + 1), np.arange(rows + 1)
        return axes.pcolormesh(*edges, numbers, cmap=colors, norm=norm)
    steps = _pooling_steps(table, box)
    image = np.ma.masked_invalid(pooled(numbers.filled(np.nan), *steps))
    if not canvas.has_images:
        rows_at, columns_at = (np.arange(size + 1) * step for size, step in zip(image.shape, steps, strict=True))
        return axes.pcolormesh(columns_at.clip(max=columns), rows_at.clip(max=rows), image, cmap=colors, norm=norm)
    extent = (0, image.shape[1] * steps[1], image.shape[0] * steps[0], 0)
    return axes.imshow(image, cmap=colors, norm=norm, interpolation="none", aspect="auto", extent=extent)


def _draw_gaps(canvas: Canvas, axes: Any, box: Box, shape: tuple[int, ...], *, is_on_paper: bool) -> None:
    """Draw lines between the cells of a panel, if these are large enough.

    They have the colour of the ground, or, if cells may have that, a faint one, around the panel too.
    """
    from matplotlib.collections import LineCollection  # noqa: PLC0415 - an extra

    rows, columns = shape
    edge = min(box.width / columns, box.height / rows)
    if edge < MIN_CELL or (canvas.style.is_transparent and not is_on_paper):
        return
    color = canvas.theme.mesh if is_on_paper else hex_color(canvas.style.paper)
    width, outer = min(MAX_GAP, GAP_SHARE * edge * 72), int(is_on_paper)
    lines = [((0, row), (columns, row)) for row in range(1 - outer, rows + outer)]
    lines += [((column, 0), (column, rows)) for column in range(1 - outer, columns + outer)]
    mesh = LineCollection(lines, colors=color, linewidths=width, zorder=1.8, clip_on=False)
    axes.add_collection(mesh, autolim=False)
