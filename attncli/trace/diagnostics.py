"""Notes: what the user should know of a step, where something in it is not as one would expect."""

from collections.abc import Iterator, Mapping, Sequence

from attncli.base.axes import PART, Letters
from attncli.base.lazy_numpy import Array, np

MOST_SAID = 5


def overflow(name: str, stage: str, arguments: Mapping[str, Array], value: Array) -> tuple[str, ...]:
    """A note where numbers that are not finite came from numbers that are; −∞ in scores means a hidden key."""
    if stage == "mask" or value.dtype.kind != "f" or _sound(value, "scores" in arguments).all():
        return ()
    for argument, x in arguments.items():
        if x.dtype.kind == "f" and not _sound(x, argument == "scores").all():
            return ()
    return (f"{name} has numbers that are not finite: the arithmetic overflowed, or divided by 0",)


def empty_rows_warning(empty: Array, axes: Letters, labels: Sequence[str]) -> tuple[str, ...]:
    """A note that says which queries attend to nothing; `empty` has an axis for each letter, `labels` name its last."""
    if not empty.any():
        return ()
    return (f"nothing is attended by {'; '.join(_places(empty, axes, labels))}: weights 0, output 0",)


def _sound(x: Array, hides: bool) -> Array:
    """Where numbers are finite, or −∞ and may be."""
    finite: Array = np.isfinite(x)
    return finite | np.isneginf(x) if hides else finite


def _places(empty: Array, axes: Letters, labels: Sequence[str]) -> Iterator[str]:
    """Which queries, and where it is not all of them alike, of which batch item and head."""
    for axis in reversed(range(empty.ndim - 1)):
        if (empty.all(axis=axis) == empty.any(axis=axis)).all():
            empty, axes = np.asarray(empty.any(axis=axis)), (*axes[:axis], *axes[axis + 1 :])
    groups = [at for at in np.ndindex(empty.shape[:-1]) if empty[at].any()]
    for at in groups[:MOST_SAID]:
        rows = np.flatnonzero(empty[at])
        said = ", ".join(labels[row] for row in rows[:MOST_SAID])
        said += f" and {len(rows) - MOST_SAID} more queries" if len(rows) > MOST_SAID else ""
        place = ", ".join(f"{PART[letter]} {index}" for letter, index in zip(axes, at, strict=False))
        yield f"{said} ({place})" if place else said
    if len(groups) > MOST_SAID:
        yield f"and in {len(groups) - MOST_SAID} more"
