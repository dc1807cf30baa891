"""The memory that a run needs, estimated from its plan: a run that can't fit is refused in advance."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from attncli.base.dtypes import Precision
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import np
from attncli.base.memory import format_bytes, largest_sizes, missing_memory
from attncli.engine.dense import input_array, projection_parts
from attncli.engine.options import RunOptions, in_memory
from attncli.plan.build import plan_of
from attncli.plan.graph import GRADIENT, Node, Plan
from attncli.problem.fields import OUTPUT
from attncli.problem.spec import ProblemSpec

FEWER_QUERIES = "compute some of the queries with only"


@dataclass(frozen=True)
class MemoryNeed:
    """The bytes of each kept step, by name, and the temporary bytes of the largest step."""

    steps: Mapping[str, int]
    on_the_way: int

    @property
    def total(self) -> int:
        """All bytes together."""
        return sum(self.steps.values()) + self.on_the_way


def check_memory(
    problem: ProblemSpec, plan: Plan, select: Sequence[str], options: RunOptions, *, is_dense: bool
) -> None:
    """Raise AttnError if the kept steps and the caller's arrays exceed the available memory.

    The error names the largest steps, and what to select instead.
    """
    need = memory_need(problem, plan, select, options, is_dense=is_dense)
    total = need.total + options.caller_bytes
    missing = missing_memory(total)
    if missing is None:
        return
    parts = largest_sizes(need.steps, total)
    if options.caller_bytes >= total / 100:
        parts.append(f"writing them {format_bytes(options.caller_bytes)}")
    raise AttnError(f"the run {missing} ({', '.join(parts)})", hint=_smaller_run(problem, plan))


def _smaller_run(problem: ProblemSpec, plan: Plan) -> str:
    """The hint: to select only the output if that fits, or some of the queries."""
    if plan.has_gradients:
        return "leave out grad_output, or give fewer batch items, queries or keys"
    if OUTPUT not in plan.results:
        return FEWER_QUERIES
    need = memory_need(problem, plan, (OUTPUT,), RunOptions(), is_dense=False).total
    if missing_memory(need) is None:
        return f"select only {OUTPUT}, without every step ({format_bytes(need)}), or {FEWER_QUERIES}"
    return f"{FEWER_QUERIES}, or give fewer or shorter vectors"


def memory_need(
    problem: ProblemSpec, plan: Plan, select: Iterable[str], options: RunOptions, *, is_dense: bool
) -> MemoryNeed:
    """An engine's kept steps: all if it is dense, otherwise the selected ones and those before and after blocks.

    It is a lower bound: of functions' temporaries only the wider copies of arguments are counted.
    """
    kept, tables, in_parts = plan.nodes, list[Node](), False
    if not is_dense:
        from attncli.engine.blocks import split_plan  # noqa: PLC0415 - small problems are computed whole
        from attncli.engine.threads import has_one_thread_in_blocks  # noqa: PLC0415 - the same

        names = tuple(plan.resolve(name) for name in select)
        gradients = [plan.by_name[name] for name in plan.needed_for(names) if plan.by_name[name].stage == GRADIENT]
        forward = plan_of(replace(problem, grad_output=None)) if plan.has_gradients else plan
        results = [name for name in names if name in forward.by_name] or [forward.results[OUTPUT]]
        parts = split_plan(forward.for_results(results), tuple(results))
        kept = (*parts.before, *parts.after)
        in_parts, in_file = has_one_thread_in_blocks(options), options.allocate is not in_memory
        tables = [node for node in parts.kept if not (in_file and "m" in node.letters)]
        tables += [node for node in gradients if not node.is_pair_table or (node.name in names and not in_file)]
    sizes = {node.name: _new_bytes(node, plan, problem) for node in (*kept, *tables)}
    wider = (_wider_bytes(node, plan, problem.precision, in_parts=in_parts) for node in kept)
    return MemoryNeed(sizes, max(wider, default=0))


def _new_bytes(node: Node, plan: Plan, problem: ProblemSpec) -> int:
    """The bytes of a step's array; 0 if it is the problem's own, or a view of another step's."""
    size = array_bytes(node, problem.precision)
    if node.is_input:
        dtype = input_array(node, problem).dtype
        return 0 if dtype.kind != "f" or dtype == np.dtype(problem.precision.numpy_name) else size
    if node.is_exact and math.prod(node.shape) <= max(
        (math.prod(plan.by_name[name].shape) for name in node.inputs.values()), default=0
    ):
        return 0
    return size


def _wider_bytes(node: Node, plan: Plan, precision: Precision, *, in_parts: bool) -> int:
    """The bytes of a step's arguments and result, or of slices of them, in the wider type of its products.

    A whole step's result does not yet exist in its own type: this count replaces its bytes.
    """
    if node.is_input or node.is_exact or node.tapped_from is not None or node.is_boolean:
        return 0
    wide = np.dtype(precision.widened_name)
    if wide == np.dtype(precision.numpy_name):
        return 0
    inputs = {argument: plan.by_name[name] for argument, name in node.inputs.items()}
    sizes = {argument: math.prod(n.shape) for argument, n in inputs.items() if not n.is_boolean}
    parts = len(projection_parts(node, plan)) if in_parts else 0
    if parts:
        return wide.itemsize * (sum(sizes.values()) - sizes["x"] + (sizes["x"] + math.prod(node.shape)) // parts)
    return wide.itemsize * (sum(sizes.values()) + math.prod(node.shape)) - array_bytes(node, precision)


def array_bytes(node: Node, precision: Precision) -> int:
    """The bytes of a step's array."""
    return math.prod(node.shape) * (1 if node.is_boolean else np.dtype(precision.numpy_name).itemsize)
