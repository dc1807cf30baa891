"""Typer's own complaints (an option that does not exist, a value that is missing) as AttnErrors of one line."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperGroup

from attncli.errors import AttnError


class OneLineErrors(TyperGroup):
    """A group whose usage errors are AttnErrors, shown where all the others are."""

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Parse the words before the command's name."""
        with _one_line():
            return super().make_context(*args, **kwargs)

    def invoke(self, context: Any) -> Any:
        """Parse the words after the command's name and run the command."""
        with _one_line():
            return super().invoke(context)


@contextmanager
def _one_line() -> Iterator[None]:
    """Turn a usage error into an AttnError that says which help to read."""
    try:
        yield
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)
        command = context.command_path if context is not None else "attn"
        raise AttnError(error.format_message().rstrip("."), hint=f"{command} --help lists what there is") from None
