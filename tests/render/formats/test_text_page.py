"""Pages of text: lines are wrapped and blocks are side by side as the width of the target says."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from rich.text import Text

from attncli.render.formats.text_page import TextPage, side_by_side
from attncli.render.target import TextTarget

LINE = "  C(word_1) = 0.2361·[1 1 0] + 0.0074·[0 1 1] = [0.2361 0.2435 0.0074]"


def lines_of(page: TextPage) -> list[str]:
    return page.text.rstrip("\n").split("\n")


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_the_parts_of_a_wrapped_line_are_indented_and_keep_vectors_together(encoding: str) -> None:
    page = TextPage(TextTarget(40, encoding=encoding))
    page.print_lines([LINE])
    sign = "·" if encoding == "utf-8" else "*"
    assert lines_of(page) == [
        f"  C(word_1) = 0.2361{sign}[1 1 0] +",
        f"    0.0074{sign}[0 1 1] =",
        "    [0.2361 0.2435 0.0074]",
    ]


@pytest.mark.parametrize("width", [5, 24, 25, 60, 200])
def test_every_character_of_a_line_is_shown(width: int) -> None:
    page = TextPage(TextTarget(width))
    page.print_lines([LINE])
    assert "".join("".join(lines_of(page)).split()) == "".join(LINE.split())
    assert all(len(line) <= width for line in lines_of(page))


def test_a_line_of_a_file_is_not_wrapped() -> None:
    page = TextPage(TextTarget())
    page.print_lines([LINE])
    assert lines_of(page) == [LINE]


PRINTED: dict[str, Callable[[TextPage], None]] = {
    "a line": lambda page: page.print("C = ", ("√d", "bold"), " [cyan]x[/cyan] :smile:"),
    "a long line": lambda page: page.print("seven words " * 20),
    "a line to copy": lambda page: page.print("seven words " * 20, is_wrapped=False),
    "control characters": lambda page: page.print("a\tb\x1b[31mc\r\nd"),
    "an empty line": lambda page: page.print(""),
    "a skipped line": lambda page: page.skip_line(),
    "lines of which one is long": lambda page: page.print_lines([LINE, "  猫 = [1 2]", "none"], "cyan"),
    "pairs": lambda page: page.print_pairs(
        [("a", "one"), ("", "two\n  lines\n"), ("猫 cat ", ""), ("b\tc", "[1] x" * 9)]
    ),
    "no pair": lambda page: page.print_pairs([]),
}


@pytest.mark.parametrize("width", [None, 40, 79, 80])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
@pytest.mark.parametrize("printed", PRINTED)
def test_a_page_without_styles_has_the_characters_of_one_with_styles(
    printed: str, encoding: str, width: int | None
) -> None:
    target = TextTarget(width, encoding=encoding)
    plain, styled = TextPage(target), TextPage(replace(target, has_styles=True, color_system="truecolor"))
    for page in (plain, styled):
        page.print("before")
        PRINTED[printed](page)
        page.print("after")
    without_styles = "\n".join(Text.from_ansi(line).plain.rstrip() for line in styled.text.split("\n"))
    assert plain.text == without_styles


RED = "\x1b[31m{}\x1b[0m"


def test_styles_take_no_columns() -> None:
    plain = list(side_by_side([["ab", "c"], ["d", "e"]], 80))
    styled = list(side_by_side([[RED.format("ab"), RED.format("c")], ["d", "e"]], 80))
    assert styled == [RED.format("ab") + "    d", RED.format("c") + "     e"]
    assert plain == ["ab    d", "c     e"]


def test_wide_characters_take_two_columns() -> None:
    assert list(side_by_side([["猫", "abc"], ["x", "y"]], 80)) == ["猫     x", "abc    y"]


def test_a_block_that_does_not_fit_begins_a_row_and_one_too_wide_has_its_own() -> None:
    blocks = [["a" * 6], ["b" * 6], ["c" * 30], ["d"]]
    assert list(side_by_side(blocks, 16)) == ["aaaaaa    bbbbbb", "", "c" * 30, "", "d"]


def test_no_blocks_are_no_lines() -> None:
    assert list(side_by_side([], 80)) == []
