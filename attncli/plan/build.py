"""From a problem to its plan: the stages, in order.

project ─ clip ─ positions ─ split heads ─ qk_norm ─ rotate ─ scale queries ─ cache ─ repeat heads ─ SCORE (times
scale) ─ softcap ─ bias ─ mask ─ NORMALIZE ─ CONTEXT (or RECURRENCE) ─ context_norm ─ merge heads ─ gate ─ w_o
"""

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from importlib import import_module
from types import ModuleType

from attncli.base.errors import AttnError, UnknownNameError
from attncli.plan.builder import PlanBuilder
from attncli.plan.graph import GRADIENT, Plan, gradient_name
from attncli.plan.stages.scores import add_given_table
from attncli.problem.fields import OUTPUT
from attncli.problem.spec import DEFAULTS, ProblemSpec

# The files of stages, in order: each has its stages by the result that they compute, and the purposes of their steps.
STAGE_FILES = ("projections", "indices", "heads", "selection", "scores", "recurrences", "differences", "output")
# Files that are imported only for some problems, with the condition.
_ONLY_WITH = {"selection": "chooses_keys", "recurrences": "recurrence"}
# The results in order. Stages of given results, or of results that are not computed, are left out.
STAGED_RESULTS = ("inputs", "scores", "weights", "output")

# Plans by signature: problems that differ only in numbers and labels, such as a model's layers, share one.
_PLANS: dict[Hashable, Plan] = {}
MAX_PLANS = 64


def plan_of(problem: ProblemSpec) -> Plan:
    """The plan of a problem; problems with the same signature share it."""
    plan = _PLANS.get(problem.signature)
    if plan is None:
        if len(_PLANS) >= MAX_PLANS:
            _PLANS.clear()
        plan = _PLANS[problem.signature] = build_plan(problem)
    return plan


def build_plan(problem: ProblemSpec) -> Plan:
    """The plan of a problem, from the lengths of its axes and its operators; it reads no numbers."""
    builder = _forward_builder(problem)
    if problem.grad_output is not None:
        from attncli.plan.stages.gradients import differentiate  # noqa: PLC0415 - most problems have no gradients

        differentiate(builder)
    return builder.plan()


def build_plan_to_fit(problem: ProblemSpec, results: Iterable[str], paths: Collection[tuple[str, ...]]) -> Plan:
    """The plan of a problem with the gradients of arrays and numbers, by their paths, from several results.

    The gradients of these results are inputs, whose values the caller sets; `loss_gradient_name` gives their names.
    Raises UnknownNameError for an unknown result, AttnError if an operator has no derivative.
    """
    from attncli.plan.stages.gradients import differentiate_for  # noqa: PLC0415 - the same

    builder = _forward_builder(problem)
    plan = builder.plan()
    differentiate_for(builder, [plan.resolve(result) for result in results], paths)
    return builder.plan()


def stage_files(problem: ProblemSpec | None = None) -> Iterator[ModuleType]:
    """The files of stages, in order; for a problem only those that may add to its plan."""
    for name in STAGE_FILES:
        if problem is None or name not in _ONLY_WITH or getattr(problem, _ONLY_WITH[name]):
            yield import_module(f"attncli.plan.stages.{name}")


def purposes(problem: ProblemSpec | None = None) -> Mapping[str, str]:
    """The purposes of results, and of steps without an operator; for a problem those that its plan may have."""
    return {name: text for file in stage_files(problem) for name, text in file.STEPS.items()}


def _forward_builder(problem: ProblemSpec) -> PlanBuilder:
    """The builder of a plan with every stage of the forward computation."""
    builder = PlanBuilder(problem, purposes(problem))
    for result in STAGED_RESULTS:
        if result == problem.given_table:
            add_given_table(builder)
        for file in stage_files(problem) if result not in problem.not_computed else ():
            for stage in file.STAGES.get(result, ()):
                stage(builder)
    _check_rounded_steps(builder)
    return builder


def _check_rounded_steps(builder: PlanBuilder) -> None:
    """Raise AttnError if a name in `round` has no step, or one that is not computed."""
    for name in builder.problem.round or {}:
        node = builder.nodes.get(name)
        computed = [name for name, node in builder.nodes.items() if node.function is not None and not node.is_input]
        if node is None:
            raise UnknownNameError("step", name, computed, where=("round", name))
        if node.name not in computed:
            reason = "is given" if node.is_input else f"is an inner step of {node.tapped_from}"
            raise AttnError(f"{name} {reason}", where=("round", name), hint="round a step that is computed")


def gradient_selection(problem: ProblemSpec) -> tuple[str, ...]:
    """The default results with gradients: the output, and the gradients of given arrays.

    Raises AttnError if the problem computes no output.

    >>> from attncli.problem.build import build
    >>> gradient_selection(build({"query": [[1, 2]], "key": [[3, 4]], "grad_output": [[1]]}))
    ('output', 'grad_query', 'grad_key')
    """
    plan = plan_of(problem)
    if not plan.has_gradients:
        raise AttnError("there is no output to differentiate", hint="give value, or leave out the gradient")
    paths = [path for node in plan.nodes if node.stage != GRADIENT for path in node.numbers.values()]
    given = (path for path in paths if len(path) == 1 or path[1] in getattr(problem, path[0]).given)
    numbers = (gradient_name(".".join(path)) for path in given)
    return (OUTPUT, *plan.gradients_of_given, *(name for name in numbers if name in plan.by_name))


def keys_unread_by_plan(problem: ProblemSpec) -> Mapping[str, str]:
    """The reason why a key is unused, for each unused key.

    >>> from attncli.problem.build import build
    >>> keys_unread_by_plan(build({"embeddings": [[1, 2]], "seed": 1, "align": "bottom_right"}))
    {'seed': 'nothing is drawn', 'align': 'no mask and no position scheme reads the positions of the queries'}
    """
    plan, unread = plan_of(problem), dict(problem.unread)
    if problem.align != DEFAULTS["align"] and not asks_where_queries_stand(plan):
        unread["align"] = "no mask and no position scheme reads the positions of the queries"
    for key in ("positions", "positions_of_queries"):
        is_looked_up = key == "positions" and problem.token_positions is not None
        is_read = is_looked_up or any(node.source == (key,) for node in plan.nodes)
        if getattr(problem, key) is not None and not is_read:
            unread[key] = _why_positions_are_not_read(problem)
    if problem.empty_rows != DEFAULTS["empty_rows"] and plan.empty_rows_fill is None:
        unread.setdefault("empty_rows", _why_no_row_is_filled(problem))
    return unread


def asks_where_queries_stand(plan: Plan) -> bool:
    """Whether a mask or a position of a plan depends on the queries' positions among the keys."""
    return any(node.stage == "align" for node in plan.nodes)


def _why_positions_are_not_read(problem: ProblemSpec) -> str:
    """The reason why given positions are unused."""
    if problem.position is None:
        return "there is no position and no query_scale"
    return f"{problem.position.record.name} reads the positions of the rows"


def _why_no_row_is_filled(problem: ProblemSpec) -> str:
    """The reason why `empty_rows` has no effect."""
    if problem.sink is not None:
        return "the sink takes the weight of a query without keys"
    if not problem.normalize.record.is_distribution:
        return f"weights of {problem.normalize.record.name} need not sum to 1: 0 without keys"
    return "there is no mask"
