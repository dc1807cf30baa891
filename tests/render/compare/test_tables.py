"""The tables of a comparison: side by side in one section, marked, and each one once."""

from typing import Any

import numpy as np
import pytest

from attncli.render.compare.labels import variant_labels
from attncli.render.compare.results import result_sections
from attncli.render.compare.statistics import statistics_sections
from attncli.render.document import Section
from tests.comparisons import Keys, comparison_of, weights_of

FIRST = weights_of([0.5, 0.5], [0.75, 0.25])
SECOND = weights_of([0.25, 0.75], [0.75, 0.25])
HEADS: Keys = {"query": [[1.0, 2], [3, 4]], "key": [[1.0, 0], [0, 1]]}


def results(select: list[str], *problems: Keys, **options: Any) -> list[Section]:
    """The sections of results of variants with the names a, b …"""
    comparison = comparison_of(dict(zip("abcd", problems, strict=False)), select, **options)
    return list(result_sections(comparison, variant_labels(comparison)))


def statistics(*problems: Keys, **options: Any) -> list[Section]:
    """The sections of their statistics."""
    comparison = comparison_of(dict(zip("abcd", problems, strict=False)), **options)
    return list(statistics_sections(comparison, variant_labels(comparison)))


def test_the_tables_of_a_result_are_together_and_marked_against_the_first() -> None:
    (section,) = results(["weights"], FIRST, SECOND)
    assert section.title == "weights"
    assert [grid.slice_label for grid in section.grids] == ["a", "b"]
    first, second = section.grids
    assert first.changes is None
    assert second.changes is not None
    assert second.changes.tolist() == [["▼", "▲"], ["", ""]]


@pytest.mark.parametrize(("count", "words"), [(2, "both"), (3, "all 3")])
def test_what_all_variants_have_in_common_is_a_line(count: int, words: str) -> None:
    (section,) = results(["weights"], *[FIRST] * count)
    assert (section.title, section.grids) == (f"weights: the same in {words}", ())


def test_equal_variants_have_one_table() -> None:
    (section,) = results(["weights"], FIRST, SECOND, FIRST, SECOND)
    assert [grid.slice_label for grid in section.grids] == ["a", "b"]
    assert section.remarks == ("the same: a and c", "the same: b and d")


def test_tables_of_one_row_are_the_rows_of_one() -> None:
    (section,) = results(["weights"], weights_of([0.5, 0.5]), weights_of([0.25, 0.75]))
    (grid,) = section.grids
    assert (grid.corner, grid.rows, grid.columns) == ("cat", ("a", "b"), ("cat", "sat"))
    np.testing.assert_array_equal(grid.values, [[0.5, 0.5], [0.25, 0.75]])
    assert grid.changes is not None
    assert grid.changes.tolist() == [["", ""], ["▼", "▲"]]


def test_rows_of_other_queries_have_their_names() -> None:
    (section,) = results(["output"], {**FIRST, "only": [0]}, {**FIRST, "only": [1]})
    assert section.grids[0].rows == ("a, cat", "b, sat")


def test_each_head_has_a_section() -> None:
    sections = results(["weights"], {**HEADS, "heads": 2}, {**HEADS, "heads": 2, "scale": 3.0})
    assert [section.title for section in sections] == ["weights, head 0", "weights, head 1"]
    assert [[grid.slice_label for grid in section.grids] for section in sections] == [["a", "b"]] * 2


def test_one_head_that_is_chosen_has_the_section() -> None:
    two = ({**HEADS, "heads": 2}, {**HEADS, "heads": 2, "scale": 3.0})
    assert [section.title for section in results(["weights"], *two, positions={"h": 1})] == ["weights, head 1"]
    assert [section.title for section in statistics(*two, positions={"h": 1})] == ["statistics, head 1"]


def test_variants_of_other_numbers_of_heads_have_their_own_tables_unmarked() -> None:
    two = (HEADS, {**HEADS, "heads": 2})
    (section,) = results(["weights"], *two)
    assert [grid.slice_label for grid in section.grids] == ["a", "b, head 0", "b, head 1"]
    assert all(grid.changes is None for grid in section.grids)
    assert statistics(*two) == []


def test_a_variant_that_lacks_a_result_has_no_table() -> None:
    scores = {"scores": [[0, 1], [1, 0]]}
    (section,) = results(["output"], scores, {**scores, "value": [[1], [2]]}, {**scores, "value": [[1], [3]]})
    assert [grid.slice_label for grid in section.grids] == ["b", "c"]


def test_statistics_have_a_row_for_each_query_and_variant() -> None:
    (section,) = statistics(FIRST, SECOND, FIRST)
    (grid,) = section.grids
    assert (section.title, grid.corner) == ("statistics", "query  variant → key")
    assert grid.rows == ("cat  a → cat", "     b → sat", "sat  a → cat", "     b → cat")
    np.testing.assert_allclose(grid.values[:, 0], 2)
    np.testing.assert_allclose(grid.values[:2, 1], [np.log(2), 0.25 * np.log(4) + 0.75 * np.log(4 / 3)])
    np.testing.assert_allclose(grid.values[:, 3], [0.5, 0.75, 0.75, 0.75])
    assert grid.changes is not None
    assert grid.changes.tolist() == [[""] * 4, ["", "▼", "▼", "▲"], [""] * 4, [""] * 4]
    assert section.remarks[0] == "the same: a and c"


def test_statistics_that_all_have_in_common_have_a_row_for_each_query() -> None:
    (section,) = statistics(FIRST, FIRST)
    assert section.grids[0].rows == ("cat → cat", "sat → cat")
    assert section.grids[0].changes is None


def test_masks_are_compared_in_signs() -> None:
    (section,) = results(["visible"], {**HEADS, "causal": True}, {**HEADS, "mask": [[1, 0], [0, 1]]}, HEADS)
    first, second = section.grids
    assert (first.signs, second.signs) == ([["●", "▷"], ["●", "●"]], [["●", "×"], ["×", "●"]])
    assert second.changes is not None
    assert second.changes.tolist() == [["", "◆"], ["◆", ""]]


def test_a_statistic_is_marked_where_its_row_of_weights_changed_by_more_than_rounding_in_its_type() -> None:
    scores = [[0.1, 0.7, 0.3], [2, 1, 0]]
    narrow, wide = {"scores": scores, "dtype": "float32"}, {"scores": [scores[0], [0, 1, 3]], "dtype": "float64"}
    (section,) = statistics(narrow, wide)
    (grid,) = section.grids
    assert grid.changes is not None
    assert grid.changes.any(axis=-1).tolist() == [False, False, False, True]
