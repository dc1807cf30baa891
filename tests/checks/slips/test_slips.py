"""Slips: each of them computes what a NumPy attention with that mistake does."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from attncli.checks.check import check
from attncli.checks.report import CheckOptions
from attncli.checks.slips import SLIPS, Slip
from attncli.checks.slips.search import Attempt, attempts, own_attempt, run_attempt, with_slip
from attncli.problem.spec import ProblemSpec
from tests.arrays import normal
from tests.checks.slips.numbered_mistakes import MISTAKES
from tests.checks.slips.wrong_attention import attention, in_digits, log_sum_exp
from tests.checks.slips.wrong_cases import PAIRS, Case, H, T, cases, given
from tests.checks.slips.wrong_units import UNIT_MISTAKES
from tests.problems import PROBLEMS, problem

NAMES = ("scores", "weights", "output")


def variants(spec: ProblemSpec, slip: str) -> list[Attempt]:
    return list(with_slip(own_attempt(spec), SLIPS[slip]))


def by_heads(results: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Tables of one head with the axis of heads that several heads have."""
    return {name: x if name == "output" or x.ndim == 3 else x[None] for name, x in results.items()}


def assert_are_results(attempt: Attempt, wrong: Mapping[str, np.ndarray]) -> None:
    """An attempt computes these numbers."""
    found = by_heads(run_attempt(attempt, NAMES))
    for name in NAMES:
        np.testing.assert_allclose(found[name], wrong[name], rtol=1e-9, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("case", cases(0), ids=str)
def test_a_slip_computes_what_the_mistake_made_by_hand_does_and_not_what_is_right(case: Case) -> None:
    own = own_attempt(problem(**case.keys))
    own.compute_known_values()
    found = list(with_slip(own, SLIPS[case.slip]))
    assert len({attempt.sentence for attempt in found}) == len(found)
    wrong = attention(case.keys, **{case.slip: case.mistake})
    assert_are_results(found[case.variant], wrong)
    right = by_heads(run_attempt(own, NAMES))
    assert any(not np.allclose(right[name], wrong[name], rtol=1e-9, atol=1e-12) for name in NAMES)


@pytest.mark.parametrize(("keys", "mistakes"), PAIRS, ids=["+".join(mistakes) for _, mistakes in PAIRS])
def test_two_slips_together_compute_what_both_mistakes_made_by_hand_do(
    keys: Mapping[str, Any], mistakes: Mapping[str, Any]
) -> None:
    attempt = own_attempt(problem(**keys))
    for slip in sorted(mistakes, key=lambda name: not SLIPS[name].changes_problem):
        attempt = next(with_slip(attempt, SLIPS[slip]))
    assert_are_results(attempt, attention(keys, **mistakes))


@pytest.mark.parametrize(("variant", "digits"), [(0, 10), (1, 7)], ids=["float16", "bfloat16"])
def test_half_precision_rounds_every_step(variant: int, digits: int) -> None:
    def rounded(x: np.ndarray) -> np.ndarray:
        return in_digits(x, digits)

    keys = given(0, heads=1)
    query, key, value = (rounded(keys[name]) for name in ("query", "key", "value"))
    scores = rounded(query @ key.T / 2)
    powers = np.exp(scores)
    output = rounded(rounded(powers / powers.sum(axis=1, keepdims=True)) @ value)
    attempt = variants(problem(**keys), "half_precision")[variant]
    np.testing.assert_allclose(run_attempt(attempt, NAMES)["output"], output, rtol=2.0**-digits)


@pytest.mark.parametrize(("dtype", "score"), [("float16", 12.0), ("bfloat16", 89.0), ("float32", 89.0)])
def test_exponentials_without_the_maximum_overflow_in_the_type_that_is_checked(dtype: str, score: float) -> None:
    spec = problem(query=[[1.0]], key=[[1.0], [score]], value=[[2.0], [3.0]])
    first, *wider = with_slip(own_attempt(spec, dtype), SLIPS["no_maximum"])
    np.testing.assert_array_equal(run_attempt(first, ["weights"])["weights"], [[0, np.nan]])
    for attempt in wider:  # in float32, where the type is a half one
        is_overflow = score > 88.8
        assert np.isnan(run_attempt(attempt, ["weights"])["weights"]).any() == is_overflow


def test_steps_computed_in_half_precision_are_not_rounded_to_decimals_too() -> None:
    for half in variants(problem(**given(0)), "half_precision"):
        slips = [slip for name, slip in SLIPS.items() if name.endswith("_rounded")]
        assert [made.slips for slip in slips for made in with_slip(half, slip)] == []


def test_what_changes_nothing_that_is_visible_or_added_is_no_slip() -> None:
    plain = given(0, T, T)
    assert variants(problem(**plain, window=(2, 0)), "causal_added") == []
    for right in (0, 1):
        assert bool(variants(problem(**plain, causal=True, window=(2, right)), "no_causal")) == (right > 0)
    for slip, keys in {
        "causal_added": {**plain, "mask": np.tri(T, dtype=bool)},
        "bias_twice": {**plain, "bias": np.where(np.tri(T), 0, -np.inf)},
        "bias_scaled": {**plain, "bias": np.where(np.tri(T), 0, -np.inf)},
        "inputs_rounded": {name: np.round(x) if isinstance(x, np.ndarray) else x for name, x in plain.items()},
    }.items():
        assert variants(problem(**keys), slip) == [], slip


def test_every_slip_can_be_computed_where_new_keys_are_as_many_as_heads() -> None:
    arrays = {
        name: normal(2, 3, rows, 4) for name, rows in {"query": 5, "key": 3, "past_key": 2, "past_value": 2}.items()
    }
    for attempt in attempts(problem(**arrays, value=normal(2, 3, 3, 4))):
        assert np.shape(run_attempt(attempt, ["output"])["output"])[0] == 2


def test_a_slip_is_not_made_where_it_changes_no_step() -> None:
    names = {attempt.slips[0] for attempt in attempts(problem(query=normal(3, 1), key=normal(3, 1), causal=True))}
    scales = {"no_scale", "scale_by_d", "scaled_twice", "scale_inverted", "scale_by_model_width"}
    assert not names & scales  # √1 = 1
    assert not names & {"causal_bottom_right", "causal_top_left"}  # as many queries as keys
    assert not names & {"kv_heads_tiled", "softmax_over_heads", "rope_base", "no_mask", "stale_cache"}
    assert {"no_causal", "mask_inverted", "softmax_over_queries", "weights_rounded"} <= names


@pytest.mark.parametrize("slip", SLIPS.values(), ids=SLIPS)
def test_a_slip_says_in_words_what_it_is_and_where_it_can_be_made(slip: Slip) -> None:
    assert slip.sentence[0].isupper()
    assert slip.sentence.endswith(".")
    assert not slip.applies_where.endswith(".")


OF_LSE = (
    "lse_in_base_2",
    "lse_without_maximum",
    "lse_without_sink",
    "no_sink",
    "lse_of_unscaled_scores",
    "lse_not_logarithm",
    "lse_not_logarithm_nor_maximum",
    "lse_negative",
    "lse_is_maximum",
    "lse_in_two_bases",
)


@pytest.mark.parametrize("slip", OF_LSE)
@pytest.mark.parametrize("gives_output", [False, True])
def test_a_slip_of_the_log_sum_exp_explains_what_the_mistake_made_by_hand_computes(
    slip: str, gives_output: bool
) -> None:
    """With the output, which may be right or have the mistake too, no other does."""
    keys = {**given(0), "sink": normal(H)}
    expected = {"lse": log_sum_exp(keys, **{slip: True})}
    if gives_output:
        expected["output"] = attention(keys, **({slip: True} if slip == "no_sink" else {}))["output"]
    report = check(problem(**keys), expected, CheckOptions())
    # Without the output these are the same.
    alike = ({"lse_without_sink", "no_sink"}, {"lse_of_unscaled_scores", "no_scale", "scaled_after_softmax"})
    others = next((both for both in alike if slip in both and not gives_output), {slip})
    assert {name for explanation in report.explanations for name in explanation.slips} == others


def test_a_slip_of_the_log_sum_exp_is_not_tried_where_that_is_not_checked() -> None:
    spec = problem(**{**given(0), "sink": normal(H)})
    names = {attempt.slips[0] for attempt in attempts(spec)}
    assert not names & {"lse_in_base_2", "lse_without_sink"}
    checked = own_attempt(spec, on_demand=("lse",))
    assert [len(list(with_slip(checked, SLIPS[name]))) for name in OF_LSE] == [1] * len(OF_LSE)


def test_every_slip_has_a_mistake_made_by_hand() -> None:
    by_hand = {case.slip for case in cases(0)} | {mistake.slip for mistake in (*MISTAKES, *UNIT_MISTAKES)} | {*OF_LSE}
    forward = {name for name, slip in SLIPS.items() if not slip.is_backward}  # test_backward.py has the others
    assert by_hand | {"half_precision"} == forward


EVERYTHING = {
    **given(0, 5, 5, heads=6, kv_heads=2),
    "past_key": normal(3, 8),
    "past_value": normal(3, 8, seed=1),
    "position": "rope",
    "qk_norm": "l2",
    "query_scale": "power:length=2",
    "softcap": 2.0,
    "sink": normal(6),
    "bias": np.where(np.eye(5, 8) > 0, -np.inf, normal(5, 8)),
    "mask": np.arange(8) > 0,
    "key_mask": np.arange(8) > 1,
    "causal": True,
    "window": (4, 1),
    "normalize": "softmax:temperature=2",
}


LATENTS = {**PROBLEMS["a packed latent, of grouped heads that share a part, a cache"], "position": "rope"}


@pytest.mark.parametrize(
    "keys", [EVERYTHING, PROBLEMS["bfloat16"], LATENTS], ids=["nearly all keys", "bfloat16", "latents, a cache"]
)
def test_an_attempt_starts_from_what_is_known_and_has_the_same_numbers(keys: Mapping[str, Any]) -> None:
    spec = problem(**keys)
    own = own_attempt(spec)
    own.compute_known_values()
    for attempt, alone in zip(
        (attempt for slip in SLIPS.values() for attempt in with_slip(own, slip)), attempts(spec), strict=True
    ):
        for name, value in run_attempt(attempt, NAMES).items():
            np.testing.assert_array_equal(value, run_attempt(alone, NAMES)[name], err_msg=str(attempt.slips))
