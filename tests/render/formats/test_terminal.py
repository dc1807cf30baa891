"""Tables on a screen and in a pipe: the same numbers in the same places, cut to the screen or never cut."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attncli.engine.run import run
from attncli.io import examples
from attncli.render.formats.screen_table import MAX_ROWS
from attncli.render.formats.terminal import render_sections
from attncli.render.grid import Grid
from attncli.render.sections import Section, sections
from attncli.render.target import TextTarget
from attncli.render.view import View

STYLES = re.compile("\x1b\\[[0-9;]*m")
PARTS = [
    pytest.param(name, number, marks=pytest.mark.slow if number else ())
    for name in examples.names()
    for number in range(len(examples.load(name).parts))
]
CELLS = st.one_of(
    st.sampled_from([0.0, -0.0, 1.0, np.inf, -np.inf, np.nan, 1e-7, 12345.678, -2.5]),
    st.floats(-1000, 1000, width=16),
)
LABELS = st.text(st.characters(blacklist_categories=["Cs", "Mn", "Me", "Cf"]), max_size=9)


def shown(grid: Grid, screen: TextTarget) -> list[str]:
    """The lines of one table, under its title, without styles."""
    text = STYLES.sub("", render_sections([Section("title", (grid,))], screen, 4))
    return [line.rstrip() for line in text.split("\n")][2:]


def numbered(count: int, word: str) -> tuple[str, ...]:
    return tuple(f"{word}{number}" for number in range(count))


@pytest.mark.parametrize(("name", "number"), PARTS)
def test_a_pipe_and_a_wide_screen_show_the_same(name: str, number: int) -> None:
    view = View(run(examples.load(name).parts[number].problem), explain=True)
    every = list(sections(view))
    assert render_sections(every, TextTarget(), 4) == STYLES.sub(
        "", render_sections(every, TextTarget(100_000, has_styles=True), 4)
    )


@given(st.data())
def test_any_table_is_the_same_in_a_pipe_and_on_a_wide_screen(data: st.DataObject) -> None:
    rows, columns = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 4))
    values = np.array([[data.draw(CELLS) for _ in range(columns)] for _ in range(rows)])
    labels = [tuple(data.draw(LABELS) for _ in range(count)) for count in (rows, columns)]
    grid = Grid(values, *labels, corner="n\\m")
    assert shown(grid, TextTarget()) == shown(grid, TextTarget(100_000, has_styles=True))


def test_a_table_for_a_file_has_neither_styles_nor_a_width() -> None:
    wide = Grid(np.ones((1, 200)), ("row",), numbered(200, "column_"))
    text = render_sections([Section("wide", (wide,))], TextTarget(), 4)
    assert "column_199" in text
    assert "\x1b" not in text


def test_a_table_of_no_rows_has_its_headings() -> None:
    assert shown(Grid(np.ones((0, 2)), (), ("d1", "d2"), corner="p\\d"), TextTarget())[0] == "p\\d   d1   d2"


@pytest.mark.parametrize("width", [80, 97, 133])
def test_a_table_fits_the_screen_and_counts_omitted_rows_and_columns(width: int) -> None:
    lines = shown(Grid(np.ones((100, 300)) / 3, numbered(100, "row_"), numbered(300, "c")), TextTarget(width))
    assert all(len(line) <= width for line in lines)
    assert len([line for line in lines if line.startswith("row_")]) == MAX_ROWS
    assert any(line.startswith("… 60 more") for line in lines)
    kept = [word for word in lines[0].split() if word.startswith("c")]
    assert f"… {300 - len(kept)} more" in lines[0]
    assert (kept[0], lines[2].split()[1]) == ("c0", "0.3333")


@pytest.mark.parametrize("width", [1, 10, 20, 40])
@pytest.mark.parametrize("decimals", [4, 17])
def test_a_narrow_screen_has_every_number_of_a_usual_one_in_several_tables(width: int, decimals: int) -> None:
    values = np.random.default_rng(0).normal(size=(3, 2))
    grid = Grid(values, ("the first query", "q2", "q3"), numbered(2, "a_long_heading_"), corner="n\\m")
    section = Section("title", (grid,), formula="aᵢⱼ = exp(sᵢⱼ/T) / Σⱼ exp(sᵢⱼ/T)", remarks=("a remark of words",))
    text = render_sections([section], TextTarget(width), decimals)
    for number in values.ravel():
        assert f"{number:.{decimals}f}" in text
    tables = text.count("─\n")
    assert tables > 1
    if decimals == 4 and width >= 20:
        assert max(map(len, text.splitlines())) <= width


def test_a_screen_formats_only_the_numbers_that_it_shows() -> None:
    """Ten thousand million cells would take an hour."""
    count = 100_000
    grid = Grid(np.broadcast_to(np.float32(0.25), (count, count)), numbered(count, "q"), numbered(count, "k"))
    lines = shown(grid, TextTarget(80))
    assert any(line.startswith("… 99960 more") for line in lines)
    assert (lines[2].split()[:2], lines[-2].split()[0]) == (["q0", "0.25"], "q99999")


def test_weights_are_shaded_relative_to_their_whole_row() -> None:
    weights = np.full((1, 300), 0.001)
    weights[0, 150] = 0.701  # the largest is left out
    text = render_sections(
        [Section("t", (Grid(weights, ("q",), numbered(300, "k"), is_heatmap=True),))],
        TextTarget(80, has_styles=True),
        4,
    )
    assert "\x1b[1;" not in text.partition("q")[2]
