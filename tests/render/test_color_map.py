"""The colour map: lightness rises evenly, and text is legible on every colour."""

import itertools

import numpy as np
import pytest

from attncli.render.color_map import (
    ANCHORS,
    BLACK,
    PALETTES,
    SIGNED_ON_DARK,
    SIGNED_ON_LIGHT,
    WHITE,
    Rgb,
    color,
    text_color,
)

FRACTIONS = np.linspace(0, 1, 101)


def linear(rgb: Rgb) -> np.ndarray:
    """The linear light of a colour's parts (IEC 61966-2-1)."""
    parts = np.array(rgb) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lightness(rgb: Rgb) -> float:
    """L* of CIE 1976, from 0 (black) to 100 (white)."""
    y = float(linear(rgb) @ [0.2126, 0.7152, 0.0722])
    return 116 * y ** (1 / 3) - 16 if y > (6 / 29) ** 3 else y * (29 / 3) ** 3


def contrast(one: Rgb, other: Rgb) -> float:
    """The contrast ratio of WCAG 2.2, from 1 to 21."""
    darker, lighter = sorted(float(linear(rgb) @ [0.2126, 0.7152, 0.0722]) for rgb in (one, other))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("is_dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", PALETTES)
def test_the_lightness_of_weights_rises_or_falls_evenly(name: str, is_dark: bool) -> None:
    anchors = PALETTES[name].colors_of(are_weights=True, is_dark=is_dark)
    sign = -1 if anchors[0] == WHITE else 1  # more is darker where 0 is the paper, and on dark ground brighter
    found = [sign * lightness(color(fraction, anchors)) for fraction in FRACTIONS]
    straight = np.interp(FRACTIONS, [0, 1], [found[0], found[-1]])
    assert sign == 1 or not is_dark
    assert all(before < after for before, after in itertools.pairwise(found))
    assert found[-1] - found[0] > 70
    assert np.abs(found - straight).max() < 3.5


@pytest.mark.parametrize(
    ("anchors", "sign"),
    [
        (SIGNED_ON_LIGHT, -1),
        (SIGNED_ON_DARK, 1),
        (PALETTES["grey"].signed, -1),
        (PALETTES["grey"].signed_on_dark, 1),
    ],
    ids=["light", "dark", "grey", "grey on dark"],
)
def test_the_further_from_0_the_further_from_the_paper(anchors: tuple[Rgb, ...], sign: int) -> None:
    for fractions in (np.linspace(0.5, 0, 40), np.linspace(0.5, 1, 40)):
        found = [sign * lightness(color(fraction, anchors)) for fraction in fractions]
        assert all(before < after for before, after in itertools.pairwise(found))


@pytest.mark.parametrize("fraction", [0, 0.25, 0.5, 0.75, 1])
def test_an_anchor_is_a_colour_of_the_map(fraction: float) -> None:
    assert color(fraction) == ANCHORS[int(fraction * 32)]


def test_a_number_beyond_the_ends_has_the_colour_of_the_end() -> None:
    assert (color(-0.5), color(1.5)) == (color(0), color(1))


def test_text_is_legible_on_every_colour() -> None:
    grounds = [color(x, anchors) for x in FRACTIONS for anchors in (ANCHORS, SIGNED_ON_LIGHT, SIGNED_ON_DARK)]
    grounds += [BLACK, WHITE, (118, 118, 118), (128, 128, 128)]
    for ground in grounds:
        text, other = (text_color(ground), WHITE if text_color(ground) == BLACK else BLACK)
        assert contrast(text, ground) >= 4.5
        assert contrast(text, ground) >= contrast(other, ground)
