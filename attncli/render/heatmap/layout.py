"""How large to draw heat maps: with numbers if they fit, otherwise as blocks, pooled if there is no room."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from rich.cells import cell_len, set_cell_size

from attncli.base.axes import AXIS_NOUNS
from attncli.base.lazy_numpy import np
from attncli.render.aligned_numbers import align_numbers
from attncli.render.document import Grid
from attncli.render.formats.text_table import marked_label
from attncli.render.heatmap.palette import Palette
from attncli.render.target import TextTarget

GAP = 2  # columns between two tables
FEW_DECIMALS = 2  # decimals of numbers that do not fit with more
MIN_BLOCKS = 4  # rows and columns that a pooled table keeps
MIN_NUMBER_COLUMNS = 3  # of a cell with one digit
BLOCK_COLUMNS = 2  # of a square cell without a number: a line is twice as high as a column
MAX_LABEL_WIDTH = 12
LONG_LABEL_WIDTH = 30  # of rows next to numbers, if there is room
_NOUNS = re.compile(rf"\b({'|'.join(sorted(AXIS_NOUNS.values(), key=len, reverse=True))}) (?=\d)")
HEADING_WIDTH = 8  # labels of columns widen cells up to this; longer ones have several lines
MAX_HEADING_LINES = 12  # lines of a label over a column; longer ones are cut
MIN_BLOCK_COLUMNS = 2  # of a table in blocks of columns, one below the other
MAX_WRAPPED = 300  # columns of a table whose labels may wrap

Texts = Sequence[Sequence[str]]  # of the cells of a table [rows columns]


@dataclass(frozen=True)
class Space:
    """The columns and lines for the tables of a section; every label, or a single table, allows more.

    A single table with every label may have `lines_of_numbers`, several `lines_of_labels`.
    """

    columns: int
    lines: int
    lines_of_one: int
    lines_of_labels: int
    lines_of_numbers: int
    is_screen: bool  # what does not fit even when pooled is left out, except in a file


@dataclass(frozen=True)
class CellSize:
    """How to draw the cells of each table."""

    columns: int  # of the screen, for a cell or a block
    texts: Sequence[Texts] | None = None  # numbers or signs of the cells of each table, as wide as the cells
    decimals: int | None = None  # of the numbers
    block: tuple[int, int] = (1, 1)  # rows and columns of a block, drawn as its largest number
    rows_per_line: int = 1  # 2 if a cell is half a character

    def count_columns(self, grid: Grid) -> int:
        """The columns of the screen that the cells of a table take."""
        return -(-len(grid.columns) // self.block[1]) * self.columns

    def count_lines(self, grid: Grid) -> int:
        """The lines that the cells of a table take."""
        return -(-len(grid.rows) // self.rows_of_line)

    @property
    def rows_of_line(self) -> int:
        """How many rows of a table are one line."""
        return self.block[0] * self.rows_per_line


@dataclass(frozen=True)
class Layout:
    """The size of the cells, the width of row labels, and the number of tables side by side and in all."""

    cells: CellSize
    label_width: int  # 0: rows and columns have no labels
    heading_lines: int  # lines for labels of columns: small tables have no room for two
    per_line: int
    shown: int
    is_complete: bool = False  # whether every row and column has a label
    per_block: int = 0  # columns of a table before others follow below; 0: all of them

    @property
    def gap_lines(self) -> int:
        """The empty lines between two tables one below the other; small tables have their titles there."""
        return 0 if self.cells.texts is None else 1


def choose_layout(grids: Sequence[Grid], decimals: int, palette: Palette, target: TextTarget, space: Space) -> Layout:
    """The layout in which all tables fit the space: with numbers or signs, otherwise with the smallest blocks.

    The tables have the same shape. Numbers lose decimals if more tables then fit side by side. A table too wide for one
    piece has its columns in blocks. If that takes too many lines, the labels stay, and cells are pooled only if the
    labels don't fit either. If even the largest blocks don't fit, a screen shows some of the tables.
    """
    labels = [label for grid in grids for label in (grid.corner, *row_labels(grid, target))]
    short, whole = widest(labels) + 1, widest(labels, LONG_LABEL_WIDTH) + 1
    fitting = _Fitting(grids, space, target)
    for found in fitting.complete_layouts(decimals, palette, (short, whole)):
        complete = [layout for layout in found if layout.shown == len(grids) and layout.is_complete]
        if complete:
            return max(complete, key=lambda layout: layout.per_line)
    layout = Layout(CellSize(1), 0, heading_lines=0, per_line=1, shown=0)
    sizes = list(product(_blocks(grids[0], palette), (short, 0)))
    if len(grids) == 1:  # a single table's labels are as long as any blocks permit
        sizes.sort(key=lambda size: size[1] == 0)
    for cells, width in sizes:
        layout = fitting.fit(cells, width)
        if layout.shown == len(grids):
            return layout
    return replace(layout, shown=max(layout.shown, layout.per_line) if space.is_screen else len(grids))


@dataclass(frozen=True)
class _Fitting:
    """Tables of one shape, and the space for them."""

    grids: Sequence[Grid]
    space: Space
    target: TextTarget

    def complete_layouts(
        self, decimals: int, palette: Palette, label_widths: tuple[int, int]
    ) -> Iterator[Sequence[Layout]]:
        """Layouts with every label, the best first: with numbers in one piece, then in blocks, then without numbers."""
        short, whole = label_widths
        for label_width, heading_width in ((whole, HEADING_WIDTH), (whole, 0), (short, 0)):
            texts = _cells_with_texts(self, decimals, palette, heading_width, short)
            yield [self.fit(cells, label_width) for cells in texts]
        yield [self.fit_blocks(cells, short) for cells in _cells_with_texts(self, decimals, palette, 0, short)]
        yield [self.fit(CellSize(columns), width) for columns in (BLOCK_COLUMNS, 1) for width in label_widths]

    def fit(self, cells: CellSize, label_width: int) -> Layout:
        """The layout for a cell size: as many tables as fit, in lines of equal count."""
        grids, grid = self.grids, self.grids[0]
        per_line = (self.space.columns - label_width + GAP) // (cells.count_columns(grid) + GAP)
        if per_line < 1:
            return Layout(cells, label_width, heading_lines=0, per_line=1, shown=0)
        count = -(-len(grids) // min(per_line, len(grids)))
        heading_lines, is_complete = self._headings(cells, label_width)
        layout = Layout(cells, label_width, heading_lines, -(-len(grids) // count), 0, is_complete)
        lines = cells.count_lines(grid) + self._has_titles + heading_lines + layout.gap_lines
        shown = (self._available(layout) + layout.gap_lines) // lines * layout.per_line
        return replace(layout, shown=min(shown, len(grids)))

    def fit_blocks(self, cells: CellSize, label_width: int) -> Layout:
        """The layout of tables below each other, each in blocks of as many columns as fit."""
        per_block = (self.space.columns - label_width) // cells.columns
        heading_lines, is_complete = self._headings(cells, label_width)
        layout = Layout(cells, label_width, heading_lines, 1, 0, is_complete, max(per_block, 1))
        if per_block < MIN_BLOCK_COLUMNS:
            return layout
        blocks = -(-len(self.grids[0].columns) // per_block)
        lines = blocks * (cells.count_lines(self.grids[0]) + heading_lines + layout.gap_lines) + self._has_titles
        return replace(layout, shown=min((self._available(layout) + layout.gap_lines) // lines, len(self.grids)))

    @property
    def _has_titles(self) -> bool:
        """Whether tables have titles: there are several."""
        return any(grid.slice_label for grid in self.grids)

    def _available(self, layout: Layout) -> int:
        """The lines available to the tables."""
        if len(self.grids) == 1:
            return self.space.lines_of_numbers if layout.is_complete else self.space.lines_of_one
        return self.space.lines_of_labels if layout.is_complete else self.space.lines

    def _headings(self, cells: CellSize, label_width: int) -> tuple[int, bool]:
        """The lines of the column labels, and whether every row and column has a label."""
        labels = self.grids[0].columns
        if label_width and cells.rows_of_line == 1 and cells.block == (1, 1) and len(labels) <= MAX_WRAPPED:
            wrapped = wrapped_headings(column_labels(self.grids[0], self.target), cells.columns, self.target)
            if wrapped:
                return len(wrapped[0]), True
        has_several = (cells.count_columns(self.grids[0]) + 1) // (
            label_step(labels, cells.columns) * cells.columns
        ) > 1
        return int(label_width > 0 and has_several), False  # so many fit side by side


def split_grid(grid: Grid, per_block: int) -> Iterator[Grid]:
    """A table in blocks of so many columns; the first has its title."""
    rows = range(len(grid.rows))
    for start in range(0, len(grid.columns), per_block):
        block = grid.select(rows, range(start, min(start + per_block, len(grid.columns))))
        yield block if start == 0 else replace(block, slice_label="")


def wrapped_headings(labels: Sequence[str], columns: int, target: TextTarget) -> Sequence[Sequence[str]]:
    """The lines of each label over a column of the given width, the last just above the cells; empty without room.

    >>> wrapped_headings(["because", "it"], 6, TextTarget())
    [['becau ', '   se '], ['      ', '   it ']]
    >>> wrapped_headings(["it"], 2, TextTarget()), wrapped_headings(["猫"], 1, TextTarget())
    ([['i ', 't ']], [])
    """
    room = max(columns - 1, max((cell_len(character) for label in labels for character in label), default=1))
    if room > columns:
        return []
    pieces = [_pieces(cut(label, min(cell_len(label), room * MAX_HEADING_LINES), target), room) for label in labels]
    lines = max(map(len, pieces), default=1)
    pad = " " * (columns - room)
    filled = [[*[""] * (lines - len(own)), *own] for own in pieces]
    if room < MIN_NUMBER_COLUMNS:
        return [[set_cell_size(piece, columns) for piece in own] for own in filled]
    return [[f"{on_right(piece, room, target)}{pad}" for piece in own] for own in filled]


def _pieces(text: str, room: int) -> list[str]:
    """A text in pieces of at most that width."""
    pieces = [""]
    for character in text:
        if cell_len(pieces[-1]) + cell_len(character) > room:
            pieces.append("")
        pieces[-1] += character
    return pieces


def _cells_with_texts(
    fitting: _Fitting, decimals: int, palette: Palette, heading_width: int, label_width: int
) -> Iterator[CellSize]:
    """The cells with the signs of masks, or with numbers of as many decimals as elsewhere or of few.

    Labels of columns widen them to a width.
    """
    grids, target = fitting.grids, fitting.target
    if grids[0].signs is not None:
        signs = [[[target.text(x).ljust(BLOCK_COLUMNS) for x in row] for row in grid.signs or ()] for grid in grids]
        yield CellSize(BLOCK_COLUMNS, signs)
    elif fitting.fit_blocks(CellSize(MIN_NUMBER_COLUMNS, ()), label_width).shown == len(grids):
        for each in dict.fromkeys((decimals, min(decimals, FEW_DECIMALS))):
            texts = number_texts(grids, each, palette, target, heading_width)
            yield CellSize(len(texts[0][0][0]), texts, each)


def _blocks(grid: Grid, palette: Palette) -> Iterator[CellSize]:
    """Cells without texts, from squares to the largest blocks."""
    rows_per_line = 2 if palette.has_halves else 1
    yield CellSize(BLOCK_COLUMNS)
    yield CellSize(1, rows_per_line=rows_per_line)
    most_rows, most_columns = (max(size // MIN_BLOCKS, 1) for size in grid.values.shape)
    for size in range(1, max(most_rows, most_columns) + 1):
        rows = size * BLOCK_COLUMNS // rows_per_line  # as high as it is wide
        yield CellSize(1, block=(min(rows, most_rows), min(size, most_columns)), rows_per_line=rows_per_line)


def number_texts(
    grids: Sequence[Grid], decimals: int, palette: Palette, target: TextTarget, heading_width: int = HEADING_WIDTH
) -> Sequence[Texts]:
    """The numbers of tables of one shape as texts of the same width and decimals.

    Each number has a space on either side, or brackets if it is marked. Without colours there is one more space for the
    colour's character.
    """
    count = len(grids[0].rows)
    texts = align_numbers(np.concatenate([grid.values for grid in grids]), decimals)
    numbers = [_numbers(grid, texts[at * count : (at + 1) * count], target) for at, grid in enumerate(grids)]
    margins = 2 if palette.colors else 3
    longest = max(len(text) for rows in numbers for row in rows for text in row)
    heading = max(widest(column_labels(grid, target)) for grid in grids)
    width = max(longest + margins, min(heading, heading_width) + 1)
    return [
        [
            [
                f"{'[' + text:>{width - 1}}]" if (row, column) in grid.marked else f"{text:>{width - 1}} "
                for column, text in enumerate(texts)
            ]
            for row, texts in enumerate(rows)
        ]
        for grid, rows in zip(grids, numbers, strict=True)
    ]


def _numbers(grid: Grid, texts: Texts, target: TextTarget) -> Texts:
    """The numbers of a table for the target, each with its mark, or a space if any changed."""
    space = " " if grid.has_changes else ""
    return [
        [
            target.encodable(text.rstrip() + (grid.change_mark(row, column) or space))
            for column, text in enumerate(cells)
        ]
        for row, cells in enumerate(texts)
    ]


def row_labels(grid: Grid, target: TextTarget) -> Sequence[str]:
    """The labels of the rows; unmarked ones have a space before them if any is marked."""
    return [target.text(marked_label(label, at, grid.marked_rows, " ")) for at, label in enumerate(grid.rows)]


def column_labels(grid: Grid, target: TextTarget) -> Sequence[str]:
    """The labels of the columns, with the mark of those that have one."""
    return [target.text(marked_label(label, at, grid.marked_columns)) for at, label in enumerate(grid.columns)]


def widest(labels: Sequence[str], most: int = MAX_LABEL_WIDTH) -> int:
    """The width of the longest label, at most the cutting width."""
    return min(max(map(cell_len, labels)), most)


def cut(text: str, width: int, target: TextTarget) -> str:
    """A text filled with spaces to a width, or cut if it is longer.

    >>> cut("transformer", 6, TextTarget()), cut("a", 3, TextTarget())
    ('trans…', 'a  ')
    """
    is_cut = cell_len(text) > width > 1 and target.has_unicode
    return f"{set_cell_size(text, width - 1)}…" if is_cut else set_cell_size(text, width)


def on_right(text: str, width: int, target: TextTarget) -> str:
    """A text right-aligned in a width, or cut if it is longer.

    >>> on_right("猫", 4, TextTarget()), on_right("transformer", 6, TextTarget())
    ('  猫', 'trans…')
    """
    return " " * (width - cell_len(text)) + text if cell_len(text) <= width else cut(text, width, target)


def table_titles(slice_labels: Sequence[str], width: int) -> Sequence[str]:
    """The labels of slices above tables of a width; all lose their axis names if one would not fit.

    >>> table_titles(["head 9", "head 10"], 7), table_titles(["head 9", "head 10"], 6)
    (['head 9', 'head 10'], ['9', '10'])
    """
    short = [_NOUNS.sub("", label) for label in slice_labels]
    are_short = any(cell_len(label) > width >= cell_len(less) for label, less in zip(slice_labels, short, strict=True))
    return short if are_short else list(slice_labels)


def label_step(labels: Sequence[str], columns: int) -> int:
    """The step k for which every k-th label fits over so many columns."""
    return -(-(widest(labels) + 1) // columns)


def sparse_line(labels: Sequence[str], columns: int, width: int, target: TextTarget) -> str:
    """Every k-th label in a line of a width, over cells of so many columns; no two touch.

    >>> sparse_line(["the", "cat", "sat", "on", "it"], 2, 10, TextTarget())
    'the sat it'
    """
    step = label_step(labels, columns)
    line = ""
    for at in range(0, len(labels), step):
        room = min(step * columns - 1, width - at * columns)
        if at == 0 or room >= min(cell_len(labels[at]), MAX_LABEL_WIDTH):
            line = set_cell_size(line, at * columns) + cut(labels[at], room, target)
    return set_cell_size(line, width)
