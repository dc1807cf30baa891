"""Running a problem: it is planned, then computed by the dense engine, or by the blockwise one if it is large."""

import math
from collections.abc import Iterable
from dataclasses import replace

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, all_finite
from attncli.engine.dense import DenseEngine
from attncli.engine.options import BlockSizes, RunOptions
from attncli.ops.records import OperatorRecord
from attncli.plan.build import plan_of
from attncli.plan.graph import GRADIENT, Plan
from attncli.plan.trace import RunResult, Trace
from attncli.problem.spec import ProblemSpec

LOCAL = RunOptions()
ALWAYS_FITS = 2**22  # numbers of all steps together: no check of free memory below this


def run(
    problem: ProblemSpec,
    select: Iterable[str] | None = None,
    *,
    every_step: bool = False,
    options: RunOptions = LOCAL,
) -> RunResult:
    """Compute the selected results of a problem, by default its default ones.

    With `every_step` all steps are kept, whatever the problem's size. Otherwise a large problem is computed in blocks,
    which keep the selected tables, and the context and later steps if a selected step needs them. Raises
    UnknownNameError for an unknown name in `select`; AttnError if the problem does not compute it, memory does not
    suffice, or an executor can't be reached.
    """
    names = problem.default_selection if select is None else select
    select = (names,) if isinstance(names, str) else tuple(names)
    plan = plan_of(problem).for_results(select)
    nodes = [plan[name] for name in select]  # raises before anything is computed
    mixing = _mixing_operator(plan)
    if mixing is not None and problem.only is not None:
        message = f"{mixing.title} mixes queries or keys"
        raise AttnError(message, where="only", hint="leave out only: others would be missing")
    is_dense = every_step or not is_large(plan, options.sizes) or mixing is not None
    has_gradients = _needs_gradients(plan, select)
    if not is_dense and plan.has_gradients and not has_gradients:
        problem = replace(problem, grad_output=None)
        plan = plan_of(problem)
        nodes = [plan[name] for name in select]
    if options.caller_bytes or _most_numbers(plan, select, is_dense=is_dense) > ALWAYS_FITS:
        from attncli.engine.memory import check_memory  # noqa: PLC0415 - small problems fit

        check_memory(problem, plan, select, options, is_dense=is_dense)
    if is_dense:
        engine = DenseEngine(plan, problem, problem.precision, has_wide_tables=problem.precision.has_wide_tables)
        engine.run(plan.nodes)
        trace = Trace(problem, plan, engine.values, engine.notes)
        are_finite = all(_is_finite(trace.values[node.name]) for node in nodes)
    else:
        from attncli.engine.backward import run_backward  # noqa: PLC0415 - small problems are computed whole
        from attncli.engine.blockwise import run_blockwise  # noqa: PLC0415 - the same

        ran = (run_backward if has_gradients else run_blockwise)(plan, problem, select, options)
        values, warnings = {step.name: step.value for step in ran.steps}, {step.name: step.notes for step in ran.steps}
        trace = Trace(problem, plan, values, warnings)
        are_finite = all(
            node.name in ran.are_finite or ("m" not in node.letters and _is_finite(values[node.name])) for node in nodes
        )
    if are_finite:
        return RunResult(trace, select)
    from attncli.engine.nonfinite import with_nonfinite_warning  # noqa: PLC0415 - most results are finite

    return RunResult(with_nonfinite_warning(trace, select), select)


def _needs_gradients(plan: Plan, select: Iterable[str]) -> bool:
    """Whether selected results start the backward pass, or come from it."""
    needed = (plan.by_name[name] for name in plan.needed_for(select))
    return any(node.stage == GRADIENT or node.source == ("grad_output",) for node in needed)


def _mixing_operator(plan: Plan) -> OperatorRecord | None:
    """Another package's operator, if any, whose numbers depend on other queries or keys than their own.

    Such plans are computed whole, since a block, or a plan of some queries, lacks the others.
    """
    own = [node for node in plan.nodes if node.record is not None and not node.is_built_in]
    own = [node for node in own if node.is_pair_table or node.stage == "context"]
    if not own:
        return None
    from attncli.ops.recording.guard import reads_other_cells  # noqa: PLC0415 - most operators are this package's

    for node in own:
        shapes = {name: plan.by_name[source].shape for name, source in node.inputs.items()}
        if node.record is not None and reads_other_cells(node.record, shapes, node.options):
            return node.record
    return None


def is_large(plan: Plan, sizes: BlockSizes = LOCAL.sizes) -> bool:
    """Whether a plan is computed in blocks, and keeps only selected tables."""
    if not plan.has_weights or plan.rounds_steps:  # rounding needs whole rows
        return False
    return has_many_scores(plan, sizes) or plan.largest_size_along_keys > sizes.row_cells


def has_many_scores(plan: Plan, sizes: BlockSizes = LOCAL.sizes) -> bool:
    """Whether a plan has so many scores that nobody reads their tables."""
    return plan.score_count > sizes.dense_cells


def _most_numbers(plan: Plan, select: Iterable[str], *, is_dense: bool) -> int:
    """The numbers of all steps that a run may keep; unless it is dense, only selected tables count."""
    if is_dense:
        return plan.size
    names = {plan.resolve(name) for name in select}
    kept = (node for node in plan.nodes if node.name in names or not {"n", "m"} <= set(node.letters))
    return sum(math.prod(node.shape) for node in kept)


def _is_finite(value: Array) -> bool:
    """Whether a value has neither NaN nor infinity; masks and counts never do."""
    return value.dtype.kind != "f" or all_finite(value)
