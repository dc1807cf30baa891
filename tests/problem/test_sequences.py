"""Packed sequences, `cu_seqlens`: each is computed as if it were alone."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import attncli
from attncli.base.errors import AttnError
from attncli.engine.options import BlockSizes, RunOptions
from attncli.engine.run import run
from attncli.problem.spec import ProblemSpec
from tests.arrays import bias, booleans, normal
from tests.problems import dense_trace, problem

# Query heads, key heads, features of keys and of values; the rows of four sequences, one of which has no query.
H, G, D, E = 4, 2, 6, 3
QUERY_LENGTHS, KEY_LENGTHS = (3, 5, 0, 4), (5, 3, 2, 4)
N, M = sum(QUERY_LENGTHS), sum(KEY_LENGTHS)
QUERY, KEY, VALUE = normal(N, H, D), normal(M, G, D), normal(M, G, E)


def bounds(lengths: tuple[int, ...]) -> list[int]:
    """Cumulative lengths, from 0."""
    return [0, *np.cumsum(lengths).tolist()]


def rows(lengths: tuple[int, ...], number: int) -> slice:
    """The rows of one sequence."""
    return slice(sum(lengths[:number]), sum(lengths[: number + 1]))


def packed(**keys: Any) -> ProblemSpec:
    """The problem of the packed sequences."""
    given = {"query": QUERY, "key": KEY, "value": VALUE, "layout": "nhd", "cu_seqlens": bounds(QUERY_LENGTHS)}
    return problem(**{**given, "cu_seqlens_k": bounds(KEY_LENGTHS), **keys})


def one_by_one(**keys: Any) -> np.ndarray:
    """The answer of each sequence by itself, those of all after one another, (rows, heads, features)."""
    answers = [np.zeros((0, H, E))]
    for number in range(len(QUERY_LENGTHS)):
        of_queries, of_keys = rows(QUERY_LENGTHS, number), rows(KEY_LENGTHS, number)
        if QUERY_LENGTHS[number]:
            arrays = {"query": QUERY[of_queries], "key": KEY[of_keys], "value": VALUE[of_keys]}
            alone = problem(**{**arrays, "layout": "nhd", "align": "bottom_right", **keys})
            answers.append(dense_trace(alone)["context"].value[0].swapaxes(0, 1))
    return np.concatenate(answers)


KEYS: list[Mapping[str, Any]] = [
    {},
    {"causal": True},
    {"causal": True, "align": "top_left"},
    {"window": (2, 1)},
    {"window": (1, 0), "align": "top_left"},
    {"position": "alibi"},
    {"position": "alibi", "causal": True, "align": "top_left"},
    {"position": {"t5": {"table": normal(8, H), "max_distance": 4}}},
    {"position": {"shaw": {"table": normal(7, D)}}, "causal": True},
    {"position": "rope", "causal": True},
    {"position": "rope:base=50", "align": "top_left"},
    {"position": {"rope": {"scaling": {"rope_type": "default", "rope_theta": 30}}}, "window": (3, 0)},
    {"softcap": 2.0, "sink": normal(H)},
    {"normalize": "sparsemax", "causal": True},
]


@pytest.mark.parametrize("keys", KEYS, ids=str)
def test_a_packed_sequence_is_computed_as_if_it_were_alone(keys: Mapping[str, Any]) -> None:
    found = dense_trace(packed(**keys))["context"].value
    np.testing.assert_allclose(found[0].swapaxes(0, 1), one_by_one(**keys), rtol=1e-12, atol=1e-12)


def test_a_loop_over_the_sequences_by_hand() -> None:
    found = dense_trace(packed(causal=True))["context"].value[0]
    for number in range(4):
        of_queries, of_keys = rows(QUERY_LENGTHS, number), rows(KEY_LENGTHS, number)
        for i, at in enumerate(range(N)[of_queries]):
            count = max(i + 1 + KEY_LENGTHS[number] - QUERY_LENGTHS[number], 0)  # FlashAttention's bottom right
            for head in range(H):
                keys, values = (x[of_keys, head // 2][:count] for x in (KEY, VALUE))
                weights = np.exp(keys @ QUERY[at, head] / np.sqrt(D))
                expected = weights @ values / weights.sum() if count else np.zeros(E)
                np.testing.assert_allclose(found[head, at], expected, rtol=1e-12)


def test_masks_and_biases_are_tables_of_all_rows() -> None:
    keys = {"mask": booleans(N, M), "bias": bias(H, N, M), "causal": True}
    together = np.zeros((N, M), dtype=bool)
    for number in range(4):
        together[rows(QUERY_LENGTHS, number), rows(KEY_LENGTHS, number)] = True
    found = dense_trace(packed(**keys))["visible"].value
    assert not found[..., ~together].any()
    assert not found[..., ~keys["mask"]].any()
    assert found.any()


@pytest.mark.parametrize("keys", KEYS, ids=str)
def test_blocks_give_the_same(keys: Mapping[str, Any]) -> None:
    spec = packed(**keys)
    sizes = BlockSizes(0, 3, 3, 30, 4, 50, alone_multiplications=0)
    in_blocks = run(spec, ("context",), options=RunOptions("serial", sizes=sizes)).context
    np.testing.assert_allclose(in_blocks, dense_trace(spec)["context"].value, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("position", ["sinusoidal", "rope", "alibi"])
def test_tokens_of_packed_sequences_count_from_the_first_of_their_own(position: str) -> None:
    tokens, weights = normal(7, D), {"w_q": normal(D, D), "w_k": normal(D, D)}
    keys: dict[str, Any] = {**weights, "position": position, "heads": 2 if position != "rope" else 1, "causal": True}
    together = dense_trace(problem(embeddings=tokens, cu_seqlens=[0, 3, 7], **keys))["output"].value
    alone = [dense_trace(problem(embeddings=part, **keys))["output"].value for part in (tokens[:3], tokens[3:])]
    np.testing.assert_allclose(together, np.concatenate(alone), rtol=1e-12, atol=1e-12)


SELF = {"query": normal(5, D), "key": normal(5, D)}


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"cu_seqlens": [1, 5]}, "cu_seqlens: begins with 1, not with 0; sequence i has the rows from number i to"),
        ({"cu_seqlens": [0, 3, 2, 5]}, "cu_seqlens: decreases from 3 to 2; expected cumulative lengths, 0,3,5 of"),
        ({"cu_seqlens": [0, 3, 4]}, "cu_seqlens: cu_seqlens ends at 4; query has 5 rows (n)"),
        ({"cu_seqlens": [0]}, "cu_seqlens: has no sequence; give the first row of each sequence"),
        ({"cu_seqlens": [0, 2.5]}, "cu_seqlens: 2.5 is not a whole number from 0"),
        ({"cu_seqlens": [0, 5], "cu_seqlens_k": [0, 2, 5]}, "cu_seqlens_k: cu_seqlens has 1 sequence; cu_seqlens_k"),
        ({"cu_seqlens": [0, 5], "cu_seqlens_k": [0, 6]}, "cu_seqlens_k: cu_seqlens_k ends at 6; key has 5 rows (m)"),
        ({"cu_seqlens_k": [0, 5]}, "cu_seqlens: cu_seqlens_k is given without cu_seqlens; give both"),
        ({"cu_seqlens": [0, 5], "key": normal(6, D)}, "cu_seqlens: cu_seqlens ends at 5; key has 6 rows (m); "),
        ({"cu_seqlens": [0, 5], "key_lengths": [4]}, "key_lengths: cu_seqlens and key_lengths are both given"),
        ({"cu_seqlens": [0, 5], "mask": "chunked:size=2"}, "mask: chunked counts from the first key, not from each"),
        (
            {"cu_seqlens": [0, 3, 5], "query": normal(5, 2, D), "key": normal(5, 2, D)},
            "cu_seqlens: query has 5 batch items (b); packed sequences are one; "
            "it fits layout nhd, (tokens, heads, features): give layout=\"nhd\"",
        ),
        (
            {"cu_seqlens": [0, 5], "query": normal(2, 5, D), "key": normal(2, 5, D)},
            "cu_seqlens: query has 2 batch items (b); packed sequences are one; it fits layout hnd",
        ),
    ],
)  # fmt: skip
def test_bounds_that_are_not_those_of_the_rows_are_one_line(keys: Mapping[str, Any], message: str) -> None:
    with pytest.raises(AttnError) as caught:
        problem(**{**SELF, **keys})
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_flash_attention_packs_tokens_heads_features_and_aligns_at_the_end() -> None:
    given = {"query": QUERY, "key": KEY, "value": VALUE, "cu_seqlens": bounds(QUERY_LENGTHS)}
    spec = attncli.Problem(**given, cu_seqlens_k=bounds(KEY_LENGTHS), causal=True, convention="flash").spec
    assert (spec.layout, spec.align) == ("nhd", "bottom_right")
    np.testing.assert_array_equal(dense_trace(spec)["context"].value, dense_trace(packed(causal=True))["context"].value)
