"""Attention with the mistake in one unit, by hand in NumPy: a head, an item, a tile, a row, a side, a chunk."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.arrays import normal
from tests.checks.slips.numbered_mistakes import (
    HEADS,
    ITEMS,
    PACKED,
    SINK,
    D,
    Keys,
    M,
    Mistake,
    N,
    exponentials,
    of_lengths,
    output_of,
    packed,
    plain,
    recurrent,
    scores_of,
    turned,
    values_of,
    with_sink,
)
from tests.checks.slips.wrong_recurrences import given as recurrent_keys
from tests.checks.slips.wrong_recurrences import in_chunks

WINDOW = {"window": (6, 3)}
LEFT_PADDING = {**ITEMS, "key_mask": np.arange(M) >= np.array([9, 4, 0])[:, None]}
BIAS = {"bias": normal(HEADS, N, M, seed=9)}


def of_rows(keys: Keys, read: Sequence[int] | np.ndarray, *names: str) -> np.ndarray:
    """The output in which these arrays have other rows."""
    return plain({**keys, **{name: keys[name][:, :, read] for name in names}})


def one_tile_late(tile: int, rows: int = M) -> np.ndarray:
    """The row that each row has: that of a tile before it, or its own in the first tile."""
    return np.array([row - tile if row >= tile else row for row in range(rows)])


def with_visible(keys: Keys, is_visible: np.ndarray) -> np.ndarray:
    """The output of the keys that each query sees."""
    return output_of(np.where(is_visible, scores_of(keys), -np.inf), values_of(keys))


def with_padding(keys: Keys, is_real: np.ndarray) -> np.ndarray:
    """The outputs of items with these real keys."""
    outputs = []
    for item, real in enumerate(is_real):
        own = {name: keys[name][item : item + 1] for name in ("query", "key", "value")}
        outputs.append(with_visible(own, real))
    return np.concatenate(outputs)


def read_twice(keys: Keys, number: Sequence[int]) -> np.ndarray:
    """The output of keys some of which are there once more."""
    first, count = number
    read = [*range(M), *range(first, first + count)]
    return output_of(scores_of(keys)[..., read], values_of(keys)[:, read])


def merged(keys: Keys, first: int, base: float, *, keeps_maxima: bool = True) -> np.ndarray:
    """Two splits of the keys, merged with the weights base^lse, or by sums without the maxima."""
    outputs, weights = [], []
    for part in (slice(0, first), slice(first, M)):
        scores = scores_of(keys)[..., part]
        outputs.append(output_of(scores, values_of(keys)[:, part])[0])
        powers = np.exp(scores) if keeps_maxima else exponentials(scores)
        weights.append(base ** np.log(powers.sum(axis=-1))[..., None])
    return ((outputs[0] * weights[0] + outputs[1] * weights[1]) / (weights[0] + weights[1]))[None]


def tile_by_tile(keys: Keys, tile: int, how: str) -> np.ndarray:
    """Online softmax, row by row, that divides in each tile, or rescales what the new tile adds too."""
    scores, values = scores_of(keys), values_of(keys)
    output = np.zeros((HEADS, N, D))
    for head, row in np.ndindex(HEADS, N):
        largest, total, summed = -np.inf, 0.0, np.zeros(D)
        for first in range(0, M, tile):
            part = scores[head, row, first : first + tile]
            new = max(largest, part.max())
            factor, powers = np.exp(largest - new), np.exp(part - new)
            total = total * factor + powers.sum()
            added = powers @ values[head, first : first + tile]
            if how == "softmax of its own":
                summed, total, new = summed + added / powers.sum(), 1.0, -np.inf
            elif how == "divided":
                summed = (summed * factor + added) / total
            else:
                summed = (summed + added) * factor
            largest = new
        output[head, row] = summed if "rescaled" not in how else summed / total
    return output[None]


def divided_up_to_the_diagonal(keys: Keys, tile: int) -> np.ndarray:
    """Causal online softmax that divides in each tile, and stops at that of the query's own key."""
    scores, values = scores_of(keys), values_of(keys)
    output = np.zeros((HEADS, N, D))
    for head, row in np.ndindex(HEADS, N):
        largest, total = -np.inf, 0.0
        for first in range(0, row + 1, tile):
            part = scores[head, row, first : min(first + tile, row + 1)]
            new = max(largest, part.max())
            factor, powers = np.exp(largest - new), np.exp(part - new)
            total = total * factor + powers.sum()
            summed = powers @ values[head, first : first + len(part)]
            output[head, row], largest = (output[head, row] * factor + summed) / total, new
    return output[None]


