"""The first NaN or infinity in a selected result: it is found, traced back, and reported as a warning.

Rows of NaN for queries that see no key, chosen by `empty_rows`, don't count.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import prod

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.engine.blocks import last_of_blocks
from attncli.engine.dense import DenseEngine, apply_input_function, evaluate, input_array
from attncli.engine.options import BlockSizes
from attncli.plan.build import plan_of
from attncli.plan.diagnostics import Cell, GivenValue, nonfinite_warning
from attncli.plan.graph import GRADIENT, Node, Plan
from attncli.plan.trace import Step, Trace
from attncli.problem.fields import LSE
from attncli.problem.spec import FIELDS, ProblemSpec

READ_CELLS = 2**20  # numbers of a table per look


def with_nonfinite_warning(trace: Trace, select: Iterable[str]) -> Trace:
    """The trace with a warning about the first selected step with a NaN or an infinity that no mask hides."""
    for name in select:
        step = trace[name]
        warning = _warning(trace, step)
        if warning is not None:
            return replace(trace, warnings={**trace.warnings, step.name: (*step.notes, warning)})
    return trace


def _warning(trace: Trace, step: Step) -> str | None:
    """The warning about the first non-finite cell of a step; None if masks hide all such cells."""
    cell = _first_nonfinite(trace, step)
    if cell is None:
        return None
    try:
        return _traced_warning(trace, cell)
    except (AttnError, MemoryError):  # too little memory to trace it back
        return nonfinite_warning(trace, cell)


def _traced_warning(trace: Trace, cell: Cell) -> str | None:
    """The warning about a cell with its cause; for blocks the steps of its query are computed again."""
    step = trace[cell.name]
    if _is_of_blocks(trace, step):
        if step.node.stage == GRADIENT:  # it may come from any query
            return nonfinite_warning(trace, cell)
        row = cell.at[step.axes.index("n")]
        of_query = _trace_of_query(trace, row)
        found = _first_nonfinite(of_query, of_query[step.name])
        if found is None:  # a mask hides it, or it came only from the rounding of blocks
            return None if is_before_mask(trace.plan, step.node) else nonfinite_warning(trace, cell)
        trace, cell = of_query, found
    cause = cause_of(trace, cell)
    node = trace[cause.name].node
    return nonfinite_warning(trace, cell, cause, _given_value(trace.problem, node, cause) if node.is_input else None)


def _first_nonfinite(trace: Trace, step: Step) -> Cell | None:
    """The first non-finite cell of a step that is neither chosen nor hidden by a mask, as far as it is kept.

    A table from blocks may be a file larger than memory: only rows with a non-finite context are read. If the context
    was not computed, the weights replace it, or else the table itself.
    """
    if step.node.stage == GRADIENT or not (_is_of_blocks(trace, step) and "m" in step.axes):
        found = cells_not_finite(trace.plan, step.node, step.value)
        if is_before_mask(trace.plan, step.node):
            found = found & trace["visible"].value
        found = found & ~rows_of_nan(trace, step, found) if found.any() else found
        return Cell(step.name, _first(found)) if found.any() else None
    end, results = last_of_blocks(trace.plan, trace.by_name), trace.plan.results
    last = trace[end] if end in (results.get("weights"), results.get("context")) and end in trace else step
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
    """The first non-finite, visible cell of a table before the mask; computes the masks of some queries."""
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
    """The keys that some queries see [… n m]."""
    problem = problem_of_queries(trace.problem, list(map(int, queries)))
    engine = DenseEngine(plan_of(problem), problem, problem.precision)
    needed = engine.plan.needed_for(["visible"])
    engine.run(node for node in engine.plan.nodes if node.name in needed)
    return engine.values[engine.plan.resolve("visible")]


def _rows_not_finite(trace: Trace, step: Step) -> Array:
    """The rows of a step [… n x] with a non-finite number [… n 1]; reads some rows at a time."""
    rows = np.zeros((*step.value.shape[:-1], 1), dtype=bool)
    for index in np.ndindex(*step.value.shape[:-2]):
        table, found = step.value[index], rows[index]
        count = max(READ_CELLS // table.shape[-1], 1)
        for first in range(0, len(table), count):
            part = slice(first, first + count)
            found[part] = cells_not_finite(trace.plan, step.node, table[part]).any(axis=-1, keepdims=True)
    return rows


def _first(found: Array) -> tuple[int, ...]:
    """The index of the first true cell."""
    return tuple(map(int, np.unravel_index(int(found.argmax()), found.shape)))


def _is_of_blocks(trace: Trace, step: Step) -> bool:
    """Whether a step depends on blocks, so that steps between it and the inputs were not kept."""
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
    """Every step of a one-query problem by the dense engine, with the labels of the trace that has it as a row."""
    problem = problem_of_queries(trace.problem, [row])
    precision = problem.precision
    engine = DenseEngine(plan_of(problem), problem, precision, has_wide_tables=precision.has_wide_tables)
    engine.run(engine.plan.nodes)
    labels = {**trace.labels, "n": trace.numbered_labels["n"][row : row + 1]}
    return Trace(problem, engine.plan, engine.values, engine.notes, labels)


def _given_value(problem: ProblemSpec, node: Node, cell: Cell) -> GivenValue:
    """The given number of an input's cell, before rounding, with its file and line."""
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
    """The row number of each cell of an array, from 0, in a shape that broadcasts with it; 0 for a vector."""
    return np.arange(array[..., 0].size).reshape(*array.shape[:-1], 1)


