"""Which of many values are equal, in a time that grows with their number."""

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import TypeVar

Value = TypeVar("Value", bound=Hashable)


def most_common(values: Sequence[Value]) -> Value:
    """The value that stands there most often, of equals the first.

    >>> most_common([2, 3, 3, 2])
    2
    """
    return Counter(values).most_common(1)[0][0]


def first_duplicate(values: Sequence[Value]) -> Value:
    """The first of the values that stand there more than once; there is one.

    >>> first_duplicate(["the", "cat", "sat", "cat", "the"])
    'the'
    """
    counts = Counter(values)
    return next(value for value in values if counts[value] > 1)
