"""The style of a figure: its size, palette, text size and ground, and the colours on that ground."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, TypedDict

from attncli.base.errors import AttnError, UnknownNameError
from attncli.base.text import repr_excerpt
from attncli.problem.numbers import is_number, to_float
from attncli.render.color_map import PALETTES, PAPER_ON_DARK, PAPER_ON_LIGHT, Palette, Rgb, color

UNITS = {"in": 1.0, "cm": 2.54, "mm": 25.4}  # per inch
PARAMETER = "size"  # its name in Python
MIN_EDGE, MAX_EDGE = 1.0, 30.0  # inches: a PNG of the largest size takes some 300 MB of memory
_NUMBER = r"(\d+(?:\.\d*)?|\.\d+)"
_UNIT = rf"({'|'.join(UNITS)})?"
_SIZE = re.compile(rf"{_NUMBER}\s*{_UNIT}\s*[x×]\s*{_NUMBER}\s*{_UNIT}", re.IGNORECASE)
FONT_SIZE = 9.0  # points: the usual size in a figure of a paper
MIN_FONT_SIZE, MAX_FONT_SIZE = 4.0, 40.0
DEFAULT_PALETTE = "viridis"
_CURVE, _CURVE_ON_DARK = 0.45, 0.75  # levels of weights
# For heads, distinct with any colour vision: Okabe & Ito 2008; without its dark blue on a dark ground.
_LINES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")
_LINES_ON_DARK = ("#56b4e9", "#e69f00", "#2cc79b", "#f0a3cb", "#f0e442", "#ff8a4c")


@dataclass(frozen=True)
class Size:
    """A width and a height in inches."""

    width: float
    height: float

    def scaled(self, factor: float) -> "Size":
        """The size multiplied by a factor."""
        return Size(self.width * factor, self.height * factor)


def parse_size(text: str, where: str) -> Size:
    """Parse a size: width and height, with a unit each or one for both; inches without a unit.

    Raises AttnError if the text is not a size, or one is too small or too large; `where` names the option.

    >>> parse_size("6x4", "--size")
    Size(width=6.0, height=4.0)
    >>> parse_size("25.4 x 50.8mm", "--size")
    Size(width=1.0, height=2.0)
    """
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        hint = f"expected a width and a height, such as 6x4 (inches) or 15x10cm; units are {', '.join(UNITS)}"
        raise AttnError(f"{text!r} is not a size", where=where, hint=hint)
    width, width_unit, height, height_unit = found.groups()
    width_unit, height_unit = width_unit or height_unit or "in", height_unit or width_unit or "in"
    return checked_size(float(width) / UNITS[width_unit.lower()], float(height) / UNITS[height_unit.lower()], where)


def to_size(value: object, where: str = PARAMETER) -> Size | None:
    """The size from a Python value: a text, or a width and a height in inches; None for None.

    Raises AttnError at `where` for other values.

    >>> to_size((6, 4))
    Size(width=6.0, height=4.0)
    """
    if value is None or isinstance(value, str):
        return None if value is None else parse_size(value, where)
    numbers = value if isinstance(value, (tuple, list)) else ()
    if len(numbers) != 2 or not all(isinstance(number, Real) for number in numbers):
        hint = 'expected a width and a height in inches, such as (6, 4), or "15x10cm"'
        raise AttnError(f"{repr_excerpt(value)} is not a size", where=where, hint=hint)
    return checked_size(float(numbers[0]), float(numbers[1]), where)


def checked_size(width: float, height: float, where: str) -> Size:
    """The size from a width and a height in inches; raises AttnError if one is too small or too large."""
    if not (MIN_EDGE <= width <= MAX_EDGE and MIN_EDGE <= height <= MAX_EDGE):
        limits = f"expected {MIN_EDGE:g} to {MAX_EDGE:g} inches each, {MIN_EDGE * 2.54:.3g} to {MAX_EDGE * 2.54:.3g} cm"
        raise AttnError(f"{width:.3g} × {height:.3g} inches are out of range", where=where, hint=limits)
    return Size(width, height)


class StyleKeywords(TypedDict, total=False):
    """The keywords of Python for the style of a figure, in addition to its size."""

    palette: str
    font_size: float
    dark: bool
    transparent: bool


@dataclass(frozen=True)
class FigureStyle:
    """The look of a figure; without a size it is as large as necessary.

    `font_size` is the size of labels in points: everything else grows with it. A figure `is_dark` for a dark ground;
    one that `is_transparent` has no ground.
    """

    size: Size | None = None
    palette_name: str = DEFAULT_PALETTE
    font_size: float = FONT_SIZE
    is_dark: bool = False
    is_transparent: bool = False

    @property
    def scale(self) -> float:
        """How much larger everything is than in a figure with the usual text size."""
        return self.font_size / FONT_SIZE

    @property
    def palette(self) -> Palette:
        """The colours of numbers."""
        return PALETTES[self.palette_name]

    @property
    def theme(self) -> "Theme":
        """The colours of the ground and of everything drawn on it."""
        return ON_DARK if self.is_dark else ON_LIGHT

    @property
    def paper(self) -> Rgb:
        """The colour of the ground."""
        return PAPER_ON_DARK if self.is_dark else PAPER_ON_LIGHT

    @property
    def curve(self) -> Rgb:
        """The colour of a curve, and of visible cells."""
        level = _CURVE_ON_DARK if self.is_dark else _CURVE
        return color(level, self.palette.colors_of(are_weights=True, is_dark=self.is_dark))

    def line(self, number: int) -> str:
        """The line colour of one of several heads."""
        if not self.palette.has_hues:
            return self.theme.ink
        colors = _LINES_ON_DARK if self.is_dark else _LINES
        return colors[number % len(colors)]


@dataclass(frozen=True)
class Theme:
    """The colours of a ground: text, remarks, lines between cells, hatches and the area below them."""

    ink: str
    faint: str
    before: str  # of the curve before a change
    mesh: str  # between cells that may have the colour of the ground
    hatch: str
    alert: str
    grounds: Mapping[str, str]


PLAIN, PALE, STRONG, ALERT = "plain", "pale", "strong", "alert"
ON_LIGHT = Theme(
    ink="#24292f",
    faint="#57606a",
    before="#9aa0a6",
    mesh="#d8dce1",
    hatch="#9aa0a6",
    alert="#c0392b",
    grounds={PLAIN: "#eeeeee", PALE: "#f7f7f7", STRONG: "#dcdcdc", ALERT: "#fde8e8"},
)
ON_DARK = Theme(
    ink="#e6edf3",
    faint="#a3adb8",
    before="#7d8590",
    mesh="#3a4047",
    hatch="#6e7781",
    alert="#ff8a80",
    grounds={PLAIN: "#2d333a", PALE: "#24292f", STRONG: "#3a414a", ALERT: "#4a2528"},
)


def find_style(values: Mapping[str, Any], name: Any = str) -> FigureStyle:
    """The style from keywords: `size` and those of StyleKeywords; None for a keyword that is absent.

    `name` turns a keyword into its name in errors. Raises AttnError for an invalid value.

    >>> find_style({"palette": "grey", "font_size": 12}).scale
    1.3333333333333333
    """
    given = {key: value for key, value in values.items() if value is not None}
    unknown = given.keys() - {"size", *StyleKeywords.__annotations__}
    if unknown:
        names = (*StyleKeywords.__annotations__, "size")
        raise UnknownNameError("keyword of a figure", min(unknown), names, where=min(unknown))
    palette = given.get("palette", DEFAULT_PALETTE)
    if palette not in PALETTES:
        raise UnknownNameError("palette", str(palette), PALETTES, where=name("palette"))
    return FigureStyle(
        to_size(given.get("size"), name("size")),
        palette,
        _font_size(given.get("font_size", FONT_SIZE), name("font_size")),
        is_dark=bool(given.get("dark", False)),
        is_transparent=bool(given.get("transparent", False)),
    )


def _font_size(value: Any, where: str) -> float:
    """The text size in points; raises AttnError if it is not a number or out of range."""
    hint = f"expected {MIN_FONT_SIZE:g} to {MAX_FONT_SIZE:g} points"
    if not is_number(value):
        raise AttnError(f"{repr_excerpt(value)} is not a number", where=where, hint=hint)
    if not MIN_FONT_SIZE <= to_float(value) <= MAX_FONT_SIZE:
        raise AttnError(f"{to_float(value):g} points are out of range", where=where, hint=hint)
    return to_float(value)
