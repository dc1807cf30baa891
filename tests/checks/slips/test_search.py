"""The search for slips: which explain numbers, and which would go unnoticed."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.checks.slips.parts import Part, Priority, SearchLimits
from attncli.checks.slips.records import SLIPS
from attncli.checks.slips.search import Attempt, Judge, explain, own_attempt, run_attempt, unnoticed, with_slip
from attncli.problem.spec import ProblemSpec
from tests.arrays import normal
from tests.checks.slips.wrong_attention import attention
from tests.checks.slips.wrong_cases import PAIRS, Case, cases, given, rope, square
from tests.problems import problem

Expected = Mapping[str, np.ndarray]


def numbers(expected: Expected) -> Judge:
    """Accepts the attempts that compute these numbers."""

    def accepts(attempt: Attempt) -> bool:
        results = run_attempt(attempt, expected)
        parts = {name: attempt.part.take(x, attempt.plan[name].letters) for name, x in expected.items()}
        return all(
            np.allclose(results[name].ravel(), x.ravel(), rtol=1e-9, atol=1e-12, equal_nan=True)
            for name, x in parts.items()
        )

    return accepts


def ours(spec: ProblemSpec, *names: str) -> Judge:
    """Accepts the attempts that compute what is right."""
    return numbers(run_attempt(own_attempt(spec), names or ("weights", "output")))


def slips_of(attempts: tuple[Attempt, ...]) -> set[tuple[str, ...]]:
    return {attempt.slips for attempt in attempts}


def names_of(attempts: tuple[Attempt, ...]) -> set[str]:
    return {attempt.slips[0] for attempt in attempts}


# Slips that are the same: 1/√d twice is 1/d; of square projections of one sequence the swapped ones give (QKᵀ)ᵀ; a
# window without its one later key is causal.
ALIKE = (
    {"scale_by_d", "scaled_twice"},
    {"query_key_swapped", "query_key_weights_swapped"},
    {"window_too_narrow", "causal_added"},
)


# One slip of each kind; in the quick set each has its variants made by hand, in test_slips.py.
QUICK: tuple[str, ...] = (
    "scaled_twice",
    "softmax_over_heads",
    "masked_with_finite",
    "window_too_narrow",
    "query_key_swapped",
)
QUICK += ("no_token_scale", "packing_misread", "kv_heads_tiled", "norm_span", "no_gate", "alibi_sign", "stale_cache")
FIRST = {case.slip: case for case in reversed(cases(0))}


@pytest.mark.parametrize(
    "case",
    [FIRST[slip] for slip in QUICK]
    + [pytest.param(case, marks=pytest.mark.deep) for slip, case in FIRST.items() if slip not in QUICK],
    ids=str,
)
def test_a_mistake_is_explained_by_its_slip_alone(case: Case) -> None:
    spec, wrong = problem(**case.keys), attention(case.keys, **{case.slip: case.mistake})
    expected = {"output": wrong["output"]}
    if numbers(expected)(own_attempt(spec)):
        expected = {"scores": wrong["scores"]}  # a bias of the keys changes no weight
    found = explain(spec, numbers(expected))
    others = next((names for names in ALIKE if case.slip in names), {case.slip})
    assert (case.slip,) in slips_of(found.explanations)
    assert slips_of(found.explanations) <= {(name,) for name in others}
    assert found.pair_count == 0


# A problem that begins with scores, in which few slips can be made, and its words with queries and keys for the hand.
TABLE = {"value": normal(6, 2), "causal": True}
SCORES, SAME = {"scores": normal(6, 6), **TABLE}, {"query": normal(6, 6), "key": np.eye(6), "score": "dot", **TABLE}
TWO_MISTAKES = [
    (SCORES, SAME, {"causal_off_by_one": -1, "softmax_twice": True}),
    ({**SCORES, "softcap": 1.0}, {**SAME, "softcap": 1.0}, {"no_softcap": True, "weights_rounded": 2}),
]


@pytest.mark.parametrize(
    ("keys", "same", "mistakes"),
    [
        *(pytest.param(*case, id="+".join(case[2])) for case in TWO_MISTAKES),
        *(pytest.param(keys, keys, both, id="+".join(both), marks=pytest.mark.deep) for keys, both in PAIRS[:5]),
    ],
)
def test_two_mistakes_are_explained_by_two_slips(
    keys: Mapping[str, Any], same: Mapping[str, Any], mistakes: Mapping[str, Any]
) -> None:
    found = explain(problem(**keys), numbers({"output": attention(same, **mistakes)["output"]}))
    assert {frozenset(slips) for slips in slips_of(found.explanations)} == {frozenset(mistakes)}
    (explanation,) = found.explanations
    assert explanation.sentence.count(".") >= 2
    assert found.pair_count > 0


def test_numbers_that_no_slip_explains_have_no_explanation() -> None:
    found = explain(problem(**SCORES), numbers({"output": normal(6, 2, seed=1)}))
    assert found.explanations == ()
    assert found.tried_count > found.pair_count > 50
    assert found.untried == ()


def test_half_precision_is_named_where_nothing_else_explains_the_numbers() -> None:
    def accepts(*names: str) -> set[tuple[str, ...]]:
        return slips_of(explain(problem(**given(0)), lambda attempt: attempt.slips[0] in names).explanations)

    assert accepts("no_scale", "half_precision") == {("no_scale",)}
    assert accepts("half_precision") == {("half_precision",)}


def test_a_search_ends_when_its_time_is_over_and_says_so() -> None:
    limits = SearchLimits(seconds=20, clock=count().__next__)  # a second at each look
    found = explain(problem(**given(0)), numbers({"output": normal(5, 12)}), limits)
    assert found.tried_count == 20
    assert found.pair_count == 0
    (sentence,) = found.untried[:1]
    assert "time ran out" in sentence


def test_what_there_is_no_time_to_confirm_is_an_explanation_and_it_is_said() -> None:
    accepted: list[Attempt] = []

    def accepts(attempt: Attempt) -> bool:
        accepted.extend([attempt] if attempt.slips == ("no_causal",) else [])
        return attempt in accepted

    limits = SearchLimits(part_cells=1, clock=lambda: 1e9 if accepted else 0.0)
    found = explain(problem(**LONG), accepts, limits)
    assert slips_of(found.explanations) == {("no_causal",)}
    assert any(sentence.startswith("no_causal was not tried on all numbers") for sentence in found.untried)


A_PART = SearchLimits(part_cells=1)  # of a few queries
LONG_TABLE = {"value": normal(23, 2), "causal": True}
LONG = {"scores": normal(23, 23), **LONG_TABLE}
LONG_SAME = {"query": normal(23, 23), "key": np.eye(23), "score": "dot", **LONG_TABLE}


@pytest.mark.parametrize(
    "limits", [A_PART, SearchLimits(part_cells=1, whole_cells=200)], ids=["once", "piece by piece"]
)
def test_what_explains_a_part_of_the_queries_is_confirmed_on_all(limits: SearchLimits) -> None:
    wrong = attention(LONG_SAME, no_causal=True)["output"]
    (found,) = explain(problem(**LONG), numbers({"output": wrong}), limits).explanations
    assert found.slips == ("no_causal",)
    wrong[13] += 1  # which is not in the part
    assert explain(problem(**LONG), numbers({"output": wrong}), limits).explanations == ()


def test_the_queries_that_tell_most_are_in_the_part() -> None:
    seen: list[Part] = []

    def accepts(attempt: Attempt) -> bool:
        seen.append(attempt.part)
        return False

    explain(problem(**LONG), accepts, A_PART, priority=Priority(rows=[17]))
    assert seen[0].rows is not None
    assert {0, 17, 22} <= set(seen[0].rows)


def test_a_query_without_visible_keys_that_is_not_in_the_part_is_found_by_the_queries_that_differ() -> None:
    mask = np.ones((23, 23), dtype=bool)
    mask[13] = False
    keys = {**LONG, "mask": mask}
    wrong = attention({**LONG_SAME, "mask": mask}, masked_with_finite="replaced")["output"]
    found = explain(problem(**keys), numbers({"output": wrong}), A_PART, priority=Priority(rows=[13]))
    assert slips_of(found.explanations) == {("masked_with_finite",)}


def test_slips_that_need_all_queries_are_tried_on_the_whole_where_it_is_small_enough() -> None:
    expected = numbers({"output": attention(LONG_SAME, weights_transposed=True)["output"]})
    assert slips_of(explain(problem(**LONG), expected, A_PART).explanations) == {("weights_transposed",)}
    found = explain(problem(**LONG), expected, SearchLimits(part_cells=1, whole_cells=1))
    assert found.explanations == ()
    assert "weights_transposed" in found.untried[0]
    assert "need all queries, of which there are too many" in found.untried[0]


def test_it_is_said_which_slips_were_tried_alone_but_not_in_pairs() -> None:
    found = explain(problem(**LONG), lambda attempt: False, A_PART)
    assert found.pair_count > 0
    (sentence,) = found.untried
    assert sentence.startswith("pairs with ")
    assert "weights_transposed" in sentence
    assert "no_causal" not in sentence


def test_what_refutes_one_slip_refutes_a_pair_with_it_also_where_the_time_is_over() -> None:
    wrong = attention(LONG_SAME, no_causal=True)["output"]
    wrong[13] += 1  # which is not in the part
    pairs: list[Attempt] = []

    def accepts(attempt: Attempt) -> bool:
        is_accepted = numbers({"output": wrong})(attempt)
        pairs.extend([attempt] if is_accepted and len(attempt.slips) > 1 else [])
        return is_accepted

    limits = SearchLimits(part_cells=1, clock=lambda: 1e9 if pairs else 0.0)
    assert explain(problem(**LONG), accepts, limits).explanations == ()
    assert pairs


def test_of_selected_queries_a_part_is_taken_by_their_positions_among_those_selected() -> None:
    spec = problem(**LONG, only=[str(row) for row in range(22, 1, -1)], tokens=[str(22 - row) for row in range(23)])
    expected = run_attempt(own_attempt(spec), ["output"])["output"]
    accepted: list[bool] = []

    def judge(attempt: Attempt) -> bool:
        own = replace(own_attempt(attempt.problem), part=attempt.part)
        accepted.append(numbers({"output": expected})(own))
        return False

    unnoticed(spec, judge, A_PART)
    assert np.mean(accepted) > 0.5  # all but those of a problem that is changed


@pytest.mark.usefixtures("restored_registry")
def test_an_operator_that_refuses_what_a_slip_gives_it_is_named() -> None:
    @attncli.normalizer(
        formula="aᵢⱼ = sᵢⱼ", shapes="scores[n m] -> [n m]", source="none", example={"scores": [[1]], "gives": [[1]]}
    )
    def refuses_five_columns(scores: np.ndarray) -> np.ndarray:
        """The scores, if there are not five of them."""
        if scores.shape[-1] == 5:
            raise ValueError("five columns")
        return scores

    spec = problem(**{**SCORES, "scores": normal(5, 6)}, normalize="refuses_five_columns")
    found = explain(spec, numbers({"output": normal(5, 2)}))
    assert any("softmax_over_queries" in sentence and "five columns" in sentence for sentence in found.untried)
    assert found.pair_count > 0


UNNOTICED = {
    "constant inputs": (
        {"query": np.ones((5, 4)), "key": np.ones((5, 4)), "value": np.ones((5, 4)), "causal": True, "heads": 2},
        {"no_scale", "scaled_twice", "no_causal", "query_key_swapped", "heads_not_transposed"},
        {"weights_rounded", "mask_after_softmax"},
    ),
    "one key": (
        {"query": normal(5, 4), "key": normal(1, 4), "value": normal(1, 4, seed=1)},
        {"no_scale", "powers_of_two", "weights_rounded"},
        {"softmax_over_queries", "key_as_value"},
    ),
    "a window wider than the sequence": (
        {**square(0), "window": (30, 30)},
        {"window_too_wide", "window_too_narrow", "no_window"},
        {"no_scale", "weights_transposed"},
    ),
    "scores far below what a type holds": (given(0), {"no_maximum"}, {"no_scale", "key_as_value"}),
    "as many queries as keys": (
        {**square(0), "causal": True},
        {"no_maximum"},
        {"no_causal", "causal_off_by_one", "causal_bottom_right"},
    ),
}


@pytest.mark.parametrize(("keys", "unseen", "seen"), UNNOTICED.values(), ids=UNNOTICED)
def test_inputs_that_can_not_tell_let_slips_go_unnoticed(
    keys: Mapping[str, Any], unseen: set[str], seen: set[str]
) -> None:
    spec = problem(**keys)
    names = names_of(unnoticed(spec, ours(spec, "output")).explanations)
    assert unseen <= names
    assert not seen & names


def test_on_random_inputs_with_different_sizes_slips_do_not_go_unnoticed() -> None:
    spec = problem(**given(0, heads=6, kv_heads=2), **rope(), causal=True, align="bottom_right")
    unseen = {"no_maximum", "maximum_not_below", "maximum_0_after_hidden_tile"}  # which only extreme scores show
    assert names_of(unnoticed(spec, ours(spec)).explanations) <= unseen


def test_what_goes_unnoticed_on_a_part_is_looked_for_in_all_queries() -> None:
    spec = problem(**LONG, window=(21, 0))  # the last query alone does not see the first key
    found = unnoticed(spec, ours(spec, "output"), SearchLimits(part_cells=1))
    assert "no_window" not in names_of(found.explanations)
    assert "window_too_wide" not in names_of(found.explanations)


@pytest.mark.parametrize("factor", [1.00003, 0.99998, 1.0])
def test_a_factor_that_is_written_as_1_is_no_mistake(factor: float) -> None:
    number = SLIPS["scale_factor"].number
    assert number is not None
    assert number.changes_nothing(factor)
    assert not number.changes_nothing(1.001)


def test_two_numbers_in_a_sentence_differ_in_what_is_written() -> None:
    own = own_attempt(problem(query=[[1.0, 2.0]], key=[[1.0, 0.0], [0.0, 1.0]], softcap=2.0))
    (attempt,) = with_slip(own, SLIPS["softcap_value"], 2.00000004)
    assert attempt.sentence == "The softcap is 2.00000004 instead of 2."


@pytest.mark.parametrize(
    ("factor", "more", "mistake"),
    [(3.7, {"key_mask": np.arange(31) < 23}, "no_mask"), (1.25, {"causal": True}, "causal_off_by_one")],
    ids=["padding that takes part", "strictly causal"],
)
def test_a_factor_of_the_scores_is_found_together_with_another_mistake(
    factor: float, more: Mapping[str, Any], mistake: str
) -> None:
    query, key, value = (normal(31, 8, seed=at) for at in range(3))
    scores = factor * query @ key.T / np.sqrt(8)
    if mistake == "causal_off_by_one":
        scores = np.where(np.tri(31, 31, -1, dtype=bool), scores, -np.inf)
    largest = scores.max(axis=1, keepdims=True)
    powers = np.exp(scores - np.where(np.isfinite(largest), largest, 0))
    total = powers.sum(axis=1, keepdims=True)
    output = powers / np.where(total > 0, total, 1) @ value
    (found,) = attncli.check(against={"output": output}, query=query, key=key, value=value, **more).explained_by
    assert set(found.slips) == {mistake, "scale_factor"}
    assert found.parameters["factor"] == pytest.approx(factor)


def test_halves_that_are_averaged_without_a_scale_are_found() -> None:
    query, key, value = (normal(16, 8, seed=at) for at in range(3))
    powers = np.exp(query @ key.T)
    halves = [powers[:, part] @ value[part] / powers[:, part].sum(axis=1, keepdims=True) for part in np.s_[:8, 8:]]
    (found,) = attncli.check(against={"output": sum(halves) / 2}, query=query, key=key, value=value).explained_by
    assert set(found.slips) == {"no_scale", "splits_averaged"}
