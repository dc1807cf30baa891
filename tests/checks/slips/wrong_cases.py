"""Problems with a slip in them: the slip, which of its variants, the problem's keys, and the mistake made by hand."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.arrays import bias, booleans, normal

# Tokens, features of an embedding, heads, key heads, queries, keys, cached keys, features of keys and of values.
T, X, H, G, N, M, P, D, E = 7, 12, 3, 1, 5, 11, 2, 4, 4
NORMS = ("qk_norm", "value_norm", "context_norm")


@dataclass(frozen=True)
class Case:
    """`wrong_attention.attention(keys, **mistake)` is what the `variant`-th variant of the slip computes."""

    slip: str
    keys: Mapping[str, Any]
    mistake: Any = True
    variant: int = 0

    def __str__(self) -> str:
        return f"{self.slip} {self.variant}: {' '.join(self.keys)}"


def given(seed: int, queries: int = N, keys: int = M, heads: int = H, kv_heads: int | None = None) -> dict[str, Any]:
    """Queries, keys and values of several heads side by side."""
    groups = kv_heads or heads
    sizes = {"query": (queries, heads * D), "key": (keys, groups * D), "value": (keys, groups * E)}
    arrays: dict[str, Any] = {name: normal(*shape, seed=seed + at) for at, (name, shape) in enumerate(sizes.items())}
    counts = {"heads": heads} if heads > 1 else {}
    return arrays | counts | ({"kv_heads": groups} if groups < heads else {})


SLIPS_OF_MAPS = (
    "no_lambda",
    "maps_added",
    "second_map_left_out",
    "no_lambda_init",
    "no_lambda_factor",
    "lambda_factor_twice",
    "head_pairs_misread",
)


def two_maps(seed: int) -> dict[str, Any]:
    """Pairs of heads, of which one map is subtracted from the other."""
    vectors = {f"lambda_{name}": normal(D, seed=seed + at) / 2 for at, name in enumerate(("q1", "k1", "q2", "k2"))}
    difference = {"differential": {"layer": 2, **vectors}}
    return {**given(seed, heads=4), "difference": difference, "head_pairs": "halves", "context_norm": {"rms": {}}}


def square(seed: int) -> dict[str, Any]:
    """As many queries as keys."""
    return given(seed, T, T)


def projected(seed: int) -> dict[str, Any]:
    """Embeddings and square projections with biases."""
    weights = {f"w_{letter}": normal(X, X, seed=seed + at) / 2 for at, letter in enumerate("qkvo")}
    biases = {f"b_{letter}": normal(X, seed=seed + at) for at, letter in enumerate("qkvo")}
    return {"embeddings": normal(T, X, seed=seed), "heads": H, **weights, **biases}


def with_latents(seed: int) -> dict[str, Any]:
    """Embeddings that queries, and keys and values, are projected from through normalized latents."""
    downs = {f"w_{of}_latent": normal(X, 5, seed=seed + at) for at, of in enumerate(("q", "kv"), 7)}
    ups = {f"w_{letter}": normal(5, X, seed=seed + at) / 2 for at, letter in enumerate("qkv")}
    norms = {f"{of}_latent_norm": "rms" for of in ("q", "kv")}
    return {"embeddings": normal(T, X, seed=seed), "heads": H, **downs, **ups, **norms}


def cached(seed: int) -> dict[str, Any]:
    """Queries, keys and values after a cache."""
    past = {"past_key": normal(P, H * D, seed=seed + 5), "past_value": normal(P, H * E, seed=seed + 6)}
    return {**given(seed, N, N), **past}


def rope(**parameters: Any) -> dict[str, Any]:
    """The key `position` with rope."""
    return {"position": {"rope": parameters}}


def empty_row(rows: int, columns: int) -> np.ndarray:
    """A mask that hides every key from the second query."""
    mask = booleans(rows, columns) | (np.arange(columns) == 0)
    mask[1] = False
    return mask


def cases(seed: int) -> list[Case]:
    """A case for each variant of each slip; the numbers depend on the seed."""
    plain, self_attending, tokens, with_cache = given(seed), square(seed), projected(seed), cached(seed)
    masked = {**plain, "mask": booleans(N, M) | (np.arange(M) == 0)}
    biased = {**plain, "bias": bias(N, M)}
    tables = {"rel_pos_h": normal(5, D, seed=seed), "rel_pos_w": normal(5, D, seed=seed + 1)}
    grid = {"decomposed": {**tables, "height": 3}}
    biases = {name: normal(H, D, seed=seed + at) for at, name in enumerate(("content_bias", "position_bias"))}
    xl = {**self_attending, "position": {"transformer_xl": {"table": normal(13, D, seed=seed), **biases}}}
    weights_of_table = {f"w_position_{letter}": normal(3, D, seed=seed + at) for at, letter in enumerate("kq")}
    table = {"table": normal(8, 3, seed=seed), **weights_of_table}
    disentangled = {**self_attending, "position": {"disentangled": table}}
    turned, of_maps = {**self_attending, **rope()}, two_maps(seed)
    at_end = {**plain, "causal": True, "align": "bottom_right"}
    windowed = {**self_attending, "window": (2, 1)}
    qk_norm = {"query_gain": normal(D, seed=seed), "key_gain": normal(D, seed=seed + 1), "key_bias": normal(D)}
    norms = {
        **self_attending,
        "qk_norm": {"rms": {**qk_norm, "gain_plus_one": True}},
        "value_norm": {"rms": {"gain": normal(E, seed=seed), "bias": normal(E)}},
        "context_norm": {"rms": {"gain": normal(E, seed=seed + 1)}},
    }
    wide_gains = {"query_gain": normal(H * D, seed=seed), "key_gain": normal(H * D, seed=seed + 1)}
    tokens_residual = {"residual" if name == "embeddings" else name: value for name, value in tokens.items()}
    names = ("w_q", "w_k", "w_v", "w_o")
    packed = {
        "embeddings": normal(T, X, seed=seed),
        "w_qkv": normal(X, 3 * X, seed=seed) / 2,
        "b_qkv": normal(3 * X, seed=seed),
        "heads": H,
    }
    weights = {name: tokens[name] for name in names}
    looked_up = {
        **weights,
        "heads": H,
        "tokens": [3, 0, 8, 3, 5],
        "token_table": normal(9, X, seed=seed),
        "token_scale": 0.5,
        "token_positions": normal(T, X, seed=seed + 1),
        "residual_norm": "rms",
    }
    of_types = {"token_types": normal(2, X, seed=seed + 2), "token_type_ids": [0, 0, 1, 1, 0]}
    as_bert = {**looked_up, "residual_norm": None, **of_types, "token_norm": "rms"}
    gated = {**tokens, "w_g": normal(X, X, seed=seed + 7) / 2, "b_g": normal(X, seed=seed + 8)}
    return [
        Case("no_scale", plain),
        Case("no_scale", {**plain, "scale": 0.3}),
        Case("scale_by_d", plain),
        Case("scaled_twice", plain),
        Case("scaled_twice", {**plain, "scale": 0.3}),
        Case("scale_inverted", plain),
        Case("scaled_anyway", {**plain, "score": "dot"}, "instead"),
        Case("scaled_anyway", {**plain, "scale": 1.0}, "instead"),
        Case("scaled_anyway", {**plain, "scale": 0.3}, "instead"),
        Case("scaled_anyway", {**plain, "scale": 0.3}, "too", 1),
        Case("scale_by_model_width", plain),
        Case("softmax_over_queries", plain),
        Case("softmax_over_heads", plain),
        Case("softmax_over_table", plain),
        Case("softmax_twice", plain),
        Case("softmax_twice", masked),
        Case("sum_without_keepdims", self_attending, "sum"),
        Case("sum_without_keepdims", self_attending, "maximum", 1),
        Case("weights_transposed", self_attending),
        Case("no_maximum", {**plain, "scale": 300.0}, "float64"),
        Case("powers_of_two", plain),
        Case("no_temperature", {**plain, "normalize": "softmax:temperature=2.5"}),
        Case("no_sink", {**plain, "sink": normal(H)}),
        Case("projections_transposed", tokens, names),
        *(Case("projections_transposed", tokens, (name,), at) for at, name in enumerate(names, 1)),
        Case("packing_misread", packed, "per_head"),
        Case("packing_misread", {**packed, "packing": "per_head"}, "concatenated"),
        Case("no_gate", gated),
        Case("gate_not_activated", gated),
        Case("gate_function", gated, "silu"),
        Case("gate_function", gated, "softplus", 1),
        Case("no_clip", {**tokens, "clip_qkv": 1.0}),
        Case("no_value_scale", {**tokens, "value_scale": 0.6}),
        *(Case(slip, looked_up) for slip in ("no_residual_norm", "no_token_scale", "no_token_positions")),
        *(Case(slip, as_bert) for slip in ("no_token_types", "no_token_norm")),
        Case("no_projection_bias", packed, ("b_q", "b_k", "b_v")),
        Case("no_projection_bias", gated, ("b_g",), 5),
        Case("no_projection_bias", tokens, ("b_q", "b_k", "b_v", "b_o")),
        *(Case("no_projection_bias", tokens, (f"b_{letter}",), at) for at, letter in enumerate("qkvo", 1)),
        Case("no_output_projection", tokens),
        Case("query_key_swapped", self_attending),
        Case("query_key_weights_swapped", tokens),
        Case("query_as_key", tokens),
        Case("key_as_value", tokens, "given"),
        Case("key_as_value", plain, "given"),
        Case("key_as_value", turned, "rotated", 1),
        Case("mask_inverted", masked, "mask"),
        Case("mask_inverted", {**plain, "key_mask": np.arange(M) % 3 > 0}, "key_mask"),
        Case("mask_inverted", {**at_end}, "causal"),
        Case("mask_transposed", {**self_attending, "mask": booleans(T, T) | np.eye(T, dtype=bool)}, "mask"),
        Case("mask_transposed", {**self_attending, "causal": True}, "causal"),
        Case("no_mask", masked, ("mask",)),
        Case("no_mask", {**masked, "causal": True}, ("mask", "causal"), 1),
        Case("no_mask", {**plain, "key_mask": np.arange(M) % 3 > 0}, ("key_mask",)),
        Case("no_causal", {**self_attending, "causal": True}),
        Case("no_window", windowed),
        Case("causal_added", self_attending, "top left"),
        Case("causal_added", plain, "top left"),
        Case("causal_added", plain, "bottom right", 1),
        Case("causal_added", with_cache, "top left"),
        Case("causal_added", windowed, "top left"),
        Case("causal_added", {**masked, **rope()}, "top left"),
        Case("causal_top_left", at_end, 0),
        Case("causal_top_left", {**with_cache, "causal": True}, 0),
        Case("causal_bottom_right", {**plain, "causal": True}),
        Case("causal_off_by_one", {**self_attending, "causal": True}, -1),
        Case("causal_off_by_one", {**self_attending, "causal": True}, 1, 1),
        Case("mask_after_softmax", masked),
        Case("masked_with_zero", masked),
        Case("masked_with_finite", {**plain, "mask": empty_row(N, M)}, "replaced"),
        Case("masked_with_finite", {**plain, "mask": empty_row(N, M)}, "added", 1),
        Case("empty_rows_nan", {**plain, "mask": empty_row(N, M)}),
        Case("empty_rows_nan", {**plain, "mask": empty_row(N, M), "empty_rows": "uniform"}),
        Case("empty_rows_zero", {**plain, "mask": empty_row(N, M), "empty_rows": "uniform"}),
        Case("empty_rows_zero", {**plain, "mask": empty_row(N, M), "empty_rows": "nan"}),
        Case("softcap_after_mask", {**masked, "softcap": 2.0}),
        Case("no_softcap", {**masked, "softcap": 2.0}),
        Case("window_too_wide", windowed, ("left",)),
        Case("window_too_wide", windowed, ("right",), 1),
        Case("window_too_wide", windowed, ("left", "right"), 2),
        Case("window_too_wide", {**windowed, "causal": True}, ("left",)),
        Case("window_too_narrow", windowed, ("left",)),
        Case("window_too_narrow", windowed, ("right",), 1),
        Case("window_too_narrow", windowed, ("left", "right"), 2),
        Case("no_bias", biased),
        Case("bias_scaled", biased),
        Case("bias_scaled", {**plain, "position": "alibi"}),
        Case("bias_scaled", {**self_attending, "position": grid}),
        *(Case("relative_shift", xl, shift, at) for at, shift in enumerate((1, -1))),
        Case("relative_sign", disentangled),
        Case("relative_biases_exchanged", xl),
        *(Case("no_relative_bias", xl, symbol, at) for at, symbol in enumerate("uv")),
        Case("no_relative_keys", xl),
        *(Case("no_disentangled_term", disentangled, term, at) for at, term in enumerate(("c2p", "p2c"))),
        Case("scale_without_terms", disentangled),
        Case("p2c_reversed", disentangled),
        Case("p2c_not_transposed", disentangled),
        Case("grid_axes_swapped", {**self_attending, "position": grid}),
        Case("bias_twice", biased),
        Case("bias_twice", {**plain, "position": "alibi"}),
        Case("kv_heads_tiled", given(seed, heads=6, kv_heads=2)),
        Case("heads_not_transposed", plain),
        Case("heads_split_not_transposed", plain),
        Case("heads_interleaved", plain),
        Case("no_qk_norm", {**plain, "qk_norm": "l2"}),
        *(Case("no_latent_norm", with_latents(seed), of, at) for at, of in enumerate(("q", "kv"))),
        Case("no_value_norm", {**plain, "value_norm": "l2"}),
        Case("no_context_norm", {**plain, "context_norm": norms["context_norm"]}),
        *(Case(slip, norms, key, at) for slip in ("no_norm_gain", "gain_misread") for at, key in enumerate(NORMS)),
        Case("no_residual_norm", {**tokens_residual, "residual_norm": {"rms": {"gain": normal(X, seed=seed)}}}),
        Case("norm_span", {**self_attending, "context_norm": {"rms": {}}}, "context_norm"),
        Case("norm_span", {**self_attending, "qk_norm": {"rms": {**wide_gains, "over": "all"}}}, "qk_norm"),
        Case("norm_span", {**norms, "qk_norm": {"rms": wide_gains}}, "qk_norm"),
        Case("norm_beyond_rope", {**norms, **rope()}),
        Case("norm_beyond_rope", {**norms, **rope(), "qk_norm": {"rms": {**qk_norm, "when": "after_rope"}}}),
        *(Case(slip, of_maps) for slip in SLIPS_OF_MAPS),
        Case("no_query_scale", {**plain, "query_scale": {"power": {"length": 2.0, "exponent": 0.5}}}),
        Case("rope_interleaved", turned),
        Case("rope_half_split", {**self_attending, **rope(interleaved=True)}),
        Case("rope_mixed_pairs", turned),
        Case("rope_base", turned, 500_000.0),
        Case("rope_base", turned, 1_000_000.0, 1),
        Case("rope_base", {**self_attending, **rope(base=500_000.0)}, 10_000.0),
        Case("no_rope_scaling", {**self_attending, **rope(scaling=4.0)}),
        Case("rope_dims", {**self_attending, **rope(dims=2)}),
        Case("no_attention_factor", {**self_attending, **rope(attention_factor=1.25)}),
        Case("positions_not_read", {**turned, "positions": np.arange(T) // 2}),
        Case("positions_not_read", {**turned, "positions_of_queries": np.arange(T) // 3}),
        Case("rope_reversed", turned),
        Case("rope_offset", turned, 1),
        Case("rope_offset", turned, -1, 1),
        Case("rope_from_0", {**plain, **rope(), "align": "bottom_right"}),
        Case("rope_without_cache", {**with_cache, **rope()}, ("query", "key")),
        Case("rope_without_cache", {**with_cache, **rope()}, ("query",), 1),
        Case("rope_without_cache", {**with_cache, **rope()}, ("key",), 2),
        Case("rope_twice", turned, "new"),
        Case("rope_twice", {**with_cache, **rope()}, "new"),
        Case("rope_twice", {**with_cache, **rope()}, "cached", 1),
        Case("rope_on_value", turned),
        Case("rope_on_query_only", turned),
        Case("no_position", turned),
        Case("no_position", {**plain, "position": "alibi"}),
        Case("no_position", {**tokens, "position": "sinusoidal"}),
        Case("position_offset", {**tokens, "position": "sinusoidal"}, 1),
        Case("alibi_sign", {**plain, "position": "alibi"}),
        Case("alibi_slopes", {**plain, "position": "alibi"}),
        Case("stale_cache", with_cache),
        Case("no_cache", with_cache),
        *(Case("inputs_rounded", plain, digits, at) for at, digits in enumerate((10, 7))),
        Case("inputs_rounded", {**tokens, "normalize": "softmax:temperature=2.5"}, 7, 1),
        *(Case("weights_rounded", plain, decimals, 4 - decimals) for decimals in (4, 3, 2, 1)),
        *(Case("exponentials_rounded", plain, decimals, 4 - decimals) for decimals in (4, 3, 2, 1)),
        *(Case("scores_rounded", plain, decimals, 4 - decimals) for decimals in (4, 3, 2, 1)),
    ]


ALL_PROJECTIONS = ("w_q", "w_k", "w_v", "w_o")
PAIRS: list[tuple[Mapping[str, Any], Mapping[str, Any]]] = [  # keys, and two mistakes of the first variants of slips
    ({**given(0), "causal": True}, {"causal_off_by_one": -1, "no_scale": True}),
    ({**given(0), "bias": normal(5, 11), "mask": normal(5, 11) > -1}, {"mask_inverted": "mask", "no_bias": True}),
    ({**given(0, heads=6, kv_heads=2), **rope()}, {"rope_base": 500_000.0, "kv_heads_tiled": True}),
    ({**square(0), "window": (2, 1)}, {"window_too_wide": ("left",), "weights_rounded": 4}),
    (projected(0), {"projections_transposed": ALL_PROJECTIONS, "no_scale": True}),
    (projected(0), {"no_output_projection": True, "heads_not_transposed": True}),
    ({**cached(0), **rope()}, {"no_cache": True, "rope_reversed": True}),
    ({**given(0), "qk_norm": "l2"}, {"no_qk_norm": True, "scaled_twice": True}),
    ({**given(0), "softcap": 2.0, "sink": normal(H)}, {"no_softcap": True, "no_sink": True}),
    ({**square(0), "position": "alibi"}, {"alibi_sign": True, "weights_transposed": True}),
    ({**projected(0), "w_g": normal(X, X, seed=7) / 2}, {"gate_not_activated": True, "query_as_key": True}),
    ({**given(0), "normalize": "softmax:temperature=2.5"}, {"no_temperature": True, "powers_of_two": True}),
    ({**square(0), "value_norm": "l2"}, {"no_value_norm": True, "softmax_twice": True}),
    (given(0), {"inputs_rounded": 10, "heads_interleaved": True}),
]
