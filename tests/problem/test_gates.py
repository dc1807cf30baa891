"""The gate of the output, limits of projections and the scale of values, as keys of a problem."""

from typing import Any

import numpy as np
import pytest

import attncli
from attncli.base.errors import AttnError
from tests.arrays import normal
from tests.problems import problem

# Rows, features of the sequence, heads, features of a head.
N, X, H, D = 3, 5, 2, 4
WEIGHTS = {name: normal(X, H * D, seed=at) for at, name in enumerate(("w_q", "w_k", "w_v"))}
PLAIN: dict[str, Any] = {"embeddings": normal(N, X), "heads": H, **WEIGHTS}
W_G, B_G = normal(X, H * D, seed=7), normal(H * D, seed=8)


def output(**keys: Any) -> np.ndarray:
    return attncli.Problem(**keys).compute(select=("output",)).output


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 0.5 + 0.5 * np.tanh(x / 2)


def test_the_output_is_the_merged_heads_times_the_gate_before_w_o() -> None:
    w_o = normal(H * D, 3, seed=9)
    expected = (output(**PLAIN) * sigmoid(PLAIN["embeddings"] @ W_G + B_G)) @ w_o
    np.testing.assert_allclose(output(**PLAIN, w_g=W_G, b_g=B_G, w_o=w_o), expected, rtol=1e-12)


def test_a_gate_is_made_of_the_sequence_that_asks() -> None:
    queries = normal(4, X, seed=5)
    cross = {**PLAIN, "query_embeddings": queries}
    expected = output(**cross) * sigmoid(queries @ W_G)
    np.testing.assert_allclose(output(**cross, w_g=W_G), expected, rtol=1e-12)
    np.testing.assert_allclose(output(**cross, w_g=W_G, only=[2]), expected[2:3], rtol=1e-12)


def test_queries_and_gates_are_packed_head_by_head() -> None:
    columns = [np.split(weights, H, axis=1) for weights in (WEIGHTS["w_q"], W_G)]
    packed = np.concatenate([columns[0][0], columns[1][0], columns[0][1], columns[1][1]], axis=1)
    keys = {name: value for name, value in PLAIN.items() if name != "w_q"}
    np.testing.assert_allclose(output(**keys, w_qg=packed), output(**PLAIN, w_g=W_G), rtol=1e-12)


def test_queries_keys_and_values_are_limited_after_their_bias() -> None:
    keys = {"embeddings": [[1.0, 2.0]], "w_v": [[1, 1], [0, -2]], "b_v": [3, 0], "clip_qkv": 2}
    found = attncli.Problem(**keys).compute(select=("clipped_query", "clipped_key", "clipped_value"))
    assert found.clipped_query.tolist() == found.clipped_key.tolist() == [[1, 2]]
    assert found.clipped_value.tolist() == [[2, -2]]  # of [4, −3]


def test_values_are_scaled_and_cached_ones_are_not() -> None:
    keys = {"query": [[0.0]], "key": [[1.0]], "value": [[4.0]], "past_key": [[1.0]], "past_value": [[1.0]]}
    assert output(**keys, value_scale=0.5).tolist() == [[(1 + 2) / 2]]


def test_a_gate_without_a_projection_is_not_read() -> None:
    assert problem(embeddings=normal(2, 2), gate="silu").unread == {"gate": "there is no projection of a gate"}


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (
            {**PLAIN, "w_g": normal(X, 3)},
            "w_g: w_g has 3 columns (u); w_v has 8 columns (e), over 2 heads; merged heads have 8 (e); "
            "give a gate for each of 8 merged features, or one for each of 2 heads",
        ),
        (
            {"query": normal(2, 4), "key": normal(3, 4), "w_g": normal(X, 4)},
            "w_g: query is already projected, so w_g would not be used; "
            "leave out w_g, or give embeddings instead of query",
        ),
        (
            {**PLAIN, "w_qg": normal(X, 16)},
            "w_q: w_qg includes w_q, so w_q would not be used; leave out w_q or w_qg",
        ),
        (
            {"embeddings": normal(N, X), "scores": normal(2, N), "w_g": normal(X, X)},
            "w_g: each query has a gate, projected from its embedding; scores has 2 rows (n); embeddings has 3",
        ),
        ({**PLAIN, "clip_qkv": 0}, "clip_qkv: 0 is out of range; expected a number greater than 0"),
    ],
)
def test_what_contradicts_a_gate_is_an_error_that_says_what_to_do(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(AttnError) as caught:
        problem(**keys)
    assert str(caught.value) == message


def test_gates_are_not_read_where_there_is_no_output() -> None:
    found = attncli.Problem(scores=[[1, 2]], w_g=[[1.0]])
    assert found.compute().weights.shape == (1, 2)
