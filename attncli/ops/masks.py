"""Masks: rules on the indices of queries and keys, true if the query sees the key.

A rule gets the indices of any queries and keys, so that one function serves the whole table and every block of it.
`query_positions` [… n] has the index of the key at each query's position; all indices count from 0.
"""

from collections.abc import Iterable, Iterator
from typing import Annotated, Any

from attncli.base.lazy_numpy import Array, np
from attncli.numbers.arithmetic import ArithmeticWriter
from attncli.numbers.terms import number
from attncli.ops.code import CodeCall
from attncli.ops.code_parts import cells_code
from attncli.ops.decorators import mask, structural
from attncli.ops.derivatives import derivative
from attncli.ops.elementwise import table_cells
from attncli.ops.records import Interval, KeyBounds, MaskSign, Range

Side = Annotated[float, Range(least=0, allows_infinity=True)]  # keys on one side of a query
UNLIMITED = float("inf")


def bounds_of_table(visible: Array) -> KeyBounds:
    """The bounds of a block: its visible keys, and those from the first on that every query sees."""
    leading = tuple(range(visible.ndim - 1))
    any_visible = np.flatnonzero(visible.any(axis=leading))
    hidden = np.asarray(~visible.all(axis=leading))
    if not any_visible.size:
        return KeyBounds((0, 0), (0, 0))
    first, end = int(any_visible[0]), int(any_visible[-1]) + 1
    gaps = np.flatnonzero(hidden[first:end])
    return KeyBounds((first, end), (first, first + int(gaps[0]) if gaps.size else end))


def verdict(reason: str, visible: Any) -> list[str]:
    """The line for a cell: why it is visible or hidden."""
    return [f"{reason}: {'visible' if visible else 'hidden'}"]


def _all_cells_code(call: CodeCall, fill: str) -> str:
    """The cells of a table; one row serves every query."""
    cells = cells_code(call, fill)
    return f"np.broadcast_to({cells}, {call.shape})" if call.shapes["table"][-2] < call.shape[-2] else cells


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
    key_bounds=lambda **cells: bounds_of_table(table_cells(**cells, fill=False).astype(bool, copy=False)),
    by_hand=lambda write, result, **_: verdict(f"the mask of ({write.query}, {write.key}) is {int(result)}", result),
    sign=MaskSign("×", "masked"),
    code=lambda call: f"{_all_cells_code(call, 'np.zeros({}, dtype=bool)')} != 0",
)
def mask_(table: Array, query_rows: Array, key_positions: Array) -> Array:
    """A table of your own: true for visible, false for hidden.

    1 or true if the query sees the key. A table of one row serves every query; missing columns are hidden.

    >>> mask_(np.array([[1, 0], [1, 1]]), np.arange(2), np.arange(3))
    array([[ True, False, False],
           [ True,  True, False]])
    """
    return table_cells(table, query_rows, key_positions, fill=False).astype(bool, copy=False)


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
    key_bounds=lambda **cells: bounds_of_table(table_cells(**cells, fill=-np.inf) != -np.inf),
    by_hand=lambda write, result, **_: verdict(
        f"the bias of ({write.query}, {write.key}) is {'a number' if result else '−∞'}", result
    ),
    sign=MaskSign("−", "bias −∞"),
    code=lambda call: f"{_all_cells_code(call, 'np.full({}, -np.inf)')} != -np.inf",
)
def bias(table: Array, query_rows: Array, key_positions: Array) -> Array:
    """A bias of minus infinity hides its key; missing columns are hidden.

    A table of one row serves every query.

    >>> bias(np.array([[0, -np.inf], [2, -1]]), np.arange(2), np.arange(2))
    array([[ True, False],
           [ True,  True]])
    """
    visible: Array = table_cells(table, query_rows, key_positions, fill=-np.inf) != -np.inf
    return visible


