"""Inputs for tests of readers."""

import re
from pathlib import Path

from attncli.io.inputs import Input, Inputs


def opened(path: Path, max_size: int | None = None) -> Input:
    """A file as its reader gets it."""
    return Inputs(max_size).open(str(path))


def later(message: str, lines: int) -> str:
    """The message of an error so many lines later."""
    return re.sub(r"\bline (\d+)", lambda match: f"line {int(match[1]) + lines}", message)
