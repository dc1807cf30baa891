"""Warnings: lines on standard error, or with --strict an error."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from attncli.base.errors import AttnError
from attncli.cli import streams
from attncli.problem.fields import option_name

if TYPE_CHECKING:
    from attncli.io.problem_files import Document

Strict = Annotated[
    bool, typer.Option("--strict", hidden=True, help="Make every warning an error: write nothing, exit with 2.")
]


def write_warnings(warnings: Iterable[str], *, strict: bool) -> None:
    """Write each warning as a line on standard error; raises AttnError of all of them where `strict`."""
    messages = list(dict.fromkeys(warnings))
    if strict and messages:
        raise AttnError("; ".join(messages), where="--strict")
    for message in messages:
        streams.write_error(f"warning: {message}")


def unread_options(reasons: Mapping[str, str]) -> list[str]:
    """A warning for each option that nothing reads, with the reason; options by the names of their parameters."""
    return [f"{option_name(name)} has no effect: {reason}" for name, reason in reasons.items()]


def unread_keys(document: "Document", reasons: Mapping[str, str]) -> list[str]:
    """The warnings on keys that were given as options; a file may have keys that serve only some of its readers."""
    return unread_options({name: reason for name, reason in reasons.items() if _is_option(document, name)})


def _is_option(document: "Document", name: str) -> bool:
    """Whether a key was given as an option; a convention may have set one that was not given."""
    return name in document and document[name].origin.options
