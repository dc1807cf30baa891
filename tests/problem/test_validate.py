"""Contradictions between keys, and lengths that disagree: errors with both sides."""

import re
from typing import Any

import pytest

from attncli import attention
from attncli.base.errors import AttnError
from attncli.engine.run import run
from tests.problems import problem

X = [[1.0, 2.0, 3.0]] * 5
W = {(rows, columns): [[0.5] * columns] * rows for rows in range(1, 8) for columns in range(1, 8)}

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "nothing at all": ({}, "no input; give embeddings, or query and key, or"),
    "keys without queries": ({"key": X}, "nobody asks; give query, query_embeddings or embeddings"),
    "values without keys": ({"embeddings": X, "value": X}, "value is given and key is not; give key too"),
    "weights that do not fit": (
        {"embeddings": X, "w_q": W[4, 2]},
        "w_q has 4 rows (x); embeddings has 3 columns (x)",
    ),
    "weights stored the other way": (
        {"embeddings": X, "w_q": W[3, 2], "weight_layout": "out_in"},
        "w_q has 2 columns (x); embeddings has 3 columns (x)",
    ),
    "queries and keys of two widths": (
        {"embeddings": X, "w_q": W[3, 2]},
        "embeddings has 3 columns (d); w_q has 2 columns (d)",
    ),
    "as many keys as values": (
        {"query": X, "key": X, "value": W[4, 2]},
        "value has 4 rows (m); key has 5 rows (m)",
    ),
    "a bias that does not fit": (
        {"embeddings": X, "w_q": W[3, 3], "b_q": [1, 2]},
        "b_q has 2 numbers (d); w_q has 3 columns (d)",
    ),
    "output weights that do not fit": (
        {"embeddings": X, "w_o": W[2, 2]},
        "w_o has 2 rows (e); embeddings has 3 columns (x)",
    ),
    "too few labels": ({"embeddings": X, "tokens": ["a", "b"]}, "tokens: there are 2 labels for 5 keys"),
    "too many labels": (
        {"query": X[:1], "key": X, "query_tokens": ["a", "b"]},
        "query_tokens: there are 2 labels for 1",
    ),
    "too few labels of the query sequence": (
        {"embeddings": X, "query_embeddings": X[:2], "query_tokens": ["a"]},
        "query_tokens: there is 1 label for 2 queries",
    ),
    "key weights for keys that are given": (
        {"query": X, "key": X, "w_v": W[3, 3]},
        "w_v: key is already projected, so w_v would not be used; leave out w_v",
    ),
    "queries that would not be used": (
        {"query": X, "embeddings": X, "query_embeddings": X},
        "query_embeddings: query is already projected, so query_embeddings would not be used",
    ),
    "values that heads do not divide": (
        {"embeddings": W[5, 4], "w_v": W[4, 3], "heads": 2},
        "heads: 2 heads can't share the 3 features of the values; choose a divisor of 3",
    ),
    "an output bias that does not fit": (
        {"embeddings": X, "w_o": W[3, 2], "b_o": [1, 2, 3]},
        "b_o has 3 numbers (o); w_o has 2 columns (o)",
    ),
    "heads that do not divide": (
        {"embeddings": X, "heads": 2},
        "heads: 2 heads can't share the 3 features of the queries; choose a divisor of 3",
    ),
    "weights that would not be used": (
        {"query": X, "key": X, "w_q": W[3, 3]},
        "w_q: query is already projected, so w_q would not be used; leave out w_q",
    ),
    "embeddings that would not be used": (
        {"query": X, "key": X, "embeddings": X},
        "embeddings: query and key are given",
    ),
    "a score without its matrix": (
        {"embeddings": X, "score": "general"},
        "score: general needs w; for example general:w=w.csv",
    ),
    "a normalizer without its number": ({"embeddings": X, "normalize": "topk"}, "normalize: topk needs k; for example"),
    "a score whose matrix does not fit": (
        {"embeddings": X, "score": {"general": {"w": W[2, 3]}}},
        "score, w has 2 rows (d); embeddings has 3 columns (x)",
    ),
    "a score whose matrices disagree": (
        {"embeddings": X, "score": {"additive": {"w1": W[3, 2], "w2": W[3, 4], "v": [1, 2]}}},
        "score, w2 has 4 columns (a); score, w1 has 2 columns (a)",
    ),
    "a location for too few keys": (
        {"embeddings": X, "score": {"location": {"w": W[3, 4]}}},
        "score, w has 4 columns (m); embeddings has 5 rows (m)",
    ),
    "a score's matrix with an axis too many": (
        {"embeddings": X, "score": {"additive": {"w1": W[3, 2], "w2": W[3, 2], "v": [[[1, 2]]]}}},
        "score, v: has 3 axes; expected 1 (a)",
    ),
    "an attentional matrix that does not fit": (
        {"embeddings": X, "context": {"attentional": {"w": W[3, 2]}}},
        "context, w has 3 rows (e+d); ",
    ),
    "probabilities that are none": (
        {"embeddings": X, "normalize": "relu", "context": "sample"},
        "context: sample draws with the weights as probabilities; relu makes none; normalize with softmax",
    ),
    "a query that is not there": ({"embeddings": X, "only": ["dog"]}, "only: unknown token 'dog'"),
    "a position that is not there": (
        {"embeddings": X, "only": [5]},
        "only: there is no position 5; positions go from 0 to 4",
    ),
}


