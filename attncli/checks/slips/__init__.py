"""Slips: the mistakes that people make in attention; importing it registers them all, the simplest first."""

from collections.abc import Iterator

# Explanations are tried and named in this order.
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
    units,
    quantization,
    recurrences,
    selection,
    backward,
)

# isort: on
from attncli.checks.slips.records import SLIPS, Slip
from attncli.render.meanings import Meaning

__all__ = ["SLIPS", "Slip", "meanings_of_slips", "summaries_of_slips"]


def summaries_of_slips() -> Iterator[tuple[str, str]]:
    """The name of each slip, and its sentence."""
    yield from ((slip.name, slip.sentence) for slip in SLIPS.values())


def meanings_of_slips() -> Iterator[Meaning]:
    """The meaning of each slip: a mistake that `attn check` looks for."""
    for slip in SLIPS.values():
        facts = (
            ("made where", slip.applies_where),
            ("found by", "attn check, if it explains a difference"),
            ("", "attn check --slips, if the inputs would not reveal it"),
        )
        yield Meaning((slip.name,), "slip", slip.sentence, facts)
