"""The group of commands: each is imported when it is called, and its usage errors are AttnErrors of one line."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import import_object
from attncli.cli import streams
from attncli.cli.command_table import COMMANDS
from attncli.cli.lazy_options import LazyOptions
from attncli.cli.unquoted import QUOTE_HINT, are_parts_of_lists
from attncli.io.paths import STDIN, is_there

DEFAULT_COMMAND = "compute"  # of `attn problem.yaml`


class LazyCommandGroup(LazyOptions, TyperGroup):
    """The commands of COMMANDS; a command is imported when it is called, not when it is listed or completed."""

    is_listing = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.commands = {name: TyperCommand(name, help=ref.summary) for name, ref in COMMANDS.items()}

    def list_commands(self, context: Any) -> list[str]:
        """The names of the commands, in the order of the help."""
        return list(self.commands)

    def get_command(self, context: Any, name: str) -> Any:
        """The command of that name; while commands are listed, one that has only a name and a summary."""
        if self.is_listing or name not in COMMANDS:
            return super().get_command(context, name)
        return _make_command(name)

    def resolve_command(self, context: Any, args: list[str]) -> Any:
        """The command that the first argument names; a problem in its place is computed."""
        if args[0] not in COMMANDS and _is_problem(args[0]):
            args = [DEFAULT_COMMAND, *args]
        if args[0] in COMMANDS and not context.resilient_parsing:  # an unfinished command line may get any option
            name, *rest = args
            return name, _make_command(name, rest), rest
        return super().resolve_command(context, args)

    def option_args(self, args: list[str]) -> list[str]:
        """The arguments before the command's name."""
        return list(takewhile(lambda arg: arg.startswith("-") and arg != STDIN, args))

    def format_help(self, context: Any, formatter: Any, *, every_option: bool = False) -> None:
        """Write the help, with a summary of each command."""
        with self._listing():
            super().format_help(context, formatter, every_option=every_option)

    def shell_complete(self, context: Any, incomplete: str) -> Any:
        """The commands that begin so, each with its summary."""
        with self._listing():
            return super().shell_complete(context, incomplete)

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Parse the arguments before the command's name."""
        with _errors_of_the_command_line():
            return super().make_context(*args, **kwargs)

    def invoke(self, context: Any) -> Any:
        """Parse the arguments after the command's name and run the command."""
        with _errors_of_the_command_line():
            return super().invoke(context)

    @contextmanager
    def _listing(self) -> Iterator[None]:
        """A block in which `get_command` imports no command."""
        self.is_listing = True
        try:
            yield
        finally:
            self.is_listing = False


def _make_command(name: str, args: Sequence[str] | None = None) -> Any:
    """The command of that name, with the options that are among the arguments, or with all of them."""
    from attncli.cli.command_parameters import with_named_options

    ref, single = COMMANDS[name], typer.Typer(add_completion=False)
    function = with_named_options(import_object(ref.function), args)
    single.command(name, cls=LazyCommand, help=ref.summary)(function)
    command: Any = get_command(single)
    command.ref = ref
    return command


def _is_problem(word: str) -> bool:
    """Whether a word is a file or standard input, or has the suffix of a file that can be read."""
    from attncli.io.formats import format_of_suffix

    path = Path(word)
    return word == STDIN or format_of_suffix(path) is not None or (is_there(path) and not path.is_dir())


class LazyCommand(LazyOptions, TyperCommand):
    """A command that makes only the options that are on the command line."""


@contextmanager
def _errors_of_the_command_line() -> Iterator[None]:
    """Raise usage errors as AttnErrors that name the command of the help; a closed pipe ends the command quietly."""
    try:
        yield
    except BrokenPipeError:
        streams.discard(sys.stdout)
        raise typer.Exit from None
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)
        command = context.command_path if context is not None else "attn"
        message = error.format_message().rstrip(".")
        hint = QUOTE_HINT if are_parts_of_lists(message) else f"{command} --help lists what there is"
        raise AttnError(message, hint=hint) from None
