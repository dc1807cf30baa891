"""The arithmetic of one cell of a checked quantity, from the steps behind it."""

from collections.abc import Sequence
from dataclasses import replace

from attncli.analysis.check.tolerance import has_every_step
from attncli.base.lazy_numpy import Array, np
from attncli.engine.run import run
from attncli.ops import masks, structural
from attncli.ops.elementwise import fill_empty_rows
from attncli.plan.trace import AxisPositions, RunResult, Step, Trace, add_dependent_axes
from attncli.render.by_hand import worked_lines
from attncli.render.masks import VISIBLE_STEP
from attncli.render.view import View

_KEY_LETTERS = ("m", "k", "p", "m+1")
Position = tuple[int, ...]


def cell_arithmetic(trace: Trace, name: str, position: Sequence[int], decimals: int) -> tuple[str, ...]:
    """The worked lines of a cell of the quantity `name`, at its position on every axis; nothing where a step has none.

    Of a large problem, of which the trace does not have all steps, the query of the cell is computed again.
    """
    if not has_every_step(trace):
        queries = [index for letter, index in zip(trace[name].axes, position, strict=True) if letter == "n"]
        position = tuple(0 if letter == "n" else at for letter, at in zip(trace[name].axes, position, strict=True))
        label = trace.problem.numbered_query_labels[queries[0] if queries else 0]
        trace = run(replace(trace.problem, only=(label,)), (), every_step=True).trace
    step, position = _source_of(trace, trace[name], tuple(position))
    if step.function is masks.apply_mask:  # what is not hidden is the score itself
        return _lines(trace, trace[VISIBLE_STEP], position, decimals) + _lines(trace, step, position, decimals)
    return _lines(trace, step if step.tapped_from is None else trace[step.tapped_from], position, decimals)


def _lines(trace: Trace, step: Step, position: Position, decimals: int) -> tuple[str, ...]:
    """The worked lines of one cell of a step; a mask may have fewer axes than the position."""
    at = dict(zip(step.axes[::-1], position[::-1], strict=False))
    view = View(RunResult(trace, ()), decimals=decimals, feature=position[-1])
    return worked_lines(view, step, [_cell(trace, at)])


def _cell(trace: Trace, at: AxisPositions) -> AxisPositions:
    """The position of a cell on the axes of queries, keys and heads; the first one where the step has none of them."""
    cell: AxisPositions = dict.fromkeys(trace["weights"].axes, 0) | {
        letter: index for letter, index in at.items() if letter in ("b", "h", "n", "q")
    }
    if "g" in at:
        cell["h"] = at["g"] * trace.plan.axis_length("h") // max(trace.plan.axis_length("g"), 1)
    key = next((at[letter] for letter in _KEY_LETTERS if letter in at), 0)
    cell["m"] = key + len(trace.labels["p"]) if "k" in at else key
    return add_dependent_axes(trace, cell)


def _source_of(trace: Trace, step: Step, position: Position) -> tuple[Step, Position]:
    """The step that computes the number of a cell, which those after it only move, and the position there."""
    while (source := _moved_from(trace, step, position)) is not None:
        step, position = source
    return step, position


def _moved_from(trace: Trace, step: Step, position: Position) -> tuple[Step, Position] | None:
    """The step and the position that a number was moved from; None where the step computes it.

    The function of the step is applied to the numbers of the cells in place of their values, and tells where each
    comes from.
    """
    if step.function is fill_empty_rows:
        before = trace[step.inputs["weights"]]
        return (before, position) if before.value[position] == step.value[position] else None
    moves = step.function is not None and step.function.__module__ == structural.__name__ and step.stage != "project"
    if step.function is None or not (moves or step.is_identity or step.function is masks.apply_mask):
        return None
    cells: dict[str, Array] = {}
    first = 0
    for argument, source in step.inputs.items():
        value = trace[source].value
        is_mask = value.dtype.kind == "b" and not moves
        cells[argument] = value if is_mask else np.arange(first, first + value.size, dtype=float).reshape(value.shape)
        first += 0 if is_mask else value.size
    cell = float(step.function(**cells, **step.options)[position])
    for argument, numbers in cells.items():
        if numbers.size and numbers.dtype.kind == "f" and numbers.flat[0] <= cell <= numbers.flat[-1]:
            found = np.unravel_index(int(cell - numbers.flat[0]), numbers.shape)
            return trace[step.inputs[argument]], tuple(map(int, found))
    return None  # −∞ in place of a score that is hidden
