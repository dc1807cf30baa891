"""Diagnostics: warnings on a step whose numbers overflowed, and on queries that attend to nothing."""

from collections.abc import Iterator, Mapping, Sequence

from attncli.base.axes import AXIS_NOUNS, Letters
from attncli.base.lazy_numpy import Array, np

MAX_NAMES = 5  # queries, and batch items or heads, that a warning names


def overflow_warning(name: str, stage: str, arguments: Mapping[str, Array], value: Array) -> tuple[str, ...]:
    """A warning where numbers that are not finite came from numbers that are; −∞ in scores means a hidden key."""
    if stage == "mask" or value.dtype.kind != "f" or _is_expected(value, "scores" in arguments).all():
        return ()
    for argument, x in arguments.items():
        if x.dtype.kind == "f" and not _is_expected(x, argument == "scores").all():
            return ()
    return (f"{name} has numbers that are not finite: the arithmetic overflowed, or divided by 0",)


def empty_rows_warning(empty: Array, axes: Letters, labels: Sequence[str]) -> tuple[str, ...]:
    """A warning that names the queries that attend to nothing.

    `empty` [… n] is true for those; it has an axis for each letter, and `labels` name the entries of its last.
    """
    if not empty.any():
        return ()
    return (f"nothing is attended by {'; '.join(_name_rows(empty, axes, labels))}: weights 0, output 0",)


def _is_expected(x: Array, allows_hidden: bool) -> Array:
    """Where numbers are finite, or −∞ and allowed to be."""
    finite: Array = np.isfinite(x)
    return finite | np.isneginf(x) if allows_hidden else finite


def _name_rows(empty: Array, axes: Letters, labels: Sequence[str]) -> Iterator[str]:
    """Which queries, and where it is not all of them alike, of which batch item and head."""
    for axis in reversed(range(empty.ndim - 1)):
        if (empty.all(axis=axis) == empty.any(axis=axis)).all():
            empty, axes = np.asarray(empty.any(axis=axis)), (*axes[:axis], *axes[axis + 1 :])
    groups = [at for at in np.ndindex(empty.shape[:-1]) if empty[at].any()]
    for at in groups[:MAX_NAMES]:
        rows = np.flatnonzero(empty[at])
        queries = ", ".join(labels[row] for row in rows[:MAX_NAMES])
        queries += f" and {len(rows) - MAX_NAMES} more queries" if len(rows) > MAX_NAMES else ""
        item = ", ".join(f"{AXIS_NOUNS[letter]} {index}" for letter, index in zip(axes, at, strict=False))
        yield f"{queries} ({item})" if item else queries
    if len(groups) > MAX_NAMES:
        yield f"and in {len(groups) - MAX_NAMES} more"
