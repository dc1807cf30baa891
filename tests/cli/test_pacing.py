"""Pages at a reader's pace: a pseudo-terminal on which keys are typed."""

import re
from pathlib import Path

import pytest

from tests.cli.running import STYLE, on_a_terminal

PROMPT = re.compile(r"── Enter: the next part   q: end \r +\r")


@pytest.mark.parametrize(
    ("typed", "titles"),
    [("\n\n", 3), (" x\n", 3), ("q", 1), ("\nq", 2), ("\x1b", 1)],
    ids=["Enter", "the space bar, and a key that does nothing", "q", "q after a part", "Escape"],
)
def test_a_key_shows_the_next_part_and_q_ends(typed: str, titles: int, tmp_path: Path) -> None:
    more = "\n\n"  # which nobody reads after q, and for which no test waits
    shown = STYLE.sub("", on_a_terminal("demo", "--step", folder=tmp_path, typed=typed + more))
    assert re.findall(r"^── (\d)\.", PROMPT.sub("", shown), re.MULTILINE) == ["1", "2", "3"][:titles]
    assert len(PROMPT.findall(shown)) == min(titles, 2)
    assert ("published numbers agree" in shown) == (titles == 3)


def test_an_example_of_one_part_waits_for_nothing(tmp_path: Path) -> None:
    shown = STYLE.sub("", on_a_terminal("demo", "bahdanau", "--step", folder=tmp_path))
    assert "numbers agree" in shown
    assert "Enter" not in shown
