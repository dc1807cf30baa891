"""Sparse selection: the scores of an indexer and the keys that are chosen by them, against loops by hand."""

from typing import Any

import numpy as np
import pytest

import attncli
from attncli import AttnError
from attncli.ops.selection import index_scores, top
from tests.arrays import normal

N, M, HEADS, OWN, X = 7, 11, 3, 5, 6
INDEXER = {"w_q_index": normal(X, HEADS * OWN), "w_k_index": normal(X, OWN), "w_h_index": normal(X, HEADS)}
SEQUENCE = {"embeddings": normal(N, X), **INDEXER}


def test_an_index_score_is_the_weighted_sum_of_the_positive_products() -> None:
    query, key, weights = normal(HEADS, N, OWN), normal(1, M, OWN), normal(N, HEADS)
    expected = np.zeros((N, M))
    for row, column, head in np.ndindex(N, M, HEADS):
        product = sum(q * k for q, k in zip(query[head, row], key[0, column], strict=True))
        expected[row, column] += weights[row, head] * max(product, 0) / (HEADS * OWN) ** 0.5
    np.testing.assert_allclose(index_scores(query, key, weights), expected, rtol=1e-12)


@pytest.mark.parametrize("keys", [1, 3, M])
def test_the_highest_of_the_keys_that_others_leave_are_kept(keys: int) -> None:
    scores, seen = np.round(normal(N, M)), np.tri(N, M, 2, dtype=bool)  # with equal scores
    visible = top(scores, seen, keys=keys)
    for row in range(N):
        by_hand = sorted(np.flatnonzero(seen[row]), key=lambda key, row=row: (-scores[row, key], key))[:keys]
        assert np.flatnonzero(visible[row]).tolist() == sorted(by_hand)


def test_of_equal_scores_the_first_keys_are_kept() -> None:
    assert np.flatnonzero(top(np.zeros((1, M)), keys=4)).tolist() == [0, 1, 2, 3]


def test_a_score_of_minus_infinity_is_kept_before_a_key_that_another_rule_hides() -> None:
    scores = np.array([[-np.inf, -np.inf, 1.0]])
    assert top(scores, np.array([[False, True, True]]), keys=2).tolist() == [[False, True, True]]


def test_given_scores_choose_as_an_indexer_with_these_does() -> None:
    names = ("index_scores", "visible", "output")
    made = attncli.attention(**SEQUENCE, mask="causal & top:keys=2", select=names)
    given = attncli.attention(SEQUENCE["embeddings"], SEQUENCE["embeddings"], SEQUENCE["embeddings"],
        index_scores=made.index_scores, mask="causal & top:keys=2", select=names)  # fmt: skip
    np.testing.assert_array_equal(made.visible, given.visible)
    np.testing.assert_array_equal(made.output, given.output)


def test_a_token_after_a_cache_sees_what_it_sees_among_all_tokens() -> None:
    keys: dict[str, Any] = {**INDEXER, "k_index_norm": "layer", "position": "rope:dims=4", "index_rope": "halves"}
    keys |= {"causal": True, "mask": "top:keys=3"}
    x = SEQUENCE["embeddings"]
    whole = attncli.attention(embeddings=x, **keys, select=("output", "present_key", "rotated_index_key"))
    past = {"past_key": whole.present_key[: N - 2], "past_value": x[: N - 2]}
    past["past_index_key"] = whole.rotated_index_key[0, : N - 2]
    part = attncli.attention(embeddings=x[N - 2 :], **keys, **past)
    np.testing.assert_allclose(part.output, whole.output[N - 2 :], rtol=1e-12)


@pytest.mark.parametrize("size", [64, 500])
def test_blocks_of_a_large_problem_choose_as_the_whole_table_does(size: int) -> None:
    arrays = {name: normal(size, 4, seed=at) for at, name in enumerate(("query", "key", "value"))}
    keys = {**arrays, "index_scores": normal(size, size), "mask": "causal & (top:keys=5 | prefix:size=2)"}
    whole = attncli.attention(**keys, select=("visible", "weights", "output"))
    assert (whole.visible.sum(axis=1) <= 7).all()
    blocks = attncli.attention(**keys, executor="threads")
    np.testing.assert_allclose(blocks.output, whole.weights @ arrays["value"], rtol=1e-12)


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"mask": "top:keys=2"}, "top chooses keys by index scores, which are missing"),
    ({"w_q_index": INDEXER["w_q_index"], "mask": "top:keys=2"}, "w_q_index is given without w_k_index"),
    ({**INDEXER, "index_scores": normal(N, N), "mask": "top:keys=2"}, "index_scores are given, but w_q_index"),
    ({**INDEXER, "w_h_index": normal(X, 2), "mask": "top:keys=2"}, "w_q_index has 15 columns"),
    ({**INDEXER, "mask": "top:keys=2", "index_rope": "halves"}, "there is no rope"),
    (
        {**INDEXER, "mask": "top:keys=2", "index_rope": "halves", "position": "rope"},
        "rope rotates the indexer's first 6 features",
    ),
    ({**INDEXER, "mask": "top:keys=2", "past_key": normal(2, X), "past_value": normal(2, X)}, "past_key is given wit"),
    ({**INDEXER, "mask": "top:keys=0"}, "0"),
    ({"index_scores": normal(N, N - 1), "mask": "top:keys=2"}, "index_scores has 6 keys"),
]


@pytest.mark.parametrize(("keys", "message"), WRONG, ids=[message for _, message in WRONG])
def test_what_an_indexer_lacks_is_named(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(AttnError, match=message):
        attncli.attention(embeddings=SEQUENCE["embeddings"], **keys)


def test_no_gradient_passes_through_the_choice() -> None:
    problem = attncli.Problem(**SEQUENCE, mask="top:keys=2", grad_output=[[1.0]])
    with pytest.raises(AttnError, match="no gradient reaches w_q_index"):
        problem.compute("grad_w_q_index")
