"""The colours of heat maps in a terminal: numbers as levels of a colour map, and levels as colours or characters."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from rich.color import Color
from rich.segment import Segment
from rich.style import Style

from attncli.base.lazy_numpy import Array, np
from attncli.base.text import transliterate
from attncli.render.aligned_numbers import MASKED_SIGN
from attncli.render.color_map import ColorScale, color_scale, text_color
from attncli.render.document import Grid

MASKED = float("-inf")  # the level of a masked cell; NaN has the level NaN, other numbers 0 to 1
VISIBLE_LEVEL = 0.5  # level of the visible cells of a mask
TRUE_COLORS, INDEXED_COLORS, STANDARD_COLORS = 2**24, 256, 16
# Colours of xterm's 256 (ISO 8613-6) close to viridis, with rising lightness.
INDEXED_RAMP = (53, 54, 55, 24, 25, 60, 30, 31, 66, 36, 71, 42, 113, 148, 184, 220)
INDEXED_BLUES, INDEXED_ORANGES = (24, 25, 31, 68, 74, 117), (88, 94, 130, 173, 180, 216)  # from 0 on
# Of the 16 colours, which each terminal defines itself: blue, bright blue, cyan, bright green, bright yellow.
STANDARD_RAMP = (4, 12, 6, 10, 11)
STANDARD_BLUES, STANDARD_REDS = (4, 12), (1, 9)
NEAR_ZERO = 0.04  # share of the largest number: numbers nearer to 0 have the screen's ground
FIRST_LIGHT = 2  # of these, the first with black text
UNICODE_SHADES, ASCII_SHADES = " ░▒▓█", " .:-=+*#%@"
BLACK, WHITE = 0, 15  # of the 16 colours
NAN_SIGN = "?"
WEIGHTS = ColorScale(0.0, 1.0)
UPPER_HALF, LOWER_HALF = "▀", "▄"
DIM, ALERT = Style(dim=True), Style(bold=True)


@dataclass(frozen=True)
class Scale:
    """The colours of some tables; None if they have no finite number that is not masked."""

    colors: ColorScale | None

    def levels(self, grid: Grid) -> Array:
        """The level of each cell of a table [rows columns]; a mask's cells are visible or masked."""
        if grid.signs is not None:
            return np.where(grid.values != 0, VISIBLE_LEVEL, MASKED)
        halves = grid.values.astype(np.float64) / 2  # the difference of two numbers may overflow a float
        colors = self.colors or WEIGHTS
        fractions = (halves - colors.least / 2) / (colors.largest / 2 - colors.least / 2)
        fractions[np.isposinf(halves)] = 1
        return np.where(is_masked(grid), MASKED, fractions)


def scale_of(grids: Iterable[Grid], *, is_dark: bool = True) -> Scale:
    """The scale of some tables: 0 to 1 for weights, around 0 on a ground for others; masked cells do not count."""
    least, largest, are_weights = float("inf"), float("-inf"), True
    for grid in grids:
        numbers = grid.values[np.isfinite(grid.values) & ~is_masked(grid)]
        if numbers.size:
            least, largest = min(least, float(numbers.min())), max(largest, float(numbers.max()))
        are_weights = are_weights and grid.is_heatmap
    return Scale(color_scale(least, largest, are_weights=are_weights, is_dark=is_dark) if least <= largest else None)


def is_masked(grid: Grid) -> Array:
    """True [rows columns] where a cell is masked or minus infinity."""
    infinite: Array = np.isneginf(grid.values)
    return infinite if grid.hidden is None else infinite | grid.hidden


def pool(levels: Array, block: Sequence[int]) -> Array:
    """The largest level of each block; a block with a NaN is NaN, an entirely masked one is masked.

    >>> pool(np.array([[0.1, 0.5, MASKED], [0.2, np.nan, MASKED]]), (1, 2)).tolist()
    [[0.5, -inf], [nan, -inf]]
    """
    for axis, size in enumerate(block):
        if size > 1:
            levels = np.maximum.reduceat(levels, range(0, levels.shape[axis], size), axis=axis)
    return levels


