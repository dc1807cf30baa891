"""The tables of steps: one for each batch item and head, with hidden, worked and changed cells."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

from attncli.base.axes import AXIS_NOUNS, COUNTED_FROM_0
from attncli.base.lazy_numpy import Array, np
from attncli.ops import elementwise, structural
from attncli.ops.records import MaskSign
from attncli.plan.graph import Node
from attncli.plan.trace import AxisPositions, Step, Trace, slice_at
from attncli.render.document import LABEL_SEPARATOR, Grid, Mark, mark_grids
from attncli.render.masks import UNSIGNED, VISIBLE, VISIBLE_STEP, hidden_cells, signs_of_rules
from attncli.render.view import View, selected_labels

# The axes that show one position by default, and the option to choose it.
OPTION_OF_AXIS = {"b": "--batch", "h": "--head"}
# The rows of axes whose labels belong to queries and keys.
TOKEN_NOUNS = {"n": "query", "q": "query", "m": "key", "k": "key", "p": "key", "m+1": "key"}
# Functions whose result has the rows of their argument `x`: each row is worked out with the rows of its results.
_ROW_FUNCTIONS = (
    structural.project,
    structural.identity,
    structural.select_rows,
    elementwise.add_positions,
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


def _as_numbers(values: Array) -> Array:
    """Booleans as 1 and 0; other numbers as they are."""
    return values.astype(np.int64) if values.dtype.kind == "b" else values


def leading_slices(
    trace: Trace, step: Step, positions: Mapping[str, int] | None = None
) -> Iterator[tuple[tuple[int, ...], str]]:
    """Each index on the axes of a step before its last two, and its label; an axis in `positions` has one position.

    A label omits an axis that broadcasts: the slice is for all heads.
    """
    yield from slices_of_axes(trace, list(zip(step.axes, step.value.shape, strict=True))[:-2], positions)


def slices_of_axes(
    trace: Trace, axes: Sequence[tuple[str, int]], positions: Mapping[str, int] | None = None
) -> Iterator[tuple[tuple[int, ...], str]]:
    """Each index on some axes, letters and lengths, and its label; an axis in `positions` has one position."""
    positions = positions or {}
    choices = [
        [min(positions[letter], size - 1)] if letter in positions else range(size)  # an axis of length 1 broadcasts
        for letter, size in axes
    ]
    broadcast = {letter for letter, size in axes if size == 1 < trace.plan.axis_length(letter)}
    for index in product(*choices):
        pairs = [(letter, at) for (letter, _), at in zip(axes, index, strict=True) if letter not in broadcast]
        yield index, LABEL_SEPARATOR.join(position_label(trace, *pair) for pair in pairs)


def position_label(trace: Trace, letter: str, index: int) -> str:
    """A position on an axis by its label, or by its number from 0: `head 1`, `query word_1`."""
    label = trace.numbered_labels[letter][index] if letter in trace.labels else str(index)
    return f"{AXIS_NOUNS.get(letter, letter)} {label}"


def name_of_number(trace: Trace, step: Step, at: AxisPositions) -> str:
    """The symbol of a step with the labels of a query, a key or both, and other axes as numbers: `dX(cat)[x1]`."""
    axes = [letter for letter in step.axes if letter in at and letter not in COUNTED_FROM_0]
    labels = [trace.numbered_labels[letter][at[letter]] for letter in axes if letter in TOKEN_NOUNS]
    others = [f"{letter}{at[letter] + 1}" for letter in axes if letter not in TOKEN_NOUNS]
    tokens = f"({', '.join(labels)})" if labels else ""
    return f"{step.symbol}{tokens}" + (f"[{', '.join(others)}]" if others else "")


def sign_grids(
    trace: Trace, step: Step, fixed: Mapping[str, int], worked: Sequence[AxisPositions] = ()
) -> Iterator[Grid]:
    """The tables of visible keys as signs, each with the legend that counts each of them.

    `step` is the step `visible` [… n m], whose inputs are the rules. A hidden cell has the sign of the rule with the
    highest precedence, the first among equals. The cells at the positions in `worked` are marked. A large problem may
    not have kept the rules: then a hidden cell has the sign of an unknown rule.
    """
    signed = signs_of_rules(trace.plan, step.node)
    rules = [(trace[source].value, sign) for source, sign in signed if source in trace.by_name]
    meanings = _meanings([sign for _, sign in rules], are_all=len(rules) == len(signed))
    shape = (len(trace.labels["n"]), step.value.shape[-1])  # one row may serve every query
    whole = replace(step, value=np.broadcast_to(step.value, (*step.value.shape[:-2], *shape)))
    for at, heading in leading_slices(trace, step, fixed):
        visible = step.value[at]
        signs = np.where(visible, VISIBLE, UNSIGNED)
        for rule, sign in reversed(rules):
            signs[~_at(rule, at, visible.shape)] = sign.sign
        yield Grid(
            values=np.broadcast_to(visible, shape).astype(np.int64),
            rows=trace.numbered_labels["n"],
            columns=trace.numbered_labels["m"],
            corner="n\\m",
            slice_label=heading,
            signs=np.broadcast_to(signs, shape).tolist(),
            meanings=meanings,
            marked=marked_cells(trace, whole, at, worked),
        )


def _at(rule: Array, at: tuple[int, ...], shape: tuple[int, ...]) -> Array:
    """A rule at a position on the leading axes, as wide as its table."""
    own = at[len(at) - (rule.ndim - 2) :]
    part = rule[tuple(min(index, size - 1) for index, size in zip(own, rule.shape, strict=False))]
    return np.broadcast_to(part, shape)


def _meanings(signs: Sequence[MaskSign], *, are_all: bool) -> Mapping[str, str]:
    """The meaning of each sign; rules that share a sign have all their meanings."""
    meanings = {VISIBLE: "visible"}
    for sign in (*signs, *(() if are_all else (MaskSign(UNSIGNED, "hidden"),))):
        known = meanings.get(sign.sign)
        meanings[sign.sign] = f"{known}, {sign.meaning}" if known else sign.meaning
    return meanings


def selected_grids(view: View, step: Step) -> Iterator[Grid]:
    """The grids of the selection of a step."""
    positions, letters = view.axis_positions, ("", "", *step.axes)[-2:]
    for grid in grids(view.result.trace, step, positions):
        if positions.keys().isdisjoint(letters):
            yield grid
        else:  # a vector with one number per head is a grid of all heads
            axes = zip(letters, grid.values.shape, strict=True)
            yield grid.select(*(range(size)[slice_at(letter, size, positions)] for letter, size in axes))


def selected_plain_grids(view: View, step: Step) -> Iterator[Grid]:
    """The grids of the selection of a step with original tokens, without numbers on repeated ones."""
    rows, columns = (selected_labels(view, step, axis) for axis in (-2, -1))
    for grid in selected_grids(view, step):
        plain = replace(grid, rows=rows or grid.rows, columns=columns or grid.columns)
        yield plain.with_keys_down if view.transpose else plain


def selected_tables(view: View, name: str) -> Iterator[Grid]:
    """The tables of a view's selection of a result or step; a mask's tables show signs."""

    def tables(view: View) -> Iterator[Grid]:
        step = view.result.trace[name]
        is_mask = step.name == VISIBLE_STEP
        return sign_grids(view.result.trace, step, view.axis_positions) if is_mask else selected_grids(view, step)

    return with_changes(view, name, tables)


def with_changes(view: View, name: str, tables: Callable[[View], Iterable[Grid]]) -> Iterator[Grid]:
    """The tables of a step, which `tables` makes from a view, with marks on changes since the result before.

    After edits, the tables before are shown too.
    """
    if view.before is None or name not in view.before.trace:
        return iter(tables(view))
    before = tables(replace(view, result=view.before))
    return mark_grids(tables(view), before, are_together=bool(view.edited_cells) or view.changes)


def marked_cells(trace: Trace, step: Step, index: Sequence[int], worked: Iterable[AxisPositions]) -> frozenset[Mark]:
    """The (row, column) positions in a slice of a step that the worked cells read or compute.

    `index` is the slice's position on the axes before the last two. A row has the column None, a column the row None.
    If several cells would mark every position, nothing is marked.
    """
    worked = list(worked)
    marks = frozenset(mark for at in worked for mark in _marks_of_cell(trace, step, index, at))
    axes = zip((1, *step.value.shape)[-2:], next(iter(marks), ()), strict=False)
    positions = math.prod(size for size, at in axes if at is not None)  # all marks are rows, columns or cells
    return frozenset() if len(worked) > 1 and len(marks) >= positions else marks


def _marks_of_cell(trace: Trace, step: Step, index: Sequence[int], at: AxisPositions) -> Iterator[Mark]:
    """The marks of one cell: none in a slice at other positions."""
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
    """The rows of a node that belong to a cell; a sequence has rows for a query, a key and a value."""
    rows = set[int | None]()
    for reader in trace.plan.nodes:
        if reader.function in _ROW_FUNCTIONS and reader.inputs.get("x") == node.name:
            selected = reader.options.get("at")
            rows |= {row if selected is None or row is None else selected[row] for row in _rows(trace, reader, at)}
    letter = node.letters[-2]
    return rows or ({at[letter]} if letter in at else set())
