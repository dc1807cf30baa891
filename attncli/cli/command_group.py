"""The commands as Typer has them: imported when called, with usage errors as AttnErrors of one line."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import import_object
from attncli.base.memory import check_numpy_fits
from attncli.cli import streams, usage_errors
from attncli.cli.commands import COMMANDS, CommandRef
from attncli.cli.usage_errors import is_problem

DEFAULT_COMMAND = "compute"  # for `attn problem.yaml`
HELP_ALL = "--help-all"
_INTEGER = re.compile(r"\s*[-+]?[0-9]{1,18}\s*", re.ASCII)


def _print_all_help(context: typer.Context, is_requested: bool) -> None:
    """On `--help-all` print the help with every option and end the program."""
    if is_requested:
        formatter = context.make_formatter()
        context.command.format_help(context, formatter, every_option=True)  # type: ignore[call-arg] # it is a Command
        typer.echo(formatter.getvalue().rstrip("\n"), color=context.color)
        raise typer.Exit


# The option of a command whose short help omits some options.
HelpAll = Annotated[
    bool,
    typer.Option(HELP_ALL, is_eager=True, expose_value=False, callback=_print_all_help, help="Show every option."),
]


class _OwnHelp:
    """Mixin of Typer's commands and groups: our help, errors that know their command, and a fast start."""

    ref: CommandRef | None = None  # for a command: its row of COMMANDS

    def parse_args(self, context: Any, args: list[str]) -> Any:
        """Parse the arguments; a usage error names the command, and knows all arguments."""
        args_given = tuple(args)  # the parser takes them out of the list
        try:
            if not context.resilient_parsing and self.ref is not None:
                usage_errors.check_values(self.get_params(context), args)  # not on an unfinished command line
            return super().parse_args(context, args)  # type: ignore[misc] # a command or a group is the next class
        except typer.TyperException as error:
            if getattr(error, "ctx", None) is None:  # an option without a value: it lacks the command
                vars(error)["ctx"] = context
            vars(error)["args_given"] = args_given
            raise

    def get_params(self, context: Any) -> Any:
        """The parameters of the command; on an unfinished command line also those that the short help omits."""
        parameters = super().get_params(context)  # type: ignore[misc] # the same
        for parameter in parameters:
            if "--show-completion" in parameter.opts:
                parameter.hidden = True  # the list of commands must fit a terminal
            if context.resilient_parsing:
                parameter.hidden = False
            if "process_value" not in vars(parameter):
                parameter.process_value = _without_conversion(parameter)
        return parameters

    def format_help(self, context: Any, formatter: Any, *, every_option: bool = False) -> None:
        """Write the help to the formatter: the most used options if `--help-all` has the rest, otherwise all."""
        from attncli.cli.help import render_help

        is_short = any(HELP_ALL in parameter.opts for parameter in self.get_params(context)) and not every_option
        target = streams.output_target()
        context.color = target.has_styles  # otherwise a pipe that wants styles would lose them
        is_whole = not is_short and self.ref is not None
        formatter.write(render_help(self, context, self.ref, target, every_option=is_whole))


def _without_conversion(parameter: Any) -> Any:
    """A parameter's `process_value` without Typer's conversion of text and integers, and of absent values.

    For it Typer imports pydantic, which takes a fifth of the time of a small run and reads `0-5` as −5.
    """
    convert: Any = parameter.process_value
    annotation = getattr(getattr(parameter, "type_descriptor", None), "annotation", None)
    is_integer = annotation is int or getattr(getattr(parameter, "type", None), "name", "") == "int"  # Typer 0.28

    def process(context: Any, value: Any) -> Any:
        if value is None and not parameter.required:
            return None
        if annotation in (str, list[str]) and value is not None:
            return list(value) if isinstance(value, tuple) else value
        if is_integer and isinstance(value, str):
            return whole_number(value, parameter.opts[0])
        return convert(context, value)

    return process


def whole_number(text: str, option: str) -> int:
    """The integer given to an option; raises AttnError if the text is not one, such as `1.0`.

    >>> whole_number("-1", "--part")
    -1
    """
    if not _INTEGER.fullmatch(text):
        raise AttnError(f"{text!r} is not a whole number", where=option, hint=f"type one, such as {option} 2")
    return int(text)


class Command(_OwnHelp, TyperCommand):
    """One command."""

    def invoke(self, context: Any) -> Any:
        """Run the command if NumPy fits in memory: otherwise NumPy ends the process with the status DIFFERS."""
        check_numpy_fits()
        return super().invoke(context)


class CommandGroup(_OwnHelp, TyperGroup):
    """The commands of COMMANDS; calling a command imports it, listing or completing it does not."""

    is_listing = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.commands = {name: TyperCommand(name, help=ref.summary) for name, ref in COMMANDS.items()}

    def list_commands(self, context: Any) -> list[str]:
        """The names of the commands, in the order of the help."""
        return list(self.commands)

    def get_command(self, context: Any, name: str) -> Any:
        """The command of that name; in a listing, a stub with only a name and a summary."""
        if self.is_listing or name not in COMMANDS:
            return super().get_command(context, name)
        ref, single = COMMANDS[name], typer.Typer(add_completion=False)
        single.command(name, cls=Command, help=ref.summary)(import_object(ref.function))
        command: Any = get_command(single)
        command.ref = ref
        return command

    def resolve_command(self, context: Any, args: list[str]) -> Any:
        """The command that the first argument names; `compute` for a problem or a sentence of several words."""
        if args[0] not in COMMANDS and (is_problem(args[0]) or is_sentence(args[0])):
            args = [DEFAULT_COMMAND, *args]
        if args[0] not in COMMANDS and not context.resilient_parsing:
            raise usage_errors.unknown_command(args[0], args[1:])
        return super().resolve_command(context, args)

    def format_help(self, context: Any, formatter: Any, *, every_option: bool = False) -> None:
        """Write the help, with a summary of each command."""
        with self._listing():
            super().format_help(context, formatter, every_option=every_option)

    def shell_complete(self, context: Any, incomplete: str) -> Any:
        """The commands with this beginning, each with its summary."""
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


def is_sentence(word: str) -> bool:
    """Whether an argument in place of a problem is a sentence of several words and not a file."""
    return len(re.findall(r"[^\W\d]+", word)) > 1 and " " in word and not is_problem(word)


@contextmanager
def _errors_of_the_command_line() -> Iterator[None]:
    """Raise usage errors as AttnErrors that name the command of the help; a closed pipe ends the command quietly."""
    try:
        yield
    except BrokenPipeError:
        streams.discard(sys.stdout)
        raise typer.Exit from None
    except EOFError as error:  # Typer would end with 1, which means that numbers differ
        raise RuntimeError("unexpected end of a file") from error
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)
        if context is None:
            raise AttnError(error.format_message().rstrip("."), hint="attn --help lists the commands") from None
        command = context.command
        raise usage_errors.explain(error, command.get_params(context), command.ref, context.command_path) from None
