"""Latent attention with a mistake in it, as DeepSeek has it, by hand in NumPy; nothing here is the program's code."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from tests.arrays import normal

# Heads, tokens, features of an embedding, of the latents, of a query and key of their own, of those shared, of a value.
HEADS, N, X, LATENT, OWN, SHARED, E = 2, 19, 11, 7, 6, 8, 5
MSCALE = 0.1 * np.log(40) + 1
YARN = {"type": "yarn", "factor": 40.0, "original_max_position_embeddings": 64, "mscale": 1.0, "mscale_all_dim": 1.0}

Keys = Mapping[str, Any]


def given(seed: int = 0, *, interleaved: bool = True, yarn: bool = True) -> dict[str, Any]:
    """Keys of a problem: queries, keys and values are made of latents, and YaRN stretches rope where it is wanted."""
    shapes = {
        "w_q_latent": (X, LATENT),
        "w_q": (LATENT, HEADS * (OWN + SHARED)),
        "w_kv_latent": (X, LATENT),
        "w_k": (LATENT, HEADS * OWN),
        "w_v": (LATENT, HEADS * E),
        "w_k_rope": (X, SHARED),
    }
    weights = {name: normal(*shape, seed=seed + at) / 2 for at, (name, shape) in enumerate(shapes.items())}
    scaled = {"scale": float(MSCALE**2 / np.sqrt(OWN + SHARED))} if yarn else {}
    rope = {"interleaved": interleaved, **({"scaling": YARN} if yarn else {})}
    embeddings = normal(1, N, X, seed=seed + 9)
    more = {"heads": HEADS, "causal": True, "q_latent_norm": "rms", "kv_latent_norm": "rms", "position": {"rope": rope}}
    return {"embeddings": embeddings, **weights, **more, **scaled}


def normed(x: np.ndarray) -> np.ndarray:
    return x / np.sqrt((x**2).mean(axis=-1, keepdims=True))


def frequencies(features: int, keys: Keys) -> np.ndarray:
    """How fast each pair turns: slow pairs 40 times slower by YaRN, those between the ends in part."""
    plain = 10_000.0 ** (-np.arange(0, features, 2) / features)
    if "scaling" not in keys["position"]["rope"]:
        return plain
    fast, slow = (features * np.log(64 / (turns * 2 * np.pi)) / (2 * np.log(10_000)) for turns in (32, 1))
    low, high = max(np.floor(fast), 0), min(np.ceil(slow), features - 1)
    part = np.clip((np.arange(features // 2) - low) / (high - low), 0, 1)
    return plain * (1 - part) + plain / 40 * part


def turned(x: np.ndarray, keys: Keys, mistakes: Keys) -> np.ndarray:
    """Rows [n f], each pair turned as a complex number: neighbours, or one feature of each half."""
    interleaved = keys["position"]["rope"]["interleaved"] != ("pairs_exchanged" in mistakes)
    half = x.shape[1] // 2
    pairs = x[:, 0::2] + 1j * x[:, 1::2] if interleaved else x[:, :half] + 1j * x[:, half:]
    pairs = pairs * np.exp(1j * np.outer(np.arange(len(x)), frequencies(x.shape[1], keys)))
    pairs = pairs * (MSCALE if mistakes.get("mscale_twice") == "turned" else 1)
    if interleaved:
        return np.stack([pairs.real, pairs.imag], axis=-1).reshape(x.shape)
    return np.concatenate([pairs.real, pairs.imag], axis=1)


def queries_and_keys(
    query: np.ndarray, own: np.ndarray, shared: np.ndarray, keys: Keys, mistakes: Keys
) -> tuple[np.ndarray, np.ndarray]:
    """The query and the key of a head [n d], their last features turned."""
    key = np.concatenate([own, shared], axis=1)
    part = mistakes.get("rope_on_wrong_part")
    if part == "all":
        return turned(query, keys, mistakes), turned(key, keys, mistakes)
    if part == "first":
        rows = (query, key)
        first, second = (np.concatenate([turned(x[:, :SHARED], keys, mistakes), x[:, SHARED:]], axis=1) for x in rows)
        return first, second
    rest, last = (query[:, SHARED:], query[:, :SHARED]) if part == "query" else (query[:, :OWN], query[:, OWN:])
    query = np.concatenate([rest, turned(last, keys, mistakes)], axis=1)
    return query, np.concatenate([own, turned(shared, keys, mistakes)], axis=1)


def latent_attention(keys: Keys, **mistakes: Any) -> np.ndarray:
    """The output [1 n h·e], head by head; `scale_of_latent` is the width whose root the scores are divided by."""
    x = keys["embeddings"][0]
    query_latent = normed(x @ keys["w_q_latent"])
    latent = normed(x @ keys["w_kv_latent"])
    width = mistakes.get("scale_of_latent", OWN + SHARED)
    power = {"forgotten": 0, "once": 1, "twice": 4}.get(mistakes.get("mscale"), 2)
    scale = (MSCALE**power if "scale" in keys else 1) / np.sqrt(width)
    outputs = []
    for head in range(HEADS):
        query = query_latent @ keys["w_q"][:, head * (OWN + SHARED) : (head + 1) * (OWN + SHARED)]
        own = latent @ keys["w_k"][:, head * OWN : (head + 1) * OWN]
        query, key = queries_and_keys(query, own, x @ keys["w_k_rope"], keys, mistakes)
        scores = np.where(np.tri(N, dtype=bool), scale * query @ key.T, -np.inf)
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        value = latent @ keys["w_v"][:, head * E : (head + 1) * E]
        outputs.append(powers / powers.sum(axis=1, keepdims=True) @ value)
    return np.concatenate(outputs, axis=1)[None]
