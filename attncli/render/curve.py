"""Curves and points as characters: a plot with axes and a legend, for a terminal."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from attncli.base.lazy_numpy import Array, np
from attncli.numbers.formatting import decimal
from attncli.render.aligned_numbers import align_numbers

POINT = "●"
CURVE_MARKS = "-+*#%&@$~=" + "abcdefghijklmnopqrstuvwxyz"
ROWS = 17
ROWS_PER_TICK = 4
MIN_TICK_COLUMNS = 12  # from one number below the plot to the next
TICK_DECIMALS = 2  # or more, where numbers below each other would be the same
MOST_DECIMALS = 12
LARGEST = 1e100  # beyond it differences and slopes may overflow


@dataclass(frozen=True)
class Series:
    """Numbers y [k] over x [k], in any order, and their name in the legend."""

    name: str
    x: Array | Sequence[float]
    y: Array | Sequence[float]

    @property
    def in_order(self) -> tuple[Array, Array]:
        """The numbers x and y as float64, in the order of x."""
        x, y = np.asarray(self.x, np.float64), np.asarray(self.y, np.float64)
        order = np.argsort(x, kind="stable")
        return x[order], y[order]


@dataclass(frozen=True)
class Plot:
    """Points and curves that are drawn in one plot, its title, and what its axes are."""

    title: str
    points: Series
    curves: tuple[Series, ...]
    x_name: str = ""
    y_name: str = ""


@dataclass(frozen=True)
class _Canvas:
    """A plot of so many columns and rows between the bounds of x and y."""

    x: tuple[float, float]
    y: tuple[float, float]
    columns: int
    rows: int

    def column(self, x: float) -> int:
        """The column of a number on the horizontal axis."""
        return round((x - self.x[0]) / (self.x[1] - self.x[0]) * (self.columns - 1))

    def row(self, y: float) -> int:
        """The row of a number on the vertical axis; the largest is in row 0."""
        return round((self.y[1] - y) / (self.y[1] - self.y[0]) * (self.rows - 1))

    def x_at(self, column: int) -> float:
        """The number on the horizontal axis at a column."""
        return self.x[0] + (self.x[1] - self.x[0]) * column / (self.columns - 1)


def plot(points: Series, curves: Sequence[Series], width: int, rows: int = ROWS) -> list[str]:
    r"""The lines of a plot of points and of curves, which are linear between their numbers, with axes and a legend.

    A point hides the curves behind it, and a curve those before it. What is not finite, or beyond 1e100, is left out.

    >>> points, curve = Series("measured", [0, 1], [0, 4]), Series("fit", [0, 0.5, 1], [0, 3, 4])
    >>> print("\n".join(plot(points, [curve], width=15, rows=5)))
    4 ┤         --●
    3 ┤     ----
    2 ┤   --
    1 ┤ --
    0 ┤●
      └┬──────────┬
       0          1
    ● measured   - fit
    """
    everything = [_finite(series) for series in (points, *curves)]
    y = _bounds([series.y for series in everything])
    heights = np.linspace(y[1], y[0], rows)[_tick_rows(rows)]
    labels = [row[0] for row in align_numbers(heights[:, None], _tick_decimals(float(heights[0] - heights[1])))]
    label_width = max(map(len, labels))
    canvas = _Canvas(_bounds([series.x for series in everything]), y, max(width - label_width - 2, 2), rows)
    cells = [[" "] * canvas.columns for _ in range(canvas.rows)]
    for mark, curve in zip(CURVE_MARKS, everything[1:], strict=False):
        _draw_curve(cells, canvas, curve, mark)
    for x, y in zip(everything[0].x, everything[0].y, strict=True):
        cells[canvas.row(y)][canvas.column(x)] = POINT
    names = [f"{mark} {series.name}" for mark, series in zip((POINT, *CURVE_MARKS), (points, *curves), strict=False)]
    return [*_rows(cells, canvas, labels, label_width), *_horizontal_axis(canvas, label_width), "   ".join(names)]


def _finite(series: Series) -> Series:
    """The series without what is not finite or too large, in the order of x."""
    x, y = series.in_order
    is_drawn = (np.abs(x) <= LARGEST) & (np.abs(y) <= LARGEST)
    return Series(series.name, x[is_drawn], y[is_drawn])


def _bounds(arrays: Sequence[Array | Sequence[float]]) -> tuple[float, float]:
    """The least and the largest number of some arrays, a unit apart or more where they differ by rounding at most."""
    numbers = np.concatenate([np.asarray(array) for array in arrays])
    if not numbers.size:
        return 0.0, 1.0
    least, largest = float(numbers.min()), float(numbers.max())
    rounding = max(-least, largest) / 2**40
    margin = 0.0 if largest - least > rounding else max(0.5, rounding)
    return least - margin, largest + margin


def _draw_curve(cells: list[list[str]], canvas: _Canvas, curve: Series, mark: str) -> None:
    """Put the mark of a curve into each column between its ends, and above or below it where the curve is steep."""
    if not len(curve.x):
        return
    columns = range(canvas.column(curve.x[0]), canvas.column(curve.x[-1]) + 1)
    heights = np.interp([canvas.x_at(column) for column in columns], curve.x, curve.y)
    before = canvas.row(heights[0])
    for column, height in zip(columns, heights, strict=True):
        row = canvas.row(height)
        step = 1 if row > before else -1
        for filled in (*range(before + step, row, step), row):
            cells[filled][column] = mark
        before = row


def _rows(cells: Sequence[Sequence[str]], canvas: _Canvas, labels: Sequence[str], label_width: int) -> list[str]:
    """The rows of the plot behind the vertical axis, with a number where the row has a tick."""
    ticks = dict(zip(_tick_rows(canvas.rows), labels, strict=True))
    return [
        f"{ticks.get(row, ''):>{label_width}} {'┤' if row in ticks else '│'}{''.join(line)}".rstrip()
        for row, line in enumerate(cells)
    ]


def _tick_rows(rows: int) -> range:
    """The rows that have a number: every fourth, or all of a low plot."""
    return range(0, rows, ROWS_PER_TICK if rows > 2 * ROWS_PER_TICK else 1)


def _horizontal_axis(canvas: _Canvas, label_width: int) -> list[str]:
    """The horizontal axis, and below its ticks numbers that are as far apart as each other."""
    most = max(canvas.columns // MIN_TICK_COLUMNS, 1)
    choices = []
    for count in range(most, most // 2, -1):
        decimals = _tick_decimals((canvas.x[1] - canvas.x[0]) / count)
        numbers = np.linspace(*canvas.x, count + 1).tolist()
        choices.append([decimal(round(number, decimals), decimals) for number in numbers])
    labels = min(choices, key=lambda labels: max(map(len, labels)))
    axis, below = ["─"] * canvas.columns, [" "] * canvas.columns
    for tick, label in enumerate(labels):
        column = round((canvas.columns - 1) * tick / (len(labels) - 1))
        axis[column] = "┬"
        start = max(min(column - len(label) // 2, canvas.columns - len(label)), 0)
        below[start : start + len(label)] = label
    margin = " " * (label_width + 1)
    return [f"{margin}└{''.join(axis)}", f"{margin} {''.join(below)}".rstrip()]


def _tick_decimals(step: float) -> int:
    """The decimals with which ticks that are a step apart differ, not fewer than the usual ones."""
    return min(max(TICK_DECIMALS, 1 - math.floor(math.log10(step))), MOST_DECIMALS)
