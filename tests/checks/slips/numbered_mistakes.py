"""Attention with a mistake that has a number or a map in it, by hand in NumPy; nothing here is the program's code."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from tests.arrays import normal
from tests.checks.slips import wrong_latents as latents
from tests.checks.slips import wrong_selection as selection
from tests.checks.slips.wrong_attention import attention
from tests.checks.slips.wrong_cases import two_maps
from tests.checks.slips.wrong_recurrences import given as recurrent_keys
from tests.checks.slips.wrong_recurrences import recurrence

HEADS, GROUPS, N, M, D = 4, 2, 29, 31, 8  # query heads, key heads, queries, keys, features

Keys = Mapping[str, Any]


def given(seed: int, **more: Any) -> dict[str, Any]:
    """Queries [h n d], keys and values [g m d] of one batch item."""
    return {
        "query": normal(1, HEADS, N, D, seed=seed),
        "key": normal(1, GROUPS, M, D, seed=seed + 1),
        "value": normal(1, GROUPS, M, D, seed=seed + 2),
        **more,
    }


def exponentials(scores: np.ndarray) -> np.ndarray:
    """Powers of e, divided by the largest of each row."""
    largest = scores.max(axis=-1, keepdims=True)
    return np.exp(scores - np.where(np.isfinite(largest), largest, 0))


def scores_of(keys: Keys, factor: float = 1.0, read: Sequence[int] | None = None) -> np.ndarray:
    """The products of queries and keys by √d [h n m]; `read` are the key heads that query heads read."""
    key = keys["key"][0][list(read or [head // (HEADS // GROUPS) for head in range(HEADS)])]
    return factor * keys["query"][0] @ key.transpose(0, 2, 1) / np.sqrt(D)


def values_of(keys: Keys, read: Sequence[int] | None = None) -> np.ndarray:
    """The values that each query head reads [h m e]."""
    return keys["value"][0][list(read or [head // (HEADS // GROUPS) for head in range(HEADS)])]


def output_of(scores: np.ndarray, values: np.ndarray, more: np.ndarray | float = 0.0) -> np.ndarray:
    """The weighted sums [1 h n e]; `more` is added to each sum of exponentials, as they are without their maximum."""
    powers = exponentials(scores)
    extra = more * np.exp(-scores.max(axis=-1, keepdims=True)) if np.any(more) else 0
    return (powers @ values / (powers.sum(axis=-1, keepdims=True) + extra))[None]


def with_mask(keys: Keys, scores: np.ndarray, fill: float = -np.inf) -> np.ndarray:
    """The scores with a number where the mask hides a key."""
    return np.where(keys["mask"], scores, fill)


def turned(x: np.ndarray, positions: np.ndarray, base: float) -> np.ndarray:
    """Pairs of features of both halves, turned by their positions."""
    half = x.shape[-1] // 2
    angles = positions[:, None] * base ** (-np.arange(half) / half)
    first, second = x[..., :half], x[..., half:]
    return np.concatenate(
        [first * np.cos(angles) - second * np.sin(angles), second * np.cos(angles) + first * np.sin(angles)], axis=-1
    )


def with_rope(keys: Keys, base: float = 10_000.0, shift: int = 0, stretch: float = 1.0) -> np.ndarray:
    """The output with queries and keys turned, the queries as if they were so many positions later."""
    query = turned(keys["query"], (np.arange(N) + shift) / stretch, base)
    key = turned(keys["key"], np.arange(M) / stretch, base)
    return output_of(scores_of({"query": query, "key": key}), values_of(keys))


def slopes_of(heads: int) -> np.ndarray:
    """ALiBi's slopes for a number of heads that is a power of two."""
    return 2.0 ** (-8.0 * np.arange(1, heads + 1) / heads)


def with_partial_rope(keys: Keys, dims: int) -> np.ndarray:
    """The output with the first features of queries and keys turned."""
    query, key = (
        np.concatenate([turned(x[..., :dims], np.arange(x.shape[-2]), 10_000.0), x[..., dims:]], axis=-1)
        for x in (keys["query"], keys["key"])
    )
    return output_of(scores_of({"query": query, "key": key}), values_of(keys))


