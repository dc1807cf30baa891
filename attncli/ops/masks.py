"""Masks: rules on the indices of queries and keys, true where the query may attend to the key.

A rule gets the indices of any queries and keys, so that one function serves the whole table and every block of it.
`query_positions` [… n] has the index of the key at each query's position; all indices are counted from 0.
"""

from typing import Annotated, Any

from attncli.base.lazy_numpy import Array, np
from attncli.numbers.arithmetic import ArithmeticWriter
from attncli.ops.decorators import mask, structural
from attncli.ops.records import Range
from attncli.ops.rules import KeyBounds, MaskSign
from attncli.ops.tables import table_cells

Side = Annotated[float, Range(least=0, allows_infinity=True)]  # so many keys on one side of a query
UNLIMITED = float("inf")


def mask_key_bounds(table: Array, query_rows: Array, key_positions: Array) -> KeyBounds:
    """Key bounds of a block of queries, from their part of the table."""
    return bounds_of_table(mask_(table, query_rows, key_positions))


def mask_by_hand(
    write: ArithmeticWriter, table: Array, query_rows: Array, key_positions: Array, result: Any
) -> list[str]:
    """The value of the mask for one query and one key."""
    return [f"the mask of ({write.query}, {write.key}) is {int(result)}: {verdict(result)}"]


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
    key_bounds=mask_key_bounds,
    by_hand=mask_by_hand,
    sign=MaskSign("×", "masked"),
)
def mask_(table: Array, query_rows: Array, key_positions: Array) -> Array:
    """The user's own table of true and false.

    Parameters
    ----------
    table : array [n m] or [1 m]
        1 or true where the query may attend to the key; axes before these (batch items, heads) lead.
    query_rows : array [n]
        The index of each query.
    key_positions : array [m]
        The index of each key.

    Returns
    -------
    array of bool [… n m]

    Examples
    --------
    >>> mask_(np.array([[1, 0], [1, 1]]), np.arange(2), np.arange(3))
    array([[ True, False, False],
           [ True,  True, False]])
    """
    return table_cells(table, query_rows, key_positions, fill=False).astype(bool, copy=False)


def bias_key_bounds(table: Array, query_rows: Array, key_positions: Array) -> KeyBounds:
    """Key bounds of a block of queries, from their part of the table."""
    return bounds_of_table(bias(table, query_rows, key_positions))


def bias_by_hand(
    write: ArithmeticWriter, table: Array, query_rows: Array, key_positions: Array, result: Any
) -> list[str]:
    """The value of the bias for one query and one key."""
    return [f"the bias of ({write.query}, {write.key}) is {'a number' if result else '−∞'}: {verdict(result)}"]


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
    key_bounds=bias_key_bounds,
    by_hand=bias_by_hand,
    sign=MaskSign("−", "bias −∞"),
)
def bias(table: Array, query_rows: Array, key_positions: Array) -> Array:
    """A bias of minus infinity hides its key; columns that the bias lacks are hidden.

    Parameters
    ----------
    table : array [n m] or [1 m]
        Numbers, or −∞; axes before these (batch items, heads) lead.
    query_rows : array [n]
        The index of each query.
    key_positions : array [m]
        The index of each key.

    Returns
    -------
    array of bool [… n m]

    Examples
    --------
    >>> bias(np.array([[0, -np.inf], [2, -1]]), np.arange(2), np.arange(2))
    array([[ True, False],
           [ True,  True]])
    """
    visible: Array = table_cells(table, query_rows, key_positions, fill=-np.inf) != -np.inf
    return visible


def causal_key_bounds(query_positions: Array, key_positions: Array) -> KeyBounds:
    """Keys up to the block's last position are visible to some query, keys up to its first one to all."""
    return KeyBounds(any_visible=(0, query_positions.max() + 1), all_visible=(0, query_positions.min() + 1))


def causal_by_hand(write: ArithmeticWriter, query_positions: Array, key_positions: Array, result: Any) -> list[str]:
    """The comparison of the index of one key with the position of one query."""
    sign = "≤" if result else ">"
    return [f"key {key_positions} {sign} position {query_positions} of {write.query}: {verdict(result)}"]


@mask(
    formula="visible where j ≤ posᵢ",
    shapes="query_positions[n], key_positions[m] -> [n m]",
    source="Vaswani et al. 2017, §3.2.3; with a cache: ONNX operator Attention, opset 25, is_causal",
    example={
        "query_positions": [0, 2],
        "key_positions": [0, 1, 2],
        "gives": [[True, False, False], [True, True, True]],
    },
    key_bounds=causal_key_bounds,
    by_hand=causal_by_hand,
    sign=MaskSign("▷", "after the query (causal)"),
)
def causal(query_positions: Array, key_positions: Array) -> Array:
    """No query attends to a key after its own position.

    Parameters
    ----------
    query_positions : array [… n]
        The position of each query among the keys.
    key_positions : array [m]
        The index of each key.

    Returns
    -------
    array of bool [… n m]

    Examples
    --------
    >>> causal(np.array([0, 2]), np.arange(3))
    array([[ True, False, False],
           [ True,  True,  True]])
    """
    return key_positions <= query_positions[..., :, None]


