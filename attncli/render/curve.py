"""Curves and points as characters: a plot with axes and a legend, for a terminal."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from attncli.base.lazy_numpy import Array, np
from attncli.numbers.formatting import decimal
from attncli.render.aligned_numbers import align_numbers

POINT = "●"
CURVE_MARKS = "-+*#%&@$~=" + "abcdefghijklmnopqrstuvwxyz"
DOTTED = ("⠒⠒⠒", "⠒ ⠒")  # the marks of dotted curves in the legend: a whole line and a dashed one
DOTS = (2, 4)  # in a Braille character, across and down
FIRST_BRAILLE = 0x2800  # without dots
# The bit of each dot of a character: the left column, then the right, each from the top.
BRAILLE_BITS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))
DASH = 3  # columns of dots
ROWS = 15
ROWS_PER_TICK = 3
MIN_TICK_COLUMNS = 10  # columns from one axis number to the next
ROUND_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
MOST_DECIMALS = 12
LARGEST = 1e100  # differences and slopes of larger numbers may overflow


@dataclass(frozen=True)
class Series:
    """Numbers y [k] over x [k], in any order, and the name in the legend."""

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
    """Points and curves to draw in one plot, its title, and the names of its axes."""

    title: str
    points: Series
    curves: tuple[Series, ...]
    x_name: str = ""
    y_name: str = ""


@dataclass(frozen=True)
class _Canvas:
    """A grid of characters between the bounds of x and y; each character has several dots."""

    x: tuple[float, float]
    y: tuple[float, float]
    columns: int
    rows: int
    dots: tuple[int, int]

    def dot_column(self, x: float) -> int:
        """The dot column of a number on the horizontal axis."""
        return round((x - self.x[0]) / (self.x[1] - self.x[0]) * (self.columns * self.dots[0] - 1))

    def dot_row(self, y: float) -> int:
        """The dot row of a number on the vertical axis; the largest is in row 0."""
        return round((self.y[1] - y) / (self.y[1] - self.y[0]) * (self.rows * self.dots[1] - 1))

    def column(self, x: float) -> int:
        """The column of a number on the horizontal axis."""
        return self.dot_column(x) // self.dots[0]

    def row(self, y: float) -> int:
        """The row of a number on the vertical axis."""
        return self.dot_row(y) // self.dots[1]

    def curve(self, curve: Series) -> Iterator[tuple[int, int]]:
        """The dots (column, row) of a curve: one in each column, and a run of them where it is steep."""
        if not len(curve.x):
            return
        columns = range(self.dot_column(curve.x[0]), self.dot_column(curve.x[-1]) + 1)
        share = (self.x[1] - self.x[0]) / (self.columns * self.dots[0] - 1)
        heights = np.interp([self.x[0] + share * column for column in columns], curve.x, curve.y)
        before = self.dot_row(heights[0])
        for column, height in zip(columns, heights, strict=True):
            row = self.dot_row(height)
            step = 1 if row > before else -1
            yield from ((column, filled) for filled in (*range(before + step, row, step), row))
            before = row


def plot(drawn: Plot, width: int, rows: int = ROWS, *, has_unicode: bool = True) -> list[str]:
    r"""The lines of a plot: points, and curves that are linear between their numbers, with axes and a legend.

    One or two curves have Braille dots, if the encoding has them; the first of two is dashed. A point hides the curves
    behind it, and a curve hides earlier ones. The plot omits numbers that are not finite or beyond 1e100.

    >>> points, curve = Series("measured", [0, 1], [0, 4]), Series("fit", [0, 0.5, 1], [0, 3, 4])
    >>> print("\n".join(plot(Plot("", points, (curve,), "keys", "output"), width=15, rows=5)))
    output
    4 ┤       ⢀⡠⠤⠒●
      │     ⡰⠊⠁
    2 ┤   ⢠⠊
      │ ⢀⠔⠁
    0 ┤●⠊
      └┬──────────┬
       0          1
               keys
    ● measured   ⠒⠒⠒ fit
    """
    is_dotted = has_unicode and 0 < len(drawn.curves) <= len(DOTTED)
    points, *curves = (_finite(series) for series in (drawn.points, *drawn.curves))
    y = _bounds([series.y for series in (points, *curves)])
    numbers, decimals = round_numbers(*y, rows // ROWS_PER_TICK + 2)
    texts = align_numbers(np.array(numbers)[:, None], decimals) if numbers else []
    labels = [(number, row[0].strip()) for number, row in zip(numbers, texts, strict=True)]
    label_width = max((len(label) for _, label in labels), default=0)
    columns = max(width - label_width - 2, 2)
    canvas = _Canvas(
        _bounds([series.x for series in (points, *curves)]), y, columns, rows, DOTS if is_dotted else (1, 1)
    )
    marks = tuple(DOTTED[: len(curves)][::-1] if is_dotted else CURVE_MARKS)
    cells = _dotted(canvas, curves) if is_dotted else _marked(canvas, curves)
    for x, height in zip(points.x, points.y, strict=True):
        cells[canvas.row(height)][canvas.column(x)] = POINT
    series = (drawn.points, *drawn.curves)
    names = [f"{mark} {each.name}" for mark, each in zip((POINT, *marks), series, strict=False)]
    ticks = {canvas.row(number): label for number, label in labels}
    lines = [
        f"{ticks.get(row, ''):>{label_width}} {'┤' if row in ticks else '│'}{''.join(line)}".rstrip()
        for row, line in enumerate(cells)
    ]
    above = [drawn.y_name] if drawn.y_name else []
    below = [f"{drawn.x_name:>{label_width + 2 + columns}}"] if drawn.x_name else []
    return [*above, *lines, *_horizontal_axis(canvas, label_width), *below, "   ".join(names)]


def _dotted(canvas: _Canvas, curves: Sequence[Series]) -> list[list[str]]:
    """The characters of curves in dots, the first of two dashed."""
    bits = [[0] * canvas.columns for _ in range(canvas.rows)]
    (across, down), dashed = canvas.dots, len(curves) - 1
    for at, curve in enumerate(curves):
        for column, row in canvas.curve(curve):
            if at == dashed or column // DASH % 2 == 0:
                bits[row // down][column // across] |= BRAILLE_BITS[column % across][row % down]
    return [[chr(FIRST_BRAILLE + each) if each else " " for each in row] for row in bits]


def _marked(canvas: _Canvas, curves: Sequence[Series]) -> list[list[str]]:
    """The characters of curves, each with its own mark."""
    cells = [[" "] * canvas.columns for _ in range(canvas.rows)]
    for mark, curve in zip(CURVE_MARKS, curves, strict=False):
        for column, row in canvas.curve(curve):
            cells[row][column] = mark
    return cells


def _finite(series: Series) -> Series:
    """The series without numbers that are too large or not finite, in the order of x."""
    x, y = series.in_order
    is_drawn = (np.abs(x) <= LARGEST) & (np.abs(y) <= LARGEST)
    return Series(series.name, x[is_drawn], y[is_drawn])


def _bounds(arrays: Sequence[Array | Sequence[float]]) -> tuple[float, float]:
    """The least and the largest number of some arrays, or at least a unit apart if they differ only by rounding."""
    numbers = np.concatenate([np.asarray(array) for array in arrays])
    if not numbers.size:
        return 0.0, 1.0
    least, largest = float(numbers.min()), float(numbers.max())
    rounding = max(-least, largest) / 2**40
    margin = 0.0 if largest - least > rounding else max(0.5, rounding)
    return least - margin, largest + margin


def round_numbers(least: float, largest: float, most: int) -> tuple[Sequence[float], int]:
    """At most so many round numbers of a range, at equal distances, and their decimals.

    >>> round_numbers(2, 120, 5), round_numbers(0.0001, 0.0003, 3)
    (([25.0, 50.0, 75.0, 100.0], 0), ([0.0001, 0.0002, 0.0003], 4))
    """
    exponent = math.floor(math.log10((largest - least) / most))
    for shift, step in product((0, 1), ROUND_STEPS):
        size = step * 10.0 ** (exponent + shift)
        first, last = math.ceil(least / size - 1e-9), math.floor(largest / size + 1e-9)
        if last - first < most:
            break
    decimals = min(max((step == 2.5) - exponent - shift - (step == 10), 0), MOST_DECIMALS)
    return [round(at * size, decimals) for at in range(first, last + 1)], decimals


def _horizontal_axis(canvas: _Canvas, label_width: int) -> list[str]:
    """The horizontal axis, with round numbers below its ticks."""
    numbers, decimals = round_numbers(*canvas.x, canvas.columns // MIN_TICK_COLUMNS + 1)
    axis, below = ["─"] * canvas.columns, [" "] * canvas.columns
    end = -1
    for number in numbers:
        label, column = decimal(number, decimals), canvas.column(number)
        axis[column] = "┬"
        start = max(min(column - len(label) // 2, canvas.columns - len(label)), 0)
        if start > end and start + len(label) <= canvas.columns:
            below[start : start + len(label)] = label
            end = start + len(label)
    margin = " " * (label_width + 1)
    return [f"{margin}└{''.join(axis)}", f"{margin} {''.join(below)}".rstrip()]
