"""Problems for tests: `problem` makes one; PROBLEMS has every layout, mask, position, norm, sink, softcap and cache."""

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import attncli
from attncli.engine.run import run
from attncli.io.problem_files import Document, Origin, RawValue
from attncli.ops.differences import VECTORS
from attncli.plan.build import plan_of
from attncli.plan.trace import Trace
from attncli.problem.layout import LAID_OUT
from attncli.problem.spec import FIELDS, ProblemSpec
from tests.arrays import bias, booleans, normal


class Letters:
    """A splitter of letters: a is 0, b is 1 …"""

    def split(self, text: str) -> tuple[list[int], tuple[str, ...]]:
        return [ord(letter) - ord("a") for letter in text], tuple(text)


def problem(**keys: Any) -> ProblemSpec:
    """The data of a problem with these keys; it shares no array with the test."""
    return attncli.Problem(**{name: copy.copy(value) for name, value in keys.items()}).spec


def dense_trace(spec: ProblemSpec) -> Trace:
    """Every step of a problem of any size, those on demand too, by the dense engine."""
    return run(spec, (spec.default_selection[-1], *steps_on_demand(spec)), every_step=True).trace


def steps_on_demand(spec: ProblemSpec) -> tuple[str, ...]:
    """The names of the steps of a problem that are computed only where they are selected."""
    return tuple(node.name for node in plan_of(spec).nodes if node.is_on_demand)


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
    unread = ("queries", "scores") if name == "scores" else ("queries", "scores", "weights")
    position = trace.problem.position
    makes_table = position is not None and position.record.acts_on != "embeddings"
    is_read_later = makes_table and name == "scores" and position.record.acts_on == "scores"
    kept = {key: value for key, value in keys.items() if FIELDS[key].used_by not in unread and key != "scale"}
    if makes_table and not is_read_later:
        del kept["position"]
    if any(FIELDS[key].says_how_given for key in kept):  # arrays as they were read
        kept = {key: value for key, value in kept.items() if not FIELDS[key].says_how_given}
        kept |= {key: getattr(trace.problem, key) for key in LAID_OUT if key in kept}
    if trace.problem.chooses_keys and name == "scores":
        kept["index_scores"] = trace["index_scores"].value
    if not kept.keys() & {"value", "embeddings", "residual", "token_table"}:
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

STATES = {"query": normal(B, H, N, D), "key": normal(B, G, N, D), "value": normal(B, G, N, E)}

# Features of the latent of queries, of that of keys and values, and of each key that all heads share.
LATENT = {
    "embeddings": normal(B, N, 13),
    "heads": 3,
    "w_q_latent": normal(13, 7),
    "q_latent_norm": {"rms": {"gain": normal(7), "eps": 0.1}},
    "w_q": normal(7, 3 * (5 + 4)),
    "w_kv_latent": normal(13, 6),
    "kv_latent_norm": {"rms": {"gain": normal(6), "eps": 0.1}},
    "w_k": normal(6, 3 * 5),
    "w_v": normal(6, 3 * E),
    "w_k_rope": normal(13, 4),
    "position": "rope:interleaved=true",
}

# Three heads of an indexer, with six features each.
INDEXER = {"w_q_index": normal(13, 3 * 6), "w_k_index": normal(13, 6), "w_h_index": normal(13, 3)}