@pytest.mark.parametrize(("keys", "message"), REFUSED.values(), ids=REFUSED)
def test_a_contradiction_is_an_error_with_both_keys(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(AttnError) as caught:
        problem(**keys)
    assert str(caught.value).startswith(message)
    assert not re.search(r"(?<![\w.])1 (?!is\b|has\b|attends\b)[a-z]+s\b", str(caught.value)), "one thing is no plural"


SIZES: dict[str, tuple[dict[str, Any], str, str]] = {
    "more tokens than embeddings": ({"embeddings": X, "token_count": 7}, "token_count", "embeddings"),
    "embeddings of another width": ({"embeddings": X, "dim": 7}, "dim", "embeddings"),
    "query weights of another width": ({"embeddings": X, "w_q": W[3, 2], "w_k": W[3, 2], "d_k": 7}, "d_k", "w_"),
    "value weights of another width": ({"embeddings": X, "w_v": W[3, 2], "d_v": 7}, "d_v", "w_v"),
}


@pytest.mark.parametrize(("keys", "size", "matrix"), SIZES.values(), ids=SIZES)
def test_a_size_that_contradicts_an_array_is_an_error(keys: dict[str, Any], size: str, matrix: str) -> None:
    with pytest.raises(AttnError) as caught:
        problem(**keys)
    assert size in str(caught.value)
    assert matrix in str(caught.value)
    assert "7" in str(caught.value)


@pytest.mark.parametrize(
    "keys",
    [
        {"embeddings": X, "w_k": W[3, 2], "score": {"general": {"w": W[3, 2]}}},
        {
            "query": W[2, 3],
            "key": W[5, 4],
            "score": {"additive": {"w1": W[4, 2], "w2": W[3, 2], "v": [1, 2], "b": 0.5}},
        },
        {"embeddings": X, "heads": 3, "w_v": W[3, 6], "w_o": W[6, 2], "b_o": [1, 2]},
        {"embeddings": X, "context": {"attentional": {"w": W[6, 2]}}, "w_o": W[2, 7]},
    ],
)
def test_lengths_that_agree_are_accepted(keys: dict[str, Any]) -> None:
    assert run(problem(**keys)).output.ndim == 2


def test_queries_and_keys_have_as_many_axes() -> None:
    with pytest.raises(AttnError, match="key: key has 2 axes; query has 3"):
        attention([[[1.0]]], [[1.0]])
