"""Slips: the mistakes that people make in attention; importing it registers them all, the simplest first."""

# The order in which explanations are tried and named.
# isort: off
from attncli.analysis.slips import (  # noqa: F401 - imported to be registered
    scale,
    softmax,
    masks,
    scores,
    projections,
    norms,
    positions,
    rounding,
)

# isort: on
from attncli.analysis.slips.parts import Part, Priority, SearchLimits
from attncli.analysis.slips.records import SLIPS, Slip
from attncli.analysis.slips.search import Attempt, SearchResult, attempts, explain, run_attempt, unnoticed

__all__ = [
    "SLIPS",
    "Attempt",
    "Part",
    "Priority",
    "SearchLimits",
    "SearchResult",
    "Slip",
    "attempts",
    "explain",
    "run_attempt",
    "unnoticed",
]
