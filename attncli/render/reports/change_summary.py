"""How many numbers of each result changed since an earlier result, in one line."""

from collections.abc import Iterator

from attncli.analysis.rows import changed
from attncli.base.axes import format_lengths
from attncli.base.lazy_numpy import Array
from attncli.plan.trace import RunResult

MAX_NUMBERS = 2**20  # that are compared at once: comparing takes some arrays of their size


def change_summary(before: RunResult, after: RunResult) -> str:
    """How many numbers of the selected results changed, by more than rounding, or of which results the shape.

    >>> from attncli import attention
    >>> before = attention([[1.0]], [[1.0], [1.0]], [[0.0], [1.0]])
    >>> change_summary(before, attention([[1.0]], [[1.0], [1.0]], [[0.0], [3.0]]))
    'changed: output 1 of 1'
    """
    changes = list(_changes(before, after))
    return f"changed: {', '.join(changes)}" if changes else "no number changed"


def _changes(before: RunResult, after: RunResult) -> Iterator[str]:
    """Each selected result that changed, and how many of its numbers, or its shape."""
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
    """How many numbers of an array [… m] differ from those before, by more than rounding; both have one shape.

    >>> import numpy as np
    >>> count_changes(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, 2.5], [3.0, 4.0]]))
    1
    """
    columns = max(after.shape[-1] if after.ndim else 1, 1)
    old, new = before.reshape(-1, columns), after.reshape(-1, columns)
    step = max(1, MAX_NUMBERS // columns)
    return sum(int(changed(old[at : at + step], new[at : at + step]).sum()) for at in range(0, len(new), step))
