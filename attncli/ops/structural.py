"""Structural functions: projections, and the only place where axes are reshaped, repeated and concatenated."""

from attncli.base.lazy_numpy import Array, np
from attncli.ops.registry import structural


@structural()
def project(x: Array, w: Array | None = None, b: Array | float = 0.0) -> Array:
    """`x @ w + b`; without `w`, `x + b`."""
    return (x if w is None else x @ w) + b


@structural(is_exact=True)
def split_heads(x: Array, *, heads: int) -> Array:
    """[… n h·d] to [… h n d]: each head gets its share of the features."""
    *leading, rows, features = x.shape
    return x.reshape(*leading, rows, heads, features // heads).swapaxes(-2, -3)


@structural(is_exact=True)
def merge_heads(x: Array) -> Array:
    """[… h n e] to [… n h·e]: the heads side by side, the first one first."""
    *leading, heads, rows, features = x.shape
    return x.swapaxes(-2, -3).reshape(*leading, rows, heads * features)


@structural(is_exact=True)
def repeat_kv(x: Array, *, heads: int) -> Array:
    """[… g m c] to [… h m c]: query head h reads key head h // (heads / g)."""
    return np.repeat(x, heads // x.shape[-3], axis=-3)


@structural(is_exact=True)
def concat_cache(past: Array, new: Array) -> Array:
    """[… p c] and [… k c] to [… p+k c]: the cache, then what is new."""
    return np.concatenate([past, new], axis=-2)


@structural(is_exact=True)
def select_rows(x: Array, *, at: list[int]) -> Array:
    """[… q x] to [… n x]: the rows at some positions."""
    return x[..., at, :]


def drop_missing_axes(table: Array, missing: tuple[int, ...]) -> Array:
    """A table over queries and keys without its `missing` axes of length 1; it keeps an axis of queries."""
    return np.atleast_2d(table.squeeze(axis=missing))


def per_head(values: Array, heads: int | None) -> Array:
    """[h] to [h 1 1], which broadcasts with [… h n m]; without an axis of heads [1] to one number."""
    return values.reshape(()) if heads is None else values.reshape(-1, 1, 1)


@structural()
def with_column(scores: Array, sink: Array, *, heads: int | None) -> Array:
    """[… h n m] and a logit [h] to [… h n m+1]: the logit follows the keys of every query."""
    column = np.broadcast_to(per_head(sink, heads), (*scores.shape[:-1], 1))
    return np.concatenate([scores, column], axis=-1)


@structural()
def without_column(weights: Array) -> Array:
    """[… n m+1] to [… n m]: the last column is dropped."""
    return weights[..., :-1]


@structural(is_exact=True)
def identity(x: Array) -> Array:
    """X itself: where a stage has nothing to do."""
    return x


@structural(is_exact=True)
def reshape(x: Array, *, shape: tuple[int, ...]) -> Array:
    """The same numbers in another shape."""
    return x.reshape(shape)
