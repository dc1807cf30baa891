"""Rows of weights: the statistics of each row, the difference of two, and the changed numbers of an array."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields

from attncli.base.axes import format_lengths
from attncli.base.dtypes import Precision, common_dtype
from attncli.base.lazy_numpy import Array, np
from attncli.plan.trace import RunResult

# Equal computations may differ by this many units in the last place of the largest number of a row, and a
# distribution's sum from 1.
ROUNDING_UNITS = 16
CHUNK_CELLS = 2**20  # weights processed at once: a large table is not copied whole
NO_KEY = -1


CHUNK_NUMBERS = 2**20  # numbers compared at once: comparing takes several arrays of their size


def largest_of_rows(x: Array) -> Array:
    """The largest finite absolute number of each row [… 1]; 0 if there is none."""
    with np.errstate(all="ignore"):
        largest: Array = np.where(np.isfinite(x), abs(x), 0).max(axis=-1, keepdims=True, initial=0)
        return largest


def changed(before: Array, after: Array) -> Array:
    """Whether each number of an array [… n m] differs from the one before by more than rounding.

    A difference counts above 16 units in the last place of the row's largest finite number, in the coarser type. NaN
    equals NaN, an infinity itself. Both arrays have the same shape; a number is a row.

    >>> changed(np.array([[1.0, 2.0]]), np.array([[1.0 + 2**-52, 2.5]])).tolist()
    [[False, True]]
    """
    if not before.ndim:
        return np.asarray(changed(before[None], after[None])[0])
    if before.dtype.kind != "f" or after.dtype.kind != "f":
        different: Array = before != after
        return different
    largest = np.maximum(largest_of_rows(before), largest_of_rows(after))
    allowed = ROUNDING_UNITS * max(np.finfo(before.dtype).eps, np.finfo(after.dtype).eps) * largest
    is_same = (before == after) | (np.isnan(before) & np.isnan(after))
    with np.errstate(invalid="ignore", over="ignore"):  # the difference of extreme numbers is infinite
        result: Array = ~(is_same | (abs(after - before) <= allowed))
    return result


@dataclass(frozen=True)
class RowStatistics:
    """The statistics of weights [… n m], an array [… n] each.

    `support` counts the keys whose weight is not 0. `entropy` (in nats) and `effective_keys`, its exponential, are NaN
    for rows that are not distributions: some weight is negative, or their sum is not 1. `largest` is the largest weight
    by value among keys with a weight, `largest_key` the position of the first key that has it. Without such a key they
    are 0 and −1, in a row with a NaN NaN and −1.
    """

    support: Array
    entropy: Array
    effective_keys: Array
    largest: Array
    largest_key: Array

    def label_largest_keys(self, keys: Sequence[str]) -> Array:
        """The label of each largest key among the labels of all keys [… n]; None if there is none."""
        labels: Array = np.array([*keys, None], dtype=object)  # NO_KEY picks the last one
        return np.asarray(labels[self.largest_key])


STATISTICS = tuple(field.name for field in fields(RowStatistics) if field.name != "largest_key")  # have a mean


def mean_statistics(statistics: RowStatistics, rows: tuple[slice, ...]) -> Mapping[str, float]:
    """The mean of each statistic over some rows [… n] that have a number; NaN if none has.

    >>> mean_statistics(row_statistics(np.array([[0.5, 0.5], [1.0, 0.0], [0.0, 0.0]])), (slice(0, 3),))["largest"]
    0.5
    """
    means = {}
    for name in STATISTICS:
        numbers = getattr(statistics, name)[rows].astype(np.float64)
        found = numbers[~np.isnan(numbers)]
        means[name] = float(found.mean()) if found.size else math.nan
    return means


def row_statistics(weights: Array, precision: Precision | None = None) -> RowStatistics:
    """The statistics of each row of weights [… n m].

    `precision` is the type that rounded the weights, by default the array's type. A sum counts as 1 if it misses 1 by
    at most 16 units in the last place of that type, plus one smallest number per weight. 0·ln 0 is 0.

    >>> statistics = row_statistics(np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]))
    >>> statistics.support.tolist(), statistics.effective_keys.round(6).tolist(), statistics.largest_key.tolist()
    ([2, 1, 0], [2.0, 1.0, nan], [0, 2, -1])
    """
    precision = Precision(common_dtype([weights.dtype.name])) if precision is None else precision
    tolerance = ROUNDING_UNITS * precision.epsilon + weights.shape[-1] * precision.smallest
    rows = weights.reshape(math.prod(weights.shape[:-1]), weights.shape[-1])
    step = max(CHUNK_CELLS // max(weights.shape[-1], 1), 1)
    chunks = [_statistics(rows[start : start + step], tolerance) for start in range(0, max(len(rows), 1), step)]
    columns = (np.concatenate([getattr(chunk, field.name) for chunk in chunks]) for field in fields(RowStatistics))
    return RowStatistics(*(column.reshape(weights.shape[:-1]) for column in columns))


def _statistics(rows: Array, tolerance: float) -> RowStatistics:
    """The statistics of a table of weights [n m]; the sum of a distribution misses 1 by at most that much."""
    is_number = ~np.isnan(rows).any(axis=-1)
    has_weight = (rows != 0) & ~np.isnan(rows)
    wide = _wide(rows)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        terms = np.where(wide > 0, wide * np.log(wide), 0)
        is_distribution = (wide >= 0).all(axis=-1) & (abs(wide.sum(axis=-1) - 1) <= tolerance)
        entropy = np.where(is_distribution, np.maximum(-terms.sum(axis=-1), 0), np.nan)
    candidates = np.where(has_weight, rows, -np.inf)
    largest = candidates.max(axis=-1, initial=-np.inf)
    has_largest = has_weight.any(axis=-1) & is_number
    first = (candidates == largest[:, None]) & has_weight
    return RowStatistics(
        support=has_weight.sum(axis=-1),
        entropy=entropy,
        effective_keys=np.exp(entropy),
        largest=np.where(has_largest, largest, np.where(is_number, 0, np.nan)).astype(rows.dtype),
        largest_key=np.where(has_largest, first.argmax(axis=-1) if first.shape[-1] else NO_KEY, NO_KEY),
    )


def _wide(weights: Array) -> Array:
    """The weights in float64, or in their own type if it is wider."""
    return weights.astype(np.result_type(weights.dtype, np.float64))


def largest_keys(weights: Array, count: int) -> Array:
    """The positions of the keys with the largest weights of each row, the largest first: [… n m] to [… n count].

    Among equal weights the first key comes first; NaN comes last. A row with fewer than `count` keys returns them all.

    >>> largest_keys(np.array([[0.2, 0.5, 0.3], [0.0, 0.5, 0.5]]), 2).tolist()
    [[1, 2], [1, 2]]
    """
    order: Array = np.argsort(-weights, axis=-1, kind="stable")[..., :count]
    return order


def total_variation(first: Array, second: Array) -> Array:
    """Half the sum of absolute differences of each row: distributions [… n m] and [… n m] to [… n], from 0 to 1.

    >>> total_variation(np.array([[0.5, 0.5]]), np.array([[1.0, 0.0]])).tolist()
    [0.5]
    """
    distances: Array = abs(_wide(second) - _wide(first)).sum(axis=-1) / 2
    return distances


def kl_divergence(first: Array, second: Array) -> Array:
    """KL(first ‖ second) = Σⱼ pⱼ ln(pⱼ / qⱼ) of each row, in nats: distributions [… n m] and [… n m] to [… n].

    A key without weight in the first adds nothing; a key with weight in the first alone makes it infinite. Source:
    Kullback & Leibler 1951, eq. 2.4.

    >>> kl_divergence(np.array([[1.0, 0.0], [0.5, 0.5]]), np.array([[0.5, 0.5], [1.0, 0.0]])).round(4).tolist()
    [0.6931, inf]
    """
    p, q = _wide(first), _wide(second)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(p > 0, p * (np.log(p) - np.log(q)), 0)
    divergences: Array = np.maximum(terms.sum(axis=-1), 0)  # for equal rows rounding may leave less than 0
    return divergences


def reordered(first: Array, second: Array) -> Array:
    """Whether the order of the keys of each row changes: weights [… n m] and [… n m] to [… n].

    It changes if one key has more weight than another in the first and less in the second. Weights that differ only by
    rounding are ties, and a tie does not count. Rows with a NaN do not count.

    >>> reordered(np.array([[0.5, 0.3, 0.2]] * 2), np.array([[0.4, 0.4, 0.2], [0.3, 0.5, 0.2]])).tolist()
    [False, True]
    """
    ranks, other_ranks = _ranks(first), _ranks(second)
    order = np.lexsort((other_ranks, ranks), axis=-1)
    others = np.take_along_axis(other_ranks, order, axis=-1)
    # Keys in the order of the first, ties in the order of the second: an earlier key that now ranks higher has changed
    # order.
    is_inverted = np.maximum.accumulate(others, axis=-1) > others
    is_number = ~(np.isnan(first) | np.isnan(second))
    return np.asarray(is_inverted.any(axis=-1) & is_number.all(axis=-1))


def _ranks(weights: Array) -> Array:
    """The rank of each weight in its row, from 0 for the smallest; weights that differ only by rounding tie."""
    order = np.argsort(weights, axis=-1, kind="stable")
    ascending = np.take_along_axis(weights, order, axis=-1)
    allowed = ROUNDING_UNITS * np.finfo(weights.dtype).eps * largest_of_rows(weights)
    with np.errstate(invalid="ignore", over="ignore"):
        is_higher = np.diff(ascending, axis=-1) > allowed
    ranks = np.zeros(weights.shape, np.intp)
    np.put_along_axis(ranks, order[..., 1:], np.cumsum(is_higher, axis=-1), axis=-1)
    return ranks


def change_summary(before: RunResult, after: RunResult) -> str:
    """How many numbers of the selected results changed by more than rounding, or which results changed shape.

    >>> from attncli import attention
    >>> before = attention([[1.0]], [[1.0], [1.0]], [[0.0], [1.0]])
    >>> change_summary(before, attention([[1.0]], [[1.0], [1.0]], [[0.0], [3.0]]))
    'changed: output 1 of 1'
    """
    changes = list(_changes(before, after))
    return f"changed: {', '.join(changes)}" if changes else "no number changed"


def _changes(before: RunResult, after: RunResult) -> Iterator[str]:
    """Each selected result that changed, with the count of changed numbers, or its shape."""
    for name in after.select:
        value = after.trace[name].value
        old = before.trace[name].value if name in before.trace else None
        if old is None:
            yield f"{name} is new"
        elif old.shape != value.shape:
            yield f"{name} is {format_lengths(value.shape)} (was {format_lengths(old.shape)})"
        elif count := count_changes(old, value):
            yield f"{name} {count} of {value.size}"


def count_changes(before: Array, after: Array) -> int:
    """How many numbers of an array [… m] differ from those before by more than rounding; same shapes.

    >>> import numpy as np
    >>> count_changes(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, 2.5], [3.0, 4.0]]))
    1
    """
    columns = max(after.shape[-1] if after.ndim else 1, 1)
    old, new = before.reshape(-1, columns), after.reshape(-1, columns)
    step = max(1, CHUNK_NUMBERS // columns)
    return sum(int(changed(old[at : at + step], new[at : at + step]).sum()) for at in range(0, len(new), step))
