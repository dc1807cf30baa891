"""The stages in order: from a ProblemSpec to the Trace of every step.

project ─ place ─ split heads ─ qk_norm ─ turn ─ join the cache ─ share heads ─ SCORE (times scale) ─ softcap ─ bias ─
mask ─ NORMALIZE ─ CONTEXT ─ merge heads ─ w_o
"""

from collections.abc import Callable, Iterable, Sequence

from attncli.base.dtypes import Precision
from attncli.engine.dense import Recorder
from attncli.plan.stages import heads, indices, masks, output, projections, scores
from attncli.problem.spec import ProblemSpec
from attncli.trace.steps import Step, Trace

Stage = Callable[[ProblemSpec, Recorder], None]

PREPARE: Sequence[Stage] = (projections.project, indices.place, heads.split, heads.norm, heads.turn, heads.join)
SHARE: Sequence[Stage] = (heads.share,)
SCORE: Sequence[Stage] = (scores.score, scores.cap, scores.bias, masks.mask)
ANSWER: Sequence[Stage] = (output.normalize, output.context)
FINISH: Sequence[Stage] = (output.merge,)


def trace(problem: ProblemSpec) -> Trace:
    """Every step of the computation, in order."""
    recorder = Recorder(Precision(problem.dtype or "float64"))
    for stage in (*PREPARE, *SHARE, *SCORE, *ANSWER, *FINISH):
        stage(problem, recorder)
    return told(problem, recorder.steps.values(), recorder.precision)


def told(problem: ProblemSpec, steps: Iterable[Step], precision: Precision) -> Trace:
    """The trace of these steps, with the names of queries and keys."""
    keys = problem.key_labels
    return Trace(
        pipeline={stage: str(getattr(problem, stage)) for stage in ("score", "normalize", "context")},
        labels={
            "n": problem.selected_query_labels,
            "q": problem.query_labels,
            "m": keys,
            "p": keys[: problem.past_count],
            "k": keys[problem.past_count :],
        }
        | ({} if problem.sink is None else {"m+1": (*keys, "sink")}),
        steps=tuple(steps),
        precision=precision,
    )
