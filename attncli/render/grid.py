"""A quantity as grids of two axes with labels, whatever number of axes it has."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from attncli.arrays import Array, np
from attncli.trace import Step, Trace

AXIS_NAMES = {"h": "head", "n": "query", "m": "key"}


@dataclass(frozen=True)
class Grid:
    """Rows and columns of numbers with their labels; `corner` names both axes, `slice` says which part it is."""

    values: Array
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    corner: str = ""
    slice: str = ""
    shaded: bool = False  # weights: the larger, the darker


def grids(trace: Trace, step: Step, fixed: Mapping[str, int] | None = None) -> Iterator[Grid]:
    """The grids of a step, one for each position on its leading axes, or for the position in `fixed` alone."""
    fixed = fixed or {}
    value = np.atleast_1d(step.value)
    if value.ndim == 1:
        yield Grid(value[None], (step.symbol,), trace.labels_of(step, -1))
        return
    leading = step.axes[:-2]
    places = [
        [fixed[letter]] if letter in fixed else range(size) for letter, size in zip(leading, value.shape, strict=False)
    ]
    for at in product(*places):
        said = [
            f"{AXIS_NAMES.get(letter, letter)} {_label(trace, letter, index)}"
            for letter, index in zip(leading, at, strict=True)
        ]
        yield Grid(
            values=value[at],
            rows=trace.labels_of(step, -2),
            columns=trace.labels_of(step, -1),
            corner="\\".join(step.axes[-2:]),
            slice=", ".join(said),
            shaded=step.name == "weights",
        )


def _label(trace: Trace, letter: str, index: int) -> str:
    """What a position on an axis is called: its token, or its number from 0."""
    return trace.labels[letter][index] if letter in trace.labels else str(index)
