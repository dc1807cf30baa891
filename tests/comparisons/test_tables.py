"""How variants are called, and the tables of their results and statistics."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from attncli.comparisons.document import render_comparison
from attncli.comparisons.tables import (
    heading,
    result_sections,
    row_labels,
    seeds_section,
    statistics_sections,
    title,
    value_labels,
    variant_labels,
    variant_lines,
)
from attncli.render.document import Section
from attncli.render.formats import find_format
from attncli.render.target import TEXT_FILE
from attncli.render.view import ComparisonView
from tests.comparisons.comparing import Keys, comparison_of, weights_of

ONE: Keys = {"query": [[1.0]], "key": [[2.0]]}
# The names of variants, how each is called, the title, and the lines below it.
CASES = {
    "names": (("scale=1", "scale=2"), ("scale=1", "scale=2"), "2 variants of scale: 1, 2", ()),
    "as given": (("as given", "scale=2"), ("as given", "scale=2"), "2 variants of scale: as given, 2", ()),
    "values": (
        ("normalize=softmax", "normalize=entmax:alpha=1.5"),
        ("softmax", "entmax:alpha=1.5"),
        "2 variants of normalize: softmax, entmax:alpha=1.5",
        (),
    ),
    "two keys": (
        ("a=1, b=2", "a=2, b=2", "a=1, b=3"),
        ("a=1, b=2", "a=2, b=2", "a=1, b=3"),
        "3 variants of a and b",
        ("a=1, b=2", "a=2, b=2", "a=1, b=3"),
    ),
    "numbers": (
        ("normalize=softmax, scale=1", "normalize=sum, scale=1", "normalize=sum, scale=2"),
        ("1", "2", "3"),
        "3 variants of normalize and scale",
        ("1  normalize=softmax, scale=1", "2  normalize=sum, scale=1", "3  normalize=sum, scale=2"),
    ),
    "flags": (
        ("causal=true", "causal=false"),
        ("causal=true", "causal=false"),
        "2 variants of causal: true, false",
        (),
    ),
    "no position": (
        ("position=rope", "position=null"),
        ("position=rope", "position=null"),
        "2 variants of position: rope, null",
        (),
    ),
    "a position of no name": (
        ("position=rope", "position=none"),
        ("position=rope", "position=none"),
        "2 variants of position: rope, none",
        (),
    ),
    "files in a folder": (
        ("file=kernels/of/may/before.yaml", "file=kernels/of/may/after.yaml"),
        ("before.yaml", "after.yaml"),
        "2 variants of file: kernels/of/may/before.yaml, kernels/of/may/after.yaml",
        (),
    ),
    "a long value": (
        ("score=gaussian:sigma=0.125", "score=dot"),
        ("1", "2"),
        "2 variants of score: gaussian:sigma=0.125, dot",
        ("1  score=gaussian:sigma=0.125", "2  score=dot"),
    ),
    "one value in all": (("a=1, b=2", "a=1, b=3"), ("a=1, b=2", "a=1, b=3"), "2 variants of b: 2, 3", ("all: a=1",)),
    "conventions": (
        ("as=flash", "as=jax"),
        ("flash", "jax"),
        "2 variants of convention: flash, jax",
        (),
    ),
}


@pytest.mark.parametrize(("names", "labels", "first_line", "lines"), CASES.values(), ids=CASES)
def test_variants_have_short_labels(
    names: tuple[str, ...], labels: tuple[str, ...], first_line: str, lines: tuple[str, ...]
) -> None:
    comparison = comparison_of(dict.fromkeys(names, ONE))
    found = variant_labels(comparison)
    assert found == labels
    assert (title(comparison), variant_lines(comparison, found)) == (first_line, lines)


def test_many_variants_are_not_listed() -> None:
    comparison = comparison_of({f"seed={seed}": ONE for seed in range(9)})
    assert (title(comparison), variant_lines(comparison, variant_labels(comparison))) == ("9 variants of seed", ())


def test_the_values_of_several_keys_are_one_label() -> None:
    comparison = comparison_of(dict.fromkeys(("a=1, b=2", "a=1, b=3", "a=2, b=3"), ONE))
    assert value_labels(comparison) == ("1, 2", "1, 3", "2, 3")


@pytest.mark.parametrize(
    ("second", "text"),
    [
        ({}, "scaled_dot → softmax → weighted_sum"),
        ({"normalize": "sum"}, "scaled_dot → … → weighted_sum"),
        ({"normalize": "sum", "score": "dot"}, "… → … → weighted_sum"),
        ({"normalize": "softmax:temperature=2"}, "scaled_dot → … → weighted_sum"),
    ],
)
def test_the_heading_has_the_stages_in_common(second: Keys, text: str) -> None:
    assert heading(comparison_of({"a": ONE, "b": {**ONE, **second}})) == text


def test_where_the_stages_have_nothing_in_common_there_is_no_heading() -> None:
    scores: Keys = {"scores": [[1.0, 2]]}
    comparison = comparison_of({"a": scores, "b": {**scores, "normalize": "sum"}})
    assert heading(comparison) == ""
    lines = "".join(render_comparison(find_format("table"), comparison, TEXT_FILE, ComparisonView())).splitlines()
    assert lines[lines.index("2 variants") + 1] == "  a"


def test_a_remark_is_said_once_of_all_its_variants() -> None:
    remarks = {"a": ("no mask", "no sink"), "b": ("no mask",), "c": ("no mask", "no sink")}
    comparison = comparison_of(dict.fromkeys(remarks, ONE))
    variants = tuple(
        replace(one, variant=replace(one.variant, remarks=remarks[one.variant.name])) for one in comparison.variants
    )
    lines = variant_lines(replace(comparison, variants=variants), ("a", "b", "c"))
    assert lines == ("a", "b", "c", "all: no mask", "a and c: no sink")


def test_what_conventions_read_otherwise_is_said_where_the_heading_does_not() -> None:
    masked: Keys = {**ONE, "mask": [[0]]}
    inverted = {**masked, "convention": "torch-mha"}
    comparison = comparison_of({"a": masked, "b": inverted, "c": inverted})
    assert variant_lines(comparison, ("a", "b", "c"))[-1] == "b and c: mask: 1 or true hides"
    alone = comparison_of({"b": inverted, "c": inverted})
    assert heading(alone) == "scaled_dot → softmax → weighted_sum, as torch-mha (mask: 1 or true hides)"
    assert variant_lines(alone, ("b", "c")) == ("b", "c")


def test_numbers_stand_before_the_values_of_a_table_of_all_variants() -> None:
    comparison = comparison_of(dict.fromkeys(("a=1, b=2", "a=1, b=3"), ONE))
    assert row_labels(comparison, ("1", "2")) == ("1  2", "2  3")
    assert row_labels(comparison, ("b=2", "b=3")) == ("2", "3")


FIRST = weights_of([0.5, 0.5], [0.75, 0.25])
SECOND = weights_of([0.25, 0.75], [0.75, 0.25])
HEADS: Keys = {"query": [[1.0, 2], [3, 4]], "key": [[1.0, 0], [0, 1]]}


def results(select: list[str], *problems: Keys, **options: Any) -> list[Section]:
    """The sections of results of variants with the names a, b …"""
    comparison = comparison_of(dict(zip("abcd", problems, strict=False)), select, **options)
    return list(result_sections(comparison, variant_labels(comparison), comparison.select))


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


def test_seeds_have_two_rows_for_each_value_of_the_other_keys() -> None:
    names = ("score=dot, seed=1", "score=dot, seed=2", "score=cosine, seed=1", "score=cosine, seed=2")
    (section,) = seeds_section(comparison_of(dict.fromkeys(names, FIRST)))
    (grid,) = section.grids
    assert (section.title, grid.corner) == ("over 2 seeds", "score")
    assert grid.rows == ("dot     mean", "        ±", "cosine  mean", "        ±")
    np.testing.assert_allclose(grid.values[:, 3], [0.625, 0, 0.625, 0])  # ½ and ¾ are the largest of the rows


def test_seeds_alone_have_two_rows() -> None:
    (section,) = seeds_section(comparison_of({"seed=1": FIRST, "seed=2": SECOND, "seed=3": FIRST}))
    assert (section.title, section.grids[0].rows) == ("over 3 seeds", ("mean", "±"))
    assert list(seeds_section(comparison_of({"scale=1": FIRST, "scale=2": SECOND}))) == []
