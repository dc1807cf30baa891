"""The mistakes that are looked for, and bugs of public projects, as `attn list` and `attn show` have them."""

from collections.abc import Iterator

from attncli.checks.bugs import bugs
from attncli.checks.slips import SLIPS
from attncli.render.meanings import Meaning


def summaries_of_slips() -> Iterator[tuple[str, str]]:
    """The name of each slip, and its sentence."""
    yield from ((slip.name, slip.sentence) for slip in SLIPS.values())


def meanings_of_slips() -> Iterator[Meaning]:
    """The meaning of each slip: a mistake that `attn check` looks for."""
    for slip in SLIPS.values():
        facts = (
            ("made where", slip.applies_where),
            ("found by", "attn check, where it explains a difference"),
            ("", "attn check --slips, where the inputs would not reveal it"),
        )
        yield Meaning((slip.name,), "slip", slip.sentence, facts)


def summaries_of_bugs() -> Iterator[tuple[str, str]]:
    """The source of each bug, and what it is, with the slip that names it."""
    yield from ((bug.source, f"{bug.sentence} ({bug.slip})") for bug in bugs().values())
