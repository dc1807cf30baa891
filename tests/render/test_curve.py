"""Plots in characters: points, curves, axes and a legend in a given width."""

import math
import re
from collections.abc import Sequence
from itertools import pairwise

import pytest

from attncli.render.curve import POINT, ROWS, Plot, Series, round_numbers
from attncli.render.curve import plot as plot_lines
from attncli.render.target import TextTarget

LINE = Series("line", [0, 1], [0, 1])
CORNERS = Series("points", [0, 1], [0, 1])


def plot(points: Series, curves: Sequence[Series], width: int, rows: int = ROWS, **more: bool) -> list[str]:
    """The lines of a plot without names of axes."""
    return plot_lines(Plot("", points, tuple(curves)), width, rows, **more)


def drawn(lines: list[str]) -> list[str]:
    """What stands behind the vertical axis."""
    return [line.partition("┤")[2] or line.partition("│")[2] for line in lines[:-3]]


@pytest.mark.parametrize("width", [12, 40, 80, 200])
def test_a_plot_is_as_wide_as_asked(width: int) -> None:
    lines = plot(CORNERS, [LINE], width)
    assert max(map(len, lines[:-1])) == width
    assert len(lines) == ROWS + 3


def test_points_stand_at_their_numbers_and_hide_curves() -> None:
    rows = drawn(plot(CORNERS, [LINE], 24, rows=5))
    assert rows[0].endswith("●")
    assert rows[-1].startswith("●")
    assert sum(row.count("●") for row in rows) == 2


def test_a_curve_has_a_mark_in_every_column_between_its_ends() -> None:
    rows = drawn(plot(Series("points", [0], [0]), [Series("steep", [1, 0, 2], [9, 0, 0])], 43, rows=9))
    columns = max(map(len, rows))
    assert all(any(len(row) > column and row[column].strip() for row in rows) for column in range(columns))
    assert all(row.strip() for row in rows), "a steep curve is filled from row to row"


def test_curves_have_marks_of_their_own_in_the_legend() -> None:
    curves = [Series(f"curve {number}", [0, 1], [number, 0]) for number in range(1, 16)]
    marks = [entry.split(" ", 1)[0] for entry in plot(CORNERS, curves, 80)[-1].split("   ")]
    assert len(set(marks)) == len(marks) == 16


def test_the_first_of_two_curves_is_dashed_and_both_are_dots() -> None:
    flat, counts = Series("flat", [0, 1], [0.5, 0.5]), []
    for curves, legend in (([flat], "⠒⠒⠒ flat"), ([flat, flat], "⠒ ⠒ flat   ⠒⠒⠒ flat"), ([flat, LINE], "⠒⠒⠒ line")):
        lines = plot(Series("none", [], []), curves, 60)
        counts.append(sum((ord(each) - 0x2800).bit_count() for each in "".join(lines[:-3]) if ord(each) > 0x2800))
        assert lines[-1].endswith(legend)
    alone, twice, crossing = counts
    assert alone == twice  # the whole one is on the dashed one
    assert 1.4 * alone < crossing < 1.6 * alone
    assert not any(ord(each) > 0x2800 for line in plot(CORNERS, [LINE], 60, has_unicode=False) for each in line)


def test_a_plot_fills_its_height_and_names_its_axes() -> None:
    lines = plot_lines(Plot("", CORNERS, (LINE,), "keys", "output"), 40, 12)
    assert lines[0] == "output"
    assert POINT in lines[1]
    assert POINT in lines[12]
    assert lines[-2].strip() == "keys"


@pytest.mark.parametrize(
    ("least", "largest", "expected"),
    [
        (2, 120, [25, 50, 75, 100]),
        (0, 1, [0, 0.25, 0.5, 0.75, 1]),
        (-3, 4, [-2, 0, 2, 4]),
        (1e6, 1e6 + 9, [1e6, 1e6 + 2, 1e6 + 4, 1e6 + 6, 1e6 + 8]),
    ],
)
def test_ticks_are_round(least: float, largest: float, expected: list[float]) -> None:
    assert round_numbers(least, largest, 5)[0] == expected


def test_ticks_are_inside_the_bounds_and_equally_far_from_each_other() -> None:
    lines = plot(Series("points", [0, 90], [-1, 2.5]), [], 80)
    heights = [float(line.split("┤")[0]) for line in lines if "┤" in line]
    assert heights == [2, 1, 0, -1]
    ticks = [float(tick) for tick in lines[-2].split()]
    assert 0 <= ticks[0] < ticks[-1] <= 90
    assert len({round(after - before, 6) for before, after in pairwise(ticks)}) == 1


@pytest.mark.parametrize(
    "series",
    [
        Series("one", [3], [7]),
        Series("flat", [0, 1], [2, 2]),
        Series("none", [], []),
        Series("NaN", [0, 1], [math.nan, 1]),
    ],
    ids=lambda series: series.name,
)
def test_what_has_no_extent_or_is_not_finite_is_drawn_as_far_as_it_goes(series: Series) -> None:
    for lines in (plot(series, [], 40), plot(CORNERS, [series], 40)):
        assert max(map(len, lines[:-1])) <= 40
        assert "nan" not in "\n".join(lines[:-1]).lower()


def test_ticks_that_are_near_each_other_have_as_many_decimals_as_differ() -> None:
    lines = plot(Series("points", [0.0001, 0.0002], [1e6, 1e6 + 0.001]), [], 40)
    ticks = [line.split("┤")[0].strip() for line in lines if "┤" in line]
    assert ticks == ["1000000.0010", "1000000.0008", "1000000.0006", "1000000.0004", "1000000.0002", "1000000.0000"]
    assert lines[-2].split() == ["0.0001", "0.00015", "0.0002"]


@pytest.mark.parametrize("y", [[1e90, math.nextafter(1e90, 0)], [0.0, 1e90], [-1e308, 1e308]])
def test_large_numbers_stand_before_one_axis(y: list[float]) -> None:
    lines = plot(Series("points", [0, 1], y), [Series("fit", [0, 1], y)], 60)
    assert len({len(re.split("[│┤]", line)[0]) for line in lines[:ROWS]}) == 1


def test_in_ascii_every_sign_has_one_that_the_encoding_has() -> None:
    target = TextTarget(encoding="ascii")
    lines = [target.text(line) for line in plot(CORNERS, [LINE], 40, has_unicode=False)]
    assert [len(line) for line in lines[-3:-1]] == [len(line) for line in plot(CORNERS, [LINE], 40)[-3:-1]]
    assert all(line.isascii() and "\\u" not in line for line in lines)
