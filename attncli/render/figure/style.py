"""The style of a figure: its size, palette, size of text and ground, and the colours of everything on that ground."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypedDict

from attncli.base.errors import AttnError, UnknownNameError
from attncli.base.text import repr_excerpt
from attncli.problem.numbers import is_number, to_float
from attncli.render.color_map import PALETTES, PAPER_ON_DARK, PAPER_ON_LIGHT, Palette, Rgb, color
from attncli.render.figure.layout import Size, to_size

FONT_SIZE = 9.0  # points: of a figure in a paper
MIN_FONT_SIZE, MAX_FONT_SIZE = 4.0, 40.0
DEFAULT_PALETTE = "viridis"
_CURVE, _CURVE_ON_DARK = 0.45, 0.75  # levels of weights
# Of heads, to be told apart with any colour vision: Okabe & Ito 2008; on dark ground without its dark blue.
_LINES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")
_LINES_ON_DARK = ("#56b4e9", "#e69f00", "#2cc79b", "#f0a3cb", "#f0e442", "#ff8a4c")


class StyleKeywords(TypedDict, total=False):
    """The keywords of Python for the style of a figure, next to its size."""

    palette: str
    font_size: float
    dark: bool
    transparent: bool


@dataclass(frozen=True)
class FigureStyle:
    """How a figure looks; without a size it is as large as it has to be.

    `font_size` is that of labels in points: everything else grows with it. A figure `is_dark` for dark ground, and has
    no ground of its own where it `is_transparent`.
    """

    size: Size | None = None
    palette_name: str = DEFAULT_PALETTE
    font_size: float = FONT_SIZE
    is_dark: bool = False
    is_transparent: bool = False

    @property
    def scale(self) -> float:
        """How much larger everything is than in a figure of the usual size of text."""
        return self.font_size / FONT_SIZE

    @property
    def palette(self) -> Palette:
        """The colours of numbers."""
        return PALETTES[self.palette_name]

    @property
    def theme(self) -> "Theme":
        """The colours of the ground, and of what is drawn on it."""
        return ON_DARK if self.is_dark else ON_LIGHT

    @property
    def paper(self) -> Rgb:
        """The colour of the ground."""
        return PAPER_ON_DARK if self.is_dark else PAPER_ON_LIGHT

    @property
    def curve(self) -> Rgb:
        """The colour of a curve, and of what is visible."""
        level = _CURVE_ON_DARK if self.is_dark else _CURVE
        return color(level, self.palette.colors_of(are_weights=True, is_dark=self.is_dark))

    def line(self, number: int) -> str:
        """The colour of the lines of one of several heads."""
        if not self.palette.has_hues:
            return self.theme.ink
        colors = _LINES_ON_DARK if self.is_dark else _LINES
        return colors[number % len(colors)]


@dataclass(frozen=True)
class Theme:
    """The colours of a ground: of text, of what is said about it, of lines between cells, of hatches and below them."""

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
    """The style of keywords: `size`, and those of StyleKeywords, None where one is not given.

    `name` makes of a keyword what an error calls it. Raises AttnError where a value is none of a style.

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
    """The size of text in points; raises AttnError where it is not a number, or out of range."""
    hint = f"expected {MIN_FONT_SIZE:g} to {MAX_FONT_SIZE:g} points"
    if not is_number(value):
        raise AttnError(f"{repr_excerpt(value)} is not a number", where=where, hint=hint)
    if not MIN_FONT_SIZE <= to_float(value) <= MAX_FONT_SIZE:
        raise AttnError(f"{to_float(value):g} points are out of range", where=where, hint=hint)
    return to_float(value)
