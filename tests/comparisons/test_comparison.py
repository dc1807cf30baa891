"""Variants are computed and compared: how much results differ, the first step that does, and which are equal."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from attncli.base.errors import AttnError, UnknownNameError
from attncli.comparisons.comparison import (
    CompareOptions,
    Comparison,
    compare,
    equal_statistics,
    equal_variants,
    over_seeds,
)
from attncli.comparisons.differences import Difference, FirstDifference
from attncli.io.variants import Variant
from tests.arrays import normal
from tests.comparisons.comparing import Keys, comparison_of, weights_of
from tests.problems import problem

SCORES = [[0, 0], [math.log(3), 0]]  # softmax: ½ ½, ¾ ¼
WEIGHTS = {"weights": [[0.5, 0.5], [0.75, 0.25]], "value": [[4.0], [8.0]]}
SELF = {"embeddings": [[1.0, 0], [0, 2], [1, 1]], "tokens": ["the", "cat", "sat"]}

CACHED = {"query": [[1.0, 0]], "key": [[1.0, 0], [0, 1]], "causal": True}


def variants(*keys: dict[str, Any]) -> list[Variant]:
    """A variant for each problem, named by its letter."""
    return [Variant(name, {}, problem(**one)) for name, one in zip("abcdef", keys, strict=False)]


def compared(*keys: dict[str, Any], select: Sequence[str] | None = None, **options: Any) -> Comparison:
    """The comparison of these problems."""
    return compare(variants(*keys), select, CompareOptions(**options))


def difference(name: str, *keys: dict[str, Any], **options: Any) -> Difference:
    """The difference of one result of two problems."""
    (found,) = compared(*keys, select=[name], **options).differences
    return found


def first(*keys: dict[str, Any], **options: Any) -> FirstDifference:
    """The first step in which two problems differ."""
    (found,) = compared(*keys, **options).first_differences
    return found


def test_the_largest_difference_has_its_place_and_both_numbers() -> None:
    found = difference("weights", WEIGHTS, {**WEIGHTS, "weights": [[0.25, 0.75], [1, 0]], "tokens": ["cat", "sat"]})
    assert (found.max_abs, found.position, found.numbers) == (0.25, (0, 0), (0.5, 0.25))
    assert found.labels == ("query_1", "key_1")
    assert found.total_variation == 0.25
    assert found.kl == pytest.approx(0.5 * math.log(2) + 0.5 * math.log(2 / 3))  # of the second row it is infinite
    assert (found.infinite_kl_count, found.reordered_count, found.row_count) == (1, 0, 2)
    assert found.distribution_count == 2


def test_a_nan_on_one_side_is_the_largest_difference_and_infinities_of_one_sign_are_equal() -> None:
    nan, inf = math.nan, math.inf
    assert difference("scores", {"scores": [[1, inf, 2]]}, {"scores": [[5, inf, 2]]}).max_abs == 4
    assert difference("scores", {"scores": [[1, nan]]}, {"scores": [[1, nan]]}).max_abs == 0
    found = difference("scores", {"scores": [[1, 2, nan]]}, {"scores": [[9, nan, nan]]})
    assert math.isnan(found.max_abs or 0)
    assert found.position == (0, 1)


def test_rows_that_are_no_distribution_have_neither_total_variation_nor_divergence() -> None:
    found = difference(
        "weights", {**WEIGHTS, "weights": [[0, 0], [2, 1]]}, {**WEIGHTS, "weights": [[0.5, 0.5], [1, 2]]}
    )
    assert (found.total_variation, found.kl, found.infinite_kl_count) == (None, None, None)
    assert (found.reordered_count, found.row_count, found.distribution_count) == (1, 2, 0)
    some = difference("weights", WEIGHTS, {**WEIGHTS, "weights": [[2, 1], [0.5, 0.5]]})
    assert (some.distribution_count, some.total_variation) == (1, 0.25)


def test_results_other_than_weights_have_the_largest_difference_alone() -> None:
    found = difference("output", WEIGHTS, {**WEIGHTS, "value": [[4], [10]]})
    assert (found.max_abs, found.labels, found.numbers) == (1, ("query_1", "e1"), (6, 7))
    assert (found.total_variation, found.reordered_count, found.row_count) == (None, None, None)


def test_what_can_not_be_compared_has_a_reason() -> None:
    wide = {"weights": [[1, 0, 0]], "value": [[1], [2], [3]]}
    assert difference("weights", WEIGHTS, wide).reason == "the shapes differ: 2 × 2 and 1 × 3"
    assert difference("output", WEIGHTS, {"scores": SCORES}).reason == "not computed by b"
    assert difference("weights", {"scores": [SCORES]}, {"scores": [SCORES], "heads": 1}).reason == ""
    assert difference("output", SELF, {**SELF, "w_o": [[1, 0], [0, 1]]}).max_abs == 0  # [n e] and [n o]
    heads = {"scores": [SCORES, SCORES], "heads": 2}
    assert difference("weights", {"scores": [SCORES, SCORES]}, heads).reason == "the axes differ: [b n m] and [h n m]"


def test_without_a_selection_each_result_of_a_variant_is_compared() -> None:
    comparison = compared(WEIGHTS, {"scores": SCORES, "value": [[4.0], [8.0]]})
    assert comparison.select == ("weights", "output", "scores")
    assert [one.result.select for one in comparison.variants] == [
        ("weights", "output"),
        ("weights", "output", "scores"),
    ]
    assert [bool(found.reason) for found in comparison.differences] == [False, False, True]


def test_each_variant_is_compared_with_the_first_or_every_two() -> None:
    keys = [{**SELF, "scale": scale} for scale in (1, 2, 4)]
    assert [found.variants for found in compared(*keys, select=["weights"]).differences] == [(0, 1), (0, 2)]
    pairs = [found.variants for found in compared(*keys, select=["weights"], all_pairs=True).first_differences]
    assert pairs == [(0, 1), (0, 2), (1, 2)]


def test_a_variant_with_edits_is_compared_with_the_one_before_them_too() -> None:
    keys = [{**SELF, "scale": scale, "w_q": [[1, weight], [0, 1]]} for scale in (1, 2) for weight in (0, 3)]
    varied = [{"scale": scale, "set": edits} for scale in ("1", "2") for edits in ("", "w_q[0,1]=3")]
    made = [Variant(str(at), text, problem(**one)) for at, (text, one) in enumerate(zip(varied, keys, strict=True))]
    comparison = compare(made, ["weights"])
    assert [found.variants for found in comparison.differences] == [(0, 1), (0, 2), (0, 3), (2, 3)]
    assert [found.step for found in comparison.first_differences] == ["w_q", "scores", "w_q", "w_q"]
    own, other = (comparison.variants[at].result.weights for at in (2, 3))
    assert comparison.differences[3].max_abs == pytest.approx(abs(own - other).max())


def test_one_head_alone_is_compared_where_a_position_is_chosen() -> None:
    scores = normal(2, 3, 5, 7)
    other = scores.copy()
    other[1, 0, 4, 6] += 8
    other[1, 2, 3, 1] += 2
    keys = [{"scores": scores}, {"scores": other}]
    assert difference("scores", *keys).position == (1, 0, 4, 6)
    found = difference("scores", *keys, positions={"h": 2})
    assert (found.position, found.labels[:2]) == ((1, 2, 3, 1), ("batch item 1", "head 2"))
    assert difference("scores", *keys, positions={"b": 0}).max_abs == 0
    assert first(*keys, select=["weights"], positions={"b": 0}).step is None


@pytest.mark.parametrize(
    ("before", "after", "step", "only_in", "labels"),
    [
        (SELF, {**SELF, "scale": 1}, "scores", None, ("the", "the")),
        (SELF, {**SELF, "normalize": "sparsemax"}, "weights", None, ("the", "the")),
        (SELF, {**SELF, "causal": True}, "masked_scores", 1, ("the", "cat")),
        ({**SELF, "causal": True}, SELF, "masked_scores", 0, ("the", "cat")),
        (SELF, {**SELF, "position": "rope"}, "rotated_query", 1, ("cat", "d1")),
        ({**CACHED, "align": "bottom_right"}, CACHED, "visible_by_causal", None, ("query_1", "key_2")),
        (SELF, {**SELF, "softcap": 1}, "capped_scores", 1, ("the", "the")),
        (SELF, {**SELF, "embeddings": [[1, 0], [0, 2], [1, 3]]}, "embeddings", None, ("sat", "x2")),
        (SELF, {**SELF, "embeddings": [[1, 0], [0, 2]], "tokens": ["the", "cat"]}, "embeddings", None, ()),
        (SELF, {**SELF, "heads": 2}, "query_heads", 1, ()),
        (SELF, {**SELF, "tokens": ["a", "b", "c"]}, None, None, ()),
        (SELF, {**SELF, "w_q": [[1, 0], [0, 1]]}, None, None, ()),  # a step more, and no number differs
        (SELF, {**SELF, "score": "dot", "scale": 1 / math.sqrt(2)}, None, None, ()),
    ],
)
def test_variants_part_at_the_first_step_whose_numbers_differ(
    before: dict[str, Any], after: dict[str, Any], step: str | None, only_in: int | None, labels: tuple[str, ...]
) -> None:
    found = first(before, after)
    assert (found.step, found.only_in, found.labels) == (step, only_in, labels)
    assert (found.numbers is None) == (not labels)


def test_of_a_large_problem_the_kept_steps_are_compared() -> None:
    query, key = normal(363, 2), normal(367, 2)
    keys = [{"query": query, "key": key, "scale": scale} for scale in (1, 2)]
    found = first(*keys, select=["output"])
    assert (found.step, found.is_partial) == ("context", True)
    assert first(SELF, {**SELF, "scale": 2}).is_partial is False


def test_variants_behind_the_first_keep_what_is_selected_their_masks_and_their_warnings() -> None:
    masked = {**SELF, "mask": [[1, 1, 1], [0, 0, 0], [1, 1, 1]]}
    comparison = compared(SELF, masked, select=["scores"])
    (step,) = [step.name for step in comparison.variants[1].result.trace.steps if step.notes]
    assert step == "weights"
    kept = [step.name for step in comparison.variants[1].result.trace.steps]
    assert kept == ["scores", "mask", "visible_by_mask", "visible", "weights"]
    assert comparison.variants[1].statistics is not None


def test_tokens_that_differ_are_said_once() -> None:
    other = {**SELF, "tokens": ["das", "die", "der"]}
    assert compared(SELF, other, other).remarks == (
        "tokens differ: numbers are compared by position, and named as in a",
    )
    assert compared(SELF, SELF).remarks == ()


def test_an_error_names_the_variant() -> None:
    with pytest.raises(UnknownNameError, match="wieghts"):
        compared(SELF, SELF, select=["wieghts"])
    with pytest.raises(AttnError, match="output is not computed: there are no values"):
        compared({"scores": SCORES}, {"scores": SCORES}, select=["output"])


def test_statistics_are_those_of_the_weights() -> None:
    (one, _) = compared(WEIGHTS, WEIGHTS, select=["output"]).variants
    assert one.statistics is not None
    assert one.statistics.support.tolist() == [2, 2]
    np.testing.assert_allclose(one.statistics.entropy[0], math.log(2))


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


HALVES, QUARTERS = weights_of([0.5, 0.5], [0.5, 0.5]), weights_of([0.75, 0.25], [0.25, 0.75])


def test_the_seeds_of_each_value_of_the_other_keys_have_a_mean_and_a_deviation() -> None:
    named = {
        "scale=1, seed=1": HALVES,
        "scale=1, seed=2": QUARTERS,
        "scale=2, seed=1": HALVES,
        "scale=2, seed=2": HALVES,
    }
    first, second = over_seeds(comparison_of(named))
    assert (first.keys, first.variants, second.keys, second.variants) == (
        {"scale": "1"},
        (0, 1),
        {"scale": "2"},
        (2, 3),
    )
    assert first.mean["largest"] == 0.625
    assert first.standard_deviation["largest"] == pytest.approx(0.125 * math.sqrt(2))  # ⅛ from the mean, by n − 1 = 1
    entropies = math.log(2), 0.75 * math.log(4 / 3) + 0.25 * math.log(4)
    assert first.mean["entropy"] == pytest.approx(sum(entropies) / 2)
    assert first.standard_deviation["entropy"] == pytest.approx((entropies[0] - entropies[1]) / math.sqrt(2))
    assert second.mean == pytest.approx({"support": 2, "entropy": math.log(2), "effective_keys": 2, "largest": 0.5})
    assert second.standard_deviation == pytest.approx(dict.fromkeys(second.mean, 0))


def test_a_seed_counts_once_whatever_its_rows_and_one_row_may_have_no_statistics() -> None:
    named = {"seed=1": weights_of([0.5, 0.5], [0, 0]), "seed=2": QUARTERS}
    (found,) = over_seeds(comparison_of(named))
    assert found.mean["effective_keys"] == pytest.approx((2 + 4 / 3**0.75) / 2)  # exp(ln 4 − ¾ ln 3)


@pytest.mark.parametrize("names", [("scale=1", "scale=2"), ("scale=1, seed=1", "scale=2, seed=2")])
def test_without_several_seeds_of_one_problem_there_is_no_mean(names: tuple[str, ...]) -> None:
    assert over_seeds(comparison_of(dict.fromkeys(names, HALVES))) == ()
