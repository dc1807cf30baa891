"""The first NaN or infinity that reaches a selected result: it is found, traced back, and reported as a warning."""

from collections.abc import Iterable
from dataclasses import replace

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.engine.block_plan import last_of_blocks
from attncli.engine.dense import DenseEngine
from attncli.engine.evaluate import apply_input_function, input_array
from attncli.engine.filled_rows import problem_of_queries, rows_of_nan
from attncli.engine.trace_back import cause_of, cells_not_finite, computing_node, is_before_mask
from attncli.plan.build import plan_of
from attncli.plan.diagnostics import Cell, GivenValue, nonfinite_warning
from attncli.plan.graph import Node
from attncli.plan.trace import Step, Trace
from attncli.problem.spec import FIELDS, ProblemSpec

READ_CELLS = 2**20  # numbers of a table that are looked at together


def with_nonfinite_warning(trace: Trace, select: Iterable[str]) -> Trace:
    """The trace with a warning on the first selected step that has a NaN or an infinity that no mask hides."""
    for name in select:
        step = trace[name]
        warning = _warning(trace, step)
        if warning is not None:
            return replace(trace, warnings={**trace.warnings, step.name: (*step.notes, warning)})
    return trace


def _warning(trace: Trace, step: Step) -> str | None:
    """The warning on the first cell of a step that is not finite; None where there is none that no mask hides."""
    cell = _first_nonfinite(trace, step)
    if cell is None:
        return None
    try:
        return _traced_warning(trace, cell)
    except (AttnError, MemoryError):  # there is not enough memory to trace it back
        return nonfinite_warning(trace, cell)


def _traced_warning(trace: Trace, cell: Cell) -> str | None:
    """The warning on a cell with its cause; in blocks by the steps of its query, which are computed again."""
    step = trace[cell.name]
    if _is_of_blocks(trace, step):
        row = cell.at[step.axes.index("n")]
        of_query = _trace_of_query(trace, row)
        found = _first_nonfinite(of_query, of_query[step.name])
        if found is None:  # a mask hides it, or only the rounding of blocks made it
            return None if is_before_mask(trace.plan, step.node) else nonfinite_warning(trace, cell)
        trace, cell = of_query, found
    cause = cause_of(trace, cell)
    node = trace[cause.name].node
    return nonfinite_warning(trace, cell, cause, _given_value(trace.problem, node, cause) if node.is_input else None)


def _first_nonfinite(trace: Trace, step: Step) -> Cell | None:
    """The first cell of a step that is not finite, neither by choice nor where a mask hides it, as far as it is kept.

    Of a table that was computed in blocks, which may be a file that is larger than memory, only those rows are looked
    at whose context is not finite; where that was not computed, the weights say it, or else the table itself.
    """
    if not (_is_of_blocks(trace, step) and "m" in step.axes):
        found = cells_not_finite(trace.plan, step.node, step.value)
        if is_before_mask(trace.plan, step.node):
            found = found & trace["visible"].value
        found = found & ~rows_of_nan(trace, step, found) if found.any() else found
        return Cell(step.name, _first(found)) if found.any() else None
    end, results = last_of_blocks(trace.plan, trace.by_name), trace.plan.results
    last = trace[end] if end in (results["weights"], results.get("context")) and end in trace else step
    if last is step and is_before_mask(trace.plan, step.node) and step.axes[-2:] == ("n", "m"):
        return _first_visible(trace, step)
    leading = step.node.axes[: step.axes.index("n") + 1]
    rows = _rows_not_finite(trace, last)
    for at in np.argwhere((rows & ~rows_of_nan(trace, last, rows))[..., 0]):
        index_of = dict(zip(last.axes, map(int, at), strict=False))
        row = tuple(index_of[letter] if length > 1 else 0 for letter, length in leading)
        found = cells_not_finite(trace.plan, step.node, np.asarray(step.value[row]))
        if found.any():
            return Cell(step.name, (*row, *_first(found)))
    return None


