"""Hatches: the look of cells without a number, above all masked ones, and the legend that explains them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from attncli.base.lazy_numpy import Array, np
from attncli.figure.drawing import Canvas, Fonts, hex_color, ink_on
from attncli.figure.layout import LINE_HEIGHT
from attncli.render.figure_style import ALERT, PALE, PLAIN, STRONG, Size
from attncli.render.masks import VISIBLE

VISIBLE_GROUND = "visible"  # the colour of curves
LEGEND_SIGN_SIZE = 7.0  # points
MAX_HATCHED_RUNS = 20_000  # runs of cells in a row; above that only the ground of a hatch is drawn, without lines
SWATCH, SWATCH_GAP = Size(0.26, 0.12), 0.07  # a colour in a legend, and the gap after it
ENTRY_GAP = 0.22  # between two entries of a legend
MAX_LEGEND = 3.2  # inches: a longer legend has a line for each entry


@dataclass(frozen=True)
class Hatch:
    """The look of cells without a number: their pattern, and the theme's ground below it."""

    pattern: str
    ground: str = PLAIN

    def colors(self, canvas: Canvas) -> dict[str, str]:
        """The colours below the pattern and of it, for Matplotlib."""
        if self.ground == VISIBLE_GROUND:
            visible = hex_color(canvas.style.curve)
            return {"facecolor": visible, "edgecolor": visible}
        line = canvas.theme.alert if self.ground == ALERT else canvas.theme.hatch
        return {"facecolor": canvas.theme.grounds[self.ground], "edgecolor": line}


MASKED, BELOW, ABOVE, NOT_A_NUMBER = "masked", "−∞", "+∞", "NaN"
HATCHES: Mapping[str, Hatch] = {
    MASKED: Hatch("/////"),
    BELOW: Hatch("\\\\\\\\\\"),
    ABOVE: Hatch("+++++"),
    NOT_A_NUMBER: Hatch("xxxxx", ALERT),
}
# For the rules of a mask, one after the other.
RULE_HATCHES: Sequence[Hatch] = [
    Hatch("/////"),
    Hatch(".....", PALE),
    Hatch("\\\\\\\\\\", STRONG),
    Hatch("xxxxx", PALE),
    Hatch("-----"),
    Hatch("|||||", PALE),
]
VISIBLE_HATCH = Hatch("", VISIBLE_GROUND)


@dataclass(frozen=True)
class LegendEntry:
    """A kind of cell: its look, its meaning, and the sign in it."""

    hatch: Hatch
    meaning: str
    sign: str = ""

    def width(self, fonts: Fonts) -> float:
        """The width of the entry in a legend."""
        return SWATCH.width + SWATCH_GAP + fonts.width(self.meaning)


def sign_ink(canvas: Canvas, sign: str) -> str:
    """The colour of a sign on its ground."""
    return ink_on(canvas.style.curve) if sign == VISIBLE else canvas.theme.ink


def pooled(values: Array, rows: int, columns: int) -> Array:
    """The largest number of each block of so many rows and columns; NaN if a block has none.

    >>> pooled(np.array([[1.0, 2, 3], [4, np.nan, np.nan]]), 1, 2)
    array([[ 2.,  3.],
           [ 4., nan]])
    """
    for axis, size in enumerate((rows, columns)):
        if size > 1:
            values = np.fmax.reduceat(values, range(0, values.shape[axis], size), axis=axis)
    return values


def hatch_cells(
    canvas: Canvas, axes: Any, cells: Array, hatch: Hatch, steps: tuple[int, int], *, has_lines: bool = True
) -> None:
    """Hatch the true cells of a table [rows columns]; with steps, blocks of only true cells."""
    from matplotlib.patches import PathPatch  # noqa: PLC0415 - an extra
    from matplotlib.path import Path  # noqa: PLC0415

    (row_step, column_step), shape = steps, cells.shape
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
    axes.add_patch(PathPatch(path, hatch=pattern, linewidth=0, zorder=1.5, **hatch.colors(canvas)))


def legend_size(entries: Sequence[LegendEntry], fonts: Fonts) -> tuple[int, float]:
    """The lines of a legend, and its width."""
    if not entries:
        return 0, 0.0
    widths = [entry.width(fonts) for entry in entries]
    whole = sum(widths) + ENTRY_GAP * (len(widths) - 1)
    return (1, whole) if whole <= MAX_LEGEND else (len(entries), max(widths))


def draw_legend(canvas: Canvas, entries: Sequence[LegendEntry], left: float, top: float) -> None:
    """Draw a legend, in one line or in a line for each entry: the look of cells, and its meaning."""
    from matplotlib.patches import Rectangle  # noqa: PLC0415 - an extra

    lines, _ = legend_size(entries, canvas.fonts)
    for entry in entries:
        middle, hatch = top + LINE_HEIGHT / 2, entry.hatch
        pattern = None if entry.sign else hatch.pattern
        corner = (left, top + (LINE_HEIGHT - SWATCH.height) / 2)
        style: dict[str, Any] = {**hatch.colors(canvas), "linewidth": 0}
        swatch = Rectangle(corner, SWATCH.width, SWATCH.height, hatch=pattern, transform=canvas.transform, **style)
        canvas.figure.add_artist(swatch)
        if entry.sign:
            center = left + SWATCH.width / 2
            canvas.text(
                center,
                middle,
                entry.sign,
                LEGEND_SIGN_SIZE,
                color=sign_ink(canvas, entry.sign),
                ha="center",
                va="center",
            )
        canvas.text(left + SWATCH.width + SWATCH_GAP, middle, entry.meaning, va="center")
        if lines == 1:
            left += entry.width(canvas.fonts) + ENTRY_GAP
        else:
            top += LINE_HEIGHT
