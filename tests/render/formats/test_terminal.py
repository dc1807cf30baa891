"""Text for a screen, a pipe and a picture: the same numbers in the same places, cut to a screen or never cut."""

import itertools
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import attncli
from attncli.engine.run import run
from attncli.io import examples
from attncli.render.document import Document, Grid, Section
from attncli.render.formats import find_format, format_in_file, terminal
from attncli.render.formats.rich_printer import ABRIDGED_LINES, MAX_LINES
from attncli.render.sections import sections
from attncli.render.target import TEXT_FILE, TextTarget
from attncli.render.view import View
from tests.cli.running import run_in_process
from tests.render.explanations import text_of

STYLES = re.compile("\x1b\\[[0-9;]*m")
PARTS = [
    pytest.param(name, number, marks=pytest.mark.deep if number else ())
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
    text = STYLES.sub("", text_of([Section("title", (grid,))], screen, 4))
    return [line.rstrip() for line in text.split("\n")][1:]


def numbered(count: int, word: str) -> tuple[str, ...]:
    return tuple(f"{word}{number}" for number in range(count))


@pytest.mark.parametrize(("name", "number"), PARTS)
def test_a_pipe_and_a_wide_screen_show_the_same(name: str, number: int) -> None:
    view = View(run(examples.load(name).parts[number].problem), explain=True)
    every = list(sections(view))
    assert text_of(every, TextTarget(), 4) == STYLES.sub("", text_of(every, TextTarget(100_000, has_styles=True), 4))


@given(st.data())
def test_any_table_is_the_same_in_a_pipe_and_on_a_wide_screen(data: st.DataObject) -> None:
    rows, columns = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 4))
    values = np.array([[data.draw(CELLS) for _ in range(columns)] for _ in range(rows)])
    labels = [tuple(data.draw(LABELS) for _ in range(count)) for count in (rows, columns)]
    grid = Grid(values, *labels, corner="n\\m")
    assert shown(grid, TextTarget()) == shown(grid, TextTarget(100_000, has_styles=True))


def test_a_table_for_a_file_has_neither_styles_nor_a_width() -> None:
    wide = Grid(np.ones((1, 200)), ("row",), numbered(200, "column_"))
    text = text_of([Section("wide", (wide,))], TextTarget(), 4)
    assert "column_199" in text
    assert "\x1b" not in text


def test_a_table_of_no_rows_has_its_headings() -> None:
    assert shown(Grid(np.ones((0, 2)), (), ("d1", "d2"), corner="p\\d"), TextTarget())[0] == "p\\d   d1   d2"


@pytest.mark.parametrize("width", [40, 80, 97, 133])
def test_a_wide_table_is_in_blocks_of_columns_each_with_the_labels_of_the_rows(width: int) -> None:
    values = np.random.default_rng(0).normal(size=(3, MAX_LINES))
    lines = shown(Grid(values, numbered(3, "row_"), numbered(MAX_LINES, "c"), corner="n\\m"), TextTarget(width))
    assert all(len(line) <= width for line in lines)
    blocks = "\n".join(lines).split("\n\n")
    assert len(blocks) > 3
    headings = [block.split("\n")[0].split() for block in blocks]
    assert {heading[0] for heading in headings} == {"n\\m"}
    assert tuple(word for heading in headings for word in heading[1:]) == numbered(MAX_LINES, "c")
    for row in range(3):
        numbers = [block.split("\n")[2 + row].split() for block in blocks]
        assert {first for first, *_ in numbers} == {f"row_{row}"}
        assert [number for _, *rest in numbers for number in rest] == [f"{number:.4f}" for number in values[row]]


def test_an_explanation_shows_the_ends_of_a_long_axis_and_what_is_marked() -> None:
    values, marked = np.ones((MAX_LINES, MAX_LINES + 60)), frozenset({(None, 100)})
    grid = Grid(values, numbered(MAX_LINES, "r"), numbered(MAX_LINES + 60, "c"), marked=marked, is_abridged=True)
    lines = shown(grid, TextTarget(80))
    words = " ".join(lines).split()
    assert len({word for word in words if re.fullmatch(r"r\d+", word)}) == MAX_LINES
    columns = [word for word in words if re.fullmatch(r"\*?c\d+", word)]
    assert len(columns) == ABRIDGED_LINES + 1
    assert ("*c100" in columns, "c254" in columns, "c259" in columns) == (True, True, True)
    assert lines[-2] == f"  a screen shows {ABRIDGED_LINES} of more than {MAX_LINES}; a file and a pipe get all of them"


