"""Heat maps on a page: which numbers, blocks and labels are drawn in how much room, and what the legend says."""

import re
from dataclasses import replace

import numpy as np
import pytest
from rich.cells import cell_len

from attncli.render.document import Grid, Section, mark_grid
from attncli.render.target import TEXT_FILE, TextTarget
from tests.render.explanations import text_of

STYLE = re.compile("\x1b\\[[0-9;]*m")
SMALL = Grid(np.array([[0.0, 1.0], [0.25, 0.75]]), ("a", "b"), ("x", "y"), "n\\m", is_heatmap=True)
SCREEN = TextTarget(80, has_styles=True, height=24)


def head(number: int, size: int = 64, value: float = 0.5) -> Grid:
    """Weights of one head, of which only the first cell has the largest number."""
    values = np.full((size, size), value)
    values[0, 0] = 1
    tokens = tuple(f"token_{at}" for at in range(1, size + 1))
    return Grid(values, tokens, tokens, "n\\m", f"head {number}", is_heatmap=True)


def draw_styled(*grids: Grid, target: TextTarget = TEXT_FILE, decimals: int = 4) -> list[str]:
    """The lines below the title of a section."""
    text = text_of([Section("weights", grids)], target, decimals, has_heatmaps=True)
    return text.splitlines()[1:]


def draw(*grids: Grid, target: TextTarget = TEXT_FILE, decimals: int = 4) -> list[str]:
    """The lines below the title of a section, without styles."""
    return [STYLE.sub("", line).rstrip() for line in draw_styled(*grids, target=target, decimals=decimals)]


@pytest.fixture(autouse=True)
def many_colors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLORTERM", "truecolor")


def test_numbers_stand_behind_the_character_of_their_colour() -> None:
    assert draw(SMALL) == [
        "n\\m      x      y",
        "a        0 █ 1.00",
        "b   ░ 0.25 ▓ 0.75",
        "  0 [ ░▒▓█] 1",
    ]


def test_in_ascii_nothing_else_is_written() -> None:
    lines = draw(replace(SMALL, hidden=np.array([[False, False], [False, True]])), target=TextTarget(encoding="ascii"))
    assert lines[1:] == [
        "a        0 @ 1.00",
        "b   : 0.25 ///////",
        "  0 [ .:-=+*#%@] 1",
        "  / masked",
    ]


def test_a_terminal_has_the_numbers_on_their_colours() -> None:
    lines = draw_styled(SMALL, target=SCREEN)
    assert STYLE.sub("", lines[1]).rstrip() == "a       0  1.00"
    assert "\x1b[38;2;255;255;255;48;2;68;1;84m" in lines[1]
    assert "\x1b[38;2;0;0;0;48;2;253;231;37m" in lines[1]


