"""A backward pass in plain NumPy with mistakes in it, each written by hand; nothing here is the program's code.

`gradients(keys, mistake=detail, …)` takes queries [b h n d], keys and values [b g m d], `grad_output` [b h n e], and
may have a bias, a sink, a softcap, a scale, rope with base 10 000 on halves, a mask, also causal, and a window.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

Keys = Mapping[str, Any]
Arrays = dict[str, np.ndarray]


def turned(x: np.ndarray, sign: int = 1) -> np.ndarray:
    """Pairs of features of both halves, turned by their positions."""
    half = x.shape[-1] // 2
    angles = np.arange(x.shape[-2])[:, None] * 10_000.0 ** (-np.arange(half) / half)
    cosine, sine, first, second = np.cos(angles), sign * np.sin(angles), x[..., :half], x[..., half:]
    return np.concatenate([first * cosine - second * sine, second * cosine + first * sine], axis=-1)


def visibility(keys: Keys, shape: tuple[int, ...], off: int = 0) -> np.ndarray:
    """Which keys each query sees [n m]."""
    n, m = shape[-2:]
    distance = np.arange(m) - np.arange(n)[:, None] - (m - n if keys.get("align") == "bottom_right" else 0)
    visible = distance <= (off if keys.get("causal") else m)
    if "window" in keys:
        left, right = keys["window"]
        visible &= (distance >= -left) & (distance <= right)
    return visible & keys.get("mask", True)


def in_digits(x: np.ndarray, digits: int) -> np.ndarray:
    """So many binary digits after the first, ties to even."""
    exponent = np.floor(np.log2(abs(x), where=x != 0, out=np.zeros(x.shape)))
    return np.round(x / 2**exponent * 2**digits) / 2**digits * 2**exponent


def in_tiles(left: np.ndarray, right: np.ndarray, size: int, join: Callable[[list[np.ndarray]], Any]) -> np.ndarray:
    """A product [n m] by [m d] whose parts, of a tile of m each, are put together."""
    tiles = range(0, left.shape[-1], size)
    return join([left[..., at : at + size] @ right[..., at : at + size, :] for at in tiles])


def accumulated(parts: list[np.ndarray]) -> np.ndarray:
    """The parts, added one by one and rounded to 11 digits."""
    total = np.zeros_like(parts[0])
    for part in parts:
        total = in_digits(total + part, 10)
    return total


def gradients(keys: Keys, **mistakes: Any) -> Arrays:
    """The output and the gradients of what is given, computed with these mistakes."""
    query, key, value, grad = (keys[name] for name in ("query", "key", "value", "grad_output"))
    heads, groups = query.shape[1], key.shape[1]
    if "position" in keys:
        query, key = turned(query), turned(key)
    key, value = (np.repeat(x, heads // groups, axis=1) for x in (key, value))
    scale = keys.get("scale", query.shape[-1] ** -0.5)
    scores = query @ key.mT * scale
    cap = keys.get("softcap")
    capped = scores if cap is None else cap * np.tanh(scores / cap)
    biased = capped + keys.get("bias", 0.0)
    visible = visibility(keys, scores.shape)
    exponentials = np.where(visible, np.exp(biased), 0)
    sink = np.exp(keys["sink"])[:, None, None] if "sink" in keys else 0.0
    total = exponentials.sum(axis=-1, keepdims=True) + sink
    weights = exponentials / total
    output = weights @ value
    sums = (grad * output).sum(axis=-1, keepdims=True)

    again = weights_again(keys, mistakes, biased, exponentials, total)
    of_values = again
    if "value_gradient_of_unnormalized_weights" in mistakes:
        of_values = exponentials
    if "value_gradient_of_rounded_weights" in mistakes:
        of_values = in_digits(again, mistakes["value_gradient_of_rounded_weights"])
    if "row_sums_of_rounded_output" in mistakes:
        sums = (grad * in_digits(output, mistakes["row_sums_of_rounded_output"])).sum(axis=-1, keepdims=True)
    if mistakes.get("sink_left_out_backwards") == "sums":
        sums = (grad * (exponentials / (total - sink) @ value)).sum(axis=-1, keepdims=True)
    sums = np.roll(sums, mistakes.get("row_sums_of_another_head", 0), axis=1)
    sums = np.roll(sums, mistakes.get("row_sums_of_another_query", 0), axis=2)
    sums = sums * mistakes.get("row_sums_factor", 0 if "row_sums_left_out" in mistakes else 1)
    grad_weights = grad @ value.mT * mistakes.get("weights_gradient_factor", 1)
    grad_biased = again * (grad_weights - sums)
    grad_scores = grad_biased * softcap_factor(cap, mistakes, scores, capped, biased)
    grad_scores = grad_scores * mistakes.get("gradient_factor", {}).get("scores", 1)
    found = products(keys, mistakes, (query, key, grad), grad_scores, of_values)
    if "bias" in keys:
        found["grad_bias"] = over_broadcast(grad_biased, keys["bias"], mistakes.get("broadcast_gradient_not_summed"))
    if "sink" in keys:
        of_sink = -(sink / total * sums).sum(axis=(0, 2, 3))
        is_left_out = mistakes.get("sink_left_out_backwards") == "all"
        found["grad_sink"] = 0 * of_sink if is_left_out else of_sink * mistakes.get("sink_gradient_sign", 1)
    factors = mistakes.get("gradient_factor", {})
    return {"output": output} | {name: x * factors.get(name, 1) for name, x in found.items()}


def weights_again(
    keys: Keys, mistakes: Keys, biased: np.ndarray, exponentials: np.ndarray, total: np.ndarray
) -> np.ndarray:
    """The weights that the backward pass makes of scores and log-sum-exps."""
    lse, shape, is_visible = np.log(total), biased.shape, exponentials > 0
    rules: dict[str, Keys] = {
        "causal_added_backwards": {"causal": True},
        "causal_top_left_backwards": {"align": "top_left"},
        "causal_bottom_right_backwards": {"align": "bottom_right"},
        "window_too_wide_backwards": {"window": mistakes.get("window_too_wide_backwards")},
        "window_too_narrow_backwards": {"window": mistakes.get("window_too_narrow_backwards")},
    }
    for name, rule in rules.items():
        if name in mistakes:
            is_visible = visibility({**keys, **rule}, shape)
    if mistakes.keys() & {"no_mask_backwards", "no_causal_backwards", "no_window_backwards"}:
        is_visible = np.ones(shape, bool)
    if "causal_off_by_one_backwards" in mistakes:
        is_visible = visibility(keys, shape, mistakes["causal_off_by_one_backwards"])
    if "lse_in_base_2_backwards" in mistakes:
        lse = np.log2(total)
    if mistakes.get("sink_left_out_backwards") in ("weights", "all"):
        lse = np.log(exponentials.sum(axis=-1, keepdims=True))
    lse = np.roll(lse, mistakes.get("lse_of_another_head", 0), axis=1)
    return is_visible * np.exp(biased - lse)


def softcap_factor(cap: Any, mistakes: Keys, scores: np.ndarray, capped: np.ndarray, biased: np.ndarray) -> Any:
    """What the gradient of the scores is multiplied by."""
    if cap is None or "softcap_left_out_backwards" in mistakes:
        return 1
    of = mistakes.get("softcap_factor_of_other_scores")
    other = {"capped": cap * np.tanh(capped / cap), "biased": biased, "scores": scores}
    return 1 - (other.get(of or "", capped) / cap) ** 2


def products(
    keys: Keys, mistakes: Keys, given: tuple[np.ndarray, ...], grad_scores: np.ndarray, weights: np.ndarray
) -> Arrays:
    """dQ, dK and dV, of which those of key heads are summed."""
    query, key, grad = given
    scale = keys.get("scale", query.shape[-1] ** -0.5)
    groups = keys["key"].shape[1]
    size, how = mistakes.get("tile", 1), mistakes.get("joined", {})
    if mistakes.get("gradient_of_unturned_vectors") == "grad_key":
        query = keys["query"]
    if mistakes.get("gradient_of_unturned_vectors") == "grad_query":
        key = np.repeat(keys["key"], query.shape[1] // groups, axis=1)
    transposed = mistakes.get("product_not_transposed")
    of_key = grad_scores if transposed == "grad_key" else grad_scores.mT
    of_value = weights if transposed == "grad_value" else weights.mT
    found = {
        "grad_query": in_tiles(grad_scores * scale, key, size, how.get("grad_query", sum)),
        "grad_key": in_tiles(of_key * scale, query, size, how.get("grad_key", sum)),
        "grad_value": in_tiles(of_value, grad, size, how.get("grad_value", sum)),
    }
    for name in mistakes.get("scale_left_out_backwards", ()):
        found[name] = found[name] / scale
    for name in mistakes.get("scaled_twice_backwards", ()):
        found[name] = found[name] * scale
    for name in ("grad_key", "grad_value"):
        found[name] = of_groups(found[name], groups, name, mistakes)
    if "position" in keys:
        for name in ("grad_query", "grad_key"):
            is_kept = name in mistakes.get("rope_not_turned_back", ())
            again = 1 if name in mistakes.get("rope_turned_again", ()) else -1
            found[name] = found[name] if is_kept else turned(found[name], again)
    return found


def of_groups(of_heads: np.ndarray, groups: int, name: str, mistakes: Keys) -> np.ndarray:
    """Gradients [b h m d] of what heads read, put together for key heads [b g m d]."""
    batch, heads, *sizes = of_heads.shape
    parts = of_heads.reshape(batch, groups, heads // groups, *sizes)
    if name in mistakes.get("groups_not_summed", ()):
        return parts[:, :, 0]
    if name in mistakes.get("groups_averaged_backwards", ()):
        return parts.mean(axis=2)
    if name in mistakes.get("groups_tiled_backwards", ()):
        return of_heads.reshape(batch, heads // groups, groups, *sizes).sum(axis=1)
    return parts.sum(axis=2)


def over_broadcast(grad: np.ndarray, array: np.ndarray, mistake: str | None) -> np.ndarray:
    """The gradient [b h n m] of an array that broadcasts."""
    axes = tuple(at for at in range(4) if array.shape[at] == 1 < grad.shape[at])
    if mistake == "averaged":
        return grad.mean(axis=axes, keepdims=True)
    if mistake in ("first", "last"):
        one = slice(-1, None) if mistake == "last" else slice(0, 1)
        return grad[tuple(one if at in axes else slice(None) for at in range(4))]
    return grad.sum(axis=axes, keepdims=True)
