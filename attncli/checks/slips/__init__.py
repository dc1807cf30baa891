"""Slips: the mistakes that people make in attention; importing it registers them all, the simplest first."""

# The order in which explanations are tried and named.
# isort: off
from attncli.checks.slips import (  # noqa: F401 - imported to be registered
    scale,
    softmax,
    masks,
    numbers,
    scores,
    projections,
    norms,
    differences,
    positions,
    relative_keys,
    rounding,
    tiles,
    maps,
    rows,
    quantization,
    recurrences,
    selection,
    backward,
)

# isort: on
from attncli.checks.slips.records import SLIPS, Slip

__all__ = ["SLIPS", "Slip"]
