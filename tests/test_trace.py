"""What a trace answers: names, labels and positions."""

import numpy as np
import pytest

from attncli import AttnError, attention
from attncli.problem.labels import find_label

LABELS = ("the", "cat", "on", "the", "3")


@pytest.mark.parametrize(
    ("wanted", "positions"),
    [("cat", [1]), ("the", [0, 3]), ("the#2", [3]), ("0", [0]), ("-1", [4]), ("3", [4]), ("2", [2])],
)
def test_a_label_wins_over_a_position(wanted: str, positions: list[int]) -> None:
    assert find_label(wanted, LABELS, where="only") == positions


@pytest.mark.parametrize("wanted", ["dog", "the#3", "the#0", "5", "-6", "", "1.0"])
def test_what_is_neither_a_label_nor_a_position_is_an_error_that_says_where(wanted: str) -> None:
    with pytest.raises(AttnError, match=r"^only: "):
        find_label(wanted, LABELS, where="only")


def test_a_result_has_the_names_that_were_selected_and_no_others() -> None:
    result = attention([[1.0, 2.0]], [[3.0, 4.0]], select=("weights",))
    assert result.weights.tolist() == [[1.0]]
    with pytest.raises(AttributeError, match="not selected"):
        _ = result.output


def test_a_stage_that_did_nothing_answers_with_the_one_before() -> None:
    result = attention([[1.0, 2.0]], [[3.0, 4.0]], select=("scores", "capped_scores", "masked_scores"))
    np.testing.assert_array_equal(result.masked_scores, result.scores)
    np.testing.assert_array_equal(result.capped_scores, result.scores)


def test_an_unknown_result_suggests_the_nearest_name() -> None:
    with pytest.raises(AttnError, match="did you mean 'weights'"):
        attention([[1.0]], [[1.0]], select=("weigths",))
