"""The colours of numbers: palettes for weights, blue and orange around white for others, and text on them.

The page, figures, terminals and notebooks share one rule. The colours of weights run from 0 to 1, whatever the largest
weight is. The colour of another number shows its sign, and grows stronger with its distance from 0; 0 has the colour of
the paper.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from attncli.base.lazy_numpy import Array, np

Rgb = tuple[int, int, int]  # red, green and blue, 0 to 255

# Viridis by Nathaniel Smith, Stéfan van der Walt and Eric Firing (Matplotlib 1.5, 2015; public domain, CC0): 33 of its
# 256 colours at equal distances. Its lightness rises evenly, so that it reads in grey and with any colour vision.
_COLORS = (
    "440154 470d60 48186a 482374 472d7b 453781 424086 3e4989 3b528b 375b8d 33638d "
    "2f6b8e 2c728e 297a8e 26828e 23898e 21918c 1f978b 1f9f88 21a685 27ad81 31b57b "
    "3dbc74 4cc26c 5cc863 6ece58 81d34d 95d840 aadc32 c0df25 d5e21a eae51a fde725"
)


def _anchors(colors: str) -> tuple[Rgb, ...]:
    """Colours of six hexadecimal digits each."""
    parts = bytes.fromhex(colors)
    return tuple(zip(parts[::3], parts[1::3], parts[2::3], strict=True))


ANCHORS = _anchors(_COLORS)
# From the lowest number to the highest, with 0 in the middle: darker on light paper, brighter on a dark ground.
SIGNED_ON_LIGHT: tuple[Rgb, ...] = ((8, 64, 140), (104, 172, 214), (255, 255, 255), (244, 154, 100), (166, 38, 14))
SIGNED_ON_DARK: tuple[Rgb, ...] = ((140, 200, 255), (36, 92, 150), (28, 32, 36), (160, 72, 28), (255, 190, 130))
DOTS: tuple[Rgb, Rgb] = ((47, 127, 208), (217, 101, 43))  # below and above 0, fainter towards 0, on any ground
BLACK: Rgb = (0, 0, 0)
WHITE: Rgb = (255, 255, 255)
PAPER_ON_LIGHT, PAPER_ON_DARK = SIGNED_ON_LIGHT[2], SIGNED_ON_DARK[2]
MIN_SHADE = 5  # percent: a smaller weight has no shade


@dataclass(frozen=True, eq=False)
class Palette:
    """The colours of weights and of signed numbers, on light paper and on a dark ground, at equal distances.

    The lightness of weights rises or falls evenly. A palette without hues does not show signs.
    """

    weights: tuple[Rgb, ...]
    weights_on_dark: tuple[Rgb, ...]
    signed: tuple[Rgb, ...] = SIGNED_ON_LIGHT
    signed_on_dark: tuple[Rgb, ...] = SIGNED_ON_DARK
    has_hues: bool = True

    def colors_of(self, *, are_weights: bool, is_dark: bool) -> tuple[Rgb, ...]:
        """The colours of weights or of signed numbers on a ground."""
        if are_weights:
            return self.weights_on_dark if is_dark else self.weights
        return self.signed_on_dark if is_dark else self.signed


def _both_signs(colors: tuple[Rgb, ...]) -> tuple[Rgb, ...]:
    """The colours from 0 on, mirrored to both signs."""
    return (*colors[:0:-1], *colors)


# Cividis by Jamie Nuñez, Christopher Anderton and Ryan Renslow (2018; CC0).
_CIVIDIS = _anchors(
    "00224e 002e6a 1a386f 32436d 434e6c 535a6d 61656f 6f7073 7d7c78 8c8878 9b9476 aba072 bcae6c cdbb63 dec958 f0d846 "
    "fee838"
)
_GREY = _anchors("ffffff e0e0e0 c2c2c2 a5a5a5 898989 6e6e6e 535353 3b3b3b 242424")
_GREY_ON_DARK = _anchors("1c2024 363636 4f4f4f 686868 838383 9e9e9e bbbbbb d8d8d8 f6f6f6")
VIRIDIS = Palette(ANCHORS, ANCHORS)
PALETTES: Mapping[str, Palette] = {
    "viridis": VIRIDIS,
    "cividis": Palette(_CIVIDIS, _CIVIDIS),
    "blues": Palette(
        _anchors("ffffff d6e4fe a8caff 70b0ff 2a97f3 067ecf 0165a8 0e4d80 24364e"),
        _anchors("1c2024 20374c 0a507a 036a9f 0784c5 379fe5 70b9f8 a9d3fe deecfd"),
    ),
    "grey": Palette(_GREY, _GREY_ON_DARK, _both_signs(_GREY), _both_signs(_GREY_ON_DARK), has_hues=False),
}


@dataclass(frozen=True)
class ColorScale:
    """The numbers at the first and the last colour of a table, and the colours, at equal distances.

    A level is a number's position between them, from 0 to 1. `zero` is the level of 0, if 0 has the colour of the
    paper.
    """

    least: float
    largest: float
    anchors: tuple[Rgb, ...] = ANCHORS
    zero: float | None = None

    def color(self, level: float) -> Rgb:
        """The colour of a level."""
        return color(level, self.anchors)

    def strength(self, level: float) -> float:
        """The signed distance of a number from 0, from −1 to 1, if 0 has the colour of the paper."""
        assert self.zero is not None
        return (level - self.zero) / max(self.zero, 1 - self.zero)


def color_scale(
    least: float, largest: float, *, are_weights: bool, is_dark: bool = False, palette: Palette = VIRIDIS
) -> ColorScale:
    """The scale of a table by its least and largest number.

    >>> scale = color_scale(0.2, 0.4, are_weights=True)
    >>> scale.least, scale.largest, scale.zero
    (0.0, 1.0, None)
    >>> scale = color_scale(-1, 3, are_weights=False)
    >>> scale.least, scale.largest, scale.zero
    (-3, 3, 0.5)
    >>> color_scale(1, 3, are_weights=False).least
    0.0
    """
    are_weights = are_weights and least >= 0
    anchors = palette.colors_of(are_weights=are_weights, is_dark=is_dark)
    if are_weights:
        return ColorScale(0.0, max(largest, 1.0), anchors)
    most = max(-least, largest) or 1.0
    middle = len(anchors) // 2
    if least >= 0:
        return ColorScale(0.0, most, anchors[middle:], 0.0)
    return ColorScale(-most, 0.0, anchors[: middle + 1], 1.0) if largest <= 0 else ColorScale(-most, most, anchors, 0.5)


def color(fraction: float, anchors: tuple[Rgb, ...] = ANCHORS) -> Rgb:
    """The colour at a level from 0 to 1 in a list of colours, interpolated between two of them.

    A level outside has the colour of the nearer end.

    >>> color(0), color(0.5), color(1)
    ((68, 1, 84), (33, 145, 140), (253, 231, 37))
    """
    place = min(max(fraction, 0.0), 1.0) * (len(anchors) - 1)
    at = min(int(place), len(anchors) - 2)
    share = place - at
    red, green, blue = (
        round(low + (high - low) * share) for low, high in zip(anchors[at], anchors[at + 1], strict=True)
    )
    return red, green, blue


def text_color(background: Rgb) -> Rgb:
    """Black or white, whichever contrasts more with a background; at least 4.5 to 1 on any.

    >>> text_color(color(0)), text_color(color(1))
    ((255, 255, 255), (0, 0, 0))
    """
    ground = luminance(background)
    # Contrast is (lighter + 0.05) / (darker + 0.05), Web Content Accessibility Guidelines 2.2.
    return BLACK if (ground + 0.05) / 0.05 >= 1.05 / (ground + 0.05) else WHITE


def luminance(rgb: Rgb) -> float:
    """The relative luminance of a colour, from 0 (black) to 1 (white); IEC 61966-2-1 (sRGB).

    >>> luminance((255, 255, 255)), luminance((0, 0, 0))
    (1.0, 0.0)
    """
    linear = [
        value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4
        for value in (part / 255 for part in rgb)
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def weight_shades(weights: Array) -> Array:
    """The shade of each weight of a table, from 0 to 100: its percentage of 1, or of the largest weight above 1.

    >>> weight_shades(np.array([0.5, 0.25, 0.0, np.nan, -1e308])).tolist()
    [50, 25, 0, 0, 0]
    """
    shown = np.nan_to_num(weights, posinf=0, neginf=0).clip(min=0)
    shades: Array = (shown / max(shown.max(initial=0), 1) * 100).round().astype(int)
    return shades
