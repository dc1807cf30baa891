"""Norms in a plan: where they stand, what they read, and that they equal inputs that were normalized before."""

from typing import Any

import numpy as np
import pytest

import attncli
from attncli import attention
from attncli.plan.build import build_plan
from tests.arrays import normal
from tests.problems import CACHE, GROUPS, HEAD_AXIS, WIDE, B, D, E, G, H, K, N, P, problem


def rms(x: np.ndarray, gain: Any = 1.0, eps: float = 0.0) -> np.ndarray:
    return gain * x / np.sqrt(np.mean(x**2, axis=-1, keepdims=True) + eps)


def layer(x: np.ndarray, gain: Any = 1.0, bias: Any = 0.0) -> np.ndarray:
    return gain * (x - x.mean(axis=-1, keepdims=True)) / x.std(axis=-1, keepdims=True) + bias


def heads_of(x: np.ndarray, heads: int) -> np.ndarray:
    """[b n h·d] to [b n h d], whose last axis is one head's."""
    return x.reshape(*x.shape[:-1], heads, -1)


QUERY, KEY, VALUE = WIDE["query"], WIDE["key"], WIDE["value"]
KEYS = {**GROUPS, "score": "dot"}


def assert_equal_attention(given: dict[str, Any], **arrays: np.ndarray) -> None:
    """The problem with norms has the output of that whose arrays were normalized before, without norms."""
    expected = attention(**{**WIDE, **KEYS, **arrays}).output
    np.testing.assert_allclose(attention(**WIDE, **KEYS, **given).output, expected, rtol=1e-12)


def test_each_head_is_normalized_with_one_gain_or_its_own() -> None:
    gain, of_heads = normal(D), normal(G, D)
    assert_equal_attention(
        {"qk_norm": {"rms": {"query_gain": gain, "key_gain": of_heads, "eps": 0.1}}},
        query=rms(heads_of(QUERY, H), gain, 0.1).reshape(QUERY.shape),
        key=rms(heads_of(KEY, G), of_heads, 0.1).reshape(KEY.shape),
    )


def test_gains_of_the_heads_may_stand_side_by_side() -> None:
    of_heads = normal(G, E)
    flat, rows = (
        attention(**WIDE, **KEYS, value_norm={"layer": {"gain": gain}}).output for gain in (of_heads.ravel(), of_heads)
    )
    np.testing.assert_array_equal(flat, rows)


def test_all_heads_are_normalized_together() -> None:
    gains = {"query_gain": normal(H * D), "key_gain": normal(G * D), "key_bias": normal(G, D)}
    assert_equal_attention(
        {"qk_norm": {"layer": {**gains, "over": "all"}}, "value_norm": "rms:over=all"},
        query=layer(QUERY, gains["query_gain"]),
        key=layer(KEY, gains["key_gain"], gains["key_bias"].ravel()),
        value=rms(VALUE),
    )


@pytest.mark.parametrize("when", ["before_rope", "after_rope"])
def test_all_heads_of_inputs_with_a_head_axis_are_normalized_together(when: str) -> None:
    def side_by_side(x: np.ndarray) -> np.ndarray:
        return x.swapaxes(1, 2).reshape(B, x.shape[2], -1)

    norm = {"layer": {"query_gain": normal(H * D), "key_gain": normal(G * D), "over": "all", "when": when}}
    keys = {"position": "rope", "qk_norm": norm, "context_norm": "rms:over=all"}
    with_axis = attention(**HEAD_AXIS, **keys)
    wide = attention(**{name: side_by_side(x) for name, x in HEAD_AXIS.items()}, **GROUPS, **keys)
    np.testing.assert_allclose(side_by_side(with_axis.output), wide.output, rtol=1e-12)


