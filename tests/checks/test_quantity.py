"""Where numbers differ as a picture: a sign for each number, or for each block of a large table."""

import numpy as np
import pytest

from attncli.checks.quantity import draw_errors

ROWS, COLUMNS = np.ogrid[:4, :6]
EVERY = np.ones((4, 6), dtype=bool)


def test_a_small_table_has_a_sign_for_each_number() -> None:
    picture = draw_errors(COLUMNS > ROWS, EVERY, columns=64)
    assert picture.lines == (".#####", "..####", "...###", "....##")
    assert (picture.scale, picture.legend) == ("one sign a number", "# differs, . agrees")


def test_a_large_table_has_a_sign_for_each_block_and_says_so() -> None:
    picture = draw_errors(np.triu(np.ones((256, 256), dtype=bool), 1), np.ones((256, 256), dtype=bool), columns=8)
    assert len(picture.lines) == 16
    assert picture.lines[0] == "+#######"
    assert picture.lines[15] == ".......+"
    assert picture.scale == "one sign for 16 × 32"
    assert picture.legend == "# all differ, + some differ, . all agree"


def test_what_is_not_expected_is_blank_and_does_not_count() -> None:
    is_given = EVERY & (ROWS != 1) & (COLUMNS % 2 == 0)
    picture = draw_errors((ROWS == 2) & is_given, is_given, columns=3)
    assert picture.lines == ("...", "   ", "###", "...")
    assert "blank: not expected" in picture.legend


def test_a_number_that_differs_in_some_heads_has_a_sign_of_its_own() -> None:
    heads = np.arange(3)[:, None, None]
    picture = draw_errors((heads == 1) & (ROWS == 0) & EVERY, np.broadcast_to(EVERY, (3, 4, 6)), columns=6)
    assert picture.lines[:2] == ("++++++", "......")


def test_sizes_that_no_block_divides_end_in_a_smaller_block() -> None:
    differs = np.zeros((1, 7), dtype=bool)
    differs[0, 6] = True
    assert draw_errors(differs, np.ones_like(differs), columns=2).lines == (".+",)
    assert draw_errors(differs[:, 4:], np.ones((1, 3), dtype=bool), columns=2).lines == (".#",)


def test_a_vector_is_one_row() -> None:
    assert draw_errors(np.array([True, False]), np.array([True, True]), columns=9).lines == ("#.",)


@pytest.mark.parametrize(
    ("width", "lines"),
    [(40, ["     the  cat", "the    .    #", "cat    .    ."]), (12, ["the .#", "cat .."])],
)
def test_columns_have_their_labels_where_there_is_room(width: int, lines: list[str]) -> None:
    picture = draw_errors(np.array([[False, True], [False, False]]), np.ones((2, 2), dtype=bool), columns=9)
    assert list(picture.with_labels(("the", "cat"), ("the", "cat"), width)) == lines
