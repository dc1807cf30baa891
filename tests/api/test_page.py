"""The page of a result in a notebook: a frame with all of it, and the same as a file."""

import re
from html import unescape
from pathlib import Path

import pytest

import attncli

RESULT = attncli.attention(scores=[[2, 0], [1, 3]], tokens=["cat", "<b>"], select="weights")


def test_a_notebook_shows_the_whole_page_in_a_frame() -> None:
    page = RESULT.page(title="Two words")
    frame = re.fullmatch(
        r'<iframe title="Two words" style="[^"]*" onload="[^"]*" srcdoc="([^"]*)"></iframe>', page._repr_html_()
    )
    assert frame is not None
    assert unescape(frame[1]) == page.html
    assert "<title>Two words</title>" in page.html


def test_a_page_is_saved_as_the_command_writes_it(tmp_path: Path) -> None:
    page = RESULT.page(cells=(1, 0))
    page.save(str(tmp_path / "page.html"))
    assert (tmp_path / "page.html").read_text("utf-8") == page.html
    assert '"cell": [1, 0]' in page.html or '"cell":[1,0]' in page.html


def test_a_page_of_what_is_not_there_is_an_error() -> None:
    with pytest.raises(attncli.AttnError, match="cells: unknown token"):
        RESULT.page(cells=("dog", "cat"))