def packed_in_whole_tiles(keys: Keys, tile: int) -> np.ndarray:
    """Packed sequences, whose last tile also has the first keys of the next one."""
    bounds, rows = PACKED["cu_seqlens"], np.arange(M)
    sequence = np.searchsorted(bounds, rows, side="right") - 1
    first, count = np.array(bounds)[sequence], np.diff(bounds)[sequence]
    end = first + -(-count // tile) * tile
    return with_visible(keys, (first[:, None] <= rows) & (rows < end[:, None]))


def with_pairs(keys: Keys, *, of_query: bool) -> np.ndarray:
    """The output with pairs of neighbours turned in the queries or the keys, and halves in the others."""
    order = [*range(0, D, 2), *range(1, D, 2)]
    back = np.argsort(order)
    rotated = {
        name: turned(keys[name][..., order], np.arange(keys[name].shape[2]), 1e4)[..., back]
        if (name == "query") == of_query
        else turned(keys[name], np.arange(keys[name].shape[2]), 1e4)
        for name in ("query", "key")
    }
    return output_of(scores_of(rotated), values_of(keys))


def at_positions(keys: Keys, of_queries: np.ndarray, of_keys: np.ndarray) -> np.ndarray:
    """The output of queries and keys that are turned by these positions."""
    rotated = {"query": turned(keys["query"], of_queries, 1e4), "key": turned(keys["key"], of_keys, 1e4)}
    return output_of(scores_of(rotated), values_of(keys))


def packed_late(keys: Keys, *names: str) -> np.ndarray:
    """The output of packed causal sequences, of which the later ones read these arrays one row late."""
    rows = np.arange(M)
    read = np.where(rows < PACKED["cu_seqlens"][1], rows, rows - 1)
    late = {**keys, **{name: keys[name][:, :, read] for name in names}}
    sequence = np.searchsorted(PACKED["cu_seqlens"], rows, side="right")
    return with_visible(late, (sequence[:, None] == sequence) & np.tri(M, dtype=bool))


def page_read_from(keys: Keys, number: Sequence[int], *names: str) -> np.ndarray:
    """The output in which one page has another's rows."""
    tokens, one, other = number
    read = np.arange(M)
    read[one * tokens : (one + 1) * tokens] = range(other * tokens, (other + 1) * tokens)
    return of_rows(keys, read, *names)


def of_weights(keys: Keys, weights: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """The sums of values by these weights of scores."""
    return (weights(scores_of(keys)) @ values_of(keys))[None]


def of_chunks(slip: str, size: int, rule: str) -> Mistake:
    """A recurrence whose chunks of tokens have a mistake."""
    keys: dict[str, Any] = recurrent_keys(rule)
    return Mistake(slip, size, lambda k, size: in_chunks(k, slip, size), keys)


DISTANCE = np.arange(N)[:, None] - np.arange(M)
ROPE = {"position": "rope"}
UNIT_MISTAKES = [
    Mistake("bias_of_other_head", None, lambda k, _: output_of(scores_of(k) + k["bias"][:1], values_of(k)), BIAS),
    Mistake(
        "bias_of_other_head", None, lambda k, _: output_of(scores_of(k) + k["bias"][[0, 0, 2, 2]], values_of(k)), BIAS
    ),
    Mistake("input_of_other_head", None, lambda k, _: with_sink(k, lambda s, m: np.exp(s[0] - m)), SINK),
    Mistake("input_of_other_head", None, lambda k, _: plain({**k, "query": k["query"][:, [0] * HEADS]})),
    Mistake(
        "input_of_other_item",
        None,
        lambda k, _: of_lengths(k, [13, 13, 13]),
        {**ITEMS, "key_lengths": [13, 21, 9]},
    ),
    Mistake("keys_of_other_tile", 8, lambda k, t: of_rows(k, one_tile_late(t), "value")),
    Mistake("keys_of_other_tile", 8, lambda k, t: of_rows(k, np.arange(M) % t, "key")),
    Mistake("keys_of_other_tile", 1, lambda k, t: of_rows(k, one_tile_late(t), "key", "value")),
    Mistake(
        "queries_of_other_tile",
        4,
        lambda k, t: output_of(scores_of(k) + k["bias"][:, one_tile_late(t, N)], values_of(k)),
        BIAS,
    ),
    Mistake("queries_of_other_tile", 8, lambda k, t: of_rows(k, np.arange(N) % t, "query")),
    Mistake("positions_by_tile", 8, lambda k, t: at_positions(k, np.arange(N), np.arange(M) % t), ROPE),
    Mistake(
        "positions_by_tile", 8, lambda k, t: at_positions(k, np.arange(N) + np.arange(N) // t * t, np.arange(M)), ROPE
    ),
    Mistake("later_sequences_late", None, lambda k, _: packed_late(k, "key", "value"), PACKED),
    Mistake("later_sequences_late", None, lambda k, _: packed_late(k, "value"), PACKED),
    Mistake("keys_read_twice", (8, 8), read_twice),
    Mistake("page_of_another", (8, 1, 2), lambda k, n: page_read_from(k, n, "key", "value")),
    Mistake("page_of_another", (8, 2, 0), lambda k, n: page_read_from(k, n, "value")),
    Mistake("two_splits_merged", 24, lambda k, at: merged(k, at, 1.0)),
    Mistake("two_splits_merged", 24, lambda k, at: merged(k, at, 2.0)),
    Mistake("two_splits_merged", 9, lambda k, at: merged(k, at, np.e, keeps_maxima=False)),
    Mistake("divided_in_each_tile", 8, lambda k, t: tile_by_tile(k, t, "divided")),
    Mistake("divided_in_each_tile", 16, lambda k, t: tile_by_tile(k, t, "softmax of its own")),
    Mistake("divided_in_each_tile", 8, divided_up_to_the_diagonal, {"causal": True}),
    Mistake("new_tile_rescaled", 8, lambda k, t: tile_by_tile(k, t, "rescaled")),
    Mistake("window_side_misread", None, lambda k, _: with_visible(k, (DISTANCE <= 3) & (DISTANCE >= -6)), WINDOW),
    Mistake("window_side_misread", None, lambda k, _: with_visible(k, DISTANCE <= 6), WINDOW),
    Mistake(
        "window_side_misread",
        None,
        lambda k, _: with_visible(k, abs(DISTANCE) <= 6),
        {"window": (6, 0), "causal": True},
    ),
    Mistake("padding_on_other_side", None, lambda k, _: with_padding(k, k["key_mask"][:, ::-1]), LEFT_PADDING),
    Mistake(
        "last_block_read_whole",
        8,
        lambda k, t: of_lengths(k, [16, 24, 16]),
        {**ITEMS, "key_mask": np.arange(M) < np.array([13, 21, 9])[:, None]},
    ),
    Mistake("last_block_read_whole", 8, packed_in_whole_tiles, {**PACKED, "causal": False}),
    Mistake("sequence_bounds_off", 1, lambda k, by: packed(k, [0, 9, 20 + by, M]), PACKED),
    Mistake("rope_pairs_of_one", None, lambda k, _: with_pairs(k, of_query=False), ROPE),
    Mistake("rope_pairs_of_one", None, lambda k, _: with_pairs(k, of_query=True), ROPE),
    Mistake("no_softmax", None, lambda k, _: of_weights(k, lambda scores: scores)),
    Mistake("exponentials_not_divided", None, lambda k, _: of_weights(k, np.exp)),
    Mistake("exponentials_not_divided", None, lambda k, _: of_weights(k, exponentials)),
    Mistake(
        "scores_divided_by_sum", None, lambda k, _: of_weights(k, lambda scores: scores / scores.sum(-1, keepdims=True))
    ),
    *recurrent({"decay_in_base_2": True}, "gated", "gated_delta"),
    *recurrent({"decay_to_first_order": True}, "gated", "gated_delta"),
    *recurrent({"beta_on_value_alone": True}, "delta", "gated_delta"),
    *recurrent({"read_before_decay": True}, "gated", "gated_delta"),
    *(
        of_chunks(slip, 8, "gated")
        for slip in ("carried_state_not_decayed", "state_not_decayed_over_chunk", "no_decay_within_chunk")
    ),
    of_chunks("chunk_read_twice", 8, "linear"),
]
