"""A quantity as grids of two axes with labels, whatever number of axes it has."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from attncli.base.axes import PART
from attncli.base.lazy_numpy import Array, np
from attncli.render.aligned_numbers import aligned
from attncli.trace.steps import Step, Trace


@dataclass(frozen=True)
class Grid:
    """Rows and columns of numbers with their labels; `corner` names both axes, `slice` says which part it is."""

    values: Array
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    corner: str = ""
    slice: str = ""
    shaded: bool = False  # weights: the larger, the darker
    signs: Sequence[Sequence[str]] | None = None  # what stands in the cells of a picture, in place of numbers

    def cells(self, places: int) -> Sequence[Sequence[str]]:
        """The text of each cell."""
        return aligned(self.values, places) if self.signs is None else self.signs

    def only(self, rows: Sequence[int], columns: Sequence[int]) -> "Grid":
        """Some of the rows and columns."""
        return replace(
            self,
            values=self.values[np.ix_(rows, columns)],
            rows=tuple(self.rows[row] for row in rows),
            columns=tuple(self.columns[column] for column in columns),
            signs=None if self.signs is None else [[self.signs[row][at] for at in columns] for row in rows],
        )


def grids(trace: Trace, step: Step, fixed: Mapping[str, int] | None = None) -> Iterator[Grid]:
    """The grids of a step, one for each position on its leading axes, or for the position in `fixed` alone."""
    value = np.atleast_1d(step.value)
    if value.ndim == 1:
        yield Grid(numbers(value[None]), (step.symbol,), trace.labels_of(step, -1) or ("",))
        return
    for at, said in parts(trace, step, fixed):
        yield Grid(
            values=numbers(value[at]),
            rows=trace.labels_of(step, -2),
            columns=trace.labels_of(step, -1),
            corner="\\".join(step.axes[-2:]),
            slice=said,
            shaded=step.name == "weights",
        )


def parts(trace: Trace, step: Step, fixed: Mapping[str, int] | None = None) -> Iterator[tuple[tuple[int, ...], str]]:
    """Each position on the leading axes of a step, and how it is called; on an axis in `fixed` only that position."""
    fixed, leading = fixed or {}, step.axes[:-2]
    places = [
        [min(fixed[letter], size - 1)] if letter in fixed else range(size)  # of one part that serves all it is that one
        for letter, size in zip(leading, step.value.shape, strict=False)
    ]
    for at in product(*places):
        yield at, ", ".join(_said(trace, letter, index) for letter, index in zip(leading, at, strict=True))


def numbers(values: Array) -> Array:
    """Truths as 1 and 0."""
    return values.astype(np.int64) if values.dtype.kind == "b" else values


def _said(trace: Trace, letter: str, index: int) -> str:
    """What a position on an axis is called: its token, or its number from 0."""
    label = trace.labels[letter][index] if letter in trace.labels else str(index)
    return f"{PART.get(letter, letter)} {label}"