def with_sink(keys: Keys, in_sum: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> np.ndarray:
    """The output with a number of the sink and of the largest score added to the exponentials."""
    scores = scores_of(keys)
    largest = scores.max(axis=-1, keepdims=True)
    powers = np.exp(scores - largest)
    total = powers.sum(axis=-1, keepdims=True) + in_sum(keys["sink"][:, None, None], largest)
    return (powers @ values_of(keys) / total)[None]


def with_chunks(keys: Keys, size: int, real: np.ndarray | bool = True) -> np.ndarray:
    """The output of queries that see the real keys of their chunk."""
    see = (np.arange(N)[:, None] // size == np.arange(M) // size) & real
    return output_of(np.where(see, scores_of(keys), -np.inf), values_of(keys))


def with_length(keys: Keys, length: int) -> np.ndarray:
    """The output of so many keys."""
    return output_of(scores_of(keys)[..., :length], values_of(keys)[:, :length])


def with_alibi(keys: Keys, slopes: np.ndarray) -> np.ndarray:
    """The output with a penalty for distant keys."""
    distance = abs(np.arange(N)[:, None] - np.arange(M))
    return output_of(scores_of(keys) - slopes[:HEADS, None, None] * distance, values_of(keys))


def in_tiles(keys: Keys, tile: int, *, values_too: bool, sum_too: bool, power: float = 1.0) -> np.ndarray:
    """Online softmax, row by row, with or without the factors of a new maximum."""
    scores, values = scores_of(keys), values_of(keys)
    output = np.zeros((HEADS, N, D))
    for head, row in np.ndindex(HEADS, N):
        largest, total, summed = -np.inf, 0.0, np.zeros(D)
        for first in range(0, M, tile):
            part = scores[head, row, first : first + tile]
            new = max(largest, part.max())
            factor, powers = np.exp(power * (largest - new)), np.exp(part - new)
            summed = (summed * factor if values_too else summed) + powers @ values[head, first : first + tile]
            total = (total * factor if sum_too else total) + powers.sum()
            largest = new
        output[head, row] = summed / total
    return output[None]


def in_splits(
    keys: Keys, count: int, base: float, *, without_maxima: bool = False, is_spread: bool = False
) -> np.ndarray:
    """Splits of the keys, merged with the weights base^lse; 1 for all of them alike."""
    scores, values, size = scores_of(keys), values_of(keys), -(-M // count)
    ranges = (
        np.array_split(np.arange(M), count) if is_spread else [range(at, min(at + size, M)) for at in range(0, M, size)]
    )
    parts = [slice(own[0], own[-1] + 1) for own in ranges]
    outputs = np.stack([output_of(scores[..., part], values[:, part])[0] for part in parts])
    powers = exponentials if without_maxima else np.exp
    shares = np.stack([base ** np.log(powers(scores[..., part]).sum(axis=-1)) for part in parts])
    return ((shares / shares.sum(axis=0))[..., None] * outputs).sum(axis=0)[None]


def of_last_tile(keys: Keys, tile: int) -> np.ndarray:
    """Sums of values by the exponentials of the last tile alone."""
    powers = exponentials(scores_of(keys))
    return (powers @ values_of(keys) / powers[..., (M - 1) // tile * tile :].sum(axis=-1, keepdims=True))[None]


def seen(query: int, key: int, tile: int, *, of_keys: bool) -> bool:
    """Whether a query sees a key by their places in tiles, or by its place alone."""
    if of_keys:
        return key % tile <= query % tile and key // tile <= query // tile
    return key <= query % tile


def causal(shift: int, left: float = np.inf) -> np.ndarray:
    """Which keys queries see: none after their own and so many more, and so many before."""
    distance = np.arange(N)[:, None] - np.arange(M)
    return (distance >= -shift) & (distance <= left)


@dataclass(frozen=True)
class Mistake:
    """A slip, the keys of a problem, the number of the mistake, and the output that is computed with it."""

    slip: str
    number: Any
    wrong: Callable[[Keys, Any], np.ndarray]
    more: Mapping[str, Any] | None = None

    def __str__(self) -> str:
        return f"{self.slip}-{self.number}"

    def keys(self, seed: int) -> dict[str, Any]:
        """The keys of the problem."""
        keys = given(seed, **(self.more or {}))
        return {name: value for name, value in keys.items() if value is not None}


def recurrent(mistakes: Keys, *rules: str, **more: Any) -> list[Mistake]:
    """Recurrences by several rules with the first of these mistakes, the others of which say more of it."""
    slip, detail = next(iter(mistakes.items()))
    number = None if isinstance(detail, (bool, str)) else detail
    return [
        Mistake(slip, number, lambda k, _: recurrence(k, **mistakes)["output"], recurrent_keys(rule, **more))
        for rule in rules
    ]


def of_maps(layer: int) -> Mistake:
    """Differential attention with the λ_init of another layer."""
    mistakes = {"lambda_of_another_layer": layer}
    keys = {"query": None, "key": None, "value": None, **two_maps(5)}
    return Mistake("lambda_of_another_layer", layer, lambda k, _: attention(k, **mistakes)["output"], keys)


def of_latents(slip: str, mistakes: Keys, **more: bool) -> Mistake:
    """Latent attention with a mistake that has no number."""
    given_keys = {"query": None, "key": None, "value": None, **latents.given(**more)}
    return Mistake(slip, None, lambda k, _: latents.latent_attention(k, **mistakes), given_keys)


def of_selection(slip: str, number: int | None = None, *, rope: str = "halves", **mistakes: Any) -> Mistake:
    """Attention to chosen keys with a mistake, which may have a number: how many keys are kept."""
    given_keys = {"query": None, "key": None, "value": None, **selection.given(rope=rope)}
    mistakes |= {} if number is None else {"kept": number}
    return Mistake(slip, number, lambda k, _: selection.selective_attention(k, **mistakes), given_keys)


def packed(keys: Keys, bounds: Sequence[int]) -> np.ndarray:
    """The output of causal sequences one after the other."""
    output = np.zeros((1, HEADS, M, D))
    for first, last in pairwise(bounds):
        own = {name: keys[name][..., first:last, :] for name in ("query", "key", "value")}
        scores = np.where(np.tri(last - first, dtype=bool), scores_of(own), -np.inf)
        output[..., first:last, :] = output_of(scores, values_of(own))
    return output


PACKED = {"query": normal(1, HEADS, M, D, seed=70), "causal": True, "cu_seqlens": [0, 9, 20, M]}
ALONG = np.ones((1, HEADS, N, D))
ROPE = {"position": "rope"}
BELOW = {"query": abs(normal(1, HEADS, N, D, seed=3)), "key": -abs(normal(1, GROUPS, M, D, seed=4)), "scale": 4e3}
FAR_BELOW = {"query": 1e3 * ALONG, "key": -abs(normal(1, GROUPS, M, D, seed=4)) - 30}
MASK = {"mask": (normal(N, M, seed=3) > -0.3) | (np.arange(M) == 0)}
SINK = {"sink": np.array([0.5, -0.25, 1.5, 0.75])}
NORM = {"qk_norm": {"rms": {"eps": 1e-6}}}


def rms(x: np.ndarray, eps: float) -> np.ndarray:
    """Vectors of one size."""
    return x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + eps)


def normed(keys: Keys, eps: float, *, in_half: bool = False) -> np.ndarray:
    """The output with queries and keys of one size."""
    query, key = (half(x) if in_half else x for x in (rms(keys["query"], eps), rms(keys["key"], eps)))
    return output_of(scores_of({"query": query, "key": key}), values_of(keys))


def swapped(x: np.ndarray) -> np.ndarray:
    """An array (b h n d) whose memory is taken for one of (b n h d)."""
    items, heads, rows, features = x.shape
    return x.reshape(items, rows, heads, features).transpose(0, 2, 1, 3)


def plain(
    keys: Keys, factor: float = 1.0, cap: float = np.inf, *, before: float = 1.0, after: float = 1.0
) -> np.ndarray:
    """The output of scores that are multiplied by a factor and capped, with factors before and after that."""
    scores = scores_of(keys, factor)
    return output_of(scores if cap == np.inf else after * cap * np.tanh(before * scores / cap), values_of(keys))


def exchanged(keys: Keys, of_keys: Sequence[int] | None, of_values: Sequence[int]) -> np.ndarray:
    """The output of query heads that read these key heads."""
    return output_of(scores_of(keys, read=of_keys), values_of(keys, of_values))


def misread(keys: Keys) -> np.ndarray:
    """The output of arrays whose layout is taken for another."""
    return plain({name: swapped(keys[name]) for name in ("query", "key", "value")})


def with_factors(keys: Keys, of_keys: Sequence[float], of_values: Sequence[float]) -> np.ndarray:
    """The output with the keys and values of each head, or key head, multiplied."""
    key, value = (np.repeat(factors, HEADS // len(factors))[:, None, None] for factors in (of_keys, of_values))
    return output_of(key * scores_of(keys), value * values_of(keys))


def e4m3(x: np.ndarray) -> np.ndarray:
    """The nearest numbers of float8: a sign, 4 digits, and powers of 2 from −6 on, up to 448."""
    step = 2.0 ** (np.maximum(np.floor(np.log2(np.maximum(abs(x), 1e-30))), -6) - 3)
    return np.clip(np.round(x / step) * step, -448, 448)


def with_float8(keys: Keys, factor: float) -> np.ndarray:
    """The output of exponentials, times a factor, in float8, and of their exact sum."""
    powers = exponentials(scores_of(keys))
    return (e4m3(factor * powers) @ values_of(keys) / (factor * powers.sum(axis=-1, keepdims=True)))[None]


def over_keys_of_all_heads(keys: Keys) -> np.ndarray:
    """The output of exponentials that are divided by the sum over heads and keys."""
    powers = np.exp(scores_of(keys))
    return (powers / powers.sum(axis=(0, 2), keepdims=True) @ values_of(keys))[None]


def of_items(keys: Keys, of_keys: Sequence[int] = (0, 1, 2), of_values: Sequence[int] = (0, 1, 2)) -> np.ndarray:
    """The outputs of items that read the keys and values of these items."""
    outputs = []
    for item, (key, value) in enumerate(zip(of_keys, of_values, strict=True)):
        read = {"query": item, "key": key, "value": value}
        outputs.append(plain({name: keys[name][at : at + 1] for name, at in read.items()}))
    return np.concatenate(outputs)


def of_lengths(keys: Keys, lengths: Sequence[int]) -> np.ndarray:
    """The outputs of items that read so many of their keys."""
    items = [{name: keys[name][at : at + 1] for name in ("query", "key", "value")} for at in range(len(lengths))]
    return np.concatenate([with_length(item, length) for item, length in zip(items, lengths, strict=True)])


MANY_QUERIES = {"query": normal(1, HEADS, 2 * M, D, seed=61)}
ITEMS = {
    "query": normal(3, HEADS, N, D, seed=51),
    **{name: normal(3, GROUPS, M, D, seed=52 + at) for at, name in enumerate(("key", "value"))},
}


def to_integers(x: np.ndarray, rows: int) -> np.ndarray:
    """Blocks of rows rounded to −127 … 127 times a scale."""
    return to_blocks(x, rows, 127, np.rint)


def to_blocks(x: np.ndarray, rows: int, largest: float, rounds: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Blocks of rows, each rounded to numbers up to the largest of a type, times a scale."""
    rounded = np.zeros(x.shape)
    for head, first in np.ndindex(x.shape[1], -(-x.shape[2] // rows)):
        block = x[0, head, first * rows : (first + 1) * rows]
        scale = abs(block).max() / largest
        rounded[0, head, first * rows : (first + 1) * rows] = rounds(block / scale) * scale
    return rounded


def sinusoids(first: int) -> np.ndarray:
    """Sines and cosines of positions from one on."""
    angles = (first + np.arange(N))[:, None] / 10_000 ** (np.arange(0, D, 2) / D)
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(N, D)


def from_embeddings(keys: Keys, first: int, w_v: np.ndarray | None = None) -> np.ndarray:
    """The output of one head of embeddings with their positions."""
    x = keys["embeddings"] + sinusoids(first)
    value = x @ (keys["w_v"] if w_v is None else w_v)
    return output_of(x @ keys["w_q"] @ (x @ keys["w_k"]).T / np.sqrt(D), value)[0]


def after_cache(keys: Keys, shift: int) -> np.ndarray:
    """The output of queries and keys after a cache, turned at positions so many more."""
    past = keys["past_key"].shape[-2]
    at = past + np.arange(N)
    key = np.concatenate([keys["past_key"], turned(keys["key"], at + shift, 10_000.0)], axis=2)
    value = np.concatenate([keys["past_value"], keys["value"]], axis=2)
    query = turned(keys["query"], at + shift, 10_000.0)
    return output_of(scores_of({"query": query, "key": key}), values_of({"value": value}))


CACHED = {
    **{name: normal(1, GROUPS, N, D, seed=31 + at) for at, name in enumerate(("key", "value"))},
    **{name: normal(1, GROUPS, 3, D, seed=33 + at) for at, name in enumerate(("past_key", "past_value"))},
    "position": "rope",
}


def with_rope_of_head_width(keys: Keys, partner: int) -> np.ndarray:
    """The output of features 0 and 1 turned with those so far from them, by the frequencies of the whole head."""

    def halfway(x: np.ndarray) -> np.ndarray:
        angles = np.arange(x.shape[-2])[:, None] * 10_000.0 ** (-np.arange(2) / (D // 2))
        pairs = (x[..., :2] + 1j * x[..., partner : partner + 2]) * np.exp(1j * angles)
        result = x.copy()
        result[..., :2], result[..., partner : partner + 2] = pairs.real, pairs.imag
        return result

    return output_of(scores_of({"query": halfway(keys["query"]), "key": halfway(keys["key"])}), values_of(keys))


def half(x: np.ndarray) -> np.ndarray:
    """The nearest numbers of float16."""
    return np.asarray(x.astype(np.float16), dtype=np.float64)


def with_rounded_rope(keys: Keys, rounded: Sequence[str]) -> np.ndarray:
    """The output with some of rope's numbers in float16."""

    def as_far(name: str, x: np.ndarray) -> np.ndarray:
        return half(x) if name in rounded else x

    turned = []
    for x in (keys["query"], keys["key"]):
        frequencies = as_far("frequencies", 10_000.0 ** (-np.arange(D // 2) / (D // 2)))
        angles = as_far("angles", np.arange(x.shape[-2])[:, None] * frequencies)
        cosine, sine = as_far("sines", np.cos(angles)), as_far("sines", np.sin(angles))
        first, second = x[..., : D // 2], x[..., D // 2 :]
        turned.append(np.concatenate([first * cosine - second * sine, second * cosine + first * sine], axis=-1))
    return output_of(scores_of(dict(zip(("query", "key"), turned, strict=True))), values_of(keys))


def tf32(x: np.ndarray) -> np.ndarray:
    """Ten binary digits after the first."""
    fractions, exponents = np.frexp(np.float32(x))
    return np.ldexp(np.trunc(np.float64(fractions) * 2**11 + np.copysign(0.5, fractions)), exponents - 11)


def in_tf32(keys: Keys) -> np.ndarray:
    """The output of products of rounded numbers."""
    powers = exponentials(scores_of({name: tf32(keys[name]) for name in ("query", "key")}))
    return (tf32(powers / powers.sum(axis=-1, keepdims=True)) @ tf32(values_of(keys)))[None]


def with_half_weights(keys: Keys, *, of_exponentials: bool) -> np.ndarray:
    """The output of weights in float16, or of exponentials whose sum is not rounded."""
    powers = exponentials(scores_of(keys))
    total = powers.sum(axis=-1, keepdims=True)
    return ((half(powers) / total if of_exponentials else half(powers / total)) @ values_of(keys))[None]


def with_tiled_masks(keys: Keys) -> np.ndarray:
    """The output of two items, of which head h of item i has the mask (4 i + h) mod 2."""
    outputs = []
    for item in range(2):
        one = {name: keys[name][item : item + 1] for name in ("query", "key", "value")}
        mask = keys["mask"][(4 * item + np.arange(HEADS)) % 2, 0]
        outputs.append(output_of(np.where(mask, scores_of(one), -np.inf), values_of(one)))
    return np.concatenate(outputs)


TWO_ITEMS = {
    "query": normal(2, HEADS, N, D, seed=41),
    **{name: normal(2, GROUPS, M, D, seed=42 + at) for at, name in enumerate(("key", "value"))},
    "mask": (normal(2, 1, N, M, seed=3) > -0.3) | (np.arange(M) == 0),
}


def from_zero(keys: Keys, visible: np.ndarray | bool = True, rows: np.ndarray | None = None) -> np.ndarray:
    """The output of exponentials of which no less than 0 is subtracted, in some rows; nothing where all vanish."""
    scores = np.where(visible, keys["scale"] * np.sqrt(D) * scores_of(keys), -np.inf)
    largest = scores.max(axis=-1, keepdims=True)
    is_low = (largest < 0) & (True if rows is None else rows[:, None])
    powers = np.exp(scores - np.where(is_low, 0, largest))
    total = powers.sum(axis=-1, keepdims=True)
    return (powers @ values_of(keys) / np.where(total > 0, total, 1))[None]


Rows = Callable[[np.ndarray], np.ndarray]


def with_rows(keys: Keys, of_keys: Rows, of_values: Rows) -> np.ndarray:
    """The output with the rows of keys and of values changed."""
    scores = scores_of({**keys, "key": of_keys(keys["key"])})
    scores = np.where(causal(0), scores, -np.inf) if keys.get("causal") else scores
    return output_of(scores, values_of({"value": of_values(keys["value"])}))


def same(x: np.ndarray) -> np.ndarray:
    """The rows as they are."""
    return x


def without(x: np.ndarray, first: int, count: int) -> np.ndarray:
    """Rows of which some are 0."""
    return x * ~((np.arange(M) >= first) & (np.arange(M) < first + count))[:, None]


def stale(x: np.ndarray, count: int) -> np.ndarray:
    """The last rows are those before them."""
    rows = [row - count if row >= M - count else row for row in range(M)]
    return x[:, :, rows]


def exchange(x: np.ndarray, tokens: int, one: int, other: int) -> np.ndarray:
    """Two pages are exchanged."""
    pages = {one: other, other: one}
    rows = [pages.get(row // tokens, row // tokens) * tokens + row % tokens for row in range(M)]
    return x[:, :, rows]


EMBEDDED = {
    **dict.fromkeys(("query", "key", "value")),
    "embeddings": normal(N, D, seed=21),
    **{name: normal(D, D, seed=22 + at) for at, name in enumerate(("w_q", "w_k", "w_v"))},
    "position": "sinusoidal",
}
MISTAKES = [
    *(Mistake("scale_factor", f, plain) for f in (1.5896, 0.31, 17.0)),
    Mistake(
        "temperature_factor",
        0.7,
        lambda k, f: output_of(f * (scores_of(k) + k["bias"]), values_of(k)),
        {"bias": normal(N, M, seed=9)},
    ),
    Mistake("softcap_value", 1.7, lambda k, c: plain(k, cap=c)),
    Mistake("softcap_value", 2.5, lambda k, c: plain(k, cap=c), {"softcap": 1.0}),
    *(Mistake("output_factor", f, lambda k, f: f * plain(k)) for f in (96.0, 1.07)),
    Mistake(
        "sink_factor",
        2.3,
        lambda k, f: output_of(scores_of(k), values_of(k), np.exp(f * k["sink"])[:, None, None]),
        SINK,
    ),
    Mistake(
        "sink_count", 3, lambda k, c: output_of(scores_of(k), values_of(k), c * np.exp(k["sink"])[:, None, None]), SINK
    ),
    Mistake("mask_value", 2.7, lambda k, x: output_of(with_mask(k, scores_of(k), -x), values_of(k)), MASK),
    Mistake(
        "mask_value",
        1e4,
        lambda k, x: output_of(with_mask(k, scores_of(k), -x), values_of(k)),
        {**MASK, "query": 1e3 * ALONG, "key": normal(1, GROUPS, M, D, seed=4) - 4},
    ),
    Mistake("alibi_factor", 1.3, lambda k, f: with_alibi(k, f * slopes_of(HEADS)), {"position": "alibi"}),
    Mistake("alibi_heads", 16, lambda k, h: with_alibi(k, slopes_of(h)), {"position": "alibi"}),
    Mistake("alibi_shard", (8, 16), lambda k, s: with_alibi(k, slopes_of(16)[8:]), {"position": "alibi"}),
    Mistake("sink_not_exponentiated", None, lambda k, _: with_sink(k, lambda sink, _: sink), SINK),
    Mistake("sink_not_exponentiated", None, lambda k, _: with_sink(k, lambda sink, m: sink * np.exp(-m)), SINK),
    Mistake("sink_without_maximum", None, lambda k, _: with_sink(k, lambda sink, _: np.exp(sink)), SINK),
    Mistake("softcap_incomplete", None, lambda k, _: plain(k, cap=3.0, after=1 / 3), {"softcap": 3.0}),
    Mistake("softcap_incomplete", None, lambda k, _: plain(k, cap=3.0, before=3.0), {"softcap": 3.0}),
    *(
        Mistake("chunk_size", size, with_chunks, {"mask": {"chunked": {"size": own}}})
        for size, own in ((8, 16), (7, 8), (13, 3))
    ),
    *(
        Mistake("key_lengths_off", off, lambda k, off: with_length(k, 23 + off), {"key_lengths": [23]})
        for off in (-1, 1, 5)
    ),
    *(
        Mistake("rope_dims_value", dims, with_partial_rope, {"position": position})
        for dims, position in ((4, "rope"), (2, "rope:dims=6"))
    ),
    Mistake("norm_eps", 0.05, normed, NORM),
    Mistake("position_offset", 5, from_embeddings, EMBEDDED),
    Mistake("position_offset", 1, from_embeddings, EMBEDDED),
    *(Mistake("rope_base", base, with_rope, {"position": "rope"}) for base in (1234.0, 12_500.0)),
    *(Mistake("rope_offset", s, lambda k, s: with_rope(k, shift=s), {"position": "rope"}) for s in (7, -3)),
    *(
        Mistake(
            "causal_off_by_one",
            s,
            lambda k, s: output_of(np.where(causal(s), scores_of(k), -np.inf), values_of(k)),
            {"causal": True},
        )
        for s in (4,)
    ),
    Mistake(
        "window_too_wide",
        3,
        lambda k, w: output_of(np.where(causal(0, 4 + w), scores_of(k), -np.inf), values_of(k)),
        {"causal": True, "window": (4, 0)},
    ),
    Mistake(
        "window_too_narrow",
        2,
        lambda k, w: output_of(np.where(causal(0, 4 - w), scores_of(k), -np.inf), values_of(k)),
        {"causal": True, "window": (4, 0)},
    ),
    *(
        Mistake("accumulator_not_rescaled", t, lambda k, t: in_tiles(k, t, values_too=False, sum_too=True))
        for t in (8, 5)
    ),
    Mistake("denominator_not_rescaled", 16, lambda k, t: in_tiles(k, t, values_too=True, sum_too=False)),
    Mistake("nothing_rescaled", 8, lambda k, t: in_tiles(k, t, values_too=False, sum_too=False)),
    Mistake("zero_keys_take_part", 33, lambda k, z: output_of(scores_of(k), values_of(k), z)),
    Mistake(
        "window_added", 4, lambda k, left: output_of(np.where(causal(M, left), scores_of(k), -np.inf), values_of(k))
    ),
    Mistake("sequence_bounds_off", 2, lambda k, by: packed(k, [0, 9 + by, 20 + by, M]), PACKED),
    Mistake("sequence_bounds_off", -1, lambda k, by: packed(k, [0, 9 + by, 20 + by, M]), PACKED),
    Mistake("sequences_not_separated", None, lambda k, _: packed(k, [0, M]), PACKED),
    Mistake(
        "output_axes_exchanged",
        None,
        lambda k, _: plain(k).swapaxes(1, 2),
        {"query": normal(1, HEADS, HEADS, D, seed=71)},
    ),
    Mistake("scores_clamped", 0.7, lambda k, limit: output_of(scores_of(k).clip(-limit, limit), values_of(k))),
    Mistake("qk_norm_of_one", None, lambda k, _: plain({**k, "query": rms(k["query"], 1e-6)}), NORM),
    Mistake("qk_norm_of_one", None, lambda k, _: plain({**k, "key": rms(k["key"], 1e-6)}), NORM),
    Mistake("key_items_alone_exchanged", (0, 0, 2), of_items, ITEMS),
    Mistake(
        "causal_by_tiles",
        6,
        lambda k, t: output_of(
            np.where(np.arange(M) // t <= np.arange(N)[:, None] // t, scores_of(k), -np.inf), values_of(k)
        ),
        {"causal": True},
    ),
    Mistake(
        "window_by_tiles",
        4,
        lambda k, t: output_of(
            np.where(
                (np.arange(M) >= (np.arange(N)[:, None] - 6) // t * t) & (np.arange(M) <= np.arange(N)[:, None]),
                scores_of(k),
                -np.inf,
            ),
            values_of(k),
        ),
        {"causal": True, "window": [6, -1]},
    ),
    Mistake(
        "last_block_read_whole",
        8,
        lambda k, t: of_lengths(k, [-(-length // t) * t for length in k["key_lengths"]]),
        {**ITEMS, "key_lengths": [13, 21, 9]},
    ),
    Mistake(
        "rescaled_in_another_base", 5, lambda k, t: in_tiles(k, t, values_too=True, sum_too=True, power=np.log2(np.e))
    ),
    Mistake("tail_dropped", 7, lambda k, t: output_of(scores_of(k)[..., :-t], values_of(k)[:, :-t])),
    Mistake("splits_averaged", 4, lambda k, s: in_splits(k, s, 1.0)),
    Mistake("splits_averaged", 7, lambda k, s: in_splits(k, s, 1.0, is_spread=True)),
    Mistake("splits_merged_in_base_2", 7, lambda k, s: in_splits(k, s, 2.0, is_spread=True)),
    Mistake("denominator_of_last_tile", 8, of_last_tile),
    Mistake(
        "tail_stale",
        8,
        lambda k, t: output_of(
            scores_of(k)[..., [*range(M), *range(M - t, M // t * t)]],
            values_of(k)[:, [*range(M), *range(M - t, M // t * t)]],
        ),
    ),
    *(
        Mistake(
            "causal_within_tiles",
            8,
            lambda k, t, of_keys=of_keys: output_of(
                np.where([[seen(i, j, t, of_keys=of_keys) for j in range(M)] for i in range(N)], scores_of(k), -np.inf),
                values_of(k),
            ),
            {"causal": True},
        )
        for of_keys in (False, True)
    ),
    Mistake(
        "mask_value",
        4.0,
        lambda k, x: output_of(scores_of(k) - x * ~np.asarray(k["mask"], dtype=bool), values_of(k)),
        MASK,
    ),
    Mistake("splits_merged_in_base_2", 3, lambda k, s: in_splits(k, s, 2.0)),
    Mistake("splits_merged_without_maxima", 4, lambda k, s: in_splits(k, s, np.e, without_maxima=True)),
    Mistake("heads_permuted", (2, 0, 3, 1), lambda k, o: plain(k)[:, list(o)]),
    Mistake("key_heads_exchanged", (1, 0, 0, 0), lambda k, r: exchanged(k, r, r)),
    Mistake("value_heads_exchanged", (1, 1, 0, 0), lambda k, r: exchanged(k, None, r)),
    *(
        Mistake("values_shifted", s, lambda k, s: output_of(scores_of(k), np.roll(values_of(k), -s, axis=1)))
        for s in (1, -4)
    ),
    *(
        Mistake("key_scale_per_head", f, lambda k, f: with_factors(k, f, [1] * HEADS))
        for f in ((1.5, 0.75, 1.0, 2.2), (1.0, 1.0, 0.4, 1.0), (3.0, 0.9))
    ),
    *(
        Mistake("value_scale_per_head", f, lambda k, f: with_factors(k, [1] * HEADS, f))
        for f in ((1.5, 0.75, 1.0, 2.2), (3.0, 0.9))
    ),
    *(
        Mistake("int8_blocks", rows, lambda k, r: plain({**k, "value": to_integers(k["value"], r)}))
        for rows in (1, 16, M)
    ),
    Mistake("int8_blocks", 16, lambda k, r: plain({**k, "key": to_integers(k["key"], r)})),
    Mistake("splits_merged_in_base_2", 4, lambda k, s: in_splits(k, s, np.exp(1 / np.log(2)))),
    Mistake("mask_added", None, lambda k, _: output_of(scores_of(k) + k["mask"], values_of(k)), MASK),
    Mistake(
        "softcap_after_bias",
        None,
        lambda k, _: output_of(2 * np.tanh((scores_of(k) + k["bias"]) / 2), values_of(k)),
        {"softcap": 2.0, "bias": normal(N, M, seed=9)},
    ),
    Mistake("scaled_after_softmax", None, lambda k, _: plain(k, np.sqrt(D)) / np.sqrt(D)),
    Mistake("alibi_ranks", 2, lambda k, r: with_alibi(k, np.tile(slopes_of(HEADS)[:2], r)), {"position": "alibi"}),
    Mistake("alibi_ranks", 2, lambda k, r: with_alibi(k, np.tile(slopes_of(2), r)), {"position": "alibi"}),
    Mistake("rope_cache_offset", 3, after_cache, CACHED),
    Mistake("rope_scaling_value", 8.0, lambda k, s: with_rope(k, stretch=s), {"position": "rope"}),
    Mistake("rope_scaling_value", 1.5, lambda k, s: with_rope(k, stretch=s), {"position": "rope:scaling=2.5"}),
    Mistake("rope_of_head_width", None, lambda k, _: with_rope_of_head_width(k, 2), {"position": "rope:dims=4"}),
    Mistake("rope_of_head_width", None, lambda k, _: with_rope_of_head_width(k, 4), {"position": "rope:dims=4"}),
    Mistake(
        "rope_frequencies_rounded", None, lambda k, _: with_rounded_rope(k, ("frequencies",)), {"position": "rope"}
    ),
    Mistake(
        "rope_angles_rounded",
        None,
        lambda k, _: with_rounded_rope(k, ("frequencies", "angles")),
        {"position": "rope"},
    ),
    Mistake("rope_angles_rounded", None, lambda k, _: with_rounded_rope(k, ("sines",)), {"position": "rope"}),
    Mistake("tf32_products", None, lambda k, _: in_tf32(k)),
    Mistake("weights_in_half", None, lambda k, _: with_half_weights(k, of_exponentials=False)),
    Mistake("weights_in_half", None, lambda k, _: with_half_weights(k, of_exponentials=True)),
    Mistake("norm_in_half", None, lambda k, _: normed(k, 1e-6, in_half=True), NORM),
    Mistake("values_not_projected", None, lambda k, _: from_embeddings(k, 0, np.eye(D)), EMBEDDED),
    Mistake("values_of_projected_keys", None, lambda k, _: from_embeddings(k, 0, k["w_k"] @ k["w_v"]), EMBEDDED),
    Mistake("masks_tiled", None, lambda k, _: with_tiled_masks(k), TWO_ITEMS),
    Mistake("sinks_by_row", None, lambda k, _: with_sink(k, lambda s, m: np.exp(s[np.arange(N) % HEADS, 0] - m)), SINK),
    Mistake("maximum_not_below", -5e4, lambda k, x: np.zeros((1, HEADS, N, D)), FAR_BELOW),
    Mistake("maximum_not_below", 0.0, lambda k, x: from_zero(k), BELOW),
    Mistake(
        "maximum_0_after_hidden_tile",
        8,
        lambda k, t: from_zero(k, causal(0), np.arange(N) // t < (M - 1) // t),
        {**BELOW, "causal": True},
    ),
    Mistake(
        "chunk_offset",
        None,
        lambda k, _: with_chunks(k, 8, np.arange(M) >= 3),
        {"mask": {"chunked": {"size": 8}}, "key_mask": [[0] * 3 + [1] * (M - 3)]},
    ),
    *(
        Mistake("rows_of_zeros", n, lambda k, n: with_rows(k, lambda x: without(x, *n), lambda x: without(x, *n)), more)
        for n, more in (((2, 2), {}), ((9, 1), {}), ((5, 8), {"causal": True}), ((20, 4), {"causal": True}))
    ),
    *(
        Mistake(
            "keys_left_out",
            (first, count),
            lambda k, n: output_of(
                np.where((np.arange(M) < n[0]) | (np.arange(M) >= sum(n)), scores_of(k), -np.inf), values_of(k)
            ),
        )
        for first, count in ((0, 8), (16, 8), (5, 1))
    ),
    *(
        Mistake(
            "features_left_out",
            count,
            lambda k, c: output_of(scores_of({**k, "query": k["query"] * (np.arange(D) < c)}), values_of(k)),
        )
        for count in (4, 7)
    ),
    *(
        Mistake(
            "bias_of_other_head",
            None,
            lambda k, _, by=by: output_of(scores_of(k) + np.roll(k["bias"], by, axis=0), values_of(k)),
            {"bias": normal(HEADS, N, M, seed=9)},
        )
        for by in (-1, 1)
    ),
    Mistake("output_in_half", None, lambda k, _: plain(k).astype(np.float16).astype(np.float64)),
    Mistake(
        "heads_not_transposed",
        None,
        lambda k, _: plain(k).reshape(1, N, HEADS, D).swapaxes(1, 2),
    ),
    Mistake(
        "heads_split_not_transposed",
        None,
        lambda k, _: plain({name: k[name].swapaxes(1, 2).reshape(k[name].shape) for name in ("query", "key", "value")}),
    ),
    Mistake("rows_of_zeros", (11, 3), lambda k, n: with_rows(k, same, lambda x: without(x, *n))),
    *(
        Mistake("rows_stale", t, lambda k, t: with_rows(k, same, lambda x: stale(x, t)), more)
        for t, more in ((1, {}), (8, {"causal": True}))
    ),
    Mistake("rows_stale", 4, lambda k, t: with_rows(k, lambda x: stale(x, t), lambda x: stale(x, t))),
    *(
        Mistake("pages_exchanged", n, lambda k, n: with_rows(k, same, lambda x: exchange(x, *n)), more)
        for n, more in (((8, 0, 2), {}), ((8, 1, 2), {"causal": True}))
    ),
    Mistake(
        "pages_exchanged",
        (8, 0, 1),
        lambda k, n: with_rows(k, lambda x: exchange(x, *n), lambda x: exchange(x, *n)),
        {"causal": True},
    ),
    Mistake("pages_exchanged", (8, 0, 1), lambda k, n: with_rows(k, lambda x: exchange(x, *n), same), {"causal": True}),
    *(
        Mistake("rows_permuted", rows, lambda k, rows: plain(k)[:, :, list(rows)])
        for rows in ((*range(N - 1), N - 2), (3, 3, 1, *range(3, N)))
    ),
    *(
        Mistake("values_permuted", rows, lambda k, r: output_of(scores_of(k), values_of(k)[:, list(r)]), MANY_QUERIES)
        for rows in (tuple(reversed(range(M))), (0, 2, 1, *range(3, M)))
    ),
    *(
        Mistake("batch_items_permuted", items, lambda k, i: of_items(k)[list(i)], ITEMS)
        for items in ((1, 2, 0), (0, 0, 2), (2, 1, 0))
    ),
    *(Mistake("key_items_exchanged", items, lambda k, i: of_items(k, i, i), ITEMS) for items in ((1, 2, 0), (0, 0, 2))),
    Mistake("value_items_exchanged", (1, 1, 2), lambda k, i: of_items(k, (0, 1, 2), i), ITEMS),
    Mistake("features_permuted", (0, 2, 4, 6, 1, 3, 5, 7), lambda k, f: plain(k)[..., list(f)]),
    Mistake("softmax_over_heads", None, lambda k, _: over_keys_of_all_heads(k)),
    *(Mistake("exponentials_in_float8", f, with_float8) for f in (1.0, 4096.0)),
    *(
        Mistake("float8_blocks", rows, lambda k, r: plain({**k, "key": to_blocks(k["key"], r, 448, e4m3)}))
        for rows in (1, 16, M)
    ),
    Mistake("layout_misread", None, lambda k, _: misread(k)),
    *recurrent({"error_before_decay": True}, "gated_delta"),
    *recurrent({"decay_not_exponentiated": True}, "gated", "gated_delta:feature_map=l2"),
    *recurrent({"decay_after_write": True}, "gated", "gated_delta"),
    *recurrent({"no_decay": True}, "gated", "gated_delta"),
    *recurrent({"no_beta": True}, "delta:feature_map=l2", "gated_delta:feature_map=l2"),
    *recurrent({"no_read_back": True}, "delta", "gated_delta"),
    *recurrent({"read_before_write": True}, "linear", "gated_delta"),
    *recurrent({"no_past_state": True}, "linear", "gated_delta"),
    *recurrent({"no_feature_map": True}, "linear:feature_map=l2", "gated_delta:feature_map=l2"),
    *recurrent({"readings_not_normalized": True}, "gated:feature_map=l2,normalize=true", past_state=None, scale=1),
    *recurrent({"state_transposed": "read"}, "gated_delta"),
    *recurrent({"state_transposed": "past"}, "gated_delta"),
    *recurrent({"feature_map_eps": 0.03}, "gated_delta:feature_map=l2"),
    *recurrent({"feature_map_eps": 1e-4}, "linear:feature_map=l2"),
    *recurrent({"state_reset": 4}, "gated_delta"),
    *recurrent({"state_reset": 7}, "linear"),
    *recurrent({"state_reset": 8, "to_past": True}, "delta:feature_map=l2"),
    *(
        of_latents("scale_of_latent", {"scale_of_latent": width}, yarn=is_scaled)
        for width in (latents.LATENT, latents.LATENT + latents.SHARED, latents.OWN, latents.SHARED)
        for is_scaled in (False, True)
    ),
    *(of_maps(layer) for layer in (0, 3)),
    of_latents("no_mscale", {"mscale": "forgotten"}),
    of_latents("no_mscale", {"mscale": "once"}),
    of_latents("mscale_twice", {"mscale": "twice"}),
    of_latents("mscale_twice", {"mscale_twice": "turned"}),
    *(
        of_latents("rope_on_wrong_part", {"rope_on_wrong_part": part}, yarn=is_scaled)
        for part in ("query", "first", "all")
        for is_scaled in (False, True)
    ),
    *(
        of_selection(slip, **{slip: True})
        for slip in ("no_index_relu", "no_index_weights", "no_index_norm", "top_before_mask")
    ),
    of_selection("no_index_rope", index_rope=""),
    of_selection("index_rope_pairs", index_rope="pairs"),
    of_selection("index_rope_pairs", index_rope="halves", rope="pairs"),
    *(of_selection("top_of_other_size", kept) for kept in (1, selection.KEPT - 1, selection.KEPT + 1, 8)),
    of_latents("rope_half_split", {"pairs_exchanged": True}),
    of_latents("rope_interleaved", {"pairs_exchanged": True}, interleaved=False),
]
