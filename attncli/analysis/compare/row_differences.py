"""How much the rows of two tables of weights differ: total variation, KL divergence, and the order of keys."""

from attncli.analysis.changes import ROUNDING_UNITS
from attncli.base.lazy_numpy import Array, np


def total_variation(first: Array, second: Array) -> Array:
    """Half the sum of the differences of each row: distributions [… n m] and [… n m] to [… n], from 0 to 1.

    >>> total_variation(np.array([[0.5, 0.5]]), np.array([[1.0, 0.0]])).tolist()
    [0.5]
    """
    distances: Array = abs(_wide(second) - _wide(first)).sum(axis=-1) / 2
    return distances


def kl_divergence(first: Array, second: Array) -> Array:
    """KL(first ‖ second) = Σⱼ pⱼ ln(pⱼ / qⱼ) of each row, in nats: distributions [… n m] and [… n m] to [… n].

    A key without weight in the first adds nothing; one that has weight in the first alone makes it infinite. Source:
    Kullback & Leibler 1951, eq. 2.4.

    >>> kl_divergence(np.array([[1.0, 0.0], [0.5, 0.5]]), np.array([[0.5, 0.5], [1.0, 0.0]])).round(4).tolist()
    [0.6931, inf]
    """
    p, q = _wide(first), _wide(second)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(p > 0, p * (np.log(p) - np.log(q)), 0)
    divergences: Array = np.maximum(terms.sum(axis=-1), 0)  # rounding may leave less than 0 of equal rows
    return divergences


def reordered(first: Array, second: Array) -> Array:
    """Whether the order of the keys of each row changes: weights [… n m] and [… n m] to [… n].

    It does where one key has more weight than another in the first and less in the second. Weights that differ by no
    more than rounding are ties, and a tie is not inverted. Rows with a NaN are not.

    >>> reordered(np.array([[0.5, 0.3, 0.2]] * 2), np.array([[0.4, 0.4, 0.2], [0.3, 0.5, 0.2]])).tolist()
    [False, True]
    """
    ranks, other_ranks = _ranks(first), _ranks(second)
    order = np.lexsort((other_ranks, ranks), axis=-1)
    others = np.take_along_axis(other_ranks, order, axis=-1)
    # Keys in the order of the first, ties in that of the second: an earlier key that ranks higher was below before.
    is_inverted = np.maximum.accumulate(others, axis=-1) > others
    is_number = ~(np.isnan(first) | np.isnan(second))
    return np.asarray(is_inverted.any(axis=-1) & is_number.all(axis=-1))


def _ranks(weights: Array) -> Array:
    """The rank of each weight in its row, from 0 for the smallest; weights that rounding may have told apart tie."""
    order = np.argsort(weights, axis=-1, kind="stable")
    ascending = np.take_along_axis(weights, order, axis=-1)
    largest = np.where(np.isfinite(weights), abs(weights), 0).max(axis=-1, keepdims=True, initial=0)
    with np.errstate(invalid="ignore", over="ignore"):
        is_higher = np.diff(ascending, axis=-1) > ROUNDING_UNITS * np.finfo(weights.dtype).eps * largest
    ranks = np.zeros(weights.shape, np.intp)
    np.put_along_axis(ranks, order[..., 1:], np.cumsum(is_higher, axis=-1), axis=-1)
    return ranks


def _wide(weights: Array) -> Array:
    """The weights in float64, or in their own type where that is wider."""
    return weights.astype(np.result_type(weights.dtype, np.float64))
