"""The stages in order: from a Problem to the Trace of every step.

project ─ place ─ split heads ─ qk_norm ─ turn ─ join the cache ─ share heads ─ SCORE (times scale) ─ softcap ─ bias ─
mask ─ NORMALIZE ─ CONTEXT ─ merge heads ─ w_o
"""

from collections.abc import Iterable

from attncli.precision import Precision
from attncli.problem import Problem
from attncli.recorder import Recorder
from attncli.stages import answer, heads, masks, places, scores, sequences
from attncli.trace import DEFAULT_SELECTION, Result, Trace

STAGES = (
    sequences.project,
    places.place,
    heads.split,
    heads.norm,
    heads.turn,
    heads.join,
    heads.share,
    scores.score,
    scores.cap,
    scores.bias,
    masks.mask,
    answer.normalize,
    answer.context,
    answer.merge,
)


def run(problem: Problem, select: Iterable[str] = DEFAULT_SELECTION) -> Result:
    """Compute a problem and keep every step; raises AttnError where `select` names no result."""
    return Result(trace(problem), select)


def trace(problem: Problem) -> Trace:
    """Every step of the computation, in order."""
    recorder = Recorder(Precision(problem.dtype or "float64"))
    for stage in STAGES:
        stage(problem, recorder)
    keys = problem.key_labels
    return Trace(
        pipeline={stage: str(getattr(problem, stage)) for stage in ("score", "normalize", "context")},
        labels={
            "n": problem.asking_labels,
            "q": problem.query_labels,
            "m": keys,
            "p": keys[: problem.past_count],
            "k": keys[problem.past_count :],
            "m+1": (*keys, "sink"),
        },
        steps=tuple(recorder.steps.values()),
        precision=recorder.precision,
    )
