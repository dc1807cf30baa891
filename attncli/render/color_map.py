"""The colours of numbers: viridis for weights, blue and orange around the paper for others, and text on them.

One rule for the page, figures, terminals and notebooks: weights have the colours from 0 to 1, whatever the largest is;
other numbers those of their sign, the stronger the further they are from 0, which is the paper.
"""

from dataclasses import dataclass

from attncli.base.lazy_numpy import Array, np

Rgb = tuple[int, int, int]  # red, green and blue, 0 to 255

# Viridis by Nathaniel Smith, Stéfan van der Walt and Eric Firing (Matplotlib 1.5, 2015; public domain, CC0): 33 of its
# 256 colours at equal distances. Its lightness rises evenly, so that it reads in grey and with any colour vision.
_COLORS = bytes.fromhex(
    "440154 470d60 48186a 482374 472d7b 453781 424086 3e4989 3b528b 375b8d 33638d "
    "2f6b8e 2c728e 297a8e 26828e 23898e 21918c 1f978b 1f9f88 21a685 27ad81 31b57b "
    "3dbc74 4cc26c 5cc863 6ece58 81d34d 95d840 aadc32 c0df25 d5e21a eae51a fde725"
)
ANCHORS: tuple[Rgb, ...] = tuple(zip(_COLORS[::3], _COLORS[1::3], _COLORS[2::3], strict=True))
# From the lowest number to the highest, 0 in the middle: on light paper more is darker, on dark ground brighter.
SIGNED_ON_LIGHT: tuple[Rgb, ...] = ((8, 64, 140), (104, 172, 214), (255, 255, 255), (244, 154, 100), (166, 38, 14))
SIGNED_ON_DARK: tuple[Rgb, ...] = ((140, 200, 255), (36, 92, 150), (28, 32, 36), (160, 72, 28), (255, 190, 130))
DOTS: tuple[Rgb, Rgb] = ((47, 127, 208), (217, 101, 43))  # below and above 0, the fainter the nearer, on any ground
BLACK: Rgb = (0, 0, 0)
WHITE: Rgb = (255, 255, 255)
MIN_SHADE = 5  # percent: below it a weight has no shade


@dataclass(frozen=True)
class ColorScale:
    """The numbers that have the first and the last colour of a table, and the colours, at equal distances.

    A level is the place of a number between them, from 0 to 1. `zero` is the level of 0 where 0 is the paper.
    """

    least: float
    largest: float
    anchors: tuple[Rgb, ...] = ANCHORS
    zero: float | None = None

    def color(self, level: float) -> Rgb:
        """The colour of a level."""
        return color(level, self.anchors)

    def strength(self, level: float) -> float:
        """How far a number is from 0, from −1 to 1 with its sign, where 0 is the paper."""
        assert self.zero is not None
        return (level - self.zero) / max(self.zero, 1 - self.zero)


def color_scale(least: float, largest: float, *, are_weights: bool, is_dark: bool = False) -> ColorScale:
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
    if are_weights and least >= 0:
        return ColorScale(0.0, max(largest, 1.0))
    anchors, most = SIGNED_ON_DARK if is_dark else SIGNED_ON_LIGHT, max(-least, largest) or 1.0
    middle = len(anchors) // 2
    if least >= 0:
        return ColorScale(0.0, most, anchors[middle:], 0.0)
    return ColorScale(-most, 0.0, anchors[: middle + 1], 1.0) if largest <= 0 else ColorScale(-most, most, anchors, 0.5)


def color(fraction: float, anchors: tuple[Rgb, ...] = ANCHORS) -> Rgb:
    """The colour at a place from 0 to 1 of a row of colours: interpolated between two of them.

    What is beyond has the colour of the end.

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
    """Black or white, whichever has the greater contrast to a background; it is at least 4.5 to 1 on any.

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
    """The shade of each weight of a table, from 0 to 100: the weight in percent, of weights above 1 of the largest.

    >>> weight_shades(np.array([0.5, 0.25, 0.0, np.nan, -1e308])).tolist()
    [50, 25, 0, 0, 0]
    """
    shown = np.nan_to_num(weights, posinf=0, neginf=0).clip(min=0)
    shades: Array = (shown / max(shown.max(initial=0), 1) * 100).round().astype(int)
    return shades
