"""Indices of queries and keys, and the position of each query among the keys; all are counted from 0."""

from attncli.base.lazy_numpy import Array, np
from attncli.ops.code import CodeCall
from attncli.ops.decorators import structural


def _count_code(call: CodeCall) -> str:
    """A range, by default from 0."""
    first, length = call.options["first"], call.options["length"]
    return f"np.arange({first}, {first + length})" if first else f"np.arange({length})"


def _last_code(call: CodeCall) -> str:
    """One more than the largest of all positions."""
    largest = [f"{name}.max()" for name in call.variables.values()]
    return f"{largest[0]} + 1" if len(largest) == 1 else f"max({', '.join(largest)}) + 1"


@structural(is_exact=True, code=_count_code)
def count(*, first: int, length: int) -> Array:
    """The indices first, first + 1, …: an array [length]."""
    return np.arange(first, first + length)


@structural(is_exact=True, code="np.array({at})")
def selected_positions(*, at: list[int]) -> Array:
    """The positions of the selected queries, as an array [n]."""
    return np.array(at)


@structural(is_exact=True, code="np.array({length})")
def position_count(*, length: int) -> Array:
    """The number of positions, as an array []."""
    return np.array(length)


@structural(is_exact=True, code=_last_code)
def last_position_count(**positions: Array) -> Array:
    """The number of positions up to the last given one, as an array [].

    >>> last_position_count(query=np.array([3, 0]), key=np.array([5]))
    array(6)
    """
    return np.asarray(max(array.max() for array in positions.values()) + 1)


@structural(is_exact=True)
def given_positions(
    positions: Array, *, shape: tuple[int, ...], has_axes: bool = False, at: list[int] | None = None
) -> Array:
    """Positions as given, [n], [b n] or, on several axes, [s n], [s b n]: to [… n] or [… s n].

    `shape` is the result's before some rows are selected.

    >>> given_positions(np.array([[0, 1, 2], [5, 6, 7]]), shape=(2, 1, 3), at=[2]).tolist()
    [[[2]], [[7]]]
    >>> given_positions(np.zeros((3, 2, 4)), shape=(2, 1, 3, 4), has_axes=True).shape
    (2, 1, 3, 4)
    """
    moved = np.moveaxis(positions, 0, -2) if has_axes else positions
    placed: Array = moved.reshape(shape)
    return placed if at is None else placed[..., at]


@structural(is_exact=True)
def on_axes(positions: Array, *, count: int) -> Array:
    """The same positions on each of so many axes: [… n] to [… s n].

    >>> on_axes(np.array([0, 1]), count=2)
    array([[0, 1],
           [0, 1]])
    """
    return np.repeat(positions[..., None, :], count, axis=-2)


@structural(is_exact=True)
def sequence_numbers(rows: Array, bounds: Array) -> Array:
    """The number of each row's packed sequence, [n] and [z] to [n]; `bounds` has one entry more than sequences.

    >>> sequence_numbers(np.arange(5), np.array([0, 2, 2, 5]))
    array([0, 0, 2, 2, 2])
    """
    numbers: Array = np.searchsorted(bounds, rows, side="right") - 1
    return numbers


@structural(is_exact=True)
def query_positions_in_sequences(
    rows: Array, sequences: Array, bounds: Array, bounds_of_keys: Array | None = None, *, at_end: bool
) -> Array:
    """The position of each query of packed sequences among all keys: [n], [n] and [z] to [n].

    The first query of a sequence is at its first key, or with `at_end` the last at its last.

    >>> bounds, bounds_of_keys = np.array([0, 1, 3]), np.array([0, 2, 6])
    >>> rows, sequences = np.arange(3), np.array([0, 1, 1])
    >>> query_positions_in_sequences(rows, sequences, bounds, bounds_of_keys, at_end=True).tolist()
    [1, 4, 5]
    """
    shifts = (bounds if bounds_of_keys is None else bounds_of_keys) - bounds
    positions: Array = rows + shifts[sequences + at_end]
    return positions


@structural(is_exact=True)
def query_positions(rows: Array, *, first: int) -> Array:
    """The position of each query among the keys, [n] to [n]: row i of the queries is at key i + first."""
    return rows + first


@structural(is_exact=True)
def real_key_ends(key_mask: Array, key_lengths: Array | None = None) -> Array:
    """The index after the last real key of each batch item, 0 if it has none: [… m] and […] to […].

    Keys from `key_lengths` on are padding too.

    >>> real_key_ends(np.array([[False, True, True], [True, True, False]])).tolist()
    [3, 2]
    """
    if key_lengths is not None:
        key_mask = key_mask & (np.arange(key_mask.shape[-1]) < key_lengths[..., None])
    keys = np.arange(1, key_mask.shape[-1] + 1)
    ends: Array = (key_mask * keys).max(axis=-1)
    return ends


@structural(is_exact=True)
def real_key_starts(key_mask: Array) -> Array:
    """The index of the first real key of each batch item, 0 if it has none: [… m] to […].

    >>> real_key_starts(np.array([[False, True, True], [True, True, False]])).tolist()
    [1, 0]
    """
    starts: Array = (key_mask * 1).argmax(axis=-1)  # PyTorch, whose scripts copy this, has no argmax of booleans
    return starts


@structural(is_exact=True)
def longest(lengths: Array, *, shape: tuple[int, ...]) -> Array:
    """The largest length among the queries of each batch item, in this shape: [b n] to […].

    >>> longest(np.array([[1, 3], [2, 0]]), shape=(2,))
    array([3, 2])
    """
    most: Array = lengths.max(axis=-1).reshape(shape)
    return most


@structural(is_exact=True)
def query_positions_at_end(rows: Array, key_lengths: Array, *, first: int) -> Array:
    """Row i is at key i + first, counted from the end of each batch item's real keys: [n] and [b …] to [b … n].

    >>> query_positions_at_end(np.arange(2), np.array([3, 5]), first=-2)
    array([[1, 2],
           [3, 4]])
    """
    return rows + first + key_lengths[..., None]
