"""Structural functions: projections, and the only place where axes are reshaped, repeated and concatenated."""

from attncli.base.lazy_numpy import Array, np
from attncli.ops.decorators import structural


@structural()
def project(x: Array, w: Array | None = None, b: Array | float = 0.0) -> Array:
    """`x @ w + b`; without `w`, `x + b`."""
    return (x if w is None else x @ w) + b


@structural(is_exact=True)
def unpack(x: Array, *, blocks: int, first: int, count: int) -> Array:
    """The columns of one projection among packed ones: `count` from `first` of each of equal blocks.

    Of one block they are a view, of several a copy.

    >>> unpack(np.array([[0, 1, 2, 3, 4, 5]]), blocks=1, first=2, count=2)
    array([[2, 3]])
    >>> unpack(np.array([[0, 1, 2, 3, 4, 5]]), blocks=2, first=1, count=2)
    array([[1, 2, 4, 5]])
    """
    *leading, columns = x.shape
    parts = x.reshape(*leading, blocks, columns // blocks)[..., first : first + count]
    return parts.reshape(*leading, blocks * count)


@structural(is_exact=True)
def split_heads(x: Array, *, heads: int) -> Array:
    """The features split into heads: [… n h·d] to [… h n d].

    >>> split_heads(np.array([[1, 2, 3, 4]]), heads=2)
    array([[[1, 2]],
    <BLANKLINE>
           [[3, 4]]])
    """
    *leading, rows, features = x.shape
    return x.reshape(*leading, rows, heads, features // heads).swapaxes(-2, -3)


@structural(is_exact=True)
def merge_heads(x: Array) -> Array:
    """The heads side by side, the first one first: [… h n e] to [… n h·e].

    >>> merge_heads(np.array([[[1, 2]], [[3, 4]]]))
    array([[1, 2, 3, 4]])
    """
    *leading, heads, rows, features = x.shape
    return x.swapaxes(-2, -3).reshape(*leading, rows, heads * features)


@structural(is_exact=True)
def repeat_kv(x: Array, *, heads: int) -> Array:
    """Query head h reads key head h // (heads / g): [… g m c] to [… h m c].

    >>> repeat_kv(np.array([[[1]], [[2]]]), heads=4).ravel()
    array([1, 1, 2, 2])
    """
    return np.repeat(x, heads // x.shape[-3], axis=-3)


@structural(is_exact=True)
def concat_cache(past: Array, new: Array) -> Array:
    """The cached rows, then the new ones: [… p c] and [… k c] to [… p+k c]."""
    return np.concatenate([past, new], axis=-2)


@structural(is_exact=True)
def select_rows(x: Array, *, at: list[int]) -> Array:
    """The rows at some positions: [… q x] to [… n x]."""
    return x[..., at, :]


def drop_missing_axes(table: Array, missing: tuple[int, ...]) -> Array:
    """A table over queries and keys without its `missing` axes of length 1; one of queries is added."""
    return np.atleast_2d(table.squeeze(axis=missing))


def per_head(values: Array, heads: int | None) -> Array:
    """One number a head in the shape that broadcasts with tables: [h] to [h 1 1]; without an axis of heads [1] to [].

    >>> per_head(np.array([1, 2]), heads=2).shape
    (2, 1, 1)
    >>> per_head(np.array([1]), heads=None).shape
    ()
    """
    return values.reshape(()) if heads is None else values.reshape(-1, 1, 1)


@structural()
def with_column(scores: Array, sink: Array, *, heads: int | None) -> Array:
    """A logit after the keys of every query: [… h n m] and [h] to [… h n m+1].

    Source: OpenAI 2025 (gpt-oss), attention sinks.

    >>> with_column(np.array([[1.0, 2.0]]), np.array([9.0]), heads=None)
    array([[1., 2., 9.]])
    """
    column = np.broadcast_to(per_head(sink, heads), (*scores.shape[:-1], 1))
    return np.concatenate([scores, column], axis=-1)


@structural()
def without_column(weights: Array) -> Array:
    """The last column is dropped: [… n m+1] to [… n m]."""
    return weights[..., :-1]


@structural(is_exact=True)
def identity(x: Array) -> Array:
    """The array itself, unchanged."""
    return x


@structural(is_exact=True)
def reshape(x: Array, *, shape: tuple[int, ...], at: list[int] | None = None) -> Array:
    """The same numbers in another shape; of its last axis the entries at these positions.

    >>> reshape(np.arange(6), shape=(2, 3), at=[2]).tolist()
    [[2], [5]]
    """
    shaped: Array = x.reshape(shape)
    return shaped if at is None else shaped[..., at]
