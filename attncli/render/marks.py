"""The rows, columns and cells of a table that an explanation works on."""

from collections.abc import Iterable, Iterator, Sequence

from attncli.ops import positions, structural
from attncli.plan.graph import Node
from attncli.plan.trace import AxisPositions, Step, Trace

Mark = tuple[int | None, int | None]  # a row and a column of a table; None for every one

# Functions whose result has the rows of their argument `x`: each row is worked on with those of its results.
_ROW_FUNCTIONS = (structural.project, structural.identity, structural.select_rows, positions.add_positions)


def marked_cells(trace: Trace, step: Step, index: Sequence[int], worked: Iterable[AxisPositions]) -> frozenset[Mark]:
    """The (row, column) positions of a slice of a step that the worked cells read or compute.

    `index` is the position of the slice on the axes before the last two. A row has the column None, a column the row
    None. Where several cells are worked out and every position would be marked, none is.
    """
    worked = list(worked)
    marks = frozenset(mark for at in worked for mark in _marks_of_cell(trace, step, index, at))
    is_everything = len(worked) > 1 and len(marks) >= _count_positions(step, marks)
    return frozenset() if is_everything else marks


def _marks_of_cell(trace: Trace, step: Step, index: Sequence[int], at: AxisPositions) -> Iterator[Mark]:
    """The marks of one cell: none in a slice of other positions."""
    shape, letters = step.value.shape, step.axes
    leading = zip(letters[:-2], index, shape, strict=False)
    if any(letter in at and size > 1 and at[letter] != position for letter, position, size in leading):
        return
    column = at.get(letters[-1]) if letters else None
    if column is not None:
        column = 0 if shape[-1] == 1 else column  # an axis of length 1 broadcasts
        if column >= shape[-1]:  # a mask may have fewer columns than there are keys
            return
    rows = _rows(trace, step.node, at) if len(letters) > 1 else {None}
    for row in rows or {None}:
        mark = (0 if row is not None and shape[-2] == 1 else row, column)
        if mark != (None, None):
            yield mark


def _rows(trace: Trace, node: Node, at: AxisPositions) -> set[int | None]:
    """The rows of a node that belong to a cell; those of a sequence as a query, a key and a value are both."""
    rows = set[int | None]()
    for reader in trace.plan.nodes:
        if reader.function in _ROW_FUNCTIONS and reader.inputs.get("x") == node.name:
            selected = reader.options.get("at")
            rows |= {row if selected is None or row is None else selected[row] for row in _rows(trace, reader, at)}
    letter = node.letters[-2]
    return rows or ({at[letter]} if letter in at else set())


def _count_positions(step: Step, marks: Iterable[Mark]) -> int:
    """How many marks of the kind of these a table can have."""
    row, column = next(iter(marks), (None, None))
    rows = 1 if row is None else step.value.shape[-2]
    return rows * (1 if column is None else int(step.value.shape[-1]))
