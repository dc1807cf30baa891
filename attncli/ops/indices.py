"""Indices: which row of queries, which key, and beside which key a query stands. All are counted from 0."""

from attncli.base.lazy_numpy import Array, np


def counted(*, first: int, count: int) -> Array:
    """first, first + 1, … so many of them."""
    return np.arange(first, first + count)


def chosen(*, at: list[int]) -> Array:
    """The rows that were chosen."""
    return np.array(at)


def standing(rows: Array, *, first: int) -> Array:
    """Row i of the queries stands beside key i + first."""
    return rows + first


def standing_at_end(rows: Array, key_lengths: Array, *, first: int) -> Array:
    """Row i stands beside key i + first, counted from each batch item's last real key."""
    return rows + first + key_lengths[..., None]
