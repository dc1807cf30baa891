"""Warnings: lines on standard error, or with --strict an error."""

from collections.abc import Iterable
from typing import Annotated

import typer

from attncli.base.errors import AttnError
from attncli.cli import streams

Strict = Annotated[bool, typer.Option("--strict", help="Make every warning an error: write nothing, exit with 2.")]


def write_warnings(warnings: Iterable[str], *, strict: bool) -> None:
    """Write each warning as a line on standard error; raises AttnError of all of them where `strict`."""
    messages = list(dict.fromkeys(warnings))
    if strict and messages:
        raise AttnError("; ".join(messages), where="--strict")
    for message in messages:
        streams.write_error(f"warning: {message}")