def test_beyond_some_hundreds_of_rows_and_columns_the_middle_is_counted_and_a_note_says_where_it_is() -> None:
    """A screen formats only what it shows: ten thousand million cells would take an hour."""
    count = 100_000
    values = np.broadcast_to(np.float32(0.25), (count, count))
    lines = shown(Grid(values, numbered(count, "row_"), numbered(count, "c")), TextTarget(80))
    words = " ".join(lines).split()
    assert words.count("row_0") == len([line for line in lines if line.startswith("─")])
    assert len({word for word in words if word.startswith("row_")}) == MAX_LINES
    assert len([word for word in words if re.fullmatch(r"c\d+", word)]) == MAX_LINES
    left_out = f"… {count - MAX_LINES} more"
    assert any(line.startswith(left_out) for line in lines)
    headings = [line for line, below in itertools.pairwise(lines) if below.startswith("─")]
    assert sum(line.count(left_out) for line in headings) == 1
    assert (lines[2].split()[:2], lines[-3].split()[0]) == (["row_0", "0.25"], "row_99999")
    assert lines[-2] == f"  a screen shows {MAX_LINES} rows and columns; a file and a pipe get all of them"


MARKED = Grid(np.array([[0, 0.25], [0.123456, 2], [-np.inf, 22.5]]), ("the", "猫", "sat"), ("x1", "x2"), corner="n\\m")


@pytest.mark.parametrize(
    ("marked", "lines"),
    [
        ({(1, 0)},
         ["n\\m         *x1        x2", " the         0     0.2500", "*猫    [0.1235]    2.0000",
          " sat        −∞    22.5000"]),
        ({(1, None)},
         ["n\\m         x1        x2", " the         0    0.2500", "*猫     0.1235    2.0000",
          " sat        −∞   22.5000"]),
        ({(None, 1)},
         ["n\\m        x1       *x2", "the         0    0.2500", "猫     0.1235    2.0000", "sat        −∞   22.5000"]),
        ({(0, 0), (1, 1)},
         ["n\\m         *x1        *x2", "*the        [0]    0.2500", "*猫     0.1235    [2.0000]",
          " sat        −∞    22.5000"]),
    ],
)  # fmt: skip
def test_what_is_marked_is_readable_without_colour_and_decimal_points_stay_aligned(
    marked: set[tuple[int | None, int | None]], lines: list[str]
) -> None:
    grid = replace(MARKED, marked=frozenset(marked))
    for target in (TextTarget(), TextTarget(80, has_styles=True)):
        text = shown(grid, target)
        assert [text[0], *text[2:5]] == lines


def test_what_is_marked_is_readable_in_ascii_and_bold_on_a_terminal() -> None:
    grid = replace(MARKED, marked=frozenset({(2, 0)}))
    assert "*sat        [-inf]   22.5000" in shown(grid, TextTarget(encoding="ascii"))
    text = text_of([Section("t", (grid,))], TextTarget(80, has_styles=True), 4)
    assert "\x1b[1m*sat\x1b[0m" in text
    assert "\x1b[1;7m[−∞]\x1b[0m" in text


def test_marked_rows_and_columns_are_never_left_out() -> None:
    count = 3 * MAX_LINES
    grid = Grid(np.ones((count, count)), numbered(count, "r"), numbered(count, "c"), marked=frozenset({(250, 300)}))
    text = "\n".join(shown(grid, TextTarget(80)))
    assert "*r250" in text
    assert "*c300" in text
    assert text.count("[1]") == 1
    assert f"… {250 - (MAX_LINES - MAX_LINES // 3)} more" in text


@pytest.mark.parametrize("width", [1, 10, 20, 40])
@pytest.mark.parametrize("decimals", [4, 17])
def test_a_narrow_screen_has_every_number_of_a_usual_one_in_several_tables(width: int, decimals: int) -> None:
    values = np.random.default_rng(0).normal(size=(3, 2))
    grid = Grid(values, ("the first query", "q2", "q3"), numbered(2, "a_long_heading_"), corner="n\\m")
    section = Section("title", (grid,), formula="Aᵢⱼ = exp(Sᵢⱼ/T) / Σⱼ exp(Sᵢⱼ/T)", remarks=("a remark of words",))
    text = text_of([section], TextTarget(width), decimals)
    for number in values.ravel():
        assert f"{number:.{decimals}f}" in text
    tables = text.count("─\n")
    assert tables > 1
    if decimals == 4 and width >= 20:
        assert max(map(len, text.splitlines())) <= width


def test_weights_are_shaded_relative_to_their_whole_row() -> None:
    weights = np.full((1, 500), 0.001)
    weights[0, 250] = 0.701  # the largest is left out
    text = text_of(
        [Section("t", (Grid(weights, ("q",), numbered(500, "k"), is_heatmap=True),))],
        TextTarget(80, has_styles=True),
        4,
    )
    assert "\x1b[1;" not in text.partition("q")[2]


