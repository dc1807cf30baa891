"""Matplotlib as figures use it: without its messages and the user's settings, on a canvas, with fonts and colours."""

import io
import logging
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any

from attncli.base.errors import AttnError, missing_package
from attncli.figure.layout import LINE_HEIGHT, Box, GroupLayout
from attncli.render.color_map import ColorScale, Rgb, text_color
from attncli.render.figure_style import FONT_SIZE, FigureStyle, Size

HEADING_SIZE = 10.0  # points: the title of a group
BASE_FONT = "DejaVu Sans"  # comes with Matplotlib
COLORS = 256  # of the colour map
MAX_TICKS = 5
MIN_NAME_SIZE = 5.0  # points of an axis name; it is left out if it does not fit
NAME_OVERHANG = 0.5  # inches that it may exceed the panels
TICK_ROOM = 0.08  # inches of a tick and the gap after it
INTERVALS_PER_INCH = 3
ROUND_STEPS = (1, 2, 2.5, 5, 10)
_PLACEHOLDERS = "Last Resort"  # a font with a box for every character
_POINTS_PER_INCH = 72

# Settings for files: text stays text in SVG, fonts are TrueType in PDF, names in SVG are the same at every run.
_SETTINGS: Mapping[str, Any] = {
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    "svg.hashsalt": "attn",
    "text.parse_math": False,  # a $ in a label is a $
    "font.size": FONT_SIZE,
    "hatch.linewidth": 0.6,
    "axes.linewidth": 0.6,
}


def check_matplotlib() -> None:
    """Raise AttnError if Matplotlib is not installed."""
    if find_spec("matplotlib") is None:
        raise missing_package("matplotlib", "plot", needs="a figure needs")


@contextmanager
def drawing() -> Iterator[None]:
    """Draw with this file's settings on top of Matplotlib's own, without the user's, which return afterwards.

    Matplotlib writes neither warnings nor log lines: this program itself gives the relevant warnings. Raises AttnError
    if Matplotlib is not installed or does not start.
    """
    check_matplotlib()
    logger = logging.getLogger("matplotlib")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                from matplotlib import style  # noqa: PLC0415 - an extra, and slow to import
            except (ImportError, ValueError) as error:  # the second: MPLBACKEND does not name a backend
                raise AttnError(f"a figure needs matplotlib, which does not start: {error}") from None
            with style.context(["default", dict(_SETTINGS)]):
                yield
    finally:
        logger.setLevel(level)


@dataclass(frozen=True)
class Fonts:
    """The font families for the characters of some texts, preferred ones first, and the characters without a font."""

    families: tuple[str, ...]
    missing: tuple[str, ...] = ()

    def width(self, text: str, points: float = FONT_SIZE, weight: str = "normal") -> float:
        """The width of a line of text in inches."""
        from matplotlib.font_manager import FontProperties  # noqa: PLC0415 - an extra
        from matplotlib.textpath import text_to_path  # noqa: PLC0415

        properties = FontProperties(family=self.families, size=points, weight=weight)
        width, _, _ = text_to_path.get_text_width_height_descent(text, properties, ismath=False)
        return float(width) / _POINTS_PER_INCH

    def widest(self, texts: Iterable[str], points: float = FONT_SIZE) -> float:
        """The width of the widest of some texts in inches, with equally wide digits; 0 for none."""
        return max((self.width(text, points) for text in {re.sub(r"\d", "0", text) for text in texts}), default=0.0)

    def wrap(self, text: str, width: float, points: float, weight: str = "normal") -> Sequence[str]:
        """A text in lines of at most a width in inches; a wider word has its own line."""
        lines = list[str]()
        for word in text.split(" ") if text else ():
            longer = f"{lines[-1]} {word}" if lines else word
            if lines and self.width(longer, points, weight) <= width:
                lines[-1] = longer
            else:
                lines.append(word)
        return lines


def fonts_for(texts: Iterable[str]) -> Fonts:
    """The fonts that some texts need: the fewest installed ones with the characters DejaVu Sans lacks."""
    from matplotlib import font_manager  # noqa: PLC0415 - an extra

    base = font_manager.get_font(font_manager.findfont(BASE_FONT)).get_charmap()
    missing = {character for text in texts for character in text if ord(character) not in base}
    fonts = _fonts_with(missing)
    if fonts.missing and _add_new_fonts():
        fonts = _fonts_with(missing)
    return fonts


