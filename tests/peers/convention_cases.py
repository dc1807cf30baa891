"""Words of problems for conventions: the table of cases, and the arrays that a framework gets besides."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.arrays import booleans, normal

Words = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """Words, and the lengths of the arrays besides: n queries, m keys, key heads, keys in the cache."""

    words: Words = field(default_factory=dict)
    n: int = 5
    m: int = 7
    kv_heads: int = 6
    past: int = 0


# One query may attend to nothing where true attends, another one where true hides.
MASK = np.vstack([booleans(3, 7), np.ones((1, 7), bool), np.zeros((1, 7), bool)])
KEY_MASK = np.array([[1, 1, 0, 1, 0, 1, 1], [0, 1, 1, 0, 1, 0, 0]], bool)
KEY_LENGTHS = np.array([2, 7], np.int32)

CASES = {
    "the arrays alone": Case(),
    "mask": Case({"mask": MASK}),
    "key_mask": Case({"key_mask": KEY_MASK}),
    "bias": Case({"bias": normal(5, 7)}),
    "bias that hides": Case({"bias": np.where(booleans(5, 7), normal(5, 7), -np.inf)}),
    "causal, fewer queries than keys": Case({"causal": True}),
    "causal, more queries than keys": Case({"causal": True}, n=7, m=5),
    "causal and mask": Case({"causal": True, "mask": MASK}),
    "causal and key_mask": Case({"causal": True, "key_mask": KEY_MASK}),
    "causal and bias": Case({"causal": True, "bias": normal(5, 7)}),
    "cache": Case(past=2),
    "cache and causal": Case({"causal": True}, n=2, past=3),
    "cache and window": Case({"window": (2, 2)}, n=2, past=3),
    "window": Case({"window": (2, 2)}),
    "window, more queries than keys": Case({"window": (2, 2)}, n=7, m=3),
    "window of two numbers": Case({"window": (3, 1)}),
    "window without a limit on one side": Case({"window": (-1, 1)}),
    "window and causal": Case({"window": (2, 2), "causal": True}),
    "scale": Case({"scale": 0.25}),  # whose square root is no rounded number
    "score": Case({"score": "dot"}),
    "softcap": Case({"softcap": 0.5}),
    "softcap and mask": Case({"softcap": 0.5, "mask": MASK}),
    "fewer key heads": Case({"kv_heads": 2}, kv_heads=2),
    "key_lengths": Case({"key_lengths": KEY_LENGTHS}),
    "key_lengths and causal": Case({"key_lengths": KEY_LENGTHS, "causal": True}),
    "key_lengths and window": Case({"key_lengths": KEY_LENGTHS, "window": (1, 1)}),
    "sink": Case({"sink": normal(6)}),
    "matrices in one": Case({"w_qkv": normal(18, 6)}),
}


def projected(case: Case, value_features: int = 11) -> Words:
    """Query, key, value and cache [b h n d] of 6 query heads."""
    return {"query": normal(2, 6, case.n, 3), **_keys_and_values(case, (2, case.kv_heads), value_features)}


def projected_with_heads_third(case: Case) -> Words:
    """Query, key, value and cache [b n h d], with as many features in values as in keys."""
    return {name: np.swapaxes(array, 1, 2) for name, array in projected(case, value_features=3).items()}


def of_one_head(case: Case) -> Words:
    """Query, key, value and cache [b n d], without an axis of heads."""
    return {"query": normal(2, case.n, 3), **_keys_and_values(case, (2,), 11)}


def of_a_layer(case: Case) -> Words:
    """Two sequences [b n x], a cache, and the matrices of 2 heads, all square, so that either layout can be read.

    Where the case has those of queries, keys and values in one, that of the output is the only one besides.
    """
    names = ("w_o",) if "w_qkv" in case.words else ("w_q", "w_k", "w_v", "w_o")
    matrices = {name: normal(6, 6, seed=seed) for seed, name in enumerate(names)}
    sequences = {"query_embeddings": normal(2, case.n, 6), "embeddings": normal(2, case.m, 6)}
    return {**sequences, "heads": 2, **matrices, **_cache(case, (2,), {"key": 6, "value": 6})}


def _keys_and_values(case: Case, leading: tuple[int, ...], value_features: int) -> Words:
    """Keys of 3 features, and values, with the cache before them where there is one."""
    features = {"key": 3, "value": value_features}
    made = {name: normal(*leading, case.m, count) for name, count in features.items()}
    return {**made, **_cache(case, leading, features)}


def _cache(case: Case, leading: tuple[int, ...], features: dict[str, int]) -> Words:
    """The cache of keys and values, where there is one."""
    made = {f"past_{name}": normal(*leading, case.past, count, seed=1) for name, count in features.items()}
    return made if case.past else {}
