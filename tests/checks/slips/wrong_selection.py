"""Attention to the keys that an indexer chooses, with a mistake in it, by hand in NumPy; no code of the program."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from tests.arrays import normal

# Tokens, features of an embedding, heads of the indexer and their features, features that turn, keys that are kept.
N, X, HEADS, OWN, TURNED, KEPT = 19, 10, 3, 8, 6, 4

Keys = Mapping[str, Any]


def given(seed: int = 0, rope: str = "halves") -> dict[str, Any]:
    """Keys of a problem: one head of attention, causal, and an indexer that chooses a few keys of each query."""
    shapes = {"w_q": (X, X), "w_k": (X, X), "w_v": (X, X)}
    shapes |= {"w_q_index": (X, HEADS * OWN), "w_k_index": (X, OWN), "w_h_index": (X, HEADS)}
    weights = {name: normal(*shape, seed=seed + at) / 2 for at, (name, shape) in enumerate(shapes.items())}
    gain, bias = 1 + normal(OWN, seed=seed + 7) / 4, normal(OWN, seed=seed + 8) / 4
    more = {"k_index_norm": {"layer": {"gain": gain, "bias": bias, "eps": 1e-3}}, "index_rope": rope}
    turns = {"position": {"rope": {"dims": TURNED, "base": 100.0}}}
    mask = {"mask": f"causal & top:keys={KEPT}"}
    return {"embeddings": normal(1, N, X, seed=seed + 9), **weights, **more, **turns, **mask}


def turned(x: np.ndarray, rope: str) -> np.ndarray:
    """Rows [n f] whose first features turn in pairs, as complex numbers: neighbours, or one feature of each half."""
    half, first = TURNED // 2, x[:, :TURNED]
    pairs = first[:, 0::2] + 1j * first[:, 1::2] if rope == "pairs" else first[:, :half] + 1j * first[:, half:]
    pairs = pairs * np.exp(1j * np.outer(np.arange(len(x)), 100.0 ** (-np.arange(half) / half)))
    if rope == "pairs":
        first = np.stack([pairs.real, pairs.imag], axis=-1).reshape(len(x), TURNED)
    else:
        first = np.concatenate([pairs.real, pairs.imag], axis=1)
    return np.concatenate([first, x[:, TURNED:]], axis=1)


def index_scores(keys: Keys, mistakes: Keys) -> np.ndarray:
    """The scores of the indexer [n n], head by head."""
    x, norm = keys["embeddings"][0], keys["k_index_norm"]["layer"]
    key = x @ keys["w_k_index"]
    if "no_index_norm" not in mistakes:
        centred = key - key.mean(axis=1, keepdims=True)
        key = norm["gain"] * centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-3) + norm["bias"]
    rope = mistakes.get("index_rope", keys["index_rope"])
    scores = np.zeros((N, N))
    for head in range(HEADS):
        query = x @ keys["w_q_index"][:, head * OWN : (head + 1) * OWN]
        products = turned(query, rope) @ turned(key, rope).T if rope else query @ key.T
        weight = 1 if "no_index_weights" in mistakes else (x @ keys["w_h_index"])[:, head : head + 1]
        scores += weight * (products if "no_index_relu" in mistakes else products.clip(0))
    return scores


def chosen(scores: np.ndarray, causal: np.ndarray, mistakes: Keys) -> np.ndarray:
    """The keys that each query keeps, row by row, in the order of their scores."""
    seen = np.zeros((N, N), dtype=bool)
    for row in range(N):
        among = range(N) if "top_before_mask" in mistakes else np.flatnonzero(causal[row])
        best = sorted(among, key=lambda at, row=row: (-scores[row, at], at))[: mistakes.get("kept", KEPT)]
        seen[row, best] = True
    return seen & causal


def selective_attention(keys: Keys, **mistakes: Any) -> np.ndarray:
    """The output [1 n e]; `index_rope` is how the indexer's features turn in place of what is right, "" not at all."""
    x, causal = keys["embeddings"][0], np.tri(N, dtype=bool)
    query, key = (turned(x @ keys[name], "halves") for name in ("w_q", "w_k"))
    seen = chosen(index_scores(keys, mistakes), causal, mistakes)
    scores = np.where(seen, query @ key.T / np.sqrt(X), -np.inf)
    with np.errstate(invalid="ignore"):
        powers = np.where(seen, np.exp(scores - scores.max(axis=1, keepdims=True)), 0)
        weights = np.nan_to_num(powers / powers.sum(axis=1, keepdims=True))
    return (weights @ (x @ keys["w_v"]))[None]
