"""The colour map of heat maps, in a terminal and on a page: viridis, and black or white for text on its colours."""

Rgb = tuple[int, int, int]  # red, green and blue, 0 to 255

# Viridis by Nathaniel Smith, Stéfan van der Walt and Eric Firing (Matplotlib 1.5, 2015; public domain, CC0): 33 of its
# 256 colours at equal distances. Its lightness rises evenly, so that it reads in grey and with any colour vision.
ANCHORS: tuple[Rgb, ...] = tuple(
    (code >> 16, code >> 8 & 255, code & 255)
    for code in (
        0x440154,
        0x470D60,
        0x48186A,
        0x482374,
        0x472D7B,
        0x453781,
        0x424086,
        0x3E4989,
        0x3B528B,
        0x375B8D,
        0x33638D,
        0x2F6B8E,
        0x2C728E,
        0x297A8E,
        0x26828E,
        0x23898E,
        0x21918C,
        0x1F978B,
        0x1F9F88,
        0x21A685,
        0x27AD81,
        0x31B57B,
        0x3DBC74,
        0x4CC26C,
        0x5CC863,
        0x6ECE58,
        0x81D34D,
        0x95D840,
        0xAADC32,
        0xC0DF25,
        0xD5E21A,
        0xEAE51A,
        0xFDE725,
    )  # fmt: skip
)
BLACK: Rgb = (0, 0, 0)
WHITE: Rgb = (255, 255, 255)


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
