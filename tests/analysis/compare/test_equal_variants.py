"""Variants with the same numbers of a result, or of the statistics of their weights, are found."""

import math

import pytest

from attncli.analysis.compare import equal_statistics, equal_variants
from tests.comparisons import Keys, comparison_of, weights_of

A, B = weights_of([0.5, 0.5], [0.75, 0.25]), weights_of([0.5, 0.5], [0.25, 0.75])
ROUNDED = weights_of([0.5, 0.5], [0.75, 0.25 + 2**-54])
EMPTY = weights_of([math.nan, math.nan], [0.75, 0.25])
LONG = weights_of([0.5, 0.5], [0.75, 0.25], [1, 0], tokens=("cat", "sat", "on"))


@pytest.mark.parametrize(
    ("problems", "groups"),
    [
        ((A, A), ((0, 1),)),
        ((A, B), ((0,), (1,))),
        ((A, B, ROUNDED, B), ((0, 2), (1, 3))),
        ((EMPTY, A, EMPTY), ((0, 2), (1,))),
    ],
)
def test_groups_begin_with_the_first_of_their_variants(
    problems: tuple[Keys, ...], groups: tuple[tuple[int, ...], ...]
) -> None:
    comparison = comparison_of(dict(zip("abcd", problems, strict=False)))
    assert equal_variants(comparison, "weights") == groups
    assert equal_statistics(comparison) == groups


def test_a_variant_without_the_result_is_in_no_group() -> None:
    without_values = {"scores": [[0, 1]]}
    with_values = {**without_values, "value": [[1], [2]]}
    comparison = comparison_of({"a": without_values, "b": with_values, "c": with_values})
    assert equal_variants(comparison, "output") == ((1, 2),)
    assert equal_variants(comparison, "weights") == ((0, 1, 2),)


def test_variants_of_other_shapes_differ() -> None:
    query = {"query": [[1.0, 2], [3, 4]], "key": [[1.0, 2], [3, 4]]}
    comparison = comparison_of({"a": query, "b": {**query, "heads": 2}, "c": {**query, "only": [0]}})
    assert equal_variants(comparison, "weights") == ((0,), (1,), (2,))
    assert equal_statistics(comparison) == ((0,), (1,), (2,))


def test_one_head_of_variants_is_compared_where_one_is_chosen() -> None:
    one = {"query": [[1.0, 2]], "key": [[1.0, 2], [3, 4]], "heads": 2}
    other = {**one, "query": [[1.0, 5]]}
    assert equal_variants(comparison_of({"a": one, "b": other}, positions={"h": 0}), "weights") == ((0, 1),)
    assert equal_statistics(comparison_of({"a": one, "b": other}, positions={"h": 1})) == ((0,), (1,))


def test_statistics_of_other_types_are_the_same_where_the_weights_are() -> None:
    narrow, wide = ({"scores": [[0.1, 0.7, 0.3]], "dtype": dtype} for dtype in ("float32", "float64"))
    assert equal_statistics(comparison_of({"a": narrow, "b": wide})) == ((0, 1),)


def test_statistics_are_known_where_the_weights_are_not_selected() -> None:
    assert equal_statistics(comparison_of({"a": A, "b": B, "c": A}, ["output"])) == ((0, 2), (1,))