PROBLEMS: Mapping[str, Mapping[str, Any]] = {
    "latents of queries and of keys, a part of each key shared by all heads": {
        **LATENT,
        "b_q_latent": normal(7),
        "b_kv_latent": normal(6),
        "b_k_rope": normal(4),
        "causal": True,
        "w_o": normal(3 * E, 3),
    },
    "a packed latent, of grouped heads that share a part, a cache": {
        "embeddings": normal(B, N, 13),
        "heads": 4,
        "kv_heads": 2,
        "w_q": normal(13, 4 * (3 + 2)),
        "w_kv_latent_rope": normal(13, 6 + 2),
        "b_kv_latent_rope": normal(6 + 2),
        "w_kv": normal(6, 2 * (3 + E)),
        "d_v": 4 * E,
        "d_k": 4 * (3 + 2),
        "packing": "per_head",
        "past_key": normal(B, P, 2 * (3 + 2)),
        "past_value": normal(B, P, 2 * E),
        "causal": True,
    },
    "an indexer of a query latent, whose keys are normalized": {
        **LATENT,
        "causal": True,
        **INDEXER,
        "w_q_index": normal(7, 3 * 6),
        "k_index_norm": {"layer": {"gain": normal(6), "bias": normal(6), "eps": 1e-6}},
        "index_rope": "halves",
        "mask": "top:keys=2",
    },
    "an indexer of one head of attention, a cache, positions of batch items": {
        "embeddings": normal(B, N, 13),
        **INDEXER,
        "past_key": normal(B, P, 13),
        "past_value": normal(B, P, 13),
        "past_index_key": normal(B, P, 6),
        "position": "rope:dims=4",
        "positions": np.arange(B * N).reshape(B, N),
        "index_rope": "pairs",
        "key_mask": np.arange(P + N) >= [[3], [0]],
        "mask": "(top:keys=3 | prefix:size=2) & window:left=inf,right=1",
    },
    "given index scores": {
        **HEAD_AXIS,
        "index_scores": normal(B, N, K),
        "window": (3, 2),
        "mask": "~dilated:step=2 & top:keys=3",
        "only": [3, 1],
    },
    "a recurrence of grouped heads, with a state before": {
        **STATES,
        "recurrence": "gated_delta:feature_map=l2",
        "decay": -abs(normal(B, G, N)),
        "beta": normal(B, G, N),
        "past_state": normal(B, G, D, E),
        "scale": 0.5,
    },
    "a recurrence with a decay of each feature, normalized": {
        **TOKENS,
        **GROUPS,
        "recurrence": "gated:feature_map=elu+1,normalize=true",
        "decay": -abs(normal(H, N, D)),
        "w_o": normal(66, 3),
    },
    "a difference of maps, grouped heads, a norm and a factor of a layer": {
        "query": normal(B, N, 4 * D),
        "key": normal(B, K, 2 * D),
        "value": normal(B, K, 2 * E),
        "heads": 4,
        "kv_heads": 2,
        "causal": True,
        "difference": {
            "differential": {"layer": 2, **{name: normal(D, seed=at) / 4 for at, name in enumerate(VECTORS)}}
        },
        "head_pairs": "halves",
        "context_norm": {"rms": {"gain": normal(2 * E), "eps": 0.1}},
        "w_o": normal(4 * E, 3),
    },
    "a difference of maps, λ a number, neighbours": {
        "query": normal(N, 4 * D),
        "key": normal(K, 4 * D),
        "value": normal(K, 4 * E),
        "heads": 4,
        "difference": 0.7,
    },
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
    "chunks of keys, padding on the left": {
        **HEAD_AXIS,
        **CACHE,
        "causal": True,
        "mask": {"chunked": {"size": 4}},
        "key_mask": np.arange(M) >= [[3], [0]],
    },
    "masks combined, a cache": {
        **HEAD_AXIS,
        **CACHE,
        "mask": "causal & (window:left=2,right=0 | prefix:size=3) & document:ids=0 0 0 0 1 1 1 1 2 2",
    },
    "masks combined, some of them not": {
        **WIDE,
        **GROUPS,
        "mask": "~(dilated:step=3 & causal) | global:tokens=1 4 | [[1, 0, 1]]",
        "window": (4, 2),
    },
    "blocks and their neighbors, documents, padding on the left": {
        **HEAD_AXIS,
        **CACHE,
        "mask": "block:size=2,around=1 & document:lengths=6 4",
        "key_mask": np.arange(M) >= [[3], [0]],
    },
    "heads in the features, a cache": {
        **WIDE,
        **GROUPS,
        **CACHE,
        "position": "rope:interleaved=true",
        "w_o": normal(66, 3),
    },
    "tokens before heads, a cache": {
        "query": normal(B, N, H, D),
        "key": normal(B, K, G, D),
        "value": normal(B, K, G, E),
        "past_key": normal(B, P, G, D),
        "past_value": normal(B, P, G, E),
        "layout": "bnhd",
        "causal": True,
    },
    "pages of keys and values": {
        "query": normal(B, H, N, D),
        "key": normal(5 * 3, G, D),
        "value": normal(5 * 3, G, E),
        "page_table": [[4, 0, 2], [1, 3, -1]],
        "page_size": 3,
        "key_lengths": [8, 5],
        "causal": True,
        "align": "bottom_right",
    },
    "packed sequences": {
        "query": normal(N, H, D),
        "key": normal(K, G, D),
        "layout": "nhd",
        "cu_seqlens": [0, 2, 2, 5],
        "cu_seqlens_k": [0, 4, 5, 7],
        "causal": True,
        "position": "alibi",
    },
    "packed sequences of tokens": {**TOKENS, **GROUPS, "cu_seqlens": [0, 3, 5], "position": "rope", "only": [4, 0]},
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
        "position": "sinusoidal",
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
    "rope with the scaling of yarn": {
        **TOKENS,
        **GROUPS,
        "position": {
            "rope": {
                "interleaved": True,
                "scaling": {
                    "rope_type": "yarn",
                    "rope_theta": 50,
                    "factor": 4,
                    "original_max_position_embeddings": 16,
                    "beta_fast": 2,
                    "mscale": 2,
                    "mscale_all_dim": 0.5,
                },
            }
        },
        "causal": True,
        "dtype": "float32",
    },
    "rope with the scaling of llama3, the other way": {
        **HEAD_AXIS,
        **CACHE,
        "position": {
            "rope": {
                "reverse": True,
                "attention_factor": 1.5,
                "scaling": {
                    "type": "llama3",
                    "factor": 8,
                    "low_freq_factor": 1,
                    "high_freq_factor": 4,
                    "original_max_position_embeddings": 12,
                },
            }
        },
    },
    "rope with the scaling of longrope, selected queries": {
        **HEAD_AXIS,
        "position": {
            "rope": {
                "scaling": {
                    "rope_type": "longrope",
                    "short_factor": [1, 1.5],
                    "long_factor": [2, 3.5],
                    "factor": 2,
                    "original_max_position_embeddings": 6,
                }
            }
        },
        "only": [1, -1],
    },
    "rope with the scaling of dynamic": {
        "query": normal(N, D),
        "key": normal(K, D),
        "position": {"rope": {"scaling": {"rope_type": "dynamic", "factor": 2, "max_position_embeddings": 4}}},
    },
    "rope at given positions of each batch item": {
        **HEAD_AXIS,
        "position": {"rope": {"scaling": {"type": "dynamic", "factor": 2, "max_position_embeddings": 4}}},
        "positions": [[0, 1, 2, 0, 1, 2, 3], [4, 5, 6, 7, 8, 9, 10]],
        "positions_of_queries": [3, 4, 5, 0, 1],
        "only": [3, 0],
    },
    "rope on three axes of positions": {
        **TOKENS,
        **GROUPS,
        "position": {"rope": {"scaling": {"rope_type": "default", "axis_of_pair": [2, 0]}}},
        "positions": [[0, 1, 1, 1, 2], [0, 1, 1, 2, 3], [0, 1, 2, 1, 3]],
        "causal": True,
    },
    "rope on two axes, of batch items with fractions, after a cache": {
        **WIDE,
        **GROUPS,
        **CACHE,
        "position": "rope:scaling={type: axial},interleaved=true,offset=1",
        "positions": normal(2, B, K),
        "positions_of_queries": normal(2, N),
        "query_scale": "power:length=2",
    },
    "rope on axes that count alike": {
        **HEAD_AXIS,
        "position": {"rope": {"frequencies": [[0.5, 0.1], [0, 0.2]], "scaling": 2}},
    },
    "sinusoidal positions that are given": {**TOKENS, **GROUPS, "position": "sinusoidal", "positions": [0, 1, 2, 0, 1]},
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
    "a grid": {**HEAD_AXIS, "position": {"grid_bias": {"table": normal(15 * 3, H), "height": 2, "width": 8}}},
    "rows and columns of a grid": {
        **HEAD_AXIS,
        "position": {
            "decomposed": {"rel_pos_h": normal(3, D), "rel_pos_w": normal(15, D), "height": 2, "width": 8},
        },
    },
    "a grid and a class token": {
        **TOKENS,
        **GROUPS,
        "position": {"grid_bias": {"table": normal(12, H), "height": 2, "class_token": True}},
        "only": [4, 0],
    },
    "shaw, farther to the left": {
        **HEAD_AXIS,
        **CACHE,
        "position": {"shaw": {"table": normal(6, D), "left": 4}},
        "causal": True,
    },
    "transformer_xl": {
        **HEAD_AXIS,
        "position": {
            "transformer_xl": {
                "w_position": normal(13, H * D),
                "content_bias": normal(H, D),
                "position_bias": normal(H, D),
            }
        },
    },
    "transformer_xl of a table, after a cache": {
        **WIDE,
        **GROUPS,
        **CACHE,
        "position": {"transformer_xl": {"table": normal(7, 13), "w_position": normal(13, H * D)}},
        "causal": True,
    },
    "transformer_xl of one head": {
        "query": normal(N, D),
        "key": normal(K, D),
        "position": {"transformer_xl": {"position_bias": normal(D), "interleaved": True}},
        "position_norm": {"layer": {"gain": normal(D), "eps": 0.1}},
        "only": [3, 1],
    },
    "disentangled": {
        **HEAD_AXIS,
        "position": {
            "disentangled": {
                "table": normal(8, 13),
                "w_position_k": normal(13, H * D),
                "w_position_q": normal(13, H * D),
                "b_position_q": normal(H * D),
                "max_distance": 6,
            }
        },
        "key_lengths": [5, 6],
    },
    "disentangled, content to position": {
        **HEAD_AXIS,
        "position": {"disentangled": {"table": normal(H, 6, D), "terms": "c2p"}},
        "align": "bottom_right",
    },
    "sinusoidal": {**TOKENS, **GROUPS, "position": "sinusoidal:base=50", "only": [4, 0]},
    "learned": {
        **TOKENS,
        **GROUPS,
        "query_embeddings": normal(3, 13),
        "position": {"learned": {"table": normal(9, 13), "offset": 2}},
        "qk_norm": "rms:eps=0.01",
    },
    "a query scale": {
        **WIDE,
        **GROUPS,
        **CACHE,
        "position": "rope:dims=2",
        "query_scale": "log_steps:length=3,offset=0",
    },
    "a query scale, aligned bottom right": {
        **HEAD_AXIS,
        "query_scale": {"ssmax": {"scale": normal(H), "bias": 0.5}},
        "align": "bottom_right",
        "key_lengths": [5, 3],
        "only": [4, 1],
    },
    "a query scale by given positions": {
        **TOKENS,
        **GROUPS,
        "positions": [3, 0, 7, 1, 4],
        "query_scale": {"ssmax": {"scale": normal(H), "bias": normal(H)}},
    },
    "a query scale of one head": {"query": normal(N, D), "key": normal(K, D), "query_scale": "logn:length=2"},
    "packed projections, per group, and a cache": {
        "embeddings": normal(B, K, 13),
        "w_qkv": normal(13, (H + G) * D + G * E),
        "b_qkv": normal((H + G) * D + G * E),
        "packing": "per_group",
        "d_k": H * D,
        **GROUPS,
        **CACHE,
        "w_o": normal(66, 3),
        "position": "rope",
        "causal": True,
    },
    "packed keys and values, per head, of another sequence": {
        "embeddings": normal(K, 13),
        "query_embeddings": normal(N, 17),
        "w_q": normal(H * D, 17),
        "w_kv": normal(H * (D + E), 13),
        "b_kv": normal(H * (D + E)),
        "b_q": normal(H * D),
        "weight_layout": "out_in",
        "packing": "per_head",
        "d_k": H * D,
        "heads": H,
        "only": [2, 0],
        "dtype": "float32",
    },
    "queries and gates in one matrix, limited, values scaled": {
        "embeddings": normal(B, K, 13),
        "w_qg": normal(13, H * (D + E)),
        "b_qg": normal(H * (D + E)),
        "w_k": normal(13, G * D),
        "w_v": normal(13, G * E),
        "d_k": H * D,
        **GROUPS,
        "w_o": normal(66, 3),
        "clip_qkv": 1.5,
        "value_scale": 0.7,
        "causal": True,
    },
    "a gate for each head": {
        **TOKENS,
        **GROUPS,
        "w_g": normal(13, H),
        "b_g": normal(H),
        "gate": "softplus",
        "only": [2, 1],
    },
    "norms with gains of each head, before and after the context": {
        **TOKENS,
        **GROUPS,
        "position": "rope",
        "qk_norm": {
            "rms": {"query_gain": normal(D), "key_gain": normal(G, D), "eps": 1e-3, "gain_plus_one": True},
        },
        "value_norm": {"layer": {"gain": normal(E), "bias": normal(G * E)}},
        "context_norm": {"rms": {"gain": normal(H, E), "bias": normal(E)}},
        "w_o": normal(H * E, 3),
    },
    "norms over all heads, a cache": {
        **WIDE,
        **GROUPS,
        **CACHE,
        "causal": True,
        "qk_norm": {
            "layer": {
                "query_gain": normal(H * D),
                "query_bias": normal(H, D),
                "key_gain": normal(G * D),
                "key_bias": normal(G * D),
                "eps": 1e-5,
                "over": "all",
            },
        },
        "value_norm": {"rms": {"gain": normal(G * E), "over": "all"}},
        "context_norm": {"l2": {"gain": normal(H * E), "eps": 0.5, "over": "all"}},
    },
    "norms after rope": {
        **HEAD_AXIS,
        "position": "rope",
        "qk_norm": {"l2": {"query_gain": normal(H * D), "key_gain": normal(D), "when": "after_rope"}},
        "score": "dot",
    },
    "norms over all heads of an input with heads": {
        **HEAD_AXIS,
        "position": "rope",
        "qk_norm": {"rms": {"key_gain": normal(G, D), "over": "all", "when": "after_rope"}},
        "value_norm": "layer:over=all,eps=0.1",
        "context_norm": {"layer": {"bias": normal(H * E), "over": "all"}},
        "only": [3, 0],
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
    "a length for each query": {
        **HEAD_AXIS,
        "key_lengths": np.arange(B * N).reshape(B, N) % (K + 1),
        "causal": True,
        "align": "bottom_right",
    },
    "a length for each query of one item, some selected": {
        "query": normal(N, D),
        "key": normal(M, D),
        "value": normal(M, E),
        "key_lengths": [[*range(N)]],
        "only": [3, 1],
    },
    "given scores and a scale": {
        "scores": normal(H, N, K),
        "value": normal(K, G * E),
        **GROUPS,
        "scale": 1.5,
        "causal": True,
        "only": [3, 0],
        "dtype": "float32",
    },
    "given scores alone": {"scores": bias(B, N, K), "normalize": "sparsemax"},
    "given weights": {
        "weights": np.maximum(normal(B, H, N, K), 0),
        "value": normal(B, K, G * E),
        **GROUPS,
        "only": [1],
    },
    "gradients": {
        **HEAD_AXIS,
        "causal": True,
        "softcap": 2.0,
        "bias": bias(B, 1, 1, K),
        "sink": normal(H),
        "qk_norm": {"rms": {"query_gain": normal(D)}},
        "position": "rope",
        "grad_output": normal(B, 1, N, E),
    },
    "an attentional context": {
        **HEAD_AXIS,
        "context": {"attentional": {"w": normal(E + D, 17)}},
        "key_lengths": [7, 2],
    },
    "a residual stream": {
        "residual": normal(B, N, 13),
        "residual_norm": {"rms": {"eps": 0.01, "gain": normal(13), "gain_plus_one": True}},
        **{name: TOKENS[name] for name in ("w_q", "w_k", "w_v")},
        **GROUPS,
        "position": "rope",
    },
    "tokens that are looked up": {
        "tokens": [5, 4, 7, 5, 6],
        "token_table": normal(8, 13),
        "token_positions": normal(P + N, 13),
        "token_types": normal(3, 13),
        "token_type_ids": [0, 2, 1, 1, 0],
        "token_norm": {"rms": {"gain": normal(13), "eps": 0.1}},
        "token_scale": 1.5,
        "residual_norm": {"layer": {"gain": normal(13), "bias": normal(13)}},
        **{name: TOKENS[name] for name in ("w_q", "w_k", "w_v")},
        **GROUPS,
        "past_key": normal(P, G * D),
        "past_value": normal(P, G * E),
        "causal": True,
        "only": [3, 1],
    },
}

# Those with a table of scores or weights: blocks are parts of it.
WITH_TABLES = {name: keys for name, keys in PROBLEMS.items() if "recurrence" not in keys}
