"""What each row of weights says: its support, entropy, effective number of keys, and largest weight."""

import math
from collections.abc import Sequence
from dataclasses import fields

from attncli.base.dataclasses import dataclass
from attncli.base.dtypes import Precision, common_dtype
from attncli.base.lazy_numpy import Array, np

ROUNDING_UNITS = 16  # units in the last place of 1 by which the weights of a distribution may miss it
CHUNK_CELLS = 2**20  # weights that are worked on at once: a large table is not copied whole

NO_KEY = -1


@dataclass(frozen=True)
class RowStatistics:
    """The statistics of weights [… n m], an array [… n] each.

    `support` counts the keys with a weight, which are those that are not 0. `entropy` (in nats) and `effective_keys`,
    its exponential, are NaN for rows that are no distribution: some weight is negative, or their sum is not 1.
    `largest` is the largest weight by value of the keys that have one, `largest_key` the position of the first key that
    has it; without any such key they are 0 and −1, in a row with a NaN NaN and −1.
    """

    support: Array
    entropy: Array
    effective_keys: Array
    largest: Array
    largest_key: Array

    def label_largest_keys(self, keys: Sequence[str]) -> Array:
        """The label of each largest key among those of all keys [… n]; None where there is no key."""
        labels: Array = np.array([*keys, None], dtype=object)  # the last one is at NO_KEY
        return np.asarray(labels[self.largest_key])


def row_statistics(weights: Array, precision: Precision | None = None) -> RowStatistics:
    """The statistics of each row of weights [… n m].

    `precision` is the type to which the weights were rounded, without it that of the array. A sum is 1 where it misses
    it by at most 16 units in the last place of that type, and one smallest number for each weight. 0·ln 0 is 0.

    >>> statistics = row_statistics(np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]))
    >>> statistics.support.tolist(), statistics.effective_keys.round(6).tolist(), statistics.largest_key.tolist()
    ([2, 1, 0], [2.0, 1.0, nan], [0, 2, -1])
    """
    precision = Precision(common_dtype([weights.dtype.name])) if precision is None else precision
    tolerance = ROUNDING_UNITS * precision.epsilon + weights.shape[-1] * precision.smallest
    rows = weights.reshape(math.prod(weights.shape[:-1]), weights.shape[-1])
    rows_at_once = max(CHUNK_CELLS // max(weights.shape[-1], 1), 1)
    starts = range(0, max(len(rows), 1), rows_at_once)
    chunks = [_statistics(rows[start : start + rows_at_once], tolerance) for start in starts]
    names = [field.name for field in fields(RowStatistics)]
    columns = (np.concatenate([getattr(chunk, name) for chunk in chunks]) for name in names)
    return RowStatistics(*(column.reshape(weights.shape[:-1]) for column in columns))


def _statistics(rows: Array, tolerance: float) -> RowStatistics:
    """The statistics of a table of weights [n m], of whose distributions the sums miss 1 by that much at most."""
    is_number = ~np.isnan(rows).any(axis=-1)
    has_weight = (rows != 0) & ~np.isnan(rows)
    wide = rows.astype(np.result_type(rows.dtype, np.float64))
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
