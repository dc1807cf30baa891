"""The colours of heat maps in a terminal: numbers as levels of a colour map, and levels as colours or characters."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from rich.color import Color
from rich.segment import Segment
from rich.style import Style

from attncli.base.lazy_numpy import Array, np
from attncli.render.color_map import color, text_color
from attncli.render.document import Grid

MASKED = float("-inf")  # the level of a masked cell; that of a NaN is NaN, of other numbers 0 to 1
VISIBLE_LEVEL = 0.5  # of the visible cells of a mask
TRUE_COLORS, INDEXED_COLORS, STANDARD_COLORS = 2**24, 256, 16
# Colours of the 256 of xterm (ISO 8613-6) that are near viridis, and whose lightness rises by equal steps.
INDEXED_RAMP = (53, 55, 24, 30, 36, 77, 220)
# Of the 16 colours, which each terminal has its own of: blue, bright blue, cyan, bright green, bright yellow.
STANDARD_RAMP = (4, 12, 6, 10, 11)
FIRST_LIGHT = 2  # of these, the first that has black text
UNICODE_SHADES, ASCII_SHADES = " ░▒▓█", " .:-=+*#%@"
BLACK, WHITE = 0, 15  # of the 16 colours
NAN_SIGN = "?"
UPPER_HALF, LOWER_HALF = "▀", "▄"
DIM, ALERT = Style(dim=True), Style(bold=True)


@dataclass(frozen=True)
class Scale:
    """The numbers that have the first and the last colour; the least is above the largest where there are none."""

    least: float
    largest: float
    is_from_zero: bool  # whether the first colour is that of 0, as of weights

    @property
    def has_one_number(self) -> bool:
        """Whether every number is the same."""
        return self.least == self.largest

    @property
    def has_numbers(self) -> bool:
        """Whether any cell has a finite number that is not masked."""
        return self.least <= self.largest

    def levels(self, grid: Grid) -> Array:
        """The level of each cell of a table [rows columns]; those of a mask are visible or masked."""
        if grid.signs is not None:
            return np.where(grid.values != 0, VISIBLE_LEVEL, MASKED)
        halves = grid.values.astype(np.float64) / 2  # the difference of two numbers may be too large for a float
        width, constant = self.largest / 2 - self.least / 2, 0.0 if self.is_from_zero else 1.0
        fractions = (halves - self.least / 2) / width if width > 0 else np.where(np.isfinite(halves), constant, halves)
        fractions[np.isposinf(halves)] = 1
        return np.where(is_masked(grid), MASKED, fractions)


def scale_of(grids: Iterable[Grid]) -> Scale:
    """The scale of some tables, from 0 of weights, otherwise from the least number; masked cells do not count."""
    least, largest, are_weights = float("inf"), float("-inf"), True
    for grid in grids:
        numbers = grid.values[np.isfinite(grid.values) & ~is_masked(grid)]
        if numbers.size:
            least, largest = min(least, float(numbers.min())), max(largest, float(numbers.max()))
        are_weights = are_weights and grid.is_heatmap
    is_from_zero = are_weights and least >= 0
    return Scale(0.0 if is_from_zero else least, largest, is_from_zero)


def is_masked(grid: Grid) -> Array:
    """Which cells [rows columns] a mask hides, or are minus infinity."""
    infinite: Array = np.isneginf(grid.values)
    return infinite if grid.hidden is None else infinite | grid.hidden


def pool(levels: Array, block: Sequence[int]) -> Array:
    """The largest level of each block of rows and columns; a block with a NaN is NaN, one that is all masked masked.

    >>> pool(np.array([[0.1, 0.5, MASKED], [0.2, np.nan, MASKED]]), (1, 2)).tolist()
    [[0.5, -inf], [nan, -inf]]
    """
    for axis, size in enumerate(block):
        if size > 1:
            levels = np.maximum.reduceat(levels, range(0, levels.shape[axis], size), axis=axis)
    return levels


@dataclass(frozen=True)
class Palette:
    """What a heat map is drawn with: the number of colours, 0 for none, and whether every character can be written."""

    colors: int
    has_unicode: bool = True

    @property
    def has_halves(self) -> bool:
        """Whether two rows of cells have room in a line, as the halves of a character in two colours."""
        return bool(self.colors) and self.has_unicode

    @property
    def masked_sign(self) -> str:
        """The sign of masked cells."""
        return "╱" if self.has_unicode else "/"

    @property
    def shades(self) -> str:
        """The characters from the first to the last colour, where there are no colours."""
        return UNICODE_SHADES if self.has_unicode else ASCII_SHADES

    def cell(self, level: float, text: str) -> Segment:
        """A cell with its text, which is as wide as the cell; without colours its first sign is that of the level."""
        if math.isnan(level):
            return Segment(text if text.strip() else NAN_SIGN * len(text), ALERT)
        if level == MASKED:
            return Segment(self.masked_sign * len(text), DIM)
        if self.colors:
            return Segment(text, _on(self.colors, level))
        shade = self.shades[round(level * (len(self.shades) - 1))]
        return Segment(f"{shade}{text[1:]}" if text.strip() else shade * len(text))

    def sign(self, level: float, text: str) -> Segment:
        """A cell of a mask with its sign: on a colour where it is visible."""
        if level == MASKED:
            return Segment(text, DIM)
        return Segment(text, _on(self.colors, level) if self.colors else Style())

    def halves(self, top: float, bottom: float) -> Segment:
        """Two cells, one above the other, as one character; where one is masked the ground of the screen shows."""
        if math.isnan(top) or math.isnan(bottom):
            return Segment(NAN_SIGN, ALERT)
        if top == bottom == MASKED:
            return Segment(self.masked_sign, DIM)
        if bottom == MASKED:
            return Segment(UPPER_HALF, Style(color=_color(self.colors, top)))
        if top == MASKED:
            return Segment(LOWER_HALF, Style(color=_color(self.colors, bottom)))
        return Segment(UPPER_HALF, Style(color=_color(self.colors, top), bgcolor=_color(self.colors, bottom)))

    def bar(self, width: int) -> list[Segment]:
        """The colours from the first to the last, so wide, or without colours all characters."""
        if self.colors:
            return [self.cell(at / (width - 1), " ") for at in range(width)]
        return [Segment(f"[{self.shades}]")]


def _color(colors: int, level: float) -> Color:
    """The colour of a level on a terminal of so many colours."""
    if colors >= TRUE_COLORS:
        return Color.from_rgb(*color(level))
    ramp = INDEXED_RAMP if colors >= INDEXED_COLORS else STANDARD_RAMP
    return Color.from_ansi(ramp[min(int(level * len(ramp)), len(ramp) - 1)])


@lru_cache(maxsize=4096)  # a table has many cells
def _on(colors: int, level: float) -> Style:
    """Text that is legible on the colour of a level."""
    ground = _color(colors, level)
    if colors >= INDEXED_COLORS:
        return Style(color=Color.from_rgb(*text_color(ground.get_truecolor())), bgcolor=ground)
    is_light = ground.number in STANDARD_RAMP[FIRST_LIGHT:]
    return Style(color=Color.from_ansi(BLACK if is_light else WHITE), bgcolor=ground)
