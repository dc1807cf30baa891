"""The size of a figure as it is typed."""

import re

import pytest

import attncli
from attncli.render.figure.size import Size, parse_size


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("6x4", (6, 4)),
        (" 6.5 × 4 ", (6.5, 4)),
        ("6inx4in", (6, 4)),
        ("254x127mm", (10, 5)),
        ("25.4CM x 5in", (10, 5)),
    ],
)
def test_two_numbers_are_inches_or_have_a_unit(text: str, size: tuple[float, float]) -> None:
    assert parse_size(text, "--size") == Size(*size)


@pytest.mark.parametrize("text", ["", "6", "6x", "6x4x2", "-6x4", "6pxx4px", "nanx1", "6 4"])
def test_another_text_is_an_error_that_shows_how(text: str) -> None:
    message = f"--size: {text!r} is no size; expected a width and a height, such as 6x4 (inches) or 15x10cm"
    with pytest.raises(attncli.AttnError, match=re.escape(message)):
        parse_size(text, "--size")


@pytest.mark.parametrize("text", ["0x4", "4x31", "2cmx10cm", "1000000x1"])
def test_a_size_has_limits(text: str) -> None:
    with pytest.raises(attncli.AttnError, match=r"out of range; expected 1 to 30 inches each, 2\.54 to 76\.2 cm"):
        parse_size(text, "--size")
