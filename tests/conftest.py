"""Problems that use everything: each layout, mask, position, norm, sink, cap and cache, at sizes that are primes."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import settings

from attncli.problem.spec import ProblemSpec
from tests.problems import problem

settings.register_profile("quick", max_examples=25, deadline=None)

# Batch items, query heads per key head, key heads, queries, new keys, cached keys, features of keys and of values.
B, R, G, N, K, P, D, E = 2, 3, 2, 5, 7, 3, 4, 11
H, M = R * G, P + K


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(list(shape)).standard_normal(shape)


def truths(*shape: int) -> np.ndarray:
    return np.random.default_rng(list(shape)).random(shape) < 0.7


def bias(*shape: int) -> np.ndarray:
    return np.where(truths(*shape), numbers(*shape), -np.inf)


WIDE = {"query": numbers(B, N, H * D), "key": numbers(B, K, G * D), "value": numbers(B, K, G * E)}
APART = {"query": numbers(B, H, N, D), "key": numbers(B, G, K, D), "value": numbers(B, G, K, E)}
CACHE = {"past_key": numbers(B, G, P, D), "past_value": numbers(B, G, P, E)}
GROUPS = {"heads": H, "kv_heads": G}
SEQUENCE = {
    "embeddings": numbers(N, 13),
    "w_q": numbers(13, H * D),
    "w_k": numbers(13, G * D),
    "w_v": numbers(13, G * E),
}

PROBLEMS: Mapping[str, Mapping[str, Any]] = {
    "causal in groups": {**APART, "causal": True, "mask": truths(H, N, K)},
    "sparsemax, causal, in groups": {**APART, "causal": True, "normalize": "sparsemax", "score": "dot"},
    "a cache and a window": {**APART, **CACHE, "causal": True, "window": (2, 0), "qk_norm": "l2"},
    "heads side by side, padding": {**WIDE, **GROUPS, "key_lengths": [3, 7], "align": "bottom_right", "causal": True},
    "heads side by side, a cache": {
        **WIDE,
        **GROUPS,
        **CACHE,
        "position": "rope:interleaved=true",
        "w_o": numbers(66, 3),
    },
    "a cache like the keys": {
        **WIDE,
        **GROUPS,
        "past_key": numbers(B, P, G * D),
        "past_value": numbers(B, P, G * E),
        "mask": truths(N, M - 2),
    },
    "one head, a cap and a bias": {"query": numbers(N, D), "key": numbers(K, D), "softcap": 2.0, "bias": bias(N, K)},
    "a batch without heads": {
        "query": numbers(B, N, D),
        "key": numbers(B, K, D),
        "mask": truths(B, N, K),
        "key_lengths": [0, 4],
        "sink": 0.3,
    },
    "some queries of a mask and a bias": {**APART, "mask": truths(N, K), "bias": bias(B, H, N, K), "only": [3, -1]},
    "some queries of another sequence": {**SEQUENCE, **GROUPS, "query_embeddings": numbers(3, 13), "only": [2]},
    "a sink in every head": {**APART, "sink": numbers(H), "bias": bias(B, 1, N, K), "normalize": "entmax:alpha=1.4"},
    "rope of some features": {**SEQUENCE, **GROUPS, "position": "rope:dims=2,offset=3,scaling=2", "causal": True},
    "rope at the end": {
        **APART,
        "position": "rope",
        "align": "bottom_right",
        "key_lengths": [5, 6],
        "dtype": "float32",
    },
    "alibi": {**APART, "position": "alibi", "align": "bottom_right", "window": (1, float("inf"))},
    "alibi of one head": {"query": numbers(N, D), "key": numbers(K, D), "position": "alibi", "only": [3, 1]},
    "alibi beside padding": {**APART, "position": "alibi", "align": "bottom_right", "key_lengths": [5, 6]},
    "t5": {**APART, "position": {"t5": {"table": numbers(8, H), "max_distance": 9}}, "score": "dot"},
    "t5 beside padding": {
        **APART,
        "position": {"t5": {"table": numbers(8, H), "bidirectional": False}},
        "align": "bottom_right",
        "key_lengths": [5, 6],
    },
    "shaw": {**APART, "position": {"shaw": {"table": numbers(5, D)}}, "softcap": 3.0},
    "shaw with a scale": {**APART, "position": {"shaw": {"table": numbers(5, D)}}, "score": "dot", "scale": 0.7},
    "sinusoidal": {**SEQUENCE, **GROUPS, "position": "sinusoidal:base=50", "only": [4, 0]},
    "learned": {
        **SEQUENCE,
        **GROUPS,
        "query_embeddings": numbers(3, 13),
        "position": {"learned": {"table": numbers(9, 13), "offset": 2}},
        "qk_norm": "rms:eps=0.01",
    },
    "half a type": {**APART, "causal": True, "dtype": "bfloat16", "context": "max"},
    "a context of its own": {**APART, "context": {"attentional": {"w": numbers(E + D, 17)}}, "key_lengths": [7, 2]},
}


@pytest.fixture(params=PROBLEMS, ids=lambda name: name.replace(" ", "_"))
def loaded(request: pytest.FixtureRequest) -> ProblemSpec:
    """One of the problems above."""
    return problem(**PROBLEMS[request.param])


def pytest_configure(config: pytest.Config) -> None:
    """The quick tests draw fewer examples of what has no number of its own."""
    if "not slow" in config.option.markexpr:
        settings.load_profile("quick")