@dataclass(frozen=True)
class Palette:
    """The colours for heat maps: their number, 0 for none, and their scale.

    `has_unicode` is true if the encoding has every character.
    """

    colors: int
    has_unicode: bool = True
    scale: ColorScale = WEIGHTS

    @property
    def has_halves(self) -> bool:
        """Whether a line shows two rows of cells, as the halves of a character in two colours."""
        return bool(self.colors) and self.has_unicode

    @property
    def masked_sign(self) -> str:
        """The sign of masked cells."""
        return MASKED_SIGN if self.has_unicode else transliterate(MASKED_SIGN, "ascii")

    @property
    def shades(self) -> str:
        """The characters from the first to the last colour, for a target without colours."""
        return UNICODE_SHADES if self.has_unicode else ASCII_SHADES

    def cell(self, level: float, text: str) -> Segment:
        """A cell with a text of its width; without colours its first character shows the level."""
        if math.isnan(level):
            return Segment(text if text.strip() else NAN_SIGN * len(text), ALERT)
        if level == MASKED:
            return Segment(self.masked_sign * len(text), DIM)
        if self.colors:
            return Segment(text, _on(self.colors, level, self.scale))
        shade = self.shades[round(level * (len(self.shades) - 1))]
        return Segment(f"{shade}{text[1:]}" if text.strip() else shade * len(text))

    def sign(self, level: float, text: str) -> Segment:
        """A cell of a mask with its sign: coloured if it is visible."""
        if level == MASKED:
            return Segment(text, DIM)
        return Segment(text, _on(self.colors, level, self.scale) if self.colors else Style())

    def halves(self, top: float, bottom: float) -> Segment:
        """Two cells, one above the other, as one character; a masked one has the screen's ground."""
        if math.isnan(top) or math.isnan(bottom):
            return Segment(NAN_SIGN, ALERT)
        if top == bottom == MASKED:
            return Segment(self.masked_sign, DIM)
        colors = [None if x == MASKED else _color(self.colors, x, self.scale) for x in (top, bottom)]
        if colors[0] is None:
            return Segment(LOWER_HALF, Style(color=colors[1]))
        return Segment(UPPER_HALF, Style(color=colors[0], bgcolor=colors[1]))

    def bar(self, width: int) -> list[Segment]:
        """The colours from the first to the last, so wide, or all characters if there are no colours."""
        if self.colors:
            return [self.cell(at / (width - 1), " ") for at in range(width)]
        return [Segment(f"[{self.shades}]")]


def _color(colors: int, level: float, scale: ColorScale) -> Color:
    """The colour of a level on a terminal of so many colours."""
    if colors >= TRUE_COLORS:
        return Color.from_rgb(*scale.color(level))
    is_indexed = colors >= INDEXED_COLORS
    if scale.zero is None:
        return _of_ramp(INDEXED_RAMP if is_indexed else STANDARD_RAMP, level)
    strength = scale.strength(level)
    low, high = (INDEXED_BLUES, INDEXED_ORANGES) if is_indexed else (STANDARD_BLUES, STANDARD_REDS)
    return _of_ramp(low if strength < 0 else high, abs(strength))


def _of_ramp(ramp: Sequence[int], level: float) -> Color:
    """One of some colours by their numbers."""
    return Color.from_ansi(ramp[min(int(level * len(ramp)), len(ramp) - 1)])


@lru_cache(maxsize=4096)  # a table has many cells
def _on(colors: int, level: float, scale: ColorScale) -> Style:
    """Text that is legible on a level's colour; a number near 0 is on the screen's ground."""
    if scale.zero is not None and abs(scale.strength(level)) < NEAR_ZERO:
        return Style()
    ground = _color(colors, level, scale)
    if colors >= INDEXED_COLORS:
        return Style(color=Color.from_rgb(*text_color(ground.get_truecolor())), bgcolor=ground)
    is_light = ground.number in STANDARD_RAMP[FIRST_LIGHT:]
    return Style(color=Color.from_ansi(BLACK if is_light else WHITE), bgcolor=ground)
