"""From a problem to its plan: the stages, in order.

project ─ clip ─ positions ─ split heads ─ qk_norm ─ rotate ─ scale queries ─ cache ─ repeat heads ─ SCORE (times
scale) ─ softcap ─ bias ─ mask ─ NORMALIZE ─ CONTEXT ─ context_norm ─ merge heads ─ gate ─ w_o
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from attncli.ops.records import Operator
from attncli.plan.builder import PlanBuilder
from attncli.plan.graph import Plan
from attncli.plan.stages import (
    given_tables,
    heads,
    indices,
    limits,
    masks,
    norms,
    output,
    projections,
    query_scales,
    scores,
)
from attncli.problem.fields import RANDOM
from attncli.problem.spec import FIELDS, ProblemSpec

# The stages in order, by the result that they compute: those of a result that is given, or not computed, are left out.
STAGES: Mapping[str, Sequence[Callable[[PlanBuilder], None]]] = {
    "inputs": (
        projections.project,
        limits.clip_projections,
        limits.scale_values,
        indices.add_indices,
        norms.normalize_features,
        heads.split_heads,
        norms.normalize_heads,
        heads.rotate,
        norms.normalize_rotated,
        query_scales.scale_queries,
        heads.concatenate_cache,
        heads.repeat_kv_heads,
    ),
    "scores": (scores.score,),
    "weights": (scores.softcap, scores.add_biases, masks.apply_masks, output.normalize),
    "output": (output.attend, norms.normalize_context, output.merge_heads),
}

# Plans by signature: problems that differ in numbers and labels alone, as the layers of a model do, have the same.
_PLANS: dict[Hashable, Plan] = {}
MAX_PLANS = 64
# A plan depends on neither words nor how numbers are drawn; what is drawn counts by its shape.
_PLANNED_FIELDS = tuple(
    name
    for name, field in FIELDS.items()
    if field.kind not in ("labels", "text", "vocabulary") and field.panel != RANDOM
)


def plan_of(problem: ProblemSpec) -> Plan:
    """The plan of a problem; the same one for problems of the same signature."""
    key = signature(problem)
    plan = _PLANS.get(key)
    if plan is None:
        if len(_PLANS) == MAX_PLANS:
            _PLANS.clear()
        plan = _PLANS[key] = build_plan(problem)
    return plan


def build_plan(problem: ProblemSpec) -> Plan:
    """The plan of a problem, from the lengths of its axes and its operators; no number of it is read."""
    builder = PlanBuilder(problem)
    for result, stages in STAGES.items():
        if result == problem.given_table:
            given_tables.add_given_table(builder)
        for stage in stages if result not in problem.not_computed else ():
            stage(builder)
    return builder.plan()


def signature(problem: ProblemSpec) -> Hashable:
    """A hashable of everything that a plan depends on: shapes of arrays, operators, options and selected queries."""
    selected = problem.selected_queries
    return (
        None if selected is None else tuple(selected),
        problem.vocabulary is not None,
        *(
            (name, _signature_of_value(value))
            for name in _PLANNED_FIELDS
            if (value := getattr(problem, name)) is not None
        ),
    )


def _signature_of_value(value: Any) -> Hashable:
    """The shape of an array, the record and parameters of an operator, any other value itself."""
    if hasattr(value, "shape"):
        shape: tuple[int, ...] = value.shape
        return shape
    if isinstance(value, Operator):
        return value.record, tuple((name, _signature_of_value(parameter)) for name, parameter in value.given.items())
    if isinstance(value, float):
        return repr(value)  # 0 and −0 are equal, but lead to different results
    return value if isinstance(value, Hashable) else repr(value)