@cache  # once a run: Matplotlib keeps a list of the fonts installed when it was made
def _add_new_fonts() -> int:
    """Add the fonts installed later to Matplotlib's list, and return their number."""
    from matplotlib import font_manager  # noqa: PLC0415 - an extra

    known = {entry.fname for entry in font_manager.fontManager.ttflist}
    added = 0
    for file in sorted({*font_manager.findSystemFonts()} - known):
        with suppress(OSError, RuntimeError, ValueError, KeyError):  # a font that FreeType can't read
            font_manager.fontManager.addfont(file)
            added += 1
    return added


def _fonts_with(characters: Iterable[str]) -> Fonts:
    """DejaVu Sans, and the fewest other fonts known to Matplotlib that have some characters."""
    from matplotlib import font_manager  # noqa: PLC0415 - an extra

    missing, families = set(characters), [BASE_FONT]
    entries = sorted(font_manager.fontManager.ttflist, key=lambda entry: (entry.name, entry.fname), reverse=True)
    files = {
        entry.name: entry.fname
        for entry in (entries if missing else [])
        if entry.style == "normal" and entry.weight in (400, "normal", "regular") and _PLACEHOLDERS not in entry.name
    }
    while missing:
        candidates = ((name, _drawable(files[name], missing)) for name in sorted(files))
        name, found = max(candidates, key=lambda candidate: len(candidate[1]), default=("", frozenset()))
        if not found:
            break
        families.append(name)
        missing -= found
    return Fonts(tuple(families), tuple(sorted(missing)))


def _drawable(file: str, characters: Iterable[str]) -> frozenset[str]:
    """The characters for which a font has outlines; picture fonts, such as emoji, have none."""
    from matplotlib.ft2font import FT2Font  # noqa: PLC0415 - an extra

    try:
        font = FT2Font(file)
        known = font.get_charmap()
        found = [character for character in characters if ord(character) in known]
        font.set_size(FONT_SIZE, _POINTS_PER_INCH)
        for character in found:
            font.load_char(ord(character))
    except (RuntimeError, OSError):  # FreeType can't read or draw it
        return frozenset()
    return frozenset(found)


def color_map(scale: ColorScale, style: FigureStyle) -> Any:
    """The colours of a scale for Matplotlib; cells without a number have none.

    In a transparent figure the colour of the paper is transparent, and similar colours partly.
    """
    from matplotlib.colors import ListedColormap  # noqa: PLC0415 - an extra

    found = [scale.color(at / (COLORS - 1)) for at in range(COLORS)]
    if style.is_transparent and has_paper(scale, style):
        colors = [_over(rgb, style.paper) for rgb in found]
    else:
        colors = [(red / 255, green / 255, blue / 255, 1.0) for red, green, blue in found]
    return ListedColormap(colors, name="attn").with_extremes(bad=(0, 0, 0, 0))


def has_paper(scale: ColorScale, style: FigureStyle) -> bool:
    """Whether 0 has the colour of the ground."""
    return scale.color(0.0 if scale.zero is None else scale.zero) == style.paper


def _over(rgb: Rgb, paper: Rgb) -> tuple[float, float, float, float]:
    """The most transparent colour that gives a colour on paper.

    >>> _over((255, 255, 255), (255, 255, 255)), _over((0, 0, 255), (255, 255, 255))
    ((0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 1.0, 1.0))
    """
    pairs = list(zip(rgb, paper, strict=True))
    opacity = max(abs(part - ground) / ((ground if part < ground else 255 - ground) or 1) for part, ground in pairs)
    if not opacity:
        return 0.0, 0.0, 0.0, 0.0
    red, green, blue = (min(max((part - (1 - opacity) * ground) / opacity / 255, 0.0), 1.0) for part, ground in pairs)
    return red, green, blue, opacity


def hex_color(rgb: Rgb) -> str:
    """A colour as `#rrggbb`.

    >>> hex_color((255, 0, 16))
    '#ff0010'
    """
    return "#" + "".join(f"{part:02x}" for part in rgb)


def ink_on(rgb: Rgb) -> str:
    """The colour of text on a colour."""
    return hex_color(text_color(rgb))


