"""Projections and heads: the only place where axes are reshaped."""

from attncli.arrays import Array


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


def rows(x: Array, *, at: list[int]) -> Array:
    """The rows at some positions."""
    return x[..., at, :]
