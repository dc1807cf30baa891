"""Problems for tests: `problem` makes one; PROBLEMS has every layout, mask, position, norm, sink, softcap and cache."""

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import attncli
from attncli.engine.run import run
from attncli.io.origin import Origin, RawValue
from attncli.io.problem_files import Document
from attncli.problem.spec import FIELDS, ProblemSpec
from attncli.trace.steps import Trace
from tests.arrays import bias, booleans, normal


def problem(**keys: Any) -> ProblemSpec:
    """The data of a problem with these keys; it shares no array with the test."""
    return attncli.Problem(**{name: copy.copy(value) for name, value in keys.items()}).spec


def dense_trace(spec: ProblemSpec) -> Trace:
    """Every step of a problem of any size, by the dense engine."""
    return run(spec, spec.default_selection[-1], every_step=True).trace


NO_ORIGIN = Origin()


def raw_values(origin: Origin = NO_ORIGIN, **keys: Any) -> Document:
    """These keys with their values as a reader of files or options hands them on."""
    return {name: RawValue(value, origin) for name, value in keys.items()}


def write_file(folder: Path, text: str, name: str = "p.yaml") -> str:
    """Write a text to a file in a folder; the result is its path."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def with_table(name: str, **keys: Any) -> dict[str, Any]:
    """The keys of the same problem that begins with the scores or the weights that it computes."""
    every_query = {key: value for key, value in keys.items() if key != "only"}
    trace = dense_trace(problem(**every_query))
    unread = ("scores",) if name == "scores" else ("scores", "weights")
    position = trace.problem.position
    makes_table = position is not None and position.record.acts_on != "embeddings"
    is_read_later = makes_table and name == "scores" and position.record.acts_on == "scores"
    kept = {key: value for key, value in keys.items() if FIELDS[key].last_result not in unread}
    if makes_table and not is_read_later:
        del kept["position"]
    if not kept.keys() & {"value", "embeddings"}:
        kept["value"] = trace["value"].value
    return {**kept, name: trace[name].value}


# Batch items, query heads per key head, key heads, queries, new keys, cached keys, features of keys and of values;
# all query heads, all keys.
B, R, G, N, K, P, D, E = 2, 3, 2, 5, 7, 3, 4, 11
H, M = R * G, P + K


# The heads side by side in the features, or on an axis of their own.
WIDE = {"query": normal(B, N, H * D), "key": normal(B, K, G * D), "value": normal(B, K, G * E)}
HEAD_AXIS = {"query": normal(B, H, N, D), "key": normal(B, G, K, D), "value": normal(B, G, K, E)}
CACHE = {"past_key": normal(B, G, P, D), "past_value": normal(B, G, P, E)}
GROUPS = {"heads": H, "kv_heads": G}
TOKENS = {
    "embeddings": normal(N, 13),
    "w_q": normal(13, H * D),
    "w_k": normal(13, G * D),
    "w_v": normal(13, G * E),
}

PROBLEMS: Mapping[str, Mapping[str, Any]] = {
    "causal, grouped heads": {**HEAD_AXIS, "causal": True, "mask": booleans(H, N, K)},
    "sparsemax, causal, grouped heads": {**HEAD_AXIS, "causal": True, "normalize": "sparsemax", "score": "dot"},
    "a cache and a window": {**HEAD_AXIS, **CACHE, "causal": True, "window": (2, 0), "qk_norm": "l2"},
    "heads in the features, padding": {
        **WIDE,
        **GROUPS,
        "key_lengths": [3, 7],
        "align": "bottom_right",
        "causal": True,
    },
    "heads in the features, padding on the left": {
        **WIDE,
        **GROUPS,
        "key_mask": np.arange(K) >= [[3], [0]],
        "align": "bottom_right",
        "window": (2, 0),
    },
    "heads in the features, a cache": {
        **WIDE,
        **GROUPS,
        **CACHE,
        "position": "rope:interleaved=true",
        "w_o": normal(66, 3),
    },
    "a cache with heads in the features": {
        **WIDE,
        **GROUPS,
        "past_key": normal(B, P, G * D),
        "past_value": normal(B, P, G * E),
        "mask": booleans(N, M - 2),
    },
    "one head, a softcap and a bias": {"query": normal(N, D), "key": normal(K, D), "softcap": 2.0, "bias": bias(N, K)},
    "a batch without heads": {
        "query": normal(B, N, D),
        "key": normal(B, K, D),
        "mask": booleans(B, N, K),
        "key_lengths": [0, 4],
        "sink": 0.3,
    },
    "selected queries, a mask and a bias": {
        **HEAD_AXIS,
        "mask": booleans(N, K),
        "bias": bias(B, H, N, K),
        "only": [3, -1],
    },
    "selected queries of another sequence": {
        **TOKENS,
        **GROUPS,
        "query_embeddings": normal(3, 13),
        "only": [2],
    },
    "a sink in every head": {
        **HEAD_AXIS,
        "sink": normal(H),
        "bias": bias(B, 1, N, K),
        "normalize": "entmax:alpha=1.4",
    },
    "rope of the first features": {
        **TOKENS,
        **GROUPS,
        "position": "rope:dims=2,offset=3,scaling=2",
        "causal": True,
    },
    "rope, aligned bottom right": {
        **HEAD_AXIS,
        "position": "rope",
        "align": "bottom_right",
        "key_lengths": [5, 6],
        "dtype": "float32",
    },
    "alibi": {**HEAD_AXIS, "position": "alibi", "align": "bottom_right", "window": (1, float("inf"))},
    "alibi of one head": {"query": normal(N, D), "key": normal(K, D), "position": "alibi", "only": [3, 1]},
    "alibi and padding": {**HEAD_AXIS, "position": "alibi", "align": "bottom_right", "key_lengths": [5, 6]},
    "t5": {**HEAD_AXIS, "position": {"t5": {"table": normal(8, H), "max_distance": 9}}, "score": "dot"},
    "t5 and padding": {
        **HEAD_AXIS,
        "position": {"t5": {"table": normal(8, H), "bidirectional": False}},
        "align": "bottom_right",
        "key_lengths": [5, 6],
    },
    "shaw": {**HEAD_AXIS, "position": {"shaw": {"table": normal(5, D)}}, "softcap": 3.0},
    "shaw with a scale": {
        **HEAD_AXIS,
        "position": {"shaw": {"table": normal(5, D)}},
        "score": "dot",
        "scale": 0.7,
    },
    "sinusoidal": {**TOKENS, **GROUPS, "position": "sinusoidal:base=50", "only": [4, 0]},
    "learned": {
        **TOKENS,
        **GROUPS,
        "query_embeddings": normal(3, 13),
        "position": {"learned": {"table": normal(9, 13), "offset": 2}},
        "qk_norm": "rms:eps=0.01",
    },
    "bfloat16": {**HEAD_AXIS, "causal": True, "dtype": "bfloat16", "context": "max"},
    "given scores, a bias and a mask": {
        "scores": normal(B, H, N, K),
        "value": normal(B, G, K, E),
        "softcap": 3.0,
        "bias": bias(B, 1, N, K),
        "causal": True,
        "position": "alibi",
        "key_lengths": [0, 6],
        "sink": normal(H),
        "only": [4, 1],
    },
    "given scores, embeddings and a cache": {
        "embeddings": normal(K, 13),
        "scores": normal(H, N, M),
        "w_v": normal(13, G * E),
        "past_value": normal(P, G * E),
        **GROUPS,
        "w_o": normal(66, 3),
        "position": "sinusoidal",
        "window": (2, 1),
        "align": "bottom_right",
        "dtype": "float32",
    },
    "rows without keys are uniform": {
        **HEAD_AXIS,
        "key_lengths": [0, 5],
        "mask": booleans(H, N, K),
        "empty_rows": "uniform",
    },
    "rows without keys are NaN": {
        **HEAD_AXIS,
        **CACHE,
        "window": (-1, 1),
        "key_mask": np.arange(M) >= [[6], [2]],
        "align": "first_key",
        "empty_rows": "nan",
    },
    "given scores alone": {"scores": bias(B, N, K), "normalize": "sparsemax"},
    "given weights": {
        "weights": np.maximum(normal(B, H, N, K), 0),
        "value": normal(B, K, G * E),
        **GROUPS,
        "only": [1],
    },
    "an attentional context": {
        **HEAD_AXIS,
        "context": {"attentional": {"w": normal(E + D, 17)}},
        "key_lengths": [7, 2],
    },
}
