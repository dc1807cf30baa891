"""What each row of weights says: its support, entropy, effective number of keys, and largest weight."""

from dataclasses import dataclass

from attncli.base.lazy_numpy import Array


@dataclass(frozen=True)
class RowStatistics:
    """The statistics of weights [… n m], an array [… n] each.

    `support` counts the keys with a weight that is not 0. `entropy` (in nats) and `effective_keys`, its exponential,
    are NaN for rows that are no distribution: some weight is negative, or their sum is not 1. `largest` is the largest
    weight, `largest_key` the position of the first key that has it, −1 in a row without any key.
    """

    support: Array
    entropy: Array
    effective_keys: Array
    largest: Array
    largest_key: Array