def test_a_norm_after_rope_is_that_of_rotated_vectors() -> None:
    gains = {"query_gain": normal(D), "key_gain": normal(D)}
    trace = attention(**HEAD_AXIS, position="rope", qk_norm={"rms": {**gains, "when": "after_rope"}}).trace
    for role in ("query", "key"):
        expected = rms(trace[f"rotated_{role}"].value, gains[f"{role}_gain"])
        np.testing.assert_allclose(trace[f"normalized_{role}"].value, expected, rtol=1e-12)
        assert trace.plan["scores"].inputs["query"] == "normalized_query"


def test_cached_keys_and_values_are_normalized_already() -> None:
    given = {"qk_norm": {"rms": {"key_gain": normal(D)}}, "value_norm": "layer"}
    trace = attention(**HEAD_AXIS, **CACHE, **given).trace
    for role in ("key", "value"):
        present = trace[f"present_{role}"].value
        np.testing.assert_array_equal(present[:, :, :P], CACHE[f"past_{role}"])
        np.testing.assert_array_equal(present[:, :, P:], trace[f"normalized_{role}"].value)


@pytest.mark.parametrize("over", ["head", "all"])
def test_the_next_cache_has_normalized_keys(over: str) -> None:
    keys = {**WIDE, **GROUPS, "qk_norm": f"layer:over={over}", "value_norm": f"rms:over={over}"}
    first = {name: x[:, :4] for name, x in WIDE.items()}
    rest = {name: x[:, 4:] for name, x in WIDE.items() if name != "query"} | {"query": WIDE["query"][:, 4:]}
    before = attention(**{**keys, **first}, select=("present_key", "present_value"))
    cache = {"past_key": before.present_key, "past_value": before.present_value}
    whole, last = attention(**keys), attention(**{**keys, **rest}, **cache)
    np.testing.assert_allclose(last.output, whole.output[:, 4:], rtol=1e-12)


def test_queries_of_another_sequence_are_normalized_too() -> None:
    x, y, gain = normal(N, 6), normal(3, 6, seed=1), normal(6)
    result = attention(embeddings=x, query_embeddings=y, qk_norm={"rms": {"query_gain": gain}}, score="dot")
    expected = attention(rms(y, gain), rms(x), x, score="dot")
    np.testing.assert_allclose(result.output, expected.output, rtol=1e-12)


@pytest.mark.parametrize("over", ["head", "all"])
def test_the_context_is_normalized_before_w_o(over: str) -> None:
    gain, w_o = normal(H * E), normal(H * E, 3)
    context = attention(**WIDE, **GROUPS).output  # without w_o the merged heads
    parts = heads_of(context, H if over == "head" else 1)
    expected = rms(parts, gain.reshape(parts.shape[-2:])).reshape(context.shape) @ w_o
    result = attention(**WIDE, **GROUPS, w_o=w_o, context_norm={"rms": {"gain": gain, "over": over}})
    np.testing.assert_allclose(result.output, expected, rtol=1e-10)
    np.testing.assert_array_equal(result.trace["context"].value.shape, (B, H, N, E))


def test_only_norms_that_are_given_are_in_the_plan() -> None:
    plan = build_plan(problem(**WIDE, **GROUPS, qk_norm="l2"))
    assert [str(node) for node in plan.nodes if node.stage.endswith("_norm")] == [
        "l2(x=query_heads)",
        "l2(x=key_heads)",
    ]


def test_a_gain_has_the_symbol_of_what_it_belongs_to() -> None:
    given = {"rms": {"query_gain": [1, 2], "key_gain": [1, 2], "key_bias": [0, 1], "gain_plus_one": True}}
    plan = build_plan(problem(embeddings=[[1, 2]], qk_norm=given))
    assert plan["normalized_query"].formula == "(1 + γ_Q) u / √(mean(u²))"
    assert plan["normalized_key"].formula == "(1 + γ_K) u / √(mean(u²)) + β_K"


def test_norms_are_not_read_beside_given_scores() -> None:
    result = attncli.Problem(scores=normal(N, K), value=normal(K, E), value_norm="rms", context_norm="rms").compute()
    plain = attncli.Problem(scores=normal(N, K), value=rms(normal(K, E))).compute()
    np.testing.assert_allclose(result.output, rms(plain.output), rtol=1e-12)