def _first_visible(trace: Trace, step: Step) -> Cell | None:
    """The first cell of a table before the mask that is not finite, and visible; masks of some queries are computed."""
    rows = _rows_not_finite(trace, step)[..., 0]
    queries = np.flatnonzero(rows.reshape(-1, rows.shape[-1]).any(axis=0))
    count = max(READ_CELLS // step.value[..., 0, :].size, 1)
    for first in range(0, len(queries), count):
        some = queries[first : first + count]
        found = cells_not_finite(trace.plan, step.node, step.value[..., some, :]) & _visible_cells(trace, some)
        if found.any():
            *leading, row, column = _first(found)
            return Cell(step.name, (*leading, int(some[row]), column))
    return None


def _visible_cells(trace: Trace, queries: Array) -> Array:
    """Which keys some queries see [… n m]."""
    problem = problem_of_queries(trace.problem, list(map(int, queries)))
    engine = DenseEngine(plan_of(problem), problem, problem.precision)
    needed = engine.plan.needed_for(["visible"])
    engine.run(node for node in engine.plan.nodes if node.name in needed)
    return engine.values[engine.plan.resolve("visible")]


def _rows_not_finite(trace: Trace, step: Step) -> Array:
    """Where the rows of a step [… n x] have a number that is not finite [… n 1]; some rows are read at a time."""
    rows = np.zeros((*step.value.shape[:-1], 1), dtype=bool)
    for index in np.ndindex(*step.value.shape[:-2]):
        table, found = step.value[index], rows[index]
        count = max(READ_CELLS // table.shape[-1], 1)
        for first in range(0, len(table), count):
            part = slice(first, first + count)
            found[part] = cells_not_finite(trace.plan, step.node, table[part]).any(axis=-1, keepdims=True)
    return rows


def _first(found: Array) -> tuple[int, ...]:
    """The index of the first cell that is true."""
    return tuple(map(int, np.unravel_index(int(found.argmax()), found.shape)))


def _is_of_blocks(trace: Trace, step: Step) -> bool:
    """Whether a step was computed in blocks or from them, so that steps between it and the inputs were not kept."""
    plan = trace.plan
    if len(trace.steps) == len(plan.nodes):
        return False
    names = [step.name]
    for name in names:
        node = plan.by_name[name]
        if name not in trace.by_name or {"n", "m"} <= set(node.letters):
            return True
        names += [source for source in computing_node(plan, node).inputs.values() if source not in names]
    return False


def _trace_of_query(trace: Trace, row: int) -> Trace:
    """Every step of a problem of one query by the dense engine, with the labels of the trace that has it as a row."""
    problem = problem_of_queries(trace.problem, [row])
    precision = problem.precision
    engine = DenseEngine(plan_of(problem), problem, precision, has_wide_tables=precision.has_wide_tables)
    engine.run(engine.plan.nodes)
    labels = {**trace.labels, "n": trace.numbered_labels["n"][row : row + 1]}
    return Trace(problem, engine.plan, engine.values, engine.notes, labels)


def _given_value(problem: ProblemSpec, node: Node, cell: Cell) -> GivenValue:
    """The number that was given where an input has a cell, before it was rounded, and the file and line of it."""
    array, key = input_array(node, problem), node.source[0]
    number = float(apply_input_function(node, array)[cell.at])
    origin = problem.origin_of(key)
    if origin is None or len(node.source) > 1:
        return GivenValue(number)
    is_stored_transposed = FIELDS[key].is_weight and problem.weight_layout == "out_in"
    rows = np.arange(array.shape[-1]) if is_stored_transposed else _row_numbers(array)
    row = int(apply_input_function(node, np.broadcast_to(rows, array.shape))[cell.at])
    return GivenValue(number, ", ".join(origin.path_of_row(row)))


def _row_numbers(array: Array) -> Array:
    """The number of the row of each cell of an array, from 0, in a shape that broadcasts with it; of a vector, 0."""
    return np.arange(array[..., 0].size).reshape(*array.shape[:-1], 1)
