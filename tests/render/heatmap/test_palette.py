"""Heat maps: the levels of numbers, and their colours and characters."""

from itertools import pairwise

import numpy as np
import pytest

from attncli.render.color_map import Rgb, color, color_scale, luminance
from attncli.render.document import Grid
from attncli.render.heatmap.palette import (
    INDEXED_BLUES,
    INDEXED_ORANGES,
    INDEXED_RAMP,
    MASKED,
    STANDARD_RAMP,
    VISIBLE_LEVEL,
    Palette,
    pool,
    scale_of,
)

# xterm's defaults and VGA's: each terminal has its own 16 colours, and the order of these must hold in both.
XTERM = {4: (0, 0, 238), 12: (92, 92, 255), 6: (0, 205, 205), 10: (0, 255, 0), 11: (255, 255, 0)}
VGA = {4: (0, 0, 170), 12: (85, 85, 255), 6: (0, 170, 170), 10: (85, 255, 85), 11: (255, 255, 85)}
TRUE, INDEXED, STANDARD = Palette(2**24), Palette(256), Palette(16)
NAN = float("nan")


def indexed(number: int) -> Rgb:
    """The colour of a number from 16 to 231 of xterm's 256: a cube of six values."""
    red, green, blue = ((number - 16) // size % 6 for size in (36, 6, 1))
    red, green, blue = (0 if value == 0 else 55 + 40 * value for value in (red, green, blue))
    return red, green, blue


@pytest.mark.parametrize(
    "ramp",
    [
        [indexed(number) for number in INDEXED_RAMP],
        [indexed(number) for number in (16, *INDEXED_BLUES)],
        [indexed(number) for number in (16, *INDEXED_ORANGES)],
        [XTERM[number] for number in STANDARD_RAMP],
        [VGA[number] for number in STANDARD_RAMP],
    ],
    ids=["256", "blues", "oranges", "xterm", "vga"],
)
def test_each_colour_of_a_ramp_is_lighter_than_the_one_before(ramp: list[Rgb]) -> None:
    assert all(luminance(before) < luminance(after) for before, after in pairwise(ramp))
    assert luminance(ramp[-1]) > 10 * luminance(ramp[0])


def test_256_colours_have_steps_that_tell_small_weights_apart() -> None:
    assert len(INDEXED_RAMP) >= 16
    grounds = [INDEXED.cell(level, " 1 ").style.bgcolor for level in (0.0235, 0.1359)]
    assert grounds[0] != grounds[1]


def test_a_terminal_of_true_colours_has_those_of_the_map() -> None:
    style = TRUE.cell(0.5, " 1 ").style
    assert style is not None
    assert style.bgcolor is not None
    assert style.bgcolor.triplet == color(0.5)


@pytest.mark.parametrize(("palette", "first", "last"), [(INDEXED, 53, 220), (STANDARD, 4, 11)])
def test_a_terminal_of_few_colours_has_those_of_its_ramp(palette: Palette, first: int, last: int) -> None:
    grounds = [palette.cell(level, " 1 ").style.bgcolor.number for level in (0, 1)]
    assert grounds == [first, last]


@pytest.mark.parametrize(("has_unicode", "signs"), [(True, " ░▒▓█"), (False, " .:-=+*#%@")])
def test_without_colours_there_are_characters(has_unicode: bool, signs: str) -> None:
    palette = Palette(0, has_unicode)
    steps = len(signs) - 1
    assert "".join(palette.cell(at / steps, " ").text for at in range(steps + 1)) == signs
    assert palette.cell(1, "   ").text == signs[-1] * 3
    assert palette.cell(1, "  0.5 ").text == f"{signs[-1]} 0.5 "
    assert palette.bar(16)[0].text == f"[{signs}]"


@pytest.mark.parametrize("palette", [TRUE, Palette(0), Palette(0, has_unicode=False)])
def test_masked_cells_and_nan_are_neither_a_colour_nor_a_shade(palette: Palette) -> None:
    masked, nan = palette.cell(MASKED, "  0 "), palette.cell(NAN, "  ")
    assert masked.text == palette.masked_sign * 4
    assert nan.text == "??"
    assert palette.cell(NAN, " NaN ").text == " NaN "
    for segment in (masked, nan):
        assert segment.style is not None
        assert segment.style.bgcolor is None
        assert set(segment.text).isdisjoint(palette.shades)


@pytest.mark.parametrize(
    ("levels", "sign", "has_color", "has_ground"),
    [
        ((0.0, 1.0), "▀", True, True),
        ((0.0, MASKED), "▀", True, False),
        ((MASKED, 0.0), "▄", True, False),
        ((MASKED, MASKED), "╱", False, False),
        ((NAN, 1.0), "?", False, False),
    ],
)
def test_two_cells_in_one_character(levels: tuple[float, float], sign: str, has_color: bool, has_ground: bool) -> None:
    segment = TRUE.halves(*levels)
    assert segment.style is not None
    assert segment.text == sign
    assert (segment.style.color is not None, segment.style.bgcolor is not None) == (has_color, has_ground)


def test_halves_need_colours_and_their_characters() -> None:
    assert [palette.has_halves for palette in (TRUE, Palette(0), Palette(16, has_unicode=False))] == [
        True,
        False,
        False,
    ]


INFINITY = float("inf")


def table(*rows: list[float], is_heatmap: bool = False, hidden: list[list[bool]] | None = None) -> Grid:
    values = np.array(rows)
    labels = [tuple(f"{word}{at}" for at in range(size)) for word, size in zip("rc", values.shape, strict=True)]
    return Grid(values, *labels, is_heatmap=is_heatmap, hidden=None if hidden is None else np.array(hidden))


def levels(*grids: Grid) -> list[list[list[float]]]:
    scale = scale_of(grids)
    return [scale.levels(grid).tolist() for grid in grids]


def test_numbers_of_both_signs_are_as_far_from_the_middle_as_from_0() -> None:
    assert levels(table([-1.0, 2.0], [4.0, 0.0])) == [[[0.375, 0.75], [1, 0.5]]]


def test_on_a_white_ground_numbers_are_darker_the_further_from_0() -> None:
    for is_dark, sign in ((True, 1), (False, -1)):
        colors = scale_of([table([-1.0, 2.0])], is_dark=is_dark).colors
        assert colors is not None
        lightness = [sign * luminance(colors.color(level)) for level in (0.5, 0.75, 1.0)]
        assert lightness == sorted(lightness)


def test_weights_are_their_own_levels() -> None:
    assert levels(table([0.25, 0.5], [0.125, 0.0], is_heatmap=True)) == [[[0.25, 0.5], [0.125, 0]]]


def test_weights_above_1_are_between_0_and_their_largest() -> None:
    assert levels(table([1.0, 4.0], is_heatmap=True)) == [[[0.25, 1]]]


def test_negative_weights_are_scaled_as_scores_are() -> None:
    assert levels(table([-1.0, 0.0, 1.0], is_heatmap=True)) == [[[0, 0.5, 1]]]


def test_numbers_of_one_sign_are_between_0_and_the_furthest_from_it() -> None:
    assert levels(table([1.0, 4.0])) == [[[0.25, 1]]]
    assert levels(table([-1.0, -4.0])) == [[[0.75, 0]]]


def test_several_tables_have_one_scale() -> None:
    assert levels(table([0.0, 1.0]), table([2.0, 4.0])) == [[[0, 0.25]], [[0.5, 1]]]


def test_what_is_not_finite_does_not_count() -> None:
    ((row,),) = levels(table([1.0, 4.0, INFINITY, -INFINITY]))
    assert row == [0.25, 1, 1, MASKED]
    ((row,),) = levels(table([1.0, NAN, 4.0]))
    assert (row[0], row[2]) == (0.25, 1)
    assert np.isnan(row[1])


def test_a_number_that_a_mask_hides_does_not_count() -> None:
    assert levels(table([1.0, 4.0, 9.0], hidden=[[False, False, True]])) == [[[0.25, 1, MASKED]]]


def test_numbers_that_are_all_0_have_the_first_colour() -> None:
    assert levels(table([0.0, 0.0], is_heatmap=True)) == [[[0, 0]]]
    assert levels(table([0.0, 0.0])) == [[[0, 0]]]


@pytest.mark.parametrize("colors", [16, 256, 2**24])
def test_a_number_near_0_has_the_ground_of_the_screen(colors: int) -> None:
    palette = Palette(colors, scale=color_scale(-1, 1, are_weights=False, is_dark=True))
    grounds = [palette.cell(level, " 1 ").style.bgcolor for level in (0, 0.49, 0.5, 0.51, 1)]
    assert [ground is None for ground in grounds] == [False, True, True, True, False]
    assert grounds[0] != grounds[-1]


def test_numbers_may_be_as_far_apart_as_floats_are() -> None:
    assert levels(table([-1e308, 0.0, 1e308])) == [[[0, 0.5, 1]]]


def test_a_mask_is_visible_or_hidden() -> None:
    mask = Grid(np.array([[1, 0]]), ("q",), ("a", "b"), signs=[["●", "▷"]])
    assert levels(mask) == [[[VISIBLE_LEVEL, MASKED]]]


def test_a_block_has_the_largest_level_of_its_cells() -> None:
    cells = np.array([[0.1, 0.2, 0.3], [0.4, 0.0, MASKED], [MASKED, MASKED, NAN]])
    assert pool(cells, (1, 1)) is cells
    np.testing.assert_array_equal(pool(cells, (2, 2)), [[0.4, 0.3], [MASKED, NAN]])
    np.testing.assert_array_equal(pool(cells, (3, 2)), [[0.4, NAN]])
