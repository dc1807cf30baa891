"""Slips: the mistakes that people make in attention; importing it registers them all, the simplest first."""

# The order in which explanations are tried and named.
# isort: off
from attncli.analysis.slips import (  # noqa: F401 - imported to be registered
    scale,
    softmax,
    masks,
    mask_positions,
    scores,
    residual,
    projections,
    heads,
    norms,
    gates,
    positions,
    rope,
    cache,
    rounding,
)

# isort: on
from attncli.analysis.slips.attempts import Attempt, attempts, run_attempt
from attncli.analysis.slips.limits import SearchLimits
from attncli.analysis.slips.parts import Part, Telling
from attncli.analysis.slips.records import SLIPS, Slip
from attncli.analysis.slips.search import SearchResult, explain, unnoticed

__all__ = [
    "SLIPS",
    "Attempt",
    "Part",
    "SearchLimits",
    "SearchResult",
    "Slip",
    "Telling",
    "attempts",
    "explain",
    "run_attempt",
    "unnoticed",
]