@mask(
    formula="visible where j ≤ posᵢ",
    shapes="query_positions[n], key_positions[m] -> [n m]",
    source="Vaswani et al. 2017, §3.2.3; with a cache: ONNX operator Attention, opset 25, is_causal",
    example={
        "query_positions": [0, 2],
        "key_positions": [0, 1, 2],
        "gives": [[True, False, False], [True, True, True]],
    },
    key_bounds=lambda query_positions, key_positions: KeyBounds(
        any_visible=(0, query_positions.max() + 1), all_visible=(0, query_positions.min() + 1)
    ),
    by_hand=lambda write, query_positions, key_positions, result: verdict(
        f"key {key_positions} {'≤' if result else '>'} position {query_positions} of {write.query}", result
    ),
    sign=MaskSign("▷", "after the query (causal)"),
)
def causal(query_positions: Array, key_positions: Array) -> Array:
    """No query attends to a key after its own position.

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


def _window_code(call: CodeCall) -> str:
    """The sides that have a limit."""
    position, sides = "{query_positions}[..., None]", []
    for side, sign, comparison in (("left", "-", ">="), ("right", "+", "<=")):
        limit = call.options[side]
        if limit != UNLIMITED:
            shifted = f"{position} {sign} {limit:g}" if limit else position
            sides.append(f"{{key_positions}} {comparison} {shifted}")
    if not sides:
        return f"np.ones({call.shape}, dtype=bool)"
    return sides[0] if len(sides) == 1 else " & ".join(f"({side})" for side in sides)


def window_by_hand(
    write: ArithmeticWriter, query_positions: Array, key_positions: Array, result: Any, *, left: float, right: float
) -> list[str]:
    """The window of one query, and the index of one key."""
    first = "−∞" if left == UNLIMITED else write(query_positions - left)
    last = "∞" if right == UNLIMITED else write(query_positions + right)
    return verdict(f"the window of {write.query} goes from {first} to {last}; key {key_positions}", result)


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
    code=_window_code,
)
def window(query_positions: Array, key_positions: Array, *, left: Side, right: Side) -> Array:
    """Only so many keys to the left and to the right of the query's position are visible.

    Infinity means no limit.

    >>> window(np.array([0, 2]), np.arange(3), left=1, right=0)
    array([[ True, False, False],
           [False,  True,  True]])
    """
    position = query_positions[..., :, None]
    visible: Array = key_positions >= position - left
    return visible & (key_positions <= position + right)


@mask(
    formula="visible where j < length",
    shapes="key_positions[m], key_lengths[b] -> [b n m]",
    source="ONNX operator Attention, opset 25, nonpad_kv_seqlen",
    example={
        "key_positions": [0, 1, 2],
        "key_lengths": [1, 3],
        "gives": [[[True, False, False]], [[True, True, True]]],
    },
    key_bounds=lambda key_positions, key_lengths: KeyBounds(
        any_visible=(0, key_lengths.max()), all_visible=(0, key_lengths.min())
    ),
    by_hand=lambda write, key_positions, key_lengths, result: verdict(
        f"key {key_positions} {'<' if result else '≥'} {key_lengths} real keys", result
    ),
    sign=MaskSign("░", "padding", precedence=1),
)
def key_lengths(key_positions: Array, key_lengths: Array) -> Array:
    """Keys beyond the length of their batch item are padding.

    The lengths are [b], or [b h] of each head.

    >>> key_lengths(np.arange(3), np.array([1, 3]))
    array([[[ True, False, False]],
    <BLANKLINE>
           [[ True,  True,  True]]])
    """
    return key_positions < key_lengths[..., None, None]


@mask(
    formula="visible where j < lengthᵢ",
    shapes="key_positions[m], query_key_lengths[b n] -> [b n m]",
    source="Dive into Deep Learning, masked_softmax with valid_lens of two axes",
    example={
        "key_positions": [0, 1, 2],
        "query_key_lengths": [[1, 3]],
        "gives": [[[True, False, False], [True, True, True]]],
    },
    key_bounds=lambda key_positions, query_key_lengths: KeyBounds(
        any_visible=(0, query_key_lengths.max()), all_visible=(0, query_key_lengths.min())
    ),
    by_hand=lambda write, key_positions, query_key_lengths, result: verdict(
        f"key {key_positions} {'<' if result else '≥'} {query_key_lengths} keys of this query", result
    ),
    sign=MaskSign("░", "beyond the query's length", precedence=1),
)
def query_key_lengths(key_positions: Array, query_key_lengths: Array) -> Array:
    """Keys beyond the length of their query are hidden: each query has its own number of keys.

    The lengths are [n], [b n], or [b h n] of each head.

    >>> query_key_lengths(np.arange(3), np.array([1, 2]))
    array([[ True, False, False],
           [ True,  True, False]])
    """
    return key_positions < query_key_lengths[..., None]


@mask(
    formula="visible where the key mask is 1",
    shapes="key_mask[b m] -> [b n m]",
    source="transformers, attention_mask of a tokenizer; MultiheadAttention of PyTorch, key_padding_mask, inverted",
    example={"key_mask": [[0, 1], [1, 1]], "gives": [[[False, True]], [[True, True]]]},
    key_bounds=lambda key_mask: bounds_of_table(key_mask[..., None, :]),
    by_hand=lambda write, key_mask, result: verdict(f"the key mask of {write.key} is {int(result)}", result),
    sign=MaskSign("░", "padding (key_mask)", precedence=1),
)
def key_mask(key_mask: Array) -> Array:
    """Keys whose mask is 0 are padding, on whichever side, for every query.

    The mask is [m], [b m], or [b h m] of each head: 1 or true for a real key.

    >>> key_mask(np.array([[0, 1, 1], [1, 1, 0]]))
    array([[[False,  True,  True]],
    <BLANKLINE>
           [[ True,  True, False]]])
    """
    return key_mask.astype(bool, copy=False)[..., None, :]


def packed_key_bounds(query_sequences: Array, key_sequences: Array) -> KeyBounds:
    """The keys from the first to the last sequence of a block of queries; the keys of their only sequence."""
    first, last = query_sequences.min(), query_sequences.max()
    any_visible = np.searchsorted(key_sequences, first), np.searchsorted(key_sequences, last, side="right")
    start, end = int(any_visible[0]), int(any_visible[1])
    return KeyBounds((start, end), (start, end) if first == last else (start, start))


@mask(
    formula="visible where query and key are of one sequence",
    shapes="query_sequences[n], key_sequences[m] -> [n m]",
    source="FlashAttention 2.8, flash_attn_varlen_func (cu_seqlens_q, cu_seqlens_k); PyTorch 2.13, varlen_attn",
    example={
        "query_sequences": [0, 1],
        "key_sequences": [0, 0, 1],
        "gives": [[True, True, False], [False, False, True]],
    },
    key_bounds=packed_key_bounds,
    by_hand=lambda write, query_sequences, key_sequences, result: verdict(
        f"{write.query} is in sequence {query_sequences}, {write.key} in {key_sequences}", result
    ),
    sign=MaskSign("∥", "in another sequence", precedence=1),
)
def cu_seqlens(query_sequences: Array, key_sequences: Array) -> Array:
    """In packed sequences a query sees the keys of its own sequence.

    >>> cu_seqlens(np.array([0, 1]), np.array([0, 0, 1]))
    array([[ True,  True, False],
           [False, False,  True]])
    """
    visible: Array = query_sequences[:, None] == key_sequences
    return visible


def chunked_key_bounds(
    query_positions: Array, key_positions: Array, real_key_starts: Array | None = None, *, size: int
) -> KeyBounds:
    """The chunks of a block of queries, from the first to the last; the intersection of all of them."""
    start = 0 if real_key_starts is None else real_key_starts[..., None]
    chunk_starts = start + chunk_number(query_positions, start, size) * size
    first, last = chunk_starts.min(), chunk_starts.max()
    return KeyBounds(any_visible=(first, last + size), all_visible=(last, first + size))


def chunked_by_hand(
    write: ArithmeticWriter,
    query_positions: Any,
    key_positions: Any,
    result: Any,
    real_key_starts: Any = 0,
    *,
    size: int,
) -> list[str]:
    """The chunks of one query and of one key, and whether they are the same."""
    lines, _ = lines_on_chunks(write, "chunk", query_positions, key_positions, real_key_starts, size)
    return [*lines, *verdict(f"key {key_positions} is in {'the same' if result else 'another'} chunk", result)]


def lines_on_chunks(
    write: ArithmeticWriter, noun: str, query_positions: Any, key_positions: Any, real_key_starts: Any, size: int
) -> tuple[list[str], list[int]]:
    """The lines that number the chunks (or blocks, by the noun) of one query and of one key; and the numbers."""
    start, lines, numbers = int(real_key_starts), list[str](), list[int]()
    for name, position in ((write.query, int(query_positions)), (f"key {key_positions}", int(key_positions))):
        counted = number(position) - start if start else number(position)
        numbers.append(chunk_number(position, start, size))
        rounded = f", rounded down {write(numbers[-1])}" if numbers[-1] * size != position - start else ""
        lines.append(f"{noun} of {name}: {write.equation(counted / size, (position - start) / size)}{rounded}")
    return lines, numbers


@mask(
    formula="visible where ⌊j / size⌋ = ⌊posᵢ / size⌋, both counted from the first real key",
    shapes="query_positions[n], key_positions[m], real_key_starts[b] -> [b n m]",
    source="Llama 4 (chunked_overlay of transformers' masking_utils.py, attention_chunk_size)",
    example={
        "query_positions": [1, 2],
        "key_positions": [0, 1, 2],
        "real_key_starts": [0, 1],
        "size": 2,
        "gives": [[[True, True, False], [False, False, True]], [[False, True, True], [False, True, True]]],
    },
    key_bounds=chunked_key_bounds,
    by_hand=chunked_by_hand,
    counts_from_first_key=True,
    sign=MaskSign("≠", "in another chunk"),
)
def chunked(
    query_positions: Array,
    key_positions: Array,
    real_key_starts: Array | None = None,
    *,
    size: Annotated[int, Range(least=1)],
) -> Array:
    """The sequence is cut into chunks of one size, and a query sees the keys of its own chunk.

    The first chunk begins at the first real key of each batch item, `real_key_starts` [b] or [b h], otherwise at key 0.

    >>> chunked(np.array([0, 2]), np.arange(4), size=2)
    array([[ True,  True, False, False],
           [False, False,  True,  True]])
    """
    start = 0 if real_key_starts is None else real_key_starts[..., None]
    chunks = chunk_number(query_positions, start, size)
    visible: Array = chunks[..., :, None] == chunk_number(key_positions, start, size)[..., None, :]
    return visible


def chunk_number(positions: Any, start: Any, size: int) -> Any:
    """The number of each position's chunk, counted from the first real key's."""
    return (positions - start) // size


def _overlap(first: Interval, second: Interval) -> Interval:
    """The intersection of two intervals; it may be empty."""
    start, end = max(first[0], second[0]), min(first[1], second[1])
    return (start, end) if start < end else (start, start)


def _length(interval: Interval) -> float:
    """The length of an interval; 0 if it ends before it begins."""
    return max(interval[1] - interval[0], 0)


def _longest(intervals: Iterable[Interval]) -> Interval:
    """The longest of some intervals; an empty one for none."""
    return max(intervals, key=_length, default=(0.0, 0.0))


def bounds_of_all(keys: int, **rules: KeyBounds) -> KeyBounds:
    """The bounds of cells that every rule leaves visible: the intersections.

    >>> window, prefix = KeyBounds((5, 9), (6, 8)), KeyBounds((0, 7), (0, 7))
    >>> bounds_of_all(9, window=window, prefix=prefix)
    KeyBounds(any_visible=(5, 7), all_visible=(6, 7), gap=(0.0, 0.0))
    """
    any_visible = all_visible = (0.0, float(keys))
    for bounds in rules.values():
        any_visible = _overlap(any_visible, bounds.any_visible)
        all_visible = _overlap(all_visible, bounds.all_visible)
    gap = _longest(_overlap(any_visible, bounds.gap) for bounds in rules.values() if _length(bounds.gap))
    return KeyBounds(any_visible, all_visible if _length(all_visible) else (any_visible[0], any_visible[0]), gap)


def bounds_of_any(keys: int, **rules: KeyBounds) -> KeyBounds:
    """The bounds of cells that at least one rule leaves visible: from the first to the last, with the longest gap.

    >>> window, prefix = KeyBounds((5, 9), (6, 8)), KeyBounds((0, 2), (0, 2))
    >>> bounds_of_any(9, window=window, prefix=prefix)
    KeyBounds(any_visible=(0.0, 9.0), all_visible=(6, 8), gap=(2, 5))
    """
    whole = (0.0, float(keys))
    parts = sorted(part for bounds in rules.values() for part in _visible_parts(bounds, whole))
    if not parts:
        return KeyBounds((0.0, 0.0), (0.0, 0.0))
    gaps, end = list[Interval](), parts[0][1]
    for start, stop in parts:
        gaps.append((end, start))
        end = max(end, stop)
    longest = _longest(gaps)
    all_visible = _longest(_overlap(whole, bounds.all_visible) for bounds in rules.values())
    return KeyBounds((parts[0][0], end), all_visible, longest if _length(longest) else (0.0, 0.0))


def _visible_parts(bounds: KeyBounds, whole: Interval) -> Iterator[Interval]:
    """The non-empty intervals around a gap, or the one from the first key to the last."""
    (first, end), (low, high) = bounds.any_visible, bounds.gap
    parts = [(first, low), (high, end)] if low < high else [(first, end)]
    yield from (part for part in (_overlap(whole, part) for part in parts) if _length(part))


def bounds_of_others(keys: int, **rules: KeyBounds) -> KeyBounds:
    """The bounds of cells that a single rule hides: all keys except those that it shows to every query.

    >>> bounds_of_others(9, rule=KeyBounds(any_visible=(0, 5), all_visible=(0, 3)))
    KeyBounds(any_visible=(3, 9.0), all_visible=(5, 9.0), gap=(0.0, 0.0))
    """
    whole = (0.0, float(keys))
    (bounds,) = rules.values()
    seen_by_all = _overlap(whole, bounds.all_visible)
    parts = _visible_parts(KeyBounds(whole, whole, seen_by_all), whole)
    rest = bounds_of_any(keys, **{str(at): KeyBounds(part, (0.0, 0.0)) for at, part in enumerate(parts)})
    (first, end), (low, high) = _overlap(whole, bounds.any_visible), _overlap(whole, bounds.gap)
    hidden = [whole] if first >= end else [(0.0, first), (end, whole[1]), (low, high)]
    return KeyBounds(rest.any_visible, _longest(hidden), rest.gap)


@structural(is_boolean=True, key_bounds=bounds_of_all)
def and_masks(**rules: Array) -> Array:
    """True if every rule is; the rules [… n m] broadcast."""
    first, *others = rules.values()
    for rule in others:
        first = first & rule
    return first


@structural(
    is_boolean=True,
    key_bounds=bounds_of_any,
    by_hand=lambda write, result, **rules: verdict(f"one of {', '.join(rules)}", result),
)
def or_masks(**rules: Array) -> Array:
    """True if any rule is; the rules [… n m] broadcast."""
    first, *others = rules.values()
    for rule in others:
        first = first | rule
    return first


@structural(
    is_boolean=True,
    key_bounds=bounds_of_others,
    by_hand=lambda write, result, **rules: verdict(f"not {', '.join(rules)}", result),
)
def not_mask(**rules: Array) -> Array:
    """True if the single rule [… n m] is false."""
    (rule,) = rules.values()
    return ~rule


@derivative("{d_scores}: {d_result}, 0 where the key is hidden", code="np.where({visible}, {grad}, 0)")
def apply_mask_scores(grad: Array, visible: Array) -> Array:
    """The gradient of the scores before the mask; a function, because tiles call it."""
    return np.where(visible, grad, 0)


@structural(
    by_hand=lambda write, visible, **_: [] if visible else ["hidden: −∞ instead of the score"],
    derivatives={"scores": apply_mask_scores, "visible": None},
)
def apply_mask(scores: Array, visible: Array) -> Array:
    """The scores [… n m], with −∞ where `visible` [… n m] is false."""
    return np.where(visible, scores, -np.inf).astype(scores.dtype, copy=False)
