"""Pages of text: how lines are wrapped."""

import pytest

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
