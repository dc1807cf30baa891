"""Slips: the mistakes that people make in attention; importing it registers them all, the simplest first."""

# The order in which explanations are tried and named.
# isort: off
from attncli.analysis.slips import (  # noqa: F401 - imported to be registered
    scale,
    softmax,
    masks,
    mask_positions,
    scores,
    projections,
    heads,
    positions,
    cache,
    rounding,
)

# isort: on
from attncli.analysis.slips.attempts import Attempt, attempts, run_attempt
from attncli.analysis.slips.records import SLIPS, Slip

__all__ = ["SLIPS", "Attempt", "Slip", "attempts", "run_attempt"]
