"""Masks in which the user's 1 hides a key, where attn's 1 attends."""

from attncli.problem.convention_use import ConventionUse
from attncli.problem.conventions import find_convention
from attncli.problem.conventions.readings import inverted


def hides(use: ConventionUse | None, key: str) -> bool:
    """Whether the convention that a problem was read by has inverted the mask of a key.

    >>> hides(ConventionUse("torch-mha", ""), "mask"), hides(None, "mask")
    (True, False)
    """
    reading = None if use is None else find_convention(use.name).words.get(key)
    return reading is not None and reading.change is inverted
