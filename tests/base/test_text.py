"""Text: equal words among many."""

from attncli.base.text import first_duplicate, most_common


def test_of_values_that_are_equally_common_the_first_counts() -> None:
    assert most_common([3, 2, 2, 3, 1]) == 3


def test_the_first_duplicate_is_the_one_that_begins_first() -> None:
    assert first_duplicate(["on", "the", "cat", "cat", "the"]) == "the"