def round_ticks(least: float, largest: float, length: float = 1.0) -> Sequence[tuple[float, str]]:
    """As many round numbers of a range, with their texts, as fit an axis of that length in inches."""
    from matplotlib.ticker import MaxNLocator  # noqa: PLC0415 - an extra

    intervals = min(max(int(length * INTERVALS_PER_INCH), 1), MAX_TICKS)
    ticks = MaxNLocator(intervals, steps=ROUND_STEPS).tick_values(least, largest)
    slack = (largest - least) * 1e-9
    inside = [float(tick) for tick in ticks if least - slack <= tick <= largest + slack]
    return [(tick, f"{tick:.6g}".replace("-", "−")) for tick in inside]


def _png(figure: Any) -> bytes:
    """A figure as PNG."""
    picture = io.BytesIO()
    figure.savefig(picture, format="png")
    return picture.getvalue()


def _svg(figure: Any) -> str:
    """A figure as SVG."""
    picture = io.StringIO()
    figure.savefig(picture, format="svg", metadata={"Date": None})
    return picture.getvalue()


@cache
def _figure_class() -> Any:
    """Matplotlib's figure, which notebooks show as a picture, even if it does not draw in them."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - an extra

    return type("NotebookFigure", (Figure,), {"_repr_png_": _png, "_repr_svg_": _svg})


class Canvas:
    """A Matplotlib figure with positions in inches from the upper left corner, and the fonts of its texts.

    Inches and points hold for the usual text size; another text size scales them.
    """

    def __init__(self, size: Size, fonts: Fonts, style: FigureStyle, *, has_images: bool = True) -> None:
        from matplotlib.transforms import Affine2D  # noqa: PLC0415 - an extra

        self.size = size
        self.fonts = fonts
        self.style = style
        self.theme = style.theme
        self.has_images = has_images
        ground = "none" if style.is_transparent else hex_color(style.paper)
        figsize = (size.width * style.scale, size.height * style.scale)
        self.figure = _figure_class()(figsize=figsize, facecolor=ground)
        inches = Affine2D().scale(1 / size.width, -1 / size.height).translate(0, 1)
        self.transform = inches + self.figure.transFigure

    def axes(self, box: Box) -> Any:
        """Axes in a rectangle, without a frame and without ticks."""
        width, height = self.size.width, self.size.height
        bottom = height - box.top - box.height
        axes = self.figure.add_axes((box.left / width, bottom / height, box.width / width, box.height / height))
        axes.tick_params(length=0, pad=3 * self.style.scale, colors=self.theme.ink)
        axes.spines[:].set_visible(False)
        axes.set_facecolor("none")
        return axes

    def label_style(self, points: float = FONT_SIZE) -> dict[str, Any]:
        """The size and the families of a label, for Matplotlib."""
        return {"size": points * self.style.scale, "family": self.fonts.families}

    def text(self, left: float, top: float, text: str, points: float = FONT_SIZE, **style: Any) -> None:
        """Write a line at a position; `style` has Matplotlib's properties of a text."""
        options = {"color": self.theme.ink, "ha": "left", "va": "top", **self.label_style(points), **style}
        self.figure.text(left, top, text, transform=self.transform, **options)


def name_axes(canvas: Canvas, layout: GroupLayout, names: tuple[str, str]) -> None:
    """Write the names of a group's rows and columns, once at the left of all panels and once below them."""
    (rows, columns), area = names, layout.area
    style = {"color": canvas.theme.faint, "ha": "center"}
    if (points := _fitting_size(canvas.fonts, rows, area.height + NAME_OVERHANG)) is not None:
        left, middle = layout.heading[0] + LINE_HEIGHT / 2, area.top + area.height / 2
        canvas.text(left, middle, rows, points, rotation=90, va="center", **style)
    if (points := _fitting_size(canvas.fonts, columns, area.width + NAME_OVERHANG)) is not None:
        canvas.text(area.left + area.width / 2, layout.names - 0.02, columns, points, va="bottom", **style)


def _fitting_size(fonts: Fonts, text: str, length: float) -> float | None:
    """The size in points at which a text fits a length in inches; None if it is too long or empty."""
    points = min(FONT_SIZE, FONT_SIZE * length / max(fonts.width(text), 0.1))
    return points if text and points >= MIN_NAME_SIZE else None
