"""One cell of a step computed by hand: lines of arithmetic with the numbers in them."""

from typing import Any

from attncli.base.axes import COUNTED_FROM_0
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import repr_excerpt
from attncli.numbers.arithmetic import ArithmeticWriter
from attncli.numbers.terms import number, products, total
from attncli.ops.records import ByHand, OperatorRecord
from attncli.ops.registry import failures_named, record_of
from attncli.plan.builder import symbols_of
from attncli.plan.trace import AxisPositions, Step, Trace
from attncli.render.aligned_numbers import needs_exponents
from attncli.render.view import View

LEADING = set(COUNTED_FROM_0)
ROW_STAGES = {"normalize", "context"}  # stages that read all keys of a query at once


def lines(view: View, step: Step, at: AxisPositions) -> list[str]:
    """The arithmetic of a step at the query, key and head in `at`; empty where the step has none.

    The `by_hand` function of the step's record gets the arguments of one cell: arrays with an axis of queries or keys
    at the index in `at`, but all keys for a normalizer or a context, and array parameters of the operator and
    tables that are looked up whole.
    """
    if not _has_cell(step, at):
        return []
    trace, write = view.result.trace, _writer(view, step, at)
    if step.stage == "project" and not step.is_identity:
        return [_projection(trace, step, at, write)]
    write_by_hand = record_of(step.function).by_hand if step.function is not None else None
    if write_by_hand is None:
        return []
    indexed_axes = LEADING | ({"n"} if step.stage in ROW_STAGES else set(at))
    whole = {p.name for p in step.record.parameters} if step.record is not None else set()
    whole |= {name for name, source in step.inputs.items() if trace[source].node.is_lookup}
    arguments = {
        name: _part(trace[source], at, LEADING if name in whole else indexed_axes)
        for name, source in (*step.inputs.items(), *step.node.taps.items())
    }
    result = _part(step, at, LEADING | ({"n"} if step.stage == "context" else set(at)))
    with np.errstate(all="ignore"):  # the step that overflowed has its note
        worked = _call(step.record, write_by_hand, write, **arguments, result=result, **step.options)
    return [*worked, *_row_sum(step, at, write)]


def has_lines(step: Step) -> bool:
    """Whether a step has arithmetic."""
    is_projection = step.stage == "project" and not step.is_identity
    return is_projection or (step.function is not None and record_of(step.function).by_hand is not None)


def _call(record: OperatorRecord | None, write_by_hand: ByHand, *args: Any, **arguments: Any) -> list[str]:
    """The lines of a `by_hand` function; raises AttnError where one of another package fails, or returns no lines."""
    if record is None or record.is_built_in:
        return write_by_hand(*args, **arguments)
    with failures_named(record, "by_hand"):
        lines = write_by_hand(*args, **arguments)
    if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        where = f"{record.kind} {record.name}"
        raise AttnError(f"its by_hand returned {repr_excerpt(lines)}", where=where, hint="expected a list of lines")
    return lines


def _writer(view: View, step: Step, at: AxisPositions) -> ArithmeticWriter:
    """What writes the lines of a step: its numbers as the step's table has them."""
    trace, row, column = view.result.trace, at["n"], at["m"]
    table = np.atleast_1d(_part(step, at, LEADING))
    return ArithmeticWriter(
        decimals=view.decimals,
        query=trace.numbered_labels["n"][row],
        keys=trace.numbered_labels["m"],
        row=row,
        column=column,
        head=at.get("h", 0),
        max_terms=view.max_terms,
        feature=view.feature,
        dtype=trace.precision.name,
        has_exponents=table.dtype.kind == "f" and needs_exponents(table, view.decimals),
        symbols=symbols_of(step.node, trace.plan.by_name),
    )


def _row_sum(step: Step, at: AxisPositions, write: ArithmeticWriter) -> list[str]:
    """That the weights of a distribution add to 1; nothing where all of them are 0."""
    if step.record is None or not step.record.is_distribution:
        return []
    weights = _part(step, at, LEADING | {"n"})
    return (
        [write.computed(f"Σⱼ {write.symbol('weights')}ᵢⱼ", total(weights)).line]
        if np.count_nonzero(weights) > 1
        else []
    )


def _has_cell(step: Step, at: AxisPositions) -> bool:
    """Whether the step has a cell at the indices: a cached key is not among the new ones."""
    return all(letter in at for letter in step.axes[:-1] if letter in ("n", "m", "k", "p"))


def _part(step: Step, at: AxisPositions, letters: set[str]) -> Array:
    """A step's value at the indices on some of its axes; an axis of length 1, which broadcasts, has the index 0.

    Numbers of any floating-point type become those of Python: what is worked is not rounded on the way.
    """
    index = zip(step.axes, step.value.shape, strict=True)
    part = step.value[tuple(min(at[x], size - 1) if x in letters and x in at else slice(None) for x, size in index)]
    return np.asarray(part, dtype=np.float64) if step.value.dtype.kind == "f" else part


def _projection(trace: Trace, step: Step, at: AxisPositions, write: ArithmeticWriter) -> str:
    """The line `query(word_1) = 1·[2 0 2] + 0·[2 0 0] + 0·[2 1 2] = [2 0 2]`: one row of `x @ w + b`."""
    letter = step.axes[-2]
    values = {name: trace[source] for name, source in step.inputs.items()}
    source = values["x"]
    rows: dict[str, Any] = {**at, source.axes[-2]: at[letter]}
    x, result = _part(source, rows, set(rows)), _part(step, at, set(at))
    term = products(x, _part(values["w"], at, set())) if "w" in values else number(x)
    if "b" in values:
        term += number(_part(values["b"], at, set()))
    name = f"{step.name}({trace.numbered_labels[letter][at[letter]]})"
    return write.equation(term, result, name=name, letter=step.axes[-1])
