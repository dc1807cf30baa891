"""The chunked mask: the keys of a sequence in chunks of one size, of which a query sees its own."""

from typing import Annotated, Any

from attncli.base.lazy_numpy import Array
from attncli.numbers.arithmetic import ArithmeticWriter
from attncli.numbers.terms import number
from attncli.ops.decorators import mask
from attncli.ops.masks import verdict
from attncli.ops.records import Range
from attncli.ops.rules import KeyBounds, MaskSign


def chunked_key_bounds(
    query_positions: Array, key_positions: Array, real_key_starts: Array | None = None, *, size: int
) -> KeyBounds:
    """The chunks of a block of queries, from the first to the last; what all of them have in common."""
    start = 0 if real_key_starts is None else real_key_starts[..., None]
    chunk_starts = start + _chunk(query_positions, start, size) * size
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
    """The chunk of one query, that of one key, and whether they are the same."""
    start, key_name = int(real_key_starts), f"key {key_positions}"
    lines, chunks = [], set[int]()
    for name, position in ((write.query, int(query_positions)), (key_name, int(key_positions))):
        counted = number(position) - start if start else number(position)
        chunk = _chunk(position, start, size)
        is_rounded = chunk * size != position - start
        rounded = f", rounded down {write(chunk)}" if is_rounded else ""
        lines.append(f"chunk of {name}: {write.equation(counted / size, (position - start) / size)}{rounded}")
        chunks.add(chunk)
    return [*lines, f"{key_name} is in {'the same' if len(chunks) == 1 else 'another'} chunk: {verdict(result)}"]


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

    Parameters
    ----------
    query_positions : array [… n]
        The position of each query among the keys.
    key_positions : array [m]
        The index of each key.
    real_key_starts : array [b] or [b h], optional
        The first real key of each batch item, where its first chunk begins; without it key 0.
    size : int ≥ 1
        How many keys a chunk has.

    Returns
    -------
    array of bool [… n m]

    Examples
    --------
    >>> import numpy as np
    >>> chunked(np.array([0, 2]), np.arange(4), size=2)
    array([[ True,  True, False, False],
           [False, False,  True,  True]])
    """
    start = 0 if real_key_starts is None else real_key_starts[..., None]
    chunks = _chunk(query_positions, start, size)
    visible: Array = chunks[..., :, None] == _chunk(key_positions, start, size)[..., None, :]
    return visible


def _chunk(positions: Any, start: Any, size: int) -> Any:
    """The number of the chunk that positions are in, counted from that of the first real key."""
    return (positions - start) // size
