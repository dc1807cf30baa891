"""One table as a heat map: colours, numbers where they fit, and hatches where there is no number to show."""

from collections.abc import Iterable
from typing import Any

from attncli.base.lazy_numpy import Array, np
from attncli.render.color_map import color
from attncli.render.figure.colors import HATCHES, Hatch, cells_by_hatch, color_map, ink_on
from attncli.render.figure.fonts import Fonts
from attncli.render.figure.layout import Box
from attncli.render.figure.panels import shown_numbers
from attncli.render.grid import Grid

NUMBER_SIZES = (8.0, 7.0, 6.0)  # points, the largest that fits
NUMBER_PADDING = 0.06  # inches of a cell beside its number
PIXELS_PER_INCH = 300  # of cells that are drawn as an image
MIN_CELL = 0.08  # inches: the cells of a table with smaller ones are drawn as an image
MAX_GAP, GAP_SHARE = 0.8, 0.05  # points of white between two cells, and the share of a small cell
MAX_HATCHED_RUNS = 20_000  # of cells of a row; beyond that the ground of a hatch is drawn, and no lines


def cell_texts(table: Grid, decimals: int) -> list[list[str]]:
    """The text of each cell of a table [rows columns], with the mark of its change; empty where it is hatched."""
    hatched = np.zeros(table.values.shape, bool)
    for cells in cells_by_hatch(table).values():
        hatched |= cells
    return [
        [
            "" if hatched[row, column] else text.strip().replace("-", "−") + table.change_mark(row, column)
            for column, text in enumerate(texts)
        ]
        for row, texts in enumerate(table.cell_texts(decimals))
    ]


def number_size(fonts: Fonts, texts: Iterable[str], width: float, height: float) -> float | None:
    """The size in points at which each of some texts fits a cell of a width and height in inches; None where none."""
    widest = {points: fonts.widest(texts, points) for points in NUMBER_SIZES}
    return next(
        (
            points
            for points in NUMBER_SIZES
            if widest[points] + NUMBER_PADDING <= width and points / 72 * 1.25 <= height
        ),
        None,
    )


def pooled(values: Array, rows: int, columns: int) -> Array:
    """The largest number of each block of so many rows and columns; NaN where a block has none.

    >>> pooled(np.array([[1.0, 2, 3], [4, np.nan, np.nan]]), 1, 2)
    array([[ 2.,  3.],
           [ 4., nan]])
    """
    if rows == columns == 1:
        return values
    padding = [(0, -len(values) % rows), (0, -values.shape[1] % columns)]
    padded = np.pad(values, padding, constant_values=np.nan)
    blocks = padded.reshape(padded.shape[0] // rows, rows, padded.shape[1] // columns, columns)
    largest: Array = np.fmax.reduce(np.fmax.reduce(blocks, axis=3), axis=1)
    return largest


def draw_heat_map(axes: Any, table: Grid, box: Box, norm: Any, points: float | None, decimals: int) -> Any:
    """Draw a table on axes of the size of a box, and return what has the colours; `points` None for no numbers."""
    rows, columns = table.values.shape
    numbers = np.ma.masked_invalid(shown_numbers(table))
    axes.set_xlim(0, columns)
    axes.set_ylim(rows, 0)
    if min(box.width / columns, box.height / rows) >= MIN_CELL:
        drawn = axes.pcolormesh(np.arange(columns + 1), np.arange(rows + 1), numbers, cmap=color_map(), norm=norm)
    else:
        steps = pooling_steps(table, box)
        image = np.ma.masked_invalid(pooled(numbers.filled(np.nan), *steps))
        extent = (0, image.shape[1] * steps[1], image.shape[0] * steps[0], 0)
        drawn = axes.imshow(image, cmap=color_map(), norm=norm, interpolation="none", aspect="auto", extent=extent)
        axes.set_xlim(0, columns)
        axes.set_ylim(rows, 0)
    for name, cells in cells_by_hatch(table).items():
        hatch_cells(axes, cells, HATCHES[name], pooling_steps(table, box))
    draw_gaps(axes, box, rows, columns)
    if points is not None:
        for row, texts in enumerate(cell_texts(table, decimals)):
            for column, text in enumerate(texts):
                if text:
                    ink = ink_on(color(float(norm(numbers[row, column]))))
                    write_in_cell(axes, row, column, text, points, ink)
    return drawn


def draw_gaps(axes: Any, box: Box, rows: int, columns: int) -> None:
    """Draw white lines between the cells of a panel, where these are large enough."""
    from matplotlib.collections import LineCollection  # noqa: PLC0415 - an extra

    edge = min(box.width / columns, box.height / rows)
    if edge < MIN_CELL:
        return
    width = min(MAX_GAP, GAP_SHARE * edge * 72)
    lines = [((0, row), (columns, row)) for row in range(1, rows)]
    lines += [((column, 0), (column, rows)) for column in range(1, columns)]
    axes.add_collection(LineCollection(lines, colors="white", linewidths=width, zorder=1.8), autolim=False)


def write_in_cell(axes: Any, row: int, column: int, text: str, points: float, ink: str) -> None:
    """Write a text in the middle of a cell."""
    axes.text(column + 0.5, row + 0.5, text, size=points, color=ink, ha="center", va="center_baseline")


def pooling_steps(table: Grid, box: Box) -> tuple[int, int]:
    """How many rows and how many columns of a table are one pixel of an image."""
    rows, columns = table.values.shape
    return (
        max(-(-rows // int(box.height * PIXELS_PER_INCH)), 1),
        max(-(-columns // int(box.width * PIXELS_PER_INCH)), 1),
    )


def hatch_cells(axes: Any, cells: Array, hatch: Hatch, steps: tuple[int, int], *, has_lines: bool = True) -> None:
    """Hatch the cells of a table [rows columns] that are true; with steps a block of cells that are all true."""
    from matplotlib.patches import PathPatch  # noqa: PLC0415 - an extra
    from matplotlib.path import Path  # noqa: PLC0415

    row_step, column_step = steps
    shape = cells.shape
    whole = pooled(np.where(cells, 0.0, 1.0), *steps) == 0
    edges = np.diff(np.pad(whole, ((0, 0), (1, 1))).astype(np.int8), axis=1)
    row, start = np.nonzero(edges == 1)
    _, end = np.nonzero(edges == -1)
    if not len(row):
        return
    top, bottom = row * row_step, np.minimum((row + 1) * row_step, shape[0])
    left, right = start * column_step, np.minimum(end * column_step, shape[1])
    corners = np.array([(left, top), (right, top), (right, bottom), (left, bottom), (left, top)])  # [5 2 runs]
    codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY] * len(row)
    path = Path(corners.transpose(2, 0, 1).reshape(-1, 2), codes)
    pattern = hatch.pattern if has_lines and len(row) <= MAX_HATCHED_RUNS else None
    axes.add_patch(
        PathPatch(path, facecolor=hatch.ground, edgecolor=hatch.line, hatch=pattern, linewidth=0, zorder=1.5)
    )
