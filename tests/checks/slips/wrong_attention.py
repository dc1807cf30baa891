"""Attention in plain NumPy with mistakes in it, each written by hand; nothing here is the program's code.

`attention(keys, mistake=detail, …)` takes the keys of a problem without batch items, the heads side by side.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

Keys = Mapping[str, Any]


def attention(keys: Keys, **mistakes: Any) -> dict[str, np.ndarray]:
    """The scores and weights [h n m] and the output [n o], computed with these mistakes."""
    if "inputs_rounded" in mistakes:
        arrays = {name: x for name, x in keys.items() if isinstance(x, np.ndarray) and x.dtype.kind == "f"}
        keys = {**keys, **{name: in_digits(x, mistakes["inputs_rounded"]) for name, x in arrays.items()}}
    if "w_qkv" in keys:
        keys = {**keys, **unpacked(keys, mistakes.get("packing_misread", keys.get("packing", "concatenated")))}
    if "token_table" in keys:
        keys = {**keys, "embeddings": embedded(keys, mistakes)}
    heads = keys.get("heads", 1)
    groups = keys.get("kv_heads", heads)
    query, key, value = projected(keys, mistakes)
    query, key, value = split(query, heads, mistakes), split(key, groups, mistakes), split(value, groups, mistakes)
    query, key = normed_queries_and_keys(keys, mistakes, query, key, is_late=False)
    value = normed(keys, mistakes, "value_norm", value)
    past = len(keys["past_key"]) if "past_key" in keys else 0
    query, key, value = rotated(keys, mistakes, query, key, value, past)
    query, key = normed_queries_and_keys(keys, mistakes, query, key, is_late=True)
    query = query * query_scales(keys, mistakes, query.shape[1], past)
    if past:
        past_key = split(keys["past_key"], groups, {})
        if mistakes.get("rope_twice") == "cached":
            past_key = np.stack([turned(x, 0, 1, 10000.0, False, 1.0) for x in past_key])
        key = np.concatenate([past_key, key], axis=1)
        value = np.concatenate([split(keys["past_value"], groups, {}), value], axis=1)
    of_head = [h % groups if "kv_heads_tiled" in mistakes else h // (heads // groups) for h in range(heads)]
    key, value = key[of_head], value[of_head]
    if mistakes.get("key_as_value") == "rotated":
        value = key
    if "query_key_swapped" in mistakes:
        query, key = key, query

    products = np.einsum("hnd,hmd->hnm", query, key) + relative_terms(keys, mistakes, query, key, past)
    scores = scaled(products, keys, mistakes, heads)
    if "scores_rounded" in mistakes:
        scores = np.round(scores, mistakes["scores_rounded"])
    capped = biased(scores, keys, mistakes, past)
    visible = visibility(keys, mistakes, scores.shape, past)
    weights = normalized(capped, visible, keys, mistakes)
    if "weights_rounded" in mistakes:
        weights = np.round(weights, mistakes["weights_rounded"])
    used = weights.transpose(0, 2, 1) if "weights_transposed" in mistakes else weights
    context = context_of(keys, mistakes, used, value)
    count = context.shape[1]
    if "heads_not_transposed" in mistakes:
        output = context.reshape(count, -1)
    else:
        output = np.concatenate(list(context), axis=-1)
    output = gated(output, keys, mistakes)
    if "w_o" in keys and "no_output_projection" not in mistakes:
        output = output @ matrix("w_o", keys, mistakes) + vector("b_o", keys, mistakes)
    return {"scores": scores, "weights": weights, "output": output}


def context_of(keys: Keys, mistakes: Keys, weights: np.ndarray, value: np.ndarray) -> np.ndarray:
    """The context [h n e], of pairs of heads where one map is subtracted from the other, normalized."""
    if "difference" in keys:
        weights, value = subtracted(keys, mistakes, weights, value)
    context = normed(keys, mistakes, "context_norm", np.einsum("hnm,hme->hne", weights, value))
    return context * factor_of_difference(keys, mistakes)


def subtracted(keys: Keys, mistakes: Keys, weights: np.ndarray, value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The weights of the first head of each pair less λ times those of the second, and the values of both."""
    given, count = keys["difference"]["differential"], len(weights)
    are_halves = (keys.get("head_pairs") == "halves") != ("head_pairs_misread" in mistakes)
    heads = np.arange(count).reshape((2, -1) if are_halves else (-1, 2))
    first, second = heads if are_halves else heads.T
    q1, k1, q2, k2 = (given[f"lambda_{name}"] for name in ("q1", "k1", "q2", "k2"))
    factor = np.exp(q1 @ k1) - np.exp(q2 @ k2)
    factor += 0 if "no_lambda_init" in mistakes else lambda_init(given, mistakes)
    wrong = {"no_lambda": 1.0, "second_map_left_out": 0.0, "maps_added": -factor}
    factor = next((wrong[name] for name in wrong if name in mistakes), factor)
    return weights[first] - factor * weights[second], np.concatenate([value[first], value[second]], axis=-1)


