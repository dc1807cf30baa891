"""From a problem to its plan: the stages, in order.

project ─ positions ─ split heads ─ qk_norm ─ rotate ─ cache ─ repeat heads ─ SCORE (times scale) ─ softcap ─ bias ─
mask ─ NORMALIZE ─ CONTEXT ─ merge heads ─ w_o
"""

from collections.abc import Callable, Sequence

from attncli.plan.builder import PlanBuilder
from attncli.plan.graph import Plan
from attncli.plan.stages import heads, indices, masks, output, projections, scores
from attncli.problem.spec import ProblemSpec

STAGES: Sequence[Callable[[PlanBuilder], None]] = (
    projections.project,
    indices.add_indices,
    heads.split_heads,
    heads.normalize_heads,
    heads.rotate,
    heads.concatenate_cache,
    heads.repeat_kv_heads,
    scores.score,
    scores.softcap,
    scores.add_biases,
    masks.apply_masks,
    output.normalize,
    output.attend,
    output.merge_heads,
)


def build_plan(problem: ProblemSpec) -> Plan:
    """The plan of a problem, from the lengths of its axes and its operators; no number of it is read."""
    builder = PlanBuilder(problem)
    for stage in STAGES:
        stage(builder)
    return builder.plan()