@pytest.mark.parametrize(("term", "colors"), [("xterm-256color", "48;5;53m"), ("xterm", "44m")])
def test_a_terminal_of_few_colours_gets_those(term: str, colors: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLORTERM")
    monkeypatch.setenv("TERM", term)
    line = draw_styled(SMALL, target=SCREEN)[1]
    assert colors in line
    assert "48;2;" not in line


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_without_colours_a_terminal_shows_what_a_pipe_does(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    assert draw(SMALL, target=SCREEN) == draw(SMALL)


def test_heads_are_side_by_side_with_one_scale() -> None:
    lines = draw(replace(SMALL, slice_label="head 0"), replace(SMALL, slice_label="head 1", values=SMALL.values / 2))
    assert lines == [
        "    head 0            head 1",
        "n\\m       x       y         x       y",
        "a         0 █ 1.000         0 ▒ 0.500",
        "b   ░ 0.250 ▓ 0.750     0.125 ▒ 0.375",
        "  0 [ ░▒▓█] 1",
    ]


def test_numbers_have_fewer_decimals_where_more_tables_are_side_by_side_then() -> None:
    grid = Grid(np.full((2, 5), 1 / 3), ("a", "b"), tuple("vwxyz"), "n\\m", "head 0")
    lines = draw(grid, replace(grid, slice_label="head 1"), target=TextTarget(79, has_styles=True, height=24))
    assert lines[2].count("0.33") == 10
    assert lines[-1].strip() == "rounded to 2 decimals"
    assert draw(grid, target=SCREEN)[2].count("0.3333") == 5


def test_numbers_may_have_more_lines_than_a_low_screen() -> None:
    lines = draw(head(0, 8), head(1, 8), target=SCREEN)
    assert "\n".join(lines).count("0.5") == 2 * (64 - 1)
    assert 20 < len(lines) < 30


def test_what_is_worked_out_is_in_brackets_and_its_labels_are_marked() -> None:
    lines = draw(replace(SMALL, marked=frozenset({(1, 0)})))
    assert lines[:3] == ["n\\m     *x      y", " a       0 █ 1.00", "*b  ░[0.25]▓ 0.75"]


def test_what_changed_has_its_mark_and_stands_beside_what_was_before() -> None:
    after = replace(SMALL, values=np.array([[0.0, 1.0], [0.5, 0.5]]))
    lines = draw(replace(mark_grid(after, SMALL), before=SMALL))
    assert lines[0].split() == ["before", "after"]
    assert re.findall(r"[\d.]+[▲▼]?", lines[3]) == ["0.25", "0.75", "0.50▲", "0.50▼"]


def test_nan_is_written_and_is_in_the_legend() -> None:
    lines = draw(replace(SMALL, values=np.array([[0.0, np.nan], [0.25, 0.75]])))
    assert lines[1].split() == ["a", "0", "NaN"]
    assert lines[-1] == "  NaN not a number"


def test_infinity_is_in_the_legend() -> None:
    lines = draw(replace(SMALL, values=np.array([[0.0, np.inf], [0.25, 0.75]])))
    assert lines[1].split() == ["a", "0", "█", "∞"]
    assert lines[-1] == "  ∞ has the last colour"


@pytest.mark.parametrize(
    ("value", "legend"),
    [(-2.5, "  -2.5 [ ░▒▓█] 0  from the lowest to the highest"), (2.5, "  0 [ ░▒▓█] 2.5  from")],
)
def test_numbers_of_one_sign_have_colours_from_0(value: float, legend: str) -> None:
    grid = replace(SMALL, values=np.full((2, 2), value), is_heatmap=False)
    assert draw(grid)[3].startswith(legend)


@pytest.mark.parametrize("labels", [("ab", "abcd"), ("猫", "深い"), ("e\u0301t", "שלום")])
def test_labels_of_columns_end_where_their_numbers_do(labels: tuple[str, str]) -> None:
    heading, row = draw(replace(SMALL, columns=labels))[:2]
    for label, number in zip(labels, ("0", "1.00"), strict=True):
        end = heading.index(label) + len(label)
        assert row[: cell_len(heading[:end])].endswith(number)


def test_long_labels_are_cut_only_where_there_is_no_room_and_those_of_columns_have_several_lines() -> None:
    grid = replace(SMALL, rows=("internationalization", "internationalisierung"))
    assert draw(grid)[1].startswith("internationalization  ")
    assert draw(grid, target=TextTarget(30, has_styles=True, height=24))[1].startswith("internation… ")
    several = [replace(grid, slice_label=f"head {at}") for at in range(4)]
    assert draw(*several)[2].startswith("internationalization ")
    lines = draw(replace(SMALL, columns=("internationalization", "y")))
    assert [line.split() for line in lines[:3]] == [["internat"], ["ionaliza"], ["n\\m", "tion", "y"]]


@pytest.mark.parametrize("size", [12, 40])
@pytest.mark.parametrize("width", [80, 200])
def test_every_number_and_every_label_is_shown_as_in_the_table_of_that_width(size: int, width: int) -> None:
    lines = draw(head(0, size), target=TextTarget(width, has_styles=True, height=24))
    assert "\n".join(lines).count("0.5") == size * size - 1
    blocks = "\n".join(lines).split("\n\n")
    assert all([line.split()[0] for line in block.splitlines() if line.startswith("token_")] for block in blocks)
    shown = [line.split()[0] for line in lines if line.startswith("token_")]
    assert shown == [f"token_{at}" for at in range(1, size + 1)] * len(blocks)
    assert max(map(cell_len, lines)) <= width


def test_titles_are_short_where_one_fits_only_so() -> None:
    assert draw(*map(head, range(32)), target=SCREEN)[0].split() == ["n\\m", *"01234567"]
    assert draw(*map(head, range(9)), target=SCREEN)[0].startswith("head 0")


def test_a_mask_has_its_signs_and_their_meanings() -> None:
    mask = Grid(
        np.array([[1, 0], [1, 1]]), ("a", "b"), ("x", "y"), "n\\m",
        signs=[["●", "▷"], ["●", "●"]], meanings={"●": "visible", "▷": "after the query"},
    )  # fmt: skip
    assert draw(mask) == ["n\\m x y", "a   ● ▷", "b   ● ●", "  ● visible: 3   ▷ after the query: 1"]
    assert draw(replace(mask, slice_label="head 0"), replace(mask, slice_label="head 1"))[-1] == (
        "  ● visible   ▷ after the query"
    )


def test_without_room_for_numbers_every_row_and_column_is_labelled() -> None:
    lines = draw(head(0, 64), target=SCREEN)
    assert [line.split()[0] for line in lines if line.startswith("token_")] == [f"token_{at}" for at in range(1, 65)]
    headings = [line.ljust(80)[9:] for line in lines[1:9]]
    columns = ["".join(line[at] for line in headings).strip() for at in range(64)]
    assert columns == [f"token_{at}" for at in range(1, 65)]
    assert not re.search(r"0\.5", "".join(lines))


def test_of_many_rows_two_are_halves_of_a_character() -> None:
    lines = draw(*(head(number, 64) for number in range(4)), target=TextTarget(160, has_styles=True, height=80))
    rows = [line for line in lines if "▀" in line]
    assert len(rows) == 64
    assert rows[0].split() == ["token_1", "▀" * 64, "▀" * 64]
    assert rows[1].split()[0] == "token_3"
    assert "--head N shows every label" in lines[-1]


@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 40), (200, 50)])
@pytest.mark.parametrize("colors", ["truecolor", "none"])
def test_32_heads_of_64_tokens_are_one_screen(
    width: int, height: int, colors: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if colors == "none":
        monkeypatch.setenv("NO_COLOR", "1")
    target = TextTarget(width, has_styles=True, height=height)
    grids = [head(number) for number in range(32)]
    text = STYLE.sub("", text_of([Section("weights", grids)], target, heading="heading", has_heatmaps=True))
    lines = text.splitlines()
    assert len(lines) < height
    assert max(map(cell_len, lines)) <= width
    assert all(re.search(rf"\b{number}\b", text) for number in range(32))
    assert re.search(r"a block shows the largest of \d+ × \d+ cells; --head N shows one table larger", text)


def test_a_block_has_the_colour_of_its_largest_number() -> None:
    lines = draw(*(head(number, value=0.0) for number in range(32)), target=replace(SCREEN, has_styles=False))
    cells = [line for line in lines if "█" in line and "[" not in line]
    assert sum(line.count("█") for line in cells) == 32


def test_tables_that_no_screen_holds_are_left_out_and_counted() -> None:
    grids = [head(number, 8) for number in range(500)]
    lines = draw(*grids, target=SCREEN)
    assert len(lines) < 24
    left_out = re.search(
        r"(\d+) more tables are left out: --head N shows one, a file has all", " ".join(map(str.strip, lines))
    )
    assert left_out is not None
    heads = [line for line in lines if re.fullmatch(r"[\d ]+", line) and not line.startswith("  0 ")]  # not the bar
    titles = [title for line in heads for title in line.split()]
    assert titles == [str(number) for number in range(500 - int(left_out[1]))]
    assert "left out" not in " ".join(draw(*grids))


def test_a_table_of_statistics_stays_one() -> None:
    statistics = replace(SMALL, aligns_columns=True, is_heatmap=False)
    assert draw(statistics)[0].split() == ["n\\m", "x", "y"]
    assert "─" in draw(statistics)[1]
