"""Pages at a reader's pace: a pseudo-terminal on which keys are typed."""

import re
from pathlib import Path

import pytest

from tests.cli.running import STYLE, Run, on_a_terminal

PROMPT = re.compile(r"── Enter: the next page   q: end \r +\r")


TITLE = re.compile(r"^.* · (\d) of 6$", re.MULTILINE)  # of the pages of the tutorial
NAMES = ("tutorial", "data_fitting", "cars", "normalizers", "who_is_it")


@pytest.mark.parametrize(
    ("typed", "count"),
    [("\n\n\n\n\n", 6), (" x\n\n\n\n", 6), ("q", 1), ("\nq", 2), ("\x1b", 1)],
    ids=["Enter", "the space bar, and a key that does nothing", "q", "q after a page", "Escape"],
)
def test_a_key_shows_the_next_page_and_q_ends(typed: str, count: int, tmp_path: Path) -> None:
    more = "\n\n"  # which nobody reads after q, and for which no test waits
    shown = STYLE.sub("", on_a_terminal("demo", folder=tmp_path, typed=typed + more))
    assert TITLE.findall(PROMPT.sub("", shown)) == ["1", "2", "3", "4", "5", "6"][:count]
    assert len(PROMPT.findall(shown)) == min(count, 5)
    assert ("published numbers agree" in shown) == (count == 6)
    assert "· 1 of 6\nSee how" in shown


@pytest.mark.parametrize("name", NAMES)
def test_the_pages_are_the_demo_and_each_has_at_most_20_lines(name: str, run: Run, tmp_path: Path) -> None:
    shown = STYLE.sub("", on_a_terminal("demo", name, folder=tmp_path, typed="\n" * 9))
    everything = STYLE.sub("", on_a_terminal("demo", name, "--all", folder=tmp_path))
    pages = PROMPT.split(shown)
    assert [page for page in pages if len(page.strip().splitlines()) > 20] == []
    title = everything.partition("\n")[0]
    assert [page.strip().partition("\n")[0] for page in pages] == [
        f"{title} · {number} of {len(pages)}" for number in range(1, len(pages) + 1)
    ]
    lines = [line for page in pages for line in page.strip().splitlines()[1:] if line]
    assert lines == [line for line in everything.splitlines()[1:] if line]
    assert "of 3" not in run("demo", name).stdout


def test_step_is_what_a_terminal_does_anyway(tmp_path: Path) -> None:
    shown = [on_a_terminal("demo", "causal", *option, folder=tmp_path, typed="\n\n") for option in ((), ("--step",))]
    assert shown[0] == shown[1]


def test_an_example_of_one_page_waits_for_nothing(tmp_path: Path) -> None:
    shown = STYLE.sub("", on_a_terminal("demo", "pronoun", folder=tmp_path))
    assert "numbers agree" in shown
    assert "Enter" not in shown
