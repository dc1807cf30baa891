"""A quantity of any number of axes as grids of two axes with labels."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from itertools import product

from attncli.base.axes import AXIS_NOUNS
from attncli.base.dataclasses import dataclass
from attncli.base.lazy_numpy import Array, np
from attncli.plan.trace import AxisPositions, Step, Trace
from attncli.render.aligned_numbers import align_columns, align_numbers
from attncli.render.hidden_cells import hidden_cells
from attncli.render.marks import Mark, marked_cells

LABEL_SEPARATOR = ", "  # between the parts of the label of a slice


@dataclass(frozen=True)
class Grid:
    """A table of numbers [rows columns] with the labels of its rows and columns."""

    values: Array
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    corner: str = ""  # the letters of both axes: `n\m`
    slice_label: str = ""  # which slice of a larger quantity it is: `batch item 0, head 1`
    is_heatmap: bool = False  # whether a terminal shades the cells: the larger, the darker
    signs: Sequence[Sequence[str]] | None = None  # the text of the cells in place of their numbers
    aligns_columns: bool = False  # whether the numbers of each column have decimals of their own
    meanings: Mapping[str, str] = field(default_factory=dict)  # what each sign means
    hidden: Array | None = None  # the cells [rows columns] that a mask hides; None where the numbers are before masks
    # The (row, column) positions that an explanation works on; None where the grid has no such axis of the cell.
    marked: frozenset[Mark] = frozenset()
    # The mark of each number that changed [rows columns], an empty text of the others; None where nothing is compared.
    changes: Array | None = None
    is_abridged: bool = False  # whether a screen shows no more of a long axis than its ends and what is marked
    before: "Grid | None" = None  # the table before a change, of the same rows and columns, which is shown with it

    @cached_property
    def marked_rows(self) -> frozenset[int]:
        """The positions of the rows whose labels are marked."""
        return frozenset(row for row, _ in self.marked if row is not None)

    @cached_property
    def marked_columns(self) -> frozenset[int]:
        """The positions of the columns whose headings are marked."""
        return frozenset(column for _, column in self.marked if column is not None)

    @property
    def has_plain_numbers(self) -> bool:
        """Whether its cells have their numbers and nothing else, of as many decimals in every column."""
        has_numbers = self.signs is None and not self.aligns_columns
        return has_numbers and not self.marked and self.changes is None

    def is_marked(self, row: int, column: int) -> bool:
        """Whether a cell is marked, by itself or with its whole row or column."""
        return not self.marked.isdisjoint(((row, column), (row, None), (None, column)))

    @property
    def before_and_after(self) -> "tuple[Grid, ...]":
        """The table before a change and this one, with that in their labels; this one alone where nothing changed."""
        if self.before is None:
            return (self,)
        both = (("before", self.before), ("after", replace(self, before=None)))
        return tuple(
            replace(grid, slice_label=LABEL_SEPARATOR.join(filter(None, (self.slice_label, when))))
            for when, grid in both
        )

    @property
    def legend(self) -> str:
        """What the signs mean, and how many cells have each; empty where the cells have numbers."""
        cells = [sign for row in self.signs or () for sign in row]
        return "   ".join(f"{sign} {meaning}: {cells.count(sign)}" for sign, meaning in self.meanings.items())

    def change_mark(self, row: int, column: int) -> str:
        """The mark of a cell whose number changed; empty of any other."""
        return "" if self.changes is None else str(self.changes[row, column])

    def cell_texts(self, decimals: int) -> Sequence[Sequence[str]]:
        """The text of each cell, with at most so many decimals."""
        if self.signs is not None:
            return self.signs
        return (align_columns if self.aligns_columns else align_numbers)(self.values, decimals)

    def select(self, rows: Sequence[int], columns: Sequence[int]) -> "Grid":
        """The grid of some of its rows and columns, by position."""
        return replace(
            self,
            values=self.values[np.ix_(rows, columns)],
            rows=tuple(self.rows[row] for row in rows),
            columns=tuple(self.columns[column] for column in columns),
            hidden=None if self.hidden is None else self.hidden[np.ix_(rows, columns)],
            signs=None if self.signs is None else [[self.signs[row][column] for column in columns] for row in rows],
            marked=self._select_marked(rows, columns),
            changes=None if self.changes is None else self.changes[np.ix_(rows, columns)],
            before=None if self.before is None else self.before.select(rows, columns),
        )

    def _select_marked(self, rows: Sequence[int], columns: Sequence[int]) -> frozenset[Mark]:
        """The marked positions that are among some rows and columns, counted in those."""
        new_row: dict[int | None, int | None] = {row: index for index, row in enumerate(rows)} if self.marked else {}
        new_column: dict[int | None, int | None] = {column: index for index, column in enumerate(columns)}
        new_row[None] = new_column[None] = None
        return frozenset(
            (new_row[row], new_column[column]) for row, column in self.marked if row in new_row and column in new_column
        )


def grids(
    trace: Trace, step: Step, positions: Mapping[str, int] | None = None, worked: Sequence[AxisPositions] = ()
) -> Iterator[Grid]:
    """The grids of a step, one for each slice; on an axis in `positions` only the slice at that position.

    The cells at the positions in `worked` are marked. Equal labels have their number: `the#2`.
    """
    value = np.atleast_1d(step.value)
    if value.ndim == 1:
        columns = trace.numbered_labels_of(step, -1) or ("",)
        yield Grid(_as_numbers(value[None]), (step.symbol,), columns, marked=marked_cells(trace, step, (), worked))
        return
    for index, label in leading_slices(trace, step, positions):
        yield Grid(
            values=_as_numbers(value[index]),
            rows=trace.numbered_labels_of(step, -2),
            columns=trace.numbered_labels_of(step, -1),
            corner="\\".join(step.axes[-2:]),
            slice_label=label,
            is_heatmap=step.name == "weights",
            hidden=hidden_cells(trace, step, index),
            marked=marked_cells(trace, step, index, worked),
        )


def leading_slices(
    trace: Trace, step: Step, positions: Mapping[str, int] | None = None
) -> Iterator[tuple[tuple[int, ...], str]]:
    """Each index on the axes of a step before its last two, and its label; an axis in `positions` has that one.

    An axis that broadcasts is not in the label: the slice is that of all heads.
    """
    yield from slices_of_axes(trace, list(zip(step.axes, step.value.shape, strict=True))[:-2], positions)


def slices_of_axes(
    trace: Trace, axes: Sequence[tuple[str, int]], positions: Mapping[str, int] | None = None
) -> Iterator[tuple[tuple[int, ...], str]]:
    """Each index on some axes, letters and lengths, and its label; an axis in `positions` has that one."""
    positions = positions or {}
    choices = [
        [min(positions[letter], size - 1)] if letter in positions else range(size)  # an axis of length 1 broadcasts
        for letter, size in axes
    ]
    broadcast = {letter for letter, size in axes if size == 1 < trace.plan.axis_length(letter)}
    for index in product(*choices):
        pairs = [(letter, at) for (letter, _), at in zip(axes, index, strict=True) if letter not in broadcast]
        yield index, LABEL_SEPARATOR.join(position_label(trace, *pair) for pair in pairs)


def column_blocks(widths: Sequence[int], available: int | None) -> Iterator[range]:
    """The positions of columns in blocks that are as wide as `available` at most, or of one column; None for no limit.

    >>> list(column_blocks([4, 4, 12, 4], 10))
    [range(0, 2), range(2, 3), range(3, 4)]
    """
    start, used = 0, 0
    for position, width in enumerate(widths):
        if available is not None and position > start and used + width > available:
            yield range(start, position)
            start, used = position, 0
        used += width
    yield range(start, len(widths))


def _as_numbers(values: Array) -> Array:
    """Booleans as 1 and 0; other numbers as they are."""
    return values.astype(np.int64) if values.dtype.kind == "b" else values


def position_label(trace: Trace, letter: str, index: int) -> str:
    """`head 1`, `query word_1`: a position on an axis by its label, or by its number from 0."""
    label = trace.numbered_labels[letter][index] if letter in trace.labels else str(index)
    return f"{AXIS_NOUNS.get(letter, letter)} {label}"
