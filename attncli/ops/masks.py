"""Masks: rules on the indices of queries and keys, true where the query may attend to the key.

A rule takes any queries and any keys by their indices, so that it serves the whole table and every block of it.
`query_positions` [… n] say beside which key each query stands; rows and columns of a table are counted from 0.
"""

from typing import Any

from attncli.arrays import Array, np
from attncli.catalogue import mask, written
from attncli.pen import Pen

UNLIMITED = float("inf")


@mask(
    formula="visible where the mask is 1; columns it lacks are hidden",
    shapes="table[n m], query_rows[n], key_positions[m] -> [n m]",
    source="ONNX operator Attention, opset 25, attn_mask (boolean); scaled_dot_product_attention, attn_mask",
    example={
        "table": [[1, 0], [1, 1]],
        "query_rows": [0, 1],
        "key_positions": [0, 1],
        "gives": [[True, False], [True, True]],
    },
)
def mask_(table: Array, query_rows: Array, key_positions: Array) -> Array:
    """The user's own table of true and false."""
    return looked_up(table, query_rows, key_positions, beyond=False).astype(bool)


@written(mask_)
def _(pen: Pen, table: Array, query_rows: Array, key_positions: Array, result: Any) -> list[str]:
    return [f"the mask of ({pen.query}, {pen.key}) is {int(result)}: {_verdict(result)}"]


@mask(
    formula="hidden where the bias is −∞",
    shapes="table[n m], query_rows[n], key_positions[m] -> [n m]",
    source="ONNX operator Attention, opset 25, attn_mask (additive)",
    example={
        "table": [[0, float("-inf")], [2, -1]],
        "query_rows": [0, 1],
        "key_positions": [0, 1],
        "gives": [[True, False], [True, True]],
    },
)
def bias(table: Array, query_rows: Array, key_positions: Array) -> Array:
    """A bias of minus infinity hides its key; columns that the bias lacks are hidden."""
    return looked_up(table, query_rows, key_positions, beyond=-np.inf) > -np.inf


@written(bias)
def _(pen: Pen, table: Array, query_rows: Array, key_positions: Array, result: Any) -> list[str]:
    return [f"the bias of ({pen.query}, {pen.key}) is {'a number' if result else '−∞'}: {_verdict(result)}"]


@mask(
    formula="visible where j ≤ pᵢ",
    shapes="query_positions[n], key_positions[m] -> [n m]",
    source="Vaswani et al. 2017, §3.2.3; with a cache: ONNX operator Attention, opset 25, is_causal",
    example={
        "query_positions": [0, 2],
        "key_positions": [0, 1, 2],
        "gives": [[True, False, False], [True, True, True]],
    },
)
def causal(query_positions: Array, key_positions: Array) -> Array:
    """No query sees a key that stands after it."""
    return key_positions <= query_positions[..., :, None]


@written(causal)
def _(pen: Pen, query_positions: Array, key_positions: Array, result: Any) -> list[str]:
    sign = "≤" if result else ">"
    return [f"key {key_positions} {sign} position {query_positions} of {pen.query}: {_verdict(result)}"]


@mask(
    formula="visible where pᵢ − left ≤ j ≤ pᵢ + right",
    shapes="query_positions[n], key_positions[m] -> [n m]",
    source="Beltagy, Peters & Cohan 2020, §3.1; ONNX operator Attention, opset 25, left_window_size",
    example={
        "query_positions": [0, 2],
        "key_positions": [0, 1, 2],
        "left": 1,
        "right": 0,
        "gives": [[True, False, False], [False, True, True]],
    },
)
def window(query_positions: Array, key_positions: Array, *, left: float, right: float) -> Array:
    """Only so many keys to the left and to the right of the query's position are seen."""
    distance = key_positions - query_positions[..., :, None]
    return (distance >= -left) & (distance <= right)


@written(window)
def _(pen: Pen, query_positions: Array, key_positions: Array, result: Any, *, left: float, right: float) -> list[str]:
    first = "−∞" if left == UNLIMITED else pen(query_positions - left)
    last = "∞" if right == UNLIMITED else pen(query_positions + right)
    return [f"the window of {pen.query} goes from {first} to {last}; key {key_positions}: {_verdict(result)}"]


@mask(
    formula="visible where j < length",
    shapes="key_positions[m], key_lengths[b] -> [b n m]",
    source="ONNX operator Attention, opset 25, nonpad_kv_seqlen",
    example={
        "key_positions": [0, 1, 2],
        "key_lengths": [1, 3],
        "gives": [[[True, False, False]], [[True, True, True]]],
    },
)
def key_lengths(key_positions: Array, key_lengths: Array) -> Array:
    """Keys beyond the length of their batch item are padding."""
    return key_positions < key_lengths[..., None, None]


@written(key_lengths)
def _(pen: Pen, key_positions: Array, key_lengths: Array, result: Any) -> list[str]:
    sign = "<" if result else "≥"
    return [f"key {key_positions} {sign} {key_lengths} real keys: {_verdict(result)}"]


def all_of(**rules: Array) -> Array:
    """Visible where every rule says so."""
    visible: Array = np.array(True)
    for rule in rules.values():
        visible = visible & rule
    return visible


def hide(scores: Array, visible: Array) -> Array:
    """The scores, −∞ where the query may not attend to the key."""
    return np.where(visible, scores, -np.inf).astype(scores.dtype)


@written(hide)
def _(pen: Pen, scores: Any, visible: Any, result: Any) -> list[str]:
    return [f"visible: {pen(scores)} = {pen(result)}" if visible else f"hidden: {pen(result)}"]


def looked_up(table: Array, query_rows: Array, key_positions: Array, *, beyond: float) -> Array:
    """The cells of a table for some queries and keys; one row serves every query, columns it lacks are `beyond`."""
    rows = np.minimum(query_rows, table.shape[-2] - 1)
    inside = key_positions < table.shape[-1]
    cells = table[..., rows[:, None], np.where(inside, key_positions, 0)]
    return np.where(inside, cells, np.asarray(beyond, dtype=table.dtype))


def _verdict(visible: Any) -> str:
    """The last word on a cell."""
    return "visible" if visible else "hidden"