def cells_not_finite(plan: Plan, node: Node, value: Array) -> Array:
    """The cells of a value that are NaN or infinite, except −∞ for hidden keys.

    These are in the user's bias or scores, in scores after masks, and in the log-sum-exp of hidden keys.
    """
    if value.dtype.kind != "f":
        return np.zeros(value.shape, dtype=bool)
    if node.stage == LSE:
        node = plan.by_name[node.inputs["scores"]]
    found: Array = ~np.isfinite(value)
    is_masked = node.role == "scores" and "visible" in plan.by_name and not is_before_mask(plan, node)
    is_masked = is_masked or (node.role == "scores" and plan.by_name["scores"].is_input)  # maybe already masked
    may_hide = is_masked or node.source in (("bias",), ("sink",))
    return found & (value != -np.inf) if may_hide else found


def is_before_mask(plan: Plan, node: Node) -> bool:
    """Whether a node is a table of the scores' axes before the mask."""
    names = list(plan.by_name)
    has_masks = "visible" in plan.by_name
    return has_masks and node.axes == plan["scores"].axes and names.index(node.name) < names.index("visible")


def computing_node(plan: Plan, node: Node) -> Node:
    """The node whose function computes a node; for an inner quantity the node that taps it."""
    return node if node.tapped_from is None else plan.by_name[node.tapped_from]


def cause_of(trace: Trace, cell: Cell) -> Cell:
    """The cause of a non-finite cell: a cell of an input, or of the step that made it from finite numbers.

    The trace must have every step that the cell depends on.
    """
    while not trace[cell.name].node.is_input:
        source = _source_of(trace, cell)
        if source is None:
            break
        cell = source
    return cell


