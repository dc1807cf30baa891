"""Recurrences with a mistake in them, a loop by hand in NumPy; nothing here is the program's code."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from tests.arrays import normal

HEADS, N, D = 2, 23, 4

Keys = Mapping[str, Any]


def given(recurrence: str = "gated_delta:feature_map=l2", **more: Any) -> dict[str, Any]:
    """Keys of a problem with a recurrence of one batch item: arrays [h n d], [h n] and [h d d]."""
    names = recurrence.partition(":")[0]
    random = np.random.default_rng(1)
    arrays = {name: normal(1, HEADS, N, D, seed=at) for at, name in enumerate(("query", "key", "value"))}
    if "gated" in names:
        arrays["decay"] = -random.random((1, HEADS, N))
    if "delta" in names:
        arrays["beta"] = random.random((1, HEADS, N))
    return {**arrays, "past_state": normal(1, HEADS, D, D, seed=4), "recurrence": recurrence, **more}


def features(x: np.ndarray, keys: Keys, mistakes: Keys) -> np.ndarray:
    """A query or a key through l2, with an eps inside the root, where the recurrence has that map."""
    if "l2" not in keys["recurrence"] or "no_feature_map" in mistakes:
        return x
    return x / np.sqrt(x @ x + mistakes.get("feature_map_eps", 1e-6))


def recurrence(keys: Keys, **mistakes: Any) -> dict[str, np.ndarray]:
    """The output [1 h n e] and the state [1 h d e] after the last token, head by head and token by token."""
    output, states = np.zeros((1, HEADS, N, D)), np.zeros((1, HEADS, D, D))
    past = keys.get("past_state", states)
    if mistakes.get("state_transposed") == "past":
        past = past.swapaxes(2, 3)
    for head in range(HEADS):
        state = np.zeros((D, D)) if "no_past_state" in mistakes else past[0, head]
        total = np.zeros(D)  # of the keys
        for i in range(N):
            if "state_reset" in mistakes and i > 0 and i % mistakes["state_reset"] == 0:
                state = past[0, head] if "to_past" in mistakes else np.zeros((D, D))
            output[0, head, i], state, total = token(keys, mistakes, (head, i), state, total)
        states[0, head] = state.T if mistakes.get("state_transposed") == "present" else state
    return {"output": output, "present_state": states}


def token(
    keys: Keys, mistakes: Keys, at: tuple[int, int], state: np.ndarray, total: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What the query of one token reads, and the state and the sum of the keys after it."""
    query, key = (features(keys[name][0][at], keys, mistakes) for name in ("query", "key"))
    factor = 1.0
    if "decay" in keys and "no_decay" not in mistakes:
        logarithm = keys["decay"][0][at]
        factors = {"decay_not_exponentiated": logarithm, "decay_in_base_2": 2.0**logarithm}
        factors |= {"decay_to_first_order": 1 + logarithm}
        factor = next((factors[name] for name in mistakes if name in factors), np.exp(logarithm))
    is_late = "decay_after_write" in mistakes
    kept = state if is_late else factor * state
    written = keys["value"][0][at]
    if "beta" in keys:
        read_from = state if "error_before_decay" in mistakes else kept
        error = written if "no_read_back" in mistakes else written - read_from.T @ key
        written = error if "no_beta" in mistakes else keys["beta"][0][at] * error
        if "beta_on_value_alone" in mistakes:
            written = keys["beta"][0][at] * keys["value"][0][at] - read_from.T @ key
    after = kept + np.outer(key, written)
    after = factor * after if is_late else after
    read = kept if "read_before_write" in mistakes else state if "read_before_decay" in mistakes else after
    reading = (read if mistakes.get("state_transposed") == "read" else read.T) @ query
    total = factor * total + key
    if "normalize" in keys["recurrence"] and "readings_not_normalized" not in mistakes:
        return reading / (query @ total), after, total
    return mistakes.get("scale", keys.get("scale", D**-0.5)) * reading, after, total


def in_chunks(keys: Keys, wrong: str, size: int) -> np.ndarray:
    """The output [1 h n e] of chunks without a delta rule: what is carried into one and what it wrote itself, apart."""
    output = np.zeros((1, HEADS, N, D))
    for head in range(HEADS):
        state = keys["past_state"][0, head]
        for first in range(0, N, size):
            carried, own, plain, rows = state, np.zeros((D, D)), np.zeros((D, D)), range(first, min(first + size, N))
            parts = []
            for i in rows:
                factor = np.exp(keys["decay"][0, head, i]) if "decay" in keys else 1.0
                written = np.outer(keys["key"][0, head, i], keys["value"][0, head, i])
                carried, own, plain = factor * carried, factor * own + written, plain + written
                parts.append((carried, own, plain))
            for i, (before, within, undecayed) in zip(rows, parts, strict=True):
                read = {
                    "carried_state_not_decayed": state + within,
                    "state_not_decayed_over_chunk": before + within,
                    "no_decay_within_chunk": before + undecayed,
                    "chunk_read_twice": carried + own + within,
                }[wrong]
                output[0, head, i] = read.T @ keys["query"][0, head, i] / np.sqrt(D)
            state = (state if wrong == "state_not_decayed_over_chunk" else carried) + own
    return output