RESULT = attncli.attention(scores=[[2, 0], [1, 1]], tokens=["<a>", "b & c"], select=("scores", "weights"))


def picture(result: attncli.Result, title: str = "") -> str:
    """The picture of a result, as a file gets it."""
    return "".join(format_in_file(find_format("table"), "x.svg").render(View(result, title=title), TEXT_FILE))


def words(svg: str) -> Sequence[str]:
    """The words of an SVG, styles apart."""
    texts = [element for element in ElementTree.fromstring(svg).iter() if element.tag.endswith("}text")]
    return " ".join("".join(element.itertext()) for element in texts).split()


def test_it_shows_the_words_of_the_tables_under_its_title() -> None:
    svg = picture(RESULT, "$ attn compute")
    expected = ["$", "attn", "compute", *"".join(find_format("table").render(View(RESULT), TEXT_FILE)).split()]
    assert [word for word in words(svg) if "─" not in word] == [word for word in expected if "─" not in word]


def test_it_shades_weights_and_loads_nothing() -> None:
    svg = picture(RESULT)
    assert len(set(re.findall(r'<rect fill="(#\w+)"', svg))) > 1
    assert "http" not in svg.replace('xmlns="http://www.w3.org/2000/svg"', "")


def test_everything_is_inside_its_frame() -> None:
    svg = picture(RESULT)
    width = float(re.findall(r'viewBox="0 0 ([\d.]+)', svg)[0])
    texts = re.findall(r'x="([\d.]+)"[^>]*textLength="([\d.]+)"[^>]*>(?!\n)', svg)
    ends = [float(left) + float(length) for left, length in texts]
    assert 16 + max(ends) <= width


@pytest.mark.parametrize("env", [{}, {"NO_COLOR": "1"}, {"TERM": "dumb"}, {"COLORTERM": "truecolor"}], ids=str)
def test_it_is_the_same_in_every_terminal(env: dict[str, str], tmp_path: Path) -> None:
    scores = ("--scores", "2 0; 1 1", "--tokens", "<a>,b & c")
    words = (*scores, "--select", "scores,weights", "--format", "table", "-o", "x.SVG", "--strict")
    ran = run_in_process("compute", *words, folder=tmp_path, env=env)
    assert (ran.returncode, ran.stderr) == (0, "")
    expected = attncli.attention(
        scores=[[2, 0], [1, 1]], tokens=["<a>", "b & c"], query_tokens=None, select=("scores", "weights")
    )
    assert (tmp_path / "x.SVG").read_text() == picture(expected)


def test_a_comparison_is_one_too(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("scores: [[2, 0]]\n")
    arguments = (
        "compare",
        "p.yaml",
        "--vary",
        "normalize=softmax",
        "--vary",
        "normalize=sparsemax",
        "-f",
        "table",
        "-o",
        "x.svg",
    )
    ran = run_in_process(*arguments, folder=tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert {"softmax", "sparsemax", "0.8808"} <= set(words((tmp_path / "x.svg").read_text()))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--json", "-o", "x.svg"], "json and the suffix .svg contradict each other; leave out the format, or name"),
        (
            ["-f", "csv", "-o", "x.HTML"],
            "csv and the suffix .html contradict each other; leave out the format, or name",
        ),
        (
            ["-f", "table", "-o", "x.png"],
            "table and the suffix .png contradict each other; table is drawn in a .svg file",
        ),
    ],
)
def test_a_file_of_a_picture_has_no_other_format(words: Sequence[str], message: str, tmp_path: Path) -> None:
    ran = run_in_process("compute", "--scores", "2 0", *words, folder=tmp_path)
    assert (ran.returncode, list(tmp_path.iterdir())) == (2, [])
    assert f"attn: --output {words[-1]}: {message}" in ran.stderr


@pytest.mark.parametrize(
    ("width", "rules"),
    [
        (2 + 8 * 9, ["─" * (2 + 8 * 9)]),  # three spaces between columns of six
        (2 + 8 * 8, ["─" * (2 + 8 * 8)]),  # two
        (2 + 8 * 8 - 1, ["─" * (2 + 7 * 9), "─" * (2 + 9)]),  # two blocks, with three again
    ],
)
def test_columns_are_closer_where_they_all_fit_then(width: int, rules: list[str]) -> None:
    grid = Grid(np.full((1, 8), 0.1234), ("ab",), tuple("abcdefgh"))
    lines = "".join(terminal.render(Document([Section("", (grid,))], 4), TextTarget(width))).splitlines()
    assert [line for line in lines if line.startswith("─")] == rules
