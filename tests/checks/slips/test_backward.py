"""Slips of the backward pass: each is named, with its number, in the gradients of a kernel that makes the mistake."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from attncli.checks.check import check
from attncli.checks.report import CheckOptions, CheckReport
from attncli.checks.slips import SLIPS
from attncli.checks.slips.search import own_attempt, run_attempt, with_slip
from tests.arrays import booleans, normal
from tests.checks.slips.wrong_gradients import accumulated, gradients
from tests.problems import problem

B, H, G, N, M, D = 2, 4, 2, 6, 9, 4
Keys = Mapping[str, Any]


def given(queries: int = N, keys: int = M, kv_heads: int = H, seed: int = 0, **more: Any) -> dict[str, Any]:
    """A problem of two batch items and four heads."""
    sizes = {"query": (H, queries), "key": (kv_heads, keys), "value": (kv_heads, keys), "grad_output": (H, queries)}
    arrays = {name: normal(B, *size, D, seed=seed + at) for at, (name, size) in enumerate(sizes.items())}
    return {**arrays, **more}


PLAIN, SQUARE = given(), given(M, M)
CAUSAL, GROUPED = given(M, M, causal=True), given(kv_heads=G)
CAPPED = given(M, M, softcap=1.5, causal=True, bias=normal(1, 1, M, M, seed=9))
TURNED = given(M, M, position="rope")
SINK = given(sink=normal(H, seed=8))
QUERY, KEY, VALUE = "grad_query", "grad_key", "grad_value"

# The slip, the problem, the mistake, and the number that it has.
CASES: tuple[tuple[str, Keys, Any, float | None], ...] = (
    ("scale_left_out_backwards", PLAIN, [QUERY, KEY], None),
    ("scale_left_out_backwards", PLAIN, [KEY], None),
    ("scale_left_out_backwards", given(scale=0.3), [QUERY], None),
    ("scaled_twice_backwards", PLAIN, [QUERY, KEY], None),
    ("scaled_twice_backwards", given(kv_heads=G, scale=0.3), [KEY], None),
    ("gradient_factor", PLAIN, {KEY: 3.7}, 3.7),
    ("gradient_factor", PLAIN, {VALUE: 0.9}, 0.9),
    ("gradient_factor", CAPPED, {"scores": 1.3}, 1.3),
    ("weights_gradient_factor", PLAIN, 1 / 0.9, 1 / 0.9),
    ("row_sums_left_out", PLAIN, True, None),
    ("row_sums_factor", CAUSAL, 1.25, 1.25),
    ("row_sums_of_another_head", PLAIN, 1, None),
    ("row_sums_of_another_head", PLAIN, -1, None),
    ("row_sums_of_another_query", PLAIN, 1, None),
    ("row_sums_of_rounded_output", PLAIN, 7, None),
    ("softcap_left_out_backwards", CAPPED, True, None),
    ("softcap_factor_of_other_scores", CAPPED, "capped", None),
    ("softcap_factor_of_other_scores", CAPPED, "biased", None),
    ("softcap_factor_of_other_scores", CAPPED, "scores", None),
    ("groups_not_summed", GROUPED, [KEY, VALUE], None),
    ("groups_not_summed", GROUPED, [VALUE], None),
    ("groups_averaged_backwards", given(kv_heads=G, causal=True, scale=0.3), [KEY], None),
    ("groups_tiled_backwards", GROUPED, [KEY, VALUE], None),
    ("broadcast_gradient_not_summed", CAPPED, "averaged", None),
    ("broadcast_gradient_not_summed", given(bias=normal(B, 1, N, M)), "last", None),
    ("lse_in_base_2_backwards", PLAIN, True, None),
    ("lse_of_another_head", PLAIN, 1, None),
    ("sink_left_out_backwards", SINK, "weights", None),
    ("sink_left_out_backwards", SINK, "all", None),
    ("sink_left_out_backwards", SINK, "sums", None),
    ("sink_gradient_sign", SINK, -1, None),
    ("no_mask_backwards", given(mask=booleans(N, M) | (np.arange(M) == 0)), True, None),
    ("no_causal_backwards", CAUSAL, True, None),
    ("no_window_backwards", given(M, M, window=(2, 1)), True, None),
    ("causal_added_backwards", SQUARE, True, None),
    ("causal_top_left_backwards", given(causal=True, align="bottom_right"), True, None),
    ("causal_bottom_right_backwards", given(causal=True), True, None),
    ("causal_off_by_one_backwards", CAUSAL, 1, 1),
    ("window_too_wide_backwards", given(M, M, window=(2, 1)), (4, 3), 2),
    ("window_too_narrow_backwards", given(M, M, window=(4, 3)), (3, 2), 1),
    ("value_gradient_of_unnormalized_weights", CAUSAL, True, None),
    ("value_gradient_of_rounded_weights", PLAIN, 7, None),
    ("rope_turned_again", TURNED, [QUERY, KEY], None),
    ("rope_turned_again", TURNED, [KEY], None),
    ("rope_not_turned_back", TURNED, [QUERY], None),
    ("gradient_of_unturned_vectors", TURNED, KEY, None),
    ("gradient_of_unturned_vectors", given(M, M, G, position="rope"), QUERY, None),
    ("product_not_transposed", SQUARE, KEY, None),
    ("product_not_transposed", SQUARE, VALUE, None),
    ("tile_overwritten", given(keys=7), {"tile": 4, "joined": {QUERY: lambda parts: parts[-1]}}, 4),
    ("tile_overwritten", PLAIN, {"tile": 2, "joined": {KEY: lambda parts: sum(parts[1:])}}, 2),
    ("broadcast_gradient_not_summed", CAPPED, "first", None),
    ("accumulated_in_half", PLAIN, {"tile": 2, "joined": {QUERY: accumulated}}, 2),
)


def checked(keys: Keys, mistakes: Mapping[str, Any]) -> CheckReport:
    """The report on gradients in float32 with mistakes."""
    floats = {name for name, x in keys.items() if isinstance(x, np.ndarray) and x.dtype.kind == "f"}
    arrays = {name: x.astype(np.float32) if name in floats else x for name, x in keys.items()}
    wide = {name: x.astype(np.float64) if name in floats else x for name, x in arrays.items()}
    expected = {name: x.astype(np.float32) for name, x in gradients(wide, **mistakes).items()}
    return check(problem(**arrays), expected, CheckOptions())


@pytest.mark.parametrize("keys", [PLAIN, GROUPED, CAPPED, TURNED, SINK, given(M, M, window=(2, 1))])
def test_gradients_without_a_mistake_agree(keys: Keys) -> None:
    assert checked(keys, {}).agrees


DEEP = [pytest.param(*case, marks=() if at % 5 == 0 else pytest.mark.deep) for at, case in enumerate(CASES)]


@pytest.mark.parametrize(("slip", "keys", "mistake", "number"), DEEP, ids=lambda x: x if isinstance(x, str) else "")
def test_a_slip_is_named_in_gradients_that_have_it(slip: str, keys: Keys, mistake: Any, number: float | None) -> None:
    report = checked(keys, mistake if isinstance(mistake, dict) and "tile" in mistake else {slip: mistake})
    assert next(result for result in report.results if result.name == "output").agrees
    found = {explanation.slips: explanation for explanation in report.explanations}
    assert found.keys() == {(slip,)}
    if number is not None:
        (parameter,) = found[slip,].parameters.values()
        np.testing.assert_allclose(parameter, number, rtol=0.01)


@pytest.mark.parametrize(("slip", "keys", "mistake", "number"), CASES, ids=lambda x: x if isinstance(x, str) else "")
def test_a_slip_computes_the_gradients_of_the_kernel_that_has_it(
    slip: str, keys: Keys, mistake: Any, number: float | None
) -> None:
    wrong = gradients(keys, **(mistake if isinstance(mistake, dict) and "tile" in mistake else {slip: mistake}))
    own = own_attempt(problem(**keys).with_gradient(), on_demand=tuple(wrong))
    own.compute_known_values()
    made = [run_attempt(one, wrong) for one in with_slip(own, SLIPS[slip], number)]
    assert any(all(are_alike(found[name], x) for name, x in wrong.items()) for found in made)


def are_alike(found: np.ndarray, expected: np.ndarray) -> bool:
    """Whether two arrays have one shape, and the same numbers but for rounding."""
    return found.shape == expected.shape and np.allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_every_slip_of_the_backward_pass_is_in_a_kernel() -> None:
    assert {slip for slip, *_ in CASES} == {name for name, slip in SLIPS.items() if slip.is_backward}


@pytest.mark.parametrize("slip", [name for name, slip in SLIPS.items() if slip.is_backward])
def test_a_slip_of_the_backward_pass_is_not_tried_where_no_gradient_is_checked(slip: str) -> None:
    assert not list(with_slip(own_attempt(problem(**CAPPED)), SLIPS[slip]))


def test_a_factor_of_the_scale_is_said_as_the_scale() -> None:
    (explanation,) = checked(PLAIN, {"scale_left_out_backwards": [KEY]}).explanations
    assert explanation.sentence == "The scale is left out of dK, which is 2 times the correct one."
