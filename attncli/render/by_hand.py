"""One cell of a step computed by hand: lines of arithmetic with the numbers in them."""

from typing import Any

from attncli.base.arithmetic import ArithmeticWriter
from attncli.base.axes import COUNTED_FROM_0
from attncli.base.lazy_numpy import np
from attncli.ops.registry import record_of
from attncli.render.focus import AxisPositions
from attncli.trace.steps import Step, Trace

LEADING = set(COUNTED_FROM_0)
ROW_STAGES = {"normalize", "context"}  # stages that read all keys of a query at once


def lines(trace: Trace, step: Step, at: AxisPositions, decimals: int) -> list[str]:
    """The arithmetic of a step at the query, key and head in `at`; empty where the step has none.

    The `by_hand` function of the step's record gets the arguments of one cell: arrays with an axis of queries or keys
    at the index in `at`, but all keys for a normalizer or a context, and array parameters of the operator whole.
    """
    row, column = at["n"], at["m"]
    write = ArithmeticWriter(decimals, trace.numbered_labels["n"][row], trace.numbered_labels["m"][column], row, column)
    if step.stage == "project" and not step.is_identity:
        return [_projection(trace, step, at, write)] if _has_cell(step, at) else []
    write_by_hand = record_of(step.function).by_hand if step.function is not None else None
    if write_by_hand is None or not _has_cell(step, at):
        return []
    indexed_axes = LEADING | ({"n"} if step.stage in ROW_STAGES else set(at))
    parameters = {p.name for p in step.record.parameters} if step.record is not None else set()
    arguments = {
        name: _part(trace[source], at, LEADING if name in parameters else indexed_axes)
        for name, source in step.inputs.items()
    }
    result = _part(step, at, LEADING | ({"n"} if step.stage == "context" else set(at)))
    with np.errstate(all="ignore"):  # the step that overflowed has its note
        return write_by_hand(write, **arguments, result=result, **step.options)


def _has_cell(step: Step, at: AxisPositions) -> bool:
    """Whether the step has a cell at the indices: a cached key is not among the new ones."""
    return all(letter in at for letter in step.axes[:-1] if letter in ("n", "m", "k", "p"))


def _part(step: Step, at: AxisPositions, letters: set[str]) -> Any:
    """A step's value at the indices on some of its axes; an axis of length 1, which broadcasts, has the index 0."""
    index = zip(step.axes, step.value.shape, strict=True)
    return step.value[tuple(min(at[x], size - 1) if x in letters and x in at else slice(None) for x, size in index)]


def _projection(trace: Trace, step: Step, at: AxisPositions, write: ArithmeticWriter) -> str:
    """The line `query(word_1) = 1·[2 0 2] + 0·[2 0 0] + 0·[2 1 2] = [2 0 2]`: one row of `x @ w + b`."""
    letter = step.axes[-2]
    values = {name: trace[source] for name, source in step.inputs.items()}
    source = values["x"]
    rows = {**at, source.axes[-2]: at[letter]}
    x, result = _part(source, rows, set(rows)), _part(step, at, set(at))
    name = f"{step.name}({trace.numbered_labels[letter][at[letter]]})"
    bias = values["b"].value if "b" in values else None
    if "w" in values:
        return write.linear_combination(name, step.axes[-1], x, values["w"].value, result, plus=bias)
    return f"{name} = {write(x)} + {write(bias)} = {write(result)}"
