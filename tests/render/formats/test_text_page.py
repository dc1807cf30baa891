"""Pages of text: how lines are wrapped, and that those without styles have the characters of those with styles."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from rich.text import Text

from attncli.render.formats.text_page import TextPage
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
