"""Decays and rates of recurrences: in attn's order of axes, in that of ONNX's operator, or refused where both fit."""

from typing import Any

import numpy as np
import pytest

from attncli import attention
from attncli.base.errors import AttnError

B, N, G, D = 2, 3, 2, 2
RANDOM = np.random.default_rng(5)


def drawn(*shape: int) -> np.ndarray:
    return -RANDOM.random(shape)


def problem(heads: int, kv_heads: int, count: int = N) -> dict[str, Any]:
    """Queries with heads side by side, which share key heads."""
    arrays = {"query": drawn(B, count, heads * D), **{name: drawn(B, count, kv_heads * D) for name in ("key", "value")}}
    return {**arrays, "heads": heads, "kv_heads": kv_heads}


def states_by_hand(keys: dict[str, Any], heads: int, number: Any) -> np.ndarray:
    """The last state of each key head of a `gated_delta` recurrence; `number` has its decays and betas."""
    found = np.zeros((B, heads, D, D))
    for b, head in np.ndindex(B, heads):
        for token in range(keys["key"].shape[1]):
            key, value = (keys[name][b, token].reshape(heads, D)[head] for name in ("key", "value"))
            state = np.exp(number("decay", b, head, token)).reshape(-1, 1) * found[b, head]
            found[b, head] = state + np.outer(key, number("beta", b, head, token) * (value - state.T @ key))
    return found


@pytest.mark.parametrize("heads", [1, G, 2 * G])
@pytest.mark.parametrize("kind", ["per head", "per feature", "one rate for all heads"])
def test_arrays_of_the_operator_of_onnx_are_read_in_its_layout(heads: int, kind: str) -> None:
    kv_heads = min(heads, G)
    keys = problem(heads, kv_heads, kv_heads)  # as many tokens as key heads: shapes tell nothing
    decay = drawn(B, kv_heads, kv_heads * (D if kind == "per feature" else 1))
    beta = drawn(B, kv_heads, 1 if kind == "one rate for all heads" else kv_heads)
    found = attention(
        **keys, recurrence="gated_delta", decay=decay, beta=beta, convention="onnx", select=["present_state"]
    ).present_state

    def number(name: str, b: int, head: int, token: int) -> np.ndarray:
        row = {"decay": decay, "beta": beta}[name][b, token]
        return row.reshape(kv_heads, -1)[head] if row.size > 1 else row

    by_hand = states_by_hand(keys, kv_heads, number)
    np.testing.assert_allclose(found, by_hand if heads > 1 else by_hand[:, 0], rtol=1e-12)


@pytest.mark.parametrize("name", ["decay", "beta"])
@pytest.mark.parametrize("layout", [None, "bnhd"])
def test_what_fits_both_orders_is_refused_unless_its_numbers_are_the_same(name: str, layout: str | None) -> None:
    keys = problem(N, N)
    if layout:
        keys = {x: keys[x].reshape(B, N, N, D) for x in ("query", "key", "value")} | {"layout": layout}
    rule = {"decay": "gated", "beta": "delta"}[name]
    with pytest.raises(AttnError) as error:
        attention(**keys, recurrence=rule, **{name: drawn(B, N, N)})
    assert error.value.message.endswith("(batch, heads, tokens) and as (batch, tokens, heads): there are 3 of both")
    both = drawn(B, N, N)
    turned = attention(**keys, recurrence=rule, **{name: both.swapaxes(1, 2)}, convention="attn").output
    np.testing.assert_array_equal(attention(**keys, recurrence=rule, **{name: both}, convention="onnx").output, turned)
    symmetric = both + both.swapaxes(1, 2)
    attention(**keys, recurrence=rule, **{name: symmetric})


def test_heads_before_tokens_are_not_doubted_where_queries_have_them_so() -> None:
    arrays = {name: drawn(B, N, N, D) for name in ("query", "key", "value")}
    assert attention(**arrays, recurrence="gated", decay=drawn(B, N, N)).output.shape == (B, N, N, D)


def test_what_fits_the_operator_alone_is_an_error_that_names_it() -> None:
    with pytest.raises(AttnError) as error:
        attention(**problem(G, G), recurrence="gated", decay=drawn(B, N, G * D))
    assert error.value.hint == "--as onnx reads (batch, tokens, heads · features)"


@pytest.mark.parametrize(("name", "size"), [("decay", 3), ("beta", 3), ("beta", 4)])
def test_numbers_of_no_heads_are_an_error_of_the_operator(name: str, size: int) -> None:
    rule = {"decay": "gated", "beta": "delta"}[name]
    with pytest.raises(AttnError, match=f"has {size} numbers of each token; there are 2 key heads"):
        attention(**problem(G, G), recurrence=rule, **{name: drawn(B, N, size)}, convention="onnx")