def lambda_init(given: Keys, mistakes: Keys) -> float:
    """The number λ_init of a layer, counted from 0."""
    return 0.8 - 0.6 * np.exp(-0.3 * mistakes.get("lambda_of_another_layer", given["layer"]))


def factor_of_difference(keys: Keys, mistakes: Keys) -> float:
    """What the context of each pair is multiplied by, after its norm."""
    if "difference" not in keys or "no_lambda_factor" in mistakes:
        return 1.0
    factor = 1 - lambda_init(keys["difference"]["differential"], mistakes)
    return factor**2 if "lambda_factor_twice" in mistakes else factor


def normed_queries_and_keys(
    keys: Keys, mistakes: Keys, query: np.ndarray, key: np.ndarray, *, is_late: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Queries and keys by their norm, if it comes before they are rotated, or late, after that."""
    norm = keys.get("qk_norm", "l2")
    comes_late = norm != "l2" and norm["rms"].get("when") == "after_rope"
    if (comes_late != ("norm_beyond_rope" in mistakes)) != is_late:
        return query, key
    return normed(keys, mistakes, "qk_norm", query, "query_"), normed(keys, mistakes, "qk_norm", key, "key_")


def normed(keys: Keys, mistakes: Keys, name: str, x: np.ndarray, role: str = "") -> np.ndarray:
    """The vectors of each head [h n d] by a norm: l2, or rms with a gain and a bias."""
    if name not in keys or f"no_{name}" in mistakes:
        return x
    if keys[name] == "l2":
        return x / np.linalg.norm(x, axis=-1, keepdims=True)
    given = keys[name]["rms"]
    is_over_all = (given.get("over") == "all") != (mistakes.get("norm_span") == name)
    x = x / np.sqrt((x**2).mean(axis=(0, -1) if is_over_all else -1, keepdims=True))
    if mistakes.get("no_norm_gain") == name:
        return x
    plus = given.get("gain_plus_one", False) != (mistakes.get("gain_misread") == name)
    gain = np.array(given.get(f"{role}gain", 1.0 - plus)) + plus
    if gain.size == len(x) * x.shape[-1]:  # a number for each feature of all heads
        gain = gain.reshape(len(x), 1, -1)
    return x * gain + given.get(f"{role}bias", 0.0)


def gated(output: np.ndarray, keys: Keys, mistakes: Keys) -> np.ndarray:
    """The merged heads times a gate for each number."""
    if "w_g" not in keys or "no_gate" in mistakes:
        return output
    gate = keys["embeddings"] @ keys["w_g"] + vector("b_g", keys, mistakes)
    functions = {"sigmoid": 1 / (1 + np.exp(-gate)), "silu": gate / (1 + np.exp(-gate)), "none": gate}
    functions["softplus"] = np.log1p(np.exp(gate))
    return output * functions["none" if "gate_not_activated" in mistakes else mistakes.get("gate_function", "sigmoid")]


def query_scales(keys: Keys, mistakes: Keys, count: int, past: int) -> Any:
    """The factor of each query: the root of 1 + keys / 2, of the keys up to it."""
    if "query_scale" not in keys or "no_query_scale" in mistakes:
        return 1
    return np.sqrt(1 + (past + 1 + np.arange(count)) / 2)[:, None]


def in_digits(x: np.ndarray, digits: int) -> np.ndarray:
    """So many binary digits after the first, ties to even; the numbers are neither small nor large."""
    exponent = np.floor(np.log2(abs(x), where=x != 0, out=np.zeros(x.shape)))
    return np.round(x / 2**exponent * 2**digits) / 2**digits * 2**exponent


def matrix(name: str, keys: Keys, mistakes: Keys) -> np.ndarray:
    transposed = mistakes.get("projections_transposed", ())
    return keys[name].T if name in transposed else keys[name]


def vector(name: str, keys: Keys, mistakes: Keys) -> Any:
    return 0 if name in mistakes.get("no_projection_bias", ()) else keys.get(name, 0)


def embedded(keys: Keys, mistakes: Keys) -> np.ndarray:
    """The vectors of tokens, scaled, with those of their positions, divided by their root mean square."""
    x = np.array([keys["token_table"][token] for token in keys["tokens"]])
    x = x if "no_token_scale" in mistakes else x * keys["token_scale"]
    x = x if "no_token_positions" in mistakes else x + keys["token_positions"][: len(x)]
    if "token_types" in keys and "no_token_types" not in mistakes:
        x = x + keys["token_types"][keys["token_type_ids"]]
    norm = "no_residual_norm" if keys["residual_norm"] else "no_token_norm"
    return x if norm in mistakes else x / np.sqrt((x**2).mean(axis=-1, keepdims=True))


def projected(keys: Keys, mistakes: Keys) -> list[np.ndarray]:
    """Queries, keys and values, given or made of embeddings, or of the residual stream."""
    if "residual" in keys:
        keys = {**keys, "embeddings": normed(keys, mistakes, "residual_norm", keys["residual"][None])[0]}
    if "embeddings" not in keys:
        value = keys["key"] if "key_as_value" in mistakes else keys["value"]
        return [keys["query"], keys["key"], value]
    x = keys["embeddings"]
    if str(keys.get("position", "")).startswith("sinusoidal") and "no_position" not in mistakes:
        first = mistakes.get("position_offset", 0)
        x = x + np.array([sinusoid(first + row, x.shape[1]) for row in range(len(x))])
    made_with = {"q": "q", "k": "k", "v": "v"}
    if "query_key_weights_swapped" in mistakes:
        made_with |= {"q": "k", "k": "q"}
    if "query_as_key" in mistakes:
        made_with["k"] = "q"
    if mistakes.get("key_as_value") == "given":
        made_with["v"] = "k"
    sources = [latent(keys, mistakes, x, "q" if w == "q" else "kv") for w in made_with.values()]
    made = [
        source @ matrix(f"w_{w}", keys, mistakes) + vector(f"b_{w}", keys, mistakes)
        for source, w in zip(sources, made_with.values(), strict=True)
    ]
    limit = np.inf if "no_clip" in mistakes else keys.get("clip_qkv", np.inf)
    query, key, value = (np.clip(x, -limit, limit) for x in made)
    return [query, key, value * (1 if "no_value_scale" in mistakes else keys.get("value_scale", 1))]


def latent(keys: Keys, mistakes: Keys, x: np.ndarray, of: str) -> np.ndarray:
    """What queries, or keys and values, are made of: the sequence, or its latent over the root of its mean square."""
    if f"w_{of}_latent" not in keys:
        return x
    made = x @ keys[f"w_{of}_latent"]
    return made if mistakes.get("no_latent_norm") == of else made / np.sqrt((made**2).mean(axis=-1, keepdims=True))


def unpacked(keys: Keys, packing: str) -> dict[str, np.ndarray]:
    """The projections of as many key heads as query heads that are packed in one matrix and one bias."""
    parts = {}
    for kind in "wb":
        packed = keys[f"{kind}_qkv"]
        heads = [packed] if packing == "concatenated" else np.split(packed, keys["heads"], axis=-1)
        of_heads = [np.split(head, 3, axis=-1) for head in heads]
        for letter, columns in zip("qkv", zip(*of_heads, strict=True), strict=True):
            parts[f"{kind}_{letter}"] = np.concatenate(columns, axis=-1)
    return parts


def sinusoid(position: int, width: int) -> list[float]:
    angles = [position / 10000 ** (2 * (i // 2) / width) for i in range(width)]
    return [np.cos(a) if i % 2 else np.sin(a) for i, a in enumerate(angles)]


def split(x: np.ndarray, heads: int, mistakes: Keys) -> np.ndarray:
    """[n h·d] to [h n d]."""
    rows, features = x.shape
    width = features // heads
    if "heads_split_not_transposed" in mistakes:
        return x.reshape(heads, rows, width)
    if "heads_interleaved" in mistakes:
        return np.stack([x[:, h::heads] for h in range(heads)])
    return np.stack([x[:, h * width : (h + 1) * width] for h in range(heads)])


def rotated(
    keys: Keys, mistakes: Keys, query: np.ndarray, key: np.ndarray, value: np.ndarray, past: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Queries, keys and values after rope."""
    rope = keys.get("position")
    if not (isinstance(rope, dict) and "rope" in rope) or "no_position" in mistakes:
        return query, key, value
    count, new = query.shape[1], key.shape[1]
    first = past + new - count if keys.get("align") == "bottom_right" else past
    turn = {"query": first, "key": past}
    if "rope_from_0" in mistakes:
        turn["query"] = 0
    else:
        turn["query"] += mistakes.get("rope_offset", 0)
    turn |= dict.fromkeys(mistakes.get("rope_without_cache", ()), 0)
    settings = {"base": 10000.0, "interleaved": False, "scaling": 1.0, **rope["rope"]}
    if "rope_interleaved" in mistakes or "rope_half_split" in mistakes:
        settings["interleaved"] = "rope_interleaved" in mistakes
    if "rope_base" in mistakes:
        settings["base"] = mistakes["rope_base"]
    for slip, changed in {
        "no_rope_scaling": {"scaling": 1.0},
        "rope_dims": {"dims": None},
        "no_attention_factor": {"attention_factor": 1.0},
    }.items():
        settings |= changed if slip in mistakes else {}
    if "positions" in keys and "positions_not_read" not in mistakes:
        settings["positions"] = keys["positions"]
    sign = -1 if "rope_reversed" in mistakes else 1
    if "rope_mixed_pairs" in mistakes:
        return mixed(query, turn["query"]), mixed(key, turn["key"]), value
    query = np.stack([turned(x, turn["query"], sign, **settings) for x in query])
    if "rope_on_query_only" not in mistakes:
        key = np.stack([turned(x, turn["key"], sign, **settings) for x in key])
    if mistakes.get("rope_twice") == "new":
        query = np.stack([turned(x, turn["query"], sign, **settings) for x in query])
        key = np.stack([turned(x, turn["key"], sign, **settings) for x in key])
    if "rope_on_value" in mistakes:
        value = np.stack([turned(x, turn["key"], sign, **settings) for x in value])
    return query, key, value


def turned(
    x: np.ndarray,
    first: int,
    sign: int,
    base: float,
    interleaved: bool,
    scaling: float,
    dims: int | None = None,
    attention_factor: float = 1.0,
    positions: Any = None,
) -> np.ndarray:
    """The rows [n d] turned as complex numbers, or the first features of each."""
    if dims is not None:
        rest = x[:, dims:]
        x = turned(x[:, :dims], first, sign, base, interleaved, scaling, None, attention_factor, positions)
        return np.concatenate([x, rest], axis=1)
    half = x.shape[1] // 2
    places = [first + row for row in range(len(x))] if positions is None else positions
    angles = np.array([[at / scaling / base ** (f / half) for f in range(half)] for at in places])
    pairs = (x[:, 0::2] + 1j * x[:, 1::2]) if interleaved else (x[:, :half] + 1j * x[:, half:])
    pairs = attention_factor * pairs * np.exp(sign * 1j * angles)
    if interleaved:
        return np.stack([pairs.real, pairs.imag], axis=-1).reshape(x.shape)
    return np.concatenate([pairs.real, pairs.imag], axis=1)


def mixed(x: np.ndarray, first: int) -> np.ndarray:
    """Features f and f + d/2 of [h n d], turned by the angles that neighbouring features should have."""
    heads, rows, width = x.shape
    result = np.zeros(x.shape)
    for h in range(heads):
        for row in range(rows):
            for f in range(width):
                angle = (first + row) / 10000 ** (2 * (f // 2) / width)
                sign, partner = (-1, f + width // 2) if f < width // 2 else (1, f - width // 2)
                result[h, row, f] = x[h, row, f] * np.cos(angle) + sign * x[h, row, partner] * np.sin(angle)
    return result


def scaled(products: np.ndarray, keys: Keys, mistakes: Keys, heads: int) -> np.ndarray:
    """The products of queries and keys [h n m], divided by √d or multiplied by a scale."""
    width = keys["query"].shape[1] // heads if "query" in keys else keys["w_q"].shape[1] // heads
    root = np.sqrt(width)
    factors = {
        "no_scale": 1,
        "scale_by_d": 1 / width,
        "scale_inverted": root,
        "scale_by_model_width": 1 / np.sqrt(width * heads),
        "scaled_anyway": (keys["scale"] if mistakes.get("scaled_anyway") == "too" else 1) / root,
    }
    for name, factor in factors.items():
        if name in mistakes:
            return products * factor
    if "disentangled" in keys.get("position", "") and not {"scale_without_terms", "no_position"} & set(mistakes):
        root = np.sqrt(3 * width)
    scale = 1 if keys.get("score") == "dot" else keys.get("scale", 1 / root)
    return products * scale * (scale if "scaled_twice" in mistakes else 1)


def relative_terms(keys: Keys, mistakes: Keys, query: np.ndarray, key: np.ndarray, past: int) -> np.ndarray:
    """What Transformer-XL's and DeBERTa's positions add to the products of queries and keys [h n m]."""
    terms = np.zeros((*query.shape[:2], key.shape[1]))
    (name, given), *_ = keys["position"].items() if isinstance(keys.get("position"), Mapping) else [("", {})]
    if name not in ("transformer_xl", "disentangled") or "no_position" in mistakes:
        return terms
    table, last = given["table"], len(given["table"]) - 1
    for h, i, j in np.ndindex(*terms.shape):
        distance = i + past - j + mistakes.get("relative_shift", 0)
        distance = -distance if "relative_sign" in mistakes else distance
        if name == "disentangled":
            row, reversed_row = (min(max(x + len(table) // 2, 0), last) for x in (distance, -distance))
            if mistakes.get("no_disentangled_term") != "c2p":
                terms[h, i, j] += query[h, i] @ (table[row] @ given["w_position_k"])
            if "p2c_reversed" in mistakes:
                terms[h, i, j] += key[h, j] @ (table[reversed_row] @ given["w_position_q"])
            elif "p2c_not_transposed" in mistakes:
                terms[h, i, j] += key[h, i] @ (table[reversed_row] @ given["w_position_q"])
            elif mistakes.get("no_disentangled_term") != "p2c":
                terms[h, i, j] += key[h, j] @ (table[row] @ given["w_position_q"])
            continue
        vector = table[min(max(len(table) // 2 - distance, 0), last)]
        u, v = given["content_bias"][h], given["position_bias"][h]
        u, v = (v, u) if "relative_biases_exchanged" in mistakes else (u, v)
        terms[h, i, j] += 0 if "no_relative_keys" in mistakes else query[h, i] @ vector
        terms[h, i, j] += 0 if mistakes.get("no_relative_bias") == "u" else u @ key[h, j]
        terms[h, i, j] += 0 if mistakes.get("no_relative_bias") == "v" else v @ vector
    return terms


def biased(scores: np.ndarray, keys: Keys, mistakes: Keys, past: int) -> np.ndarray:
    """The scores limited by the softcap, and with what is added to them."""
    heads, queries, count = scores.shape
    cap = keys.get("softcap")
    if cap is not None and not {"no_softcap", "softcap_after_mask"} & set(mistakes):
        scores = cap * np.tanh(scores / cap)
    added = np.zeros(scores.shape)
    if keys.get("position") == "alibi" and "no_position" not in mistakes:
        power = 2 ** int(np.floor(np.log2(heads)))
        slopes = [2 ** (-8 * (h + 1) / power) for h in range(power)]
        slopes += [2 ** (-4 * (2 * h + 1) / power) for h in range(heads - power)]
        if "alibi_slopes" in mistakes:
            slopes = [2 ** (-8 * (h + 1) / heads) for h in range(heads)]
        for h in range(heads):
            for i in range(queries):
                for j in range(count):
                    distance = -abs(i + past - j)
                    added[h, i, j] += slopes[h] * (-distance if "alibi_sign" in mistakes else distance)
    if "decomposed" in keys.get("position", "") and "no_position" not in mistakes:
        tables = keys["position"]["decomposed"]
        names = ["rel_pos_h", "rel_pos_w"][:: -1 if "grid_axes_swapped" in mistakes else 1]
        side = tables["height"]
        for h, i, j in np.ndindex(heads, queries, count):
            query = np.split(keys["query"][i], heads)[h]
            for name, apart in zip(names, (i // side - j // side, i % side - j % side), strict=True):
                added[h, i, j] += query @ tables[name][apart + side - 1]
    if "bias" in keys and "no_bias" not in mistakes:
        added = added + np.where(np.isinf(keys["bias"]), 0, keys["bias"])
    if "bias_scaled" in mistakes:
        added = added * keys.get("scale", 1 / np.sqrt(keys["query"].shape[1] // heads))
    if "bias_twice" in mistakes:
        added = 2 * added
    return scores + added


def visibility(keys: Keys, mistakes: Keys, shape: tuple[int, ...], past: int) -> np.ndarray:
    """Which keys each query may attend to [h n m], rule by rule."""
    _, queries, count = shape
    first = count - queries if keys.get("align") == "bottom_right" else past
    if "causal_bottom_right" in mistakes:
        first = count - queries
    if mistakes.get("causal_added") == "bottom right":
        first = count - queries
    if mistakes.get("causal_added") == "top left":
        first = past
    if "causal_top_left" in mistakes:
        first = mistakes["causal_top_left"]
    here = np.arange(queries)[:, None] + first
    there = np.arange(count)[None, :]
    rules = {}
    if "mask" in keys:
        rules["mask"] = np.broadcast_to(keys["mask"], (queries, count))
    if "key_mask" in keys:
        rules["key_mask"] = np.broadcast_to(keys["key_mask"], (queries, count))
    if "bias" in keys and "no_bias" not in mistakes:
        rules["bias"] = ~np.isinf(keys["bias"])
    if keys.get("causal") or "causal_added" in mistakes:
        rules["causal"] = there <= here + mistakes.get("causal_off_by_one", 0)
    if "window" in keys and "no_window" not in mistakes:
        left, right = window(keys["window"], mistakes)
        rules["window"] = (here - left <= there) & (there <= here + right)
    if {"stale_cache", "no_cache"} & set(mistakes):
        rules["cache"] = there < past if "stale_cache" in mistakes else there >= past
    visible = np.ones(shape, dtype=bool)
    for rule in with_wrong_rules(rules, mistakes).values():
        visible = visible & rule
    return visible


def window(sides: tuple[float, float], mistakes: Keys) -> list[float]:
    """The sides of the window."""
    wider = dict.fromkeys(mistakes.get("window_too_wide", ()), 1)
    wider |= dict.fromkeys(mistakes.get("window_too_narrow", ()), -1)
    return [length + wider.get(side, 0) for side, length in zip(("left", "right"), sides, strict=True)]


def with_wrong_rules(rules: dict[str, np.ndarray], mistakes: Keys) -> dict[str, np.ndarray]:
    """The rules, some of them forgotten, inverted or transposed."""
    if "no_causal" in mistakes:
        del rules["causal"]
    for name in mistakes.get("no_mask", ()):
        del rules[name]
    if "mask_inverted" in mistakes:
        rules[mistakes["mask_inverted"]] = ~rules[mistakes["mask_inverted"]]
    if "mask_transposed" in mistakes:
        rules[mistakes["mask_transposed"]] = rules[mistakes["mask_transposed"]].T
    return rules


def normalized(scores: np.ndarray, visible: np.ndarray, keys: Keys, mistakes: Keys) -> np.ndarray:
    """The weights [h n m], row by row."""
    hidden = -np.inf
    if "masked_with_zero" in mistakes:
        masked = scores * visible
    elif mistakes.get("masked_with_finite") == "added":
        masked = scores - 1e9 * ~visible
    elif "masked_with_finite" in mistakes:
        masked = np.where(visible, scores, -1e9)
    elif "mask_after_softmax" in mistakes:
        masked = scores
    else:
        masked = np.where(visible, scores, hidden)
    if "softcap_after_mask" in mistakes:
        masked = keys["softcap"] * np.tanh(masked / keys["softcap"])
    temperature = 1.0 if "no_temperature" in mistakes else float(str(keys.get("normalize", "=1")).partition("=")[2])
    masked = masked / temperature
    sink = keys.get("sink") if "no_sink" not in mistakes else None
    if {"softmax_over_queries", "softmax_over_heads"} & set(mistakes):
        axis = 1 if "softmax_over_queries" in mistakes else 0
        powers = np.exp(masked)
        return powers / powers.sum(axis=axis, keepdims=True)
    weights = np.zeros(scores.shape)
    for h, table in enumerate(masked):
        logit = None if sink is None else sink[h]
        weights[h] = table_weights(table, logit, mistakes, weights_without_keys(keys, mistakes))
    if "mask_after_softmax" in mistakes:
        weights = weights * visible
    if "softmax_twice" in mistakes:
        weights = np.exp(weights) / np.exp(weights).sum(axis=2, keepdims=True)
    return weights


def weights_without_keys(keys: Keys, mistakes: Keys) -> str:
    """What a query gets that may attend to nothing."""
    if "empty_rows_nan" in mistakes:
        return "nan"
    return "zeros" if "empty_rows_zero" in mistakes else str(keys.get("empty_rows", "zeros"))


def table_weights(table: np.ndarray, sink: float | None, mistakes: Keys, without_keys: str) -> np.ndarray:
    """The weights of one head [n m]."""
    base = 2.0 if "powers_of_two" in mistakes else np.e
    if "no_maximum" in mistakes:
        with np.errstate(over="ignore", invalid="ignore"):
            powers = np.exp(table.astype(mistakes["no_maximum"]))
            return powers / powers.sum(axis=1, keepdims=True)
    if "exponentials_rounded" in mistakes:
        powers = np.round(np.exp(table), mistakes["exponentials_rounded"])
        return powers / powers.sum(axis=1, keepdims=True)
    if "softmax_over_table" in mistakes:
        return base**table / (base**table).sum()
    if mistakes.get("sum_without_keepdims") == "sum":
        powers = np.exp(table - table.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1)
    if mistakes.get("sum_without_keepdims") == "maximum":
        powers = np.exp(table - table.max(axis=1))
        return powers / powers.sum(axis=1)
    rows = []
    for row in table:
        if np.isneginf(row).all() and sink is None:
            rows.append(np.full(len(row), {"zeros": 0.0, "nan": np.nan, "uniform": 1 / len(row)}[without_keys]))
            continue
        largest = max(row.max(), -np.inf if sink is None else sink)
        powers = base ** (row - largest)
        rows.append(powers / (powers.sum() + (0 if sink is None else base ** (sink - largest))))
    return np.array(rows)


def log_sum_exp(keys: Keys, **mistakes: Any) -> np.ndarray:
    """The log-sum-exp [h n] of keys without masks, computed with these mistakes."""
    scores = attention(keys)["scores"]
    if "lse_of_unscaled_scores" in mistakes:
        scores = scores * np.sqrt(keys["query"].shape[-1] / keys["heads"])
    total = np.exp(scores).sum(axis=2)
    if "sink" in keys and not {"no_sink", "lse_without_sink"} & set(mistakes):
        total = total + np.exp(keys["sink"])[:, None]
    largest = np.maximum(scores.max(axis=2), keys["sink"][:, None])
    others = {
        "lse_without_maximum": np.log(total) - largest,
        "lse_not_logarithm": total,
        "lse_not_logarithm_nor_maximum": total * np.exp(-largest),
        "lse_negative": -np.log(total),
        "lse_is_maximum": largest,
        "lse_in_two_bases": largest / np.log(2) + np.log(total * np.exp(-largest)),
    }
    if others.keys() & mistakes.keys():
        return others[next(iter(mistakes))]
    return np.log2(total) if "lse_in_base_2" in mistakes else np.log(total)
