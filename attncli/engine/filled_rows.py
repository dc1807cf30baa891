"""The rows of a step that are NaN because `empty_rows` says so: of queries that may attend to nothing."""

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from attncli.base.lazy_numpy import Array, np
from attncli.engine.dense import DenseEngine
from attncli.engine.options import BlockSizes
from attncli.plan.build import plan_of
from attncli.plan.trace import Step, Trace
from attncli.problem.spec import ProblemSpec


def problem_of_queries(problem: ProblemSpec, rows: Sequence[int]) -> ProblemSpec:
    """The problem with some queries alone, by their numbers among those that were computed.

    A label could be that of another query, or a number: here queries are labelled by their positions.
    """
    selected, count = problem.selected_queries, problem.query_count
    positions = [row if selected is None else selected[row] for row in rows]
    return replace(problem, only=tuple(map(str, positions)), query_tokens=tuple(map(str, range(count))))


def rows_of_nan(trace: Trace, step: Step, found: Array) -> Array:
    """Where the rows of a step are NaN by choice, in a shape that broadcasts with its value.

    `found` has the cells of the step that are not finite; only the queries of these are looked at.
    """
    weights, axes = trace.plan["weights"], step.axes
    nowhere = np.zeros((1,) * len(axes), dtype=bool)
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
    """Which of these queries may attend to nothing [… n]; false of the others.

    In blocks the weights were not kept: they are computed again, some queries at a time.
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
    """Where all weights of a row are 0 [… n]."""
    return np.asarray(~(weights != 0).any(axis=-1))