def window_key_bounds(query_positions: Array, key_positions: Array, *, left: float, right: float) -> KeyBounds:
    """The union of the windows of a block of queries, and their intersection."""
    first, last = query_positions.min(), query_positions.max()
    return KeyBounds(any_visible=(first - left, last + right + 1), all_visible=(last - left, first + right + 1))


def _window_formula(*, left: float, right: float) -> str:
    """The sides that have a limit."""
    first = "" if left == UNLIMITED else "posᵢ − left ≤ "
    last = "" if right == UNLIMITED else " ≤ posᵢ + right"
    return f"visible where {first}j{last}" if first or last else "visible"


def window_by_hand(
    write: ArithmeticWriter, query_positions: Array, key_positions: Array, result: Any, *, left: float, right: float
) -> list[str]:
    """The window of one query, and the index of one key."""
    first = "−∞" if left == UNLIMITED else write(query_positions - left)
    last = "∞" if right == UNLIMITED else write(query_positions + right)
    return [f"the window of {write.query} goes from {first} to {last}; key {key_positions}: {verdict(result)}"]


@mask(
    formula="visible where posᵢ − left ≤ j ≤ posᵢ + right",
    shapes="query_positions[n], key_positions[m] -> [n m]",
    source="Beltagy, Peters & Cohan 2020, §3.1; ONNX operator Attention, opset 25, left_window_size",
    example={
        "query_positions": [0, 2],
        "key_positions": [0, 1, 2],
        "left": 1,
        "right": 0,
        "gives": [[True, False, False], [False, True, True]],
    },
    key_bounds=window_key_bounds,
    formula_in_force=_window_formula,
    by_hand=window_by_hand,
    sign=MaskSign("·", "outside the window"),
)
def window(query_positions: Array, key_positions: Array, *, left: Side, right: Side) -> Array:
    """Only so many keys to the left and to the right of the query's position are visible.

    Parameters
    ----------
    query_positions : array [… n]
        The position of each query among the keys.
    key_positions : array [m]
        The index of each key.
    left, right : float
        How many keys on either side; infinity for no limit.

    Returns
    -------
    array of bool [… n m]

    Examples
    --------
    >>> window(np.array([0, 2]), np.arange(3), left=1, right=0)
    array([[ True, False, False],
           [False,  True,  True]])
    """
    position = query_positions[..., :, None]
    visible: Array = key_positions >= position - left
    return visible & (key_positions <= position + right)


@structural(is_boolean=True)
def and_masks(**rules: Array) -> Array:
    """True where every rule is; the rules [… n m] broadcast.

    Examples
    --------
    >>> and_masks(causal=np.array([[True, False]]), window=np.array([[True, True]]))
    array([[ True, False]])
    """
    first, *others = rules.values()
    for rule in others:
        first = first & rule
    return first


def apply_mask_by_hand(write: ArithmeticWriter, scores: Any, visible: Any, result: Any) -> list[str]:
    """That one score is hidden; a visible one stays as it is."""
    return [] if visible else ["hidden: −∞ instead of the score"]


@structural(by_hand=apply_mask_by_hand)
def apply_mask(scores: Array, visible: Array) -> Array:
    """The scores [… n m], −∞ where `visible` [… n m] is false.

    Examples
    --------
    >>> apply_mask(np.array([[1.0, 2.0]]), np.array([[True, False]]))
    array([[  1., -inf]])
    """
    return np.where(visible, scores, -np.inf).astype(scores.dtype, copy=False)


def bounds_of_table(visible: Array) -> KeyBounds:
    """The keys from the first visible one to the last, and from the first on those that are visible to every query."""
    leading = tuple(range(visible.ndim - 1))
    any_visible = np.flatnonzero(visible.any(axis=leading))
    hidden = np.asarray(~visible.all(axis=leading))
    if not any_visible.size:
        return KeyBounds((0, 0), (0, 0))
    first, end = int(any_visible[0]), int(any_visible[-1]) + 1
    gaps = np.flatnonzero(hidden[first:end])
    return KeyBounds((first, end), (first, first + int(gaps[0]) if gaps.size else end))


def verdict(visible: Any) -> str:
    """The end of the line on a cell."""
    return "visible" if visible else "hidden"
