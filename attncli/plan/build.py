"""From a problem to its plan: the stages, in order.

project ─ clip ─ positions ─ split heads ─ qk_norm ─ rotate ─ scale queries ─ cache ─ repeat heads ─ SCORE (times
scale) ─ softcap ─ bias ─ mask ─ NORMALIZE ─ CONTEXT ─ context_norm ─ merge heads ─ gate ─ w_o
"""

from collections.abc import Callable, Hashable, Mapping, Sequence

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
from attncli.problem.spec import ProblemSpec

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


def plan_of(problem: ProblemSpec) -> Plan:
    """The plan of a problem; the same one for problems of the same signature."""
    plan = _PLANS.get(problem.signature)
    if plan is None:
        if len(_PLANS) >= MAX_PLANS:
            _PLANS.clear()
        plan = _PLANS[problem.signature] = build_plan(problem)
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
