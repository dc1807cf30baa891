"""Projections and heads: the only place where axes are reshaped, shared and joined."""

from attncli.base.lazy_numpy import Array, np


def project(x: Array, w: Array | None = None, b: Array | float = 0.0) -> Array:
    """`x @ w + b`; without `w`, `x + b`."""
    return (x if w is None else x @ w) + b


def split(x: Array, *, heads: int) -> Array:
    """[… n h·d] to [… h n d]: each head gets its share of the features."""
    *leading, rows, features = x.shape
    return x.reshape(*leading, rows, heads, features // heads).swapaxes(-2, -3)


def merge(x: Array) -> Array:
    """[… h n e] to [… n h·e]: the heads side by side, the first one first."""
    *leading, heads, rows, features = x.shape
    return x.swapaxes(-2, -3).reshape(*leading, rows, heads * features)


def share(x: Array, *, heads: int) -> Array:
    """[… g m c] to [… h m c]: query head h reads key head h // (heads / g)."""
    return np.repeat(x, heads // x.shape[-3], axis=-3)


def join(past: Array, new: Array) -> Array:
    """[… p c] and [… k c] to [… p+k c]: the cache, then what is new."""
    return np.concatenate([past, new], axis=-2)


def rows(x: Array, *, at: list[int]) -> Array:
    """The rows at some positions."""
    return x[..., at, :]


def laid(table: Array, missing: tuple[int, ...]) -> Array:
    """A table over queries and keys, without axes that nobody has; of one row where it has no axis of queries."""
    return np.atleast_2d(table.squeeze(axis=missing))


def beside(per_head: Array, heads: int | None) -> Array:
    """Numbers [h], one a head, as they stand beside tables [… h n m]; one number where there is no axis of heads."""
    return per_head.reshape(()) if heads is None else per_head.reshape(-1, 1, 1)


def with_column(scores: Array, sink: Array, *, heads: int | None) -> Array:
    """[… h n m] and a logit [h] to [… h n m+1]: the logit stands after the keys of every query."""
    column = np.broadcast_to(beside(sink, heads), (*scores.shape[:-1], 1))
    return np.concatenate([scores, column], axis=-1)


def without_column(weights: Array) -> Array:
    """[… n m+1] to [… n m]: the last column is dropped."""
    return weights[..., :-1]
