"""The colours of numbers: viridis for heat maps, with black or white for text on it, and shades of weights."""

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
BLACK: Rgb = (0, 0, 0)
WHITE: Rgb = (255, 255, 255)
MIN_SHADE = 5  # percent: below it a weight has no shade


def color(fraction: float) -> Rgb:
    """The colour of a number from 0, the least of a table, to 1, the largest: interpolated between two anchors.

    Numbers beyond that have the colour of the end.

    >>> color(0), color(0.5), color(1)
    ((68, 1, 84), (33, 145, 140), (253, 231, 37))
    """
    place = min(max(fraction, 0.0), 1.0) * (len(ANCHORS) - 1)
    at = min(int(place), len(ANCHORS) - 2)
    share = place - at
    red, green, blue = (
        round(low + (high - low) * share) for low, high in zip(ANCHORS[at], ANCHORS[at + 1], strict=True)
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


def row_shades(row: Array) -> Array:
    """The shade of each weight of a row [m]: from 0, also of negative ones, to 100, which is the row's largest.

    >>> row_shades(np.array([0.5, 0.25, 0.0, np.nan, -1e308])).tolist()
    [100, 50, 0, 0, 0]
    """
    weights = np.nan_to_num(row, posinf=0, neginf=0).clip(min=0)
    largest = weights.max(initial=0)
    return (weights / largest * 100 if largest > 0 else weights * 0).astype(int)
