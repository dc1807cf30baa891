"""Plots in characters: points, curves, axes and a legend in a given width."""

import math
import re
from itertools import pairwise

import pytest

from attncli.render.curve import ROWS, Series, plot
from attncli.render.target import TextTarget

LINE = Series("line", [0, 1], [0, 1])
CORNERS = Series("points", [0, 1], [0, 1])


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
    assert all(any(len(row) > column and row[column] in "-●" for row in rows) for column in range(columns))
    assert all(row.strip() for row in rows), "a steep curve is filled from row to row"


def test_curves_have_marks_of_their_own_in_the_legend() -> None:
    curves = [Series(f"curve {number}", [0, 1], [number, 0]) for number in range(1, 16)]
    marks = [entry.split(" ", 1)[0] for entry in plot(CORNERS, curves, 80)[-1].split("   ")]
    assert len(set(marks)) == len(marks) == 16


def test_numbers_of_the_axes_are_those_of_the_bounds() -> None:
    lines = plot(Series("points", [0, 90], [-1, 2.5]), [], 80)
    assert [float(line.split("┤")[0]) for line in lines if "┤" in line] == [2.5, 1.62, 0.75, -0.12, -1]
    ticks = [float(tick) for tick in lines[-2].split()]
    assert (ticks[0], ticks[-1]) == (0, 90)
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


@pytest.mark.parametrize(
    ("y", "ticks"),
    [
        ([0.0001, 0.0003], ["0.000300", "0.000250", "0.000200", "0.000150", "0.000100"]),
        ([1e6, 1e6 + 0.001], [f"1000000.{digits}" for digits in ("00100", "00075", "00050", "00025", "00000")]),
    ],
)
def test_ticks_that_are_near_each_other_have_as_many_decimals_as_differ(y: list[float], ticks: list[str]) -> None:
    lines = plot(Series("points", [0.0001, 0.0002], y), [], 40)
    assert [line.split()[0] for line in lines[:ROWS:4]] == ticks
    assert lines[-2].split() == ["0.0001", "0.00015", "0.0002"]


@pytest.mark.parametrize("y", [[1e90, math.nextafter(1e90, 0)], [0.0, 1e90], [-1e308, 1e308]])
def test_large_numbers_stand_before_one_axis(y: list[float]) -> None:
    lines = plot(Series("points", [0, 1], y), [Series("fit", [0, 1], y)], 60)
    assert len({len(re.split("[│┤]", line)[0]) for line in lines[:ROWS]}) == 1


def test_in_ascii_every_sign_has_one_that_the_encoding_has() -> None:
    target = TextTarget(encoding="ascii")
    lines = [target.text(line) for line in plot(CORNERS, [LINE], 40)]
    assert [len(line) for line in lines[:-1]] == [len(line) for line in plot(CORNERS, [LINE], 40)[:-1]]
    assert all(line.isascii() and "\\u" not in line for line in lines)
