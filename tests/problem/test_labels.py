"""Labels and positions of queries and keys: which ones a text selects."""

import pytest

from attncli import AttnError
from attncli.problem.labels import find_label

LABELS = ("the", "cat", "on", "the", "3")


@pytest.mark.parametrize(
    ("wanted", "positions"),
    [("cat", [1]), ("the", [0, 3]), ("the#2", [3]), ("0", [0]), ("-1", [4]), ("3", [4]), ("2", [2])],
)
def test_a_label_wins_over_a_position(wanted: str, positions: list[int]) -> None:
    assert find_label(wanted, LABELS, where="only") == positions


@pytest.mark.parametrize("wanted", ["dog", "the#3", "the#0", "5", "-6", "", "1.0"])
def test_an_unknown_label_is_an_error_with_the_key(wanted: str) -> None:
    with pytest.raises(AttnError, match=r"^only: "):
        find_label(wanted, LABELS, where="only")
