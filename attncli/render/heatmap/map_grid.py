"""Many small maps as a grid in a terminal: a row for each layer, a column for each head, on one scale of colours."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest

from rich.segment import Segment

from attncli.base.lazy_numpy import Array, np
from attncli.render.document import Grid
from attncli.render.formats.text_page import TextPage
from attncli.render.heatmap.palette import DIM, MASKED, Palette, Scale, scale_of

MIN_MAP_WIDTH, MAX_MAP_WIDTH = 2, 24  # columns of the screen
OTHER_LINES = 6  # on a screen: the lines above, the numbers of the heads, the legend, the prompt
PAGE_LINES = 200  # in a pipe or a file
BAR_WIDTH = 16
GAP = " "

Line = list[Segment]
Row = tuple[str, Sequence[Grid]]  # the label of a layer, and its heads' maps


def print_map_grid(page: TextPage, rows: Sequence[Row], heads: Sequence[str], decimals: int) -> None:
    """Print the maps of layers, pooled as little as possible, under the head numbers, and the scale.

    Heads that do not fit side by side follow below.
    """
    palette = Palette(page.colors, page.target.has_unicode)
    label_width = max(len(label) for label, _ in rows) + 1
    lines = PAGE_LINES if page.target.height is None else page.target.height - OTHER_LINES
    size = _size(page.page_width - label_width, lines, len(heads), len(rows), palette)
    scale = scale_of(chain.from_iterable(maps for _, maps in rows), is_dark=not page.target.is_light)
    palette = palette if scale.colors is None else replace(palette, scale=scale.colors)
    per_part = max((page.page_width - label_width) // (size.width + len(GAP)), 1)
    for start in range(0, len(heads), per_part):
        if start:
            page.skip_line()
        part = slice(start, start + per_part)
        page.print_segments(_lines(rows, heads, part, label_width, _Drawing(size, scale, palette)))
    if scale.colors is not None:
        ends = [f"{number:.{decimals}f}" for number in (scale.colors.least, scale.colors.largest)]
        bar = palette.bar(BAR_WIDTH)
        note = "  layers down, heads across; a block is its largest"
        page.print_segments([[Segment(f"{ends[0]} "), *bar, Segment(f" {ends[1]}"), Segment(note, DIM)]])


@dataclass(frozen=True)
class _Size:
    """The drawn size of a map: columns of the screen, and rows of blocks, with the number of rows in a line."""

    width: int
    rows: int
    per_line: int

    @property
    def lines(self) -> int:
        """The lines of the screen; the last may have free space above the map below."""
        return -(-self.rows // self.per_line)


@dataclass(frozen=True)
class _Drawing:
    """The settings for drawing maps."""

    size: _Size
    scale: Scale
    palette: Palette


def _size(columns: int, lines: int, heads: int, layers: int, palette: Palette) -> _Size:
    """The size of a map at which all fit the screen, as wide as high.

    A line shows two rows as the halves of its characters; with several lines, the last half stays empty.
    """
    per_line = 2 if palette.has_halves else 1
    most = max(min(columns // heads - len(GAP), MAX_MAP_WIDTH), MIN_MAP_WIDTH)
    height = max(min(lines // layers, -(-most // 2)), 1)
    rows = 2 * height - (height > 1) if palette.has_halves else height
    return _Size(max(min(most, rows * 2 // per_line), MIN_MAP_WIDTH), rows, per_line)


def _lines(
    rows: Sequence[Row], heads: Sequence[str], part: slice, label_width: int, drawing: _Drawing
) -> Iterator[Line]:
    """The lines of some of the heads of all layers."""
    width = drawing.size.width
    yield [Segment(" " * label_width), *(Segment(f"{head[:width]:<{width}}{GAP}", DIM) for head in heads[part])]
    for label, maps in rows:
        drawn = [_map_lines(grid, drawing) for grid in maps[part]]
        for number in range(drawing.size.lines):
            start = label if number == 0 else ""
            yield [
                Segment(f"{start:<{label_width}}", DIM),
                *chain.from_iterable((*lines[number], Segment(GAP)) for lines in drawn),
            ]


def _map_lines(grid: Grid, drawing: _Drawing) -> list[Line]:
    """The lines of one map, all of the same width."""
    size, palette = drawing.size, drawing.palette
    levels = _resized(drawing.scale.levels(grid), size.rows, size.width).tolist()
    if not palette.has_halves:
        return [[palette.cell(level, " ") for level in row] for row in levels]
    pairs = zip_longest(levels[::2], levels[1::2], fillvalue=[MASKED] * size.width)
    return [[palette.halves(*both) for both in zip(*pair, strict=True)] for pair in pairs]


def _resized(levels: Array, rows: int, columns: int) -> Array:
    """Levels in so many rows and columns: pooled if there are more, repeated if there are fewer.

    >>> _resized(np.array([[0.0, 1.0], [0.5, 0.25]]), 1, 4).tolist()
    [[0.5, 0.5, 1.0, 1.0]]
    """
    for axis, count in enumerate((rows, columns)):
        length = levels.shape[axis]
        if length >= count:
            starts = np.arange(count) * length // count
            levels = np.maximum.reduceat(levels, starts, axis=axis)
        else:
            levels = levels.take(np.arange(count) * length // count, axis=axis)
    return levels