def _source_of(trace: Trace, cell: Cell) -> Cell | None:
    """The input cell that made a step's cell non-finite; None if the step's function did.

    A number is the cause if it alone, with 1 for all other non-finite numbers, also makes the cell non-finite.
    """
    plan = trace.plan
    node = computing_node(plan, plan.by_name[cell.name])
    values = {name: trace[name].value for name in node.inputs.values()}
    masks = {name: cells_not_finite(plan, plan.by_name[name], value) for name, value in values.items()}
    cells_of = {name: np.argwhere(mask) for name, mask in masks.items() if mask.any()}
    finite = values | {name: np.where(masks[name], np.ones_like(values[name]), values[name]) for name in cells_of}

    def reaches(name: str, cells: Array) -> bool:
        """Whether these cells of one input [cells axes] alone make the cell non-finite."""
        array, index = finite[name].copy(), tuple(cells.T)
        array[index] = values[name][index]
        return _is_result_nonfinite(trace, node, {**finite, name: array}, cell)

    if not cells_of or _is_result_nonfinite(trace, node, finite, cell):
        return None
    for name, cells in cells_of.items():  # the first along common axes, which is usually the cause
        near = cells[_is_near(plan.by_name[name], cells, plan.by_name[cell.name], cell)][:1]
        if len(near) and reaches(name, near):
            return Cell(name, tuple(map(int, near[0])))
    for name, cells in cells_of.items():
        if reaches(name, cells):
            some = cells
            while len(some) > 1:
                half = some[: len(some) // 2]
                some = half if reaches(name, half) else some[len(half) :]
            return Cell(name, tuple(map(int, some[0])))
    return None


def _is_result_nonfinite(trace: Trace, node: Node, values: Mapping[str, Array], cell: Cell) -> bool:
    """Whether evaluating a cell's node with these values makes the cell non-finite."""
    inner: dict[str, Array] = {}
    with np.errstate(all="ignore"):
        value = evaluate(node, values, trace.precision, inner.__setitem__)
    return not np.isfinite(inner.get(cell.name, value)[cell.at])


def _is_near(node: Node, cells: Array, result: Node, cell: Cell) -> Array:
    """The cells of a node [cells axes] with a result cell's indices along common axes."""
    index_of = dict(zip(result.letters, cell.at, strict=True))
    near = np.ones(len(cells), dtype=bool)
    for axis, (letter, length) in enumerate(node.axes):
        if index_of.get(letter, length) < length:
            near &= cells[:, axis] == index_of[letter]
    return near


def problem_of_queries(problem: ProblemSpec, rows: Sequence[int]) -> ProblemSpec:
    """The forward problem of some queries, by their numbers among the computed ones.

    Here queries are labelled by their positions, since a label could also be another query's, or a number.
    """
    selected, count = problem.selected_queries, problem.query_count
    positions = [row if selected is None else selected[row] for row in rows]
    return replace(
        problem, only=tuple(map(str, positions)), query_tokens=tuple(map(str, range(count))), grad_output=None
    )


def rows_of_nan(trace: Trace, step: Step, found: Array) -> Array:
    """The rows of a step that are NaN by choice, in a shape that broadcasts with its value.

    `found` has the non-finite cells of the step; only their queries are checked.
    """
    axes = step.axes
    nowhere = np.zeros((1,) * len(axes), dtype=bool)
    if not trace.plan.has_weights:
        return nowhere
    weights = trace.plan["weights"]
    is_made_of_weights = weights.name in trace.plan.needed_for([step.name])
    if trace.plan.empty_rows_fill != "nan" or "n" not in axes or not is_made_of_weights:
        return nowhere
    at = axes.index("n")
    queries = np.flatnonzero(found.any(axis=tuple(axis for axis in range(len(axes)) if axis != at)))
    empty = _empty_rows(trace, queries)
    letters = weights.letters[:-1]
    empty = np.asarray(empty.any(axis=tuple(axis for axis, letter in enumerate(letters) if letter not in axes)))
    lengths = dict(zip((letter for letter in letters if letter in axes), empty.shape, strict=True))
    return empty.reshape([lengths.get(letter, 1) for letter in axes])


def _empty_rows(trace: Trace, queries: Array) -> Array:
    """Those of these queries that see no key [… n]; false for the others.

    Blocks don't keep the weights: they are computed again, some queries at a time.
    """
    name = trace.plan.attending_weights
    if name in trace.by_name:
        return _rows_of_zeros(trace[name].value)
    shape = trace.plan.by_name[name].shape
    empty = np.zeros(shape[:-1], dtype=bool)
    count = max(BlockSizes().dense_cells // (prod(shape[:-2]) * shape[-1]), 1)
    for first in range(0, len(queries), count):
        rows = queries[first : first + count]
        empty[..., rows] = _rows_of_zeros(_weights(problem_of_queries(trace.problem, rows.tolist())))
    return empty


def _weights(problem: ProblemSpec) -> Array:
    """The weights of a problem before rows without keys are filled."""
    plan = plan_of(problem)
    name = plan.attending_weights
    engine, needed = DenseEngine(plan, problem, problem.precision), plan.needed_for([name])
    engine.run(node for node in plan.nodes if node.name in needed)
    return engine.values[name]


def _rows_of_zeros(weights: Array) -> Array:
    """The rows whose weights are all 0 [… n]."""
    return np.asarray(~(weights != 0).any(axis=-1))
