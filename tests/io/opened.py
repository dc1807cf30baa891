"""Inputs for tests of readers."""

from pathlib import Path

from attncli.io.inputs import Input, Inputs


def opened(path: Path, max_size: int | None = None) -> Input:
    """A file as its reader gets it."""
    return Inputs(max_size).open(str(path))
