"""The group of commands: each is imported when it is called, and its usage errors are AttnErrors of one line."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from attncli.base.errors import AttnError
from attncli.base.lazy_import import import_object
from attncli.cli import streams
from attncli.cli.command_table import COMMANDS, CommandRef
from attncli.cli.unquoted import QUOTE_HINT, are_parts_of_lists
from attncli.io.paths import STDIN, is_there

HELP_ALL = "--help-all"
DEFAULT_COMMAND = "compute"  # of `attn problem.yaml`


def _print_all_help(context: typer.Context, is_requested: bool) -> None:
    """Print the help with every option and end the program, where `--help-all` is given."""
    if is_requested:
        formatter = context.make_formatter()
        context.command.format_help(context, formatter, every_option=True)  # type: ignore[call-arg] # it is a LazyCommand
        typer.echo(formatter.getvalue().rstrip("\n"), color=context.color)
        raise typer.Exit


# The option of a command whose short help leaves some options out.
HelpAll = Annotated[
    bool,
    typer.Option(HELP_ALL, is_eager=True, expose_value=False, callback=_print_all_help, help="Show every option."),
]


class _LazyOptions:
    """Mixin of Typer's commands and groups: makes only the options that are on the command line, of sixty or more.

    An option that is not made is not passed to the function, which has a default for it.
    """

    parsed_args: Sequence[str] | None = None  # during parsing: the arguments among which options may be
    ref: CommandRef | None = None  # of a command: its row of COMMANDS

    def option_args(self, args: list[str]) -> list[str]:
        """The arguments of the command line among which this command's options may be."""
        return list(args)

    def parse_args(self, context: Any, args: list[str]) -> Any:
        """Parse the arguments, with `get_params` restricted to the options among them."""
        self.parsed_args = self.option_args(args)
        try:
            if not context.resilient_parsing:  # that is the completion of an unfinished command line
                self._check_repetitions(context, args)
            return super().parse_args(context, args)  # type: ignore[misc] # a command or a group is the next class
        finally:
            self.parsed_args = None

    def _check_repetitions(self, context: Any, args: list[str]) -> None:
        """Raise AttnError where an option that takes one value is given twice, or a flag and its contrary.

        Typer would use the last one. For once every option is parsed as one that may be repeated.
        """
        single = [p for p in self.get_params(context) if p.param_type_name == "option" and not p.multiple]
        for option in single:
            option.multiple = True
        try:
            values, _, _ = self.make_parser(context).parse_args(list(args))  # type: ignore[attr-defined] # the same
        finally:
            for option in single:
                option.multiple = False
        for option in single:
            given, names = values.get(option.name, ()), (*option.opts, *option.secondary_opts)
            if option.is_flag and len(set(given)) > 1:
                raise AttnError(f"{' and '.join(names)} contradict each other", hint="leave out one of them")
            if not option.is_flag and len(given) > 1:
                raise AttnError(f"is given twice: {', '.join(map(repr, given))}", where=names[0], hint="give it once")

    def get_params(self, context: Any) -> Any:
        """The parameters of the command; during parsing only the options that are on the command line."""
        parameters = super().get_params(context)  # type: ignore[misc] # the same
        if context.resilient_parsing:  # options that the short help leaves out are completed
            for parameter in parameters:
                parameter.hidden = False
        return _select_parameters(parameters, self.parsed_args, context)

    def format_help(self, context: Any, formatter: Any, *, every_option: bool = False) -> None:
        """Write the help to the formatter: the options that are used most, or every one."""
        from attncli.cli.help import render_help

        target = streams.output_target()
        context.color = target.has_styles  # otherwise styles would be removed where they are asked for in a pipe
        formatter.write(render_help(self, context, self.ref, target, every_option=every_option))


class LazyCommandGroup(_LazyOptions, TyperGroup):
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
        ref, single = COMMANDS[name], typer.Typer(add_completion=False)
        single.command(name, cls=LazyCommand, help=ref.summary)(import_object(ref.function))
        command: Any = get_command(single)
        command.ref = ref
        return command

    def resolve_command(self, context: Any, args: list[str]) -> Any:
        """The command that the first argument names; a problem in its place is computed."""
        if args[0] not in COMMANDS and _is_problem(args[0]):
            args = [DEFAULT_COMMAND, *args]
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


def _is_problem(word: str) -> bool:
    """Whether a word is a file or standard input, or has the suffix of a file that can be read."""
    from attncli.io.formats import format_of_suffix

    path = Path(word)
    return word == STDIN or format_of_suffix(path) is not None or (is_there(path) and not path.is_dir())


class LazyCommand(_LazyOptions, TyperCommand):
    """A command that makes only the options that are on the command line."""


def _select_parameters(parameters: list[Any], args: Sequence[str] | None, context: Any) -> list[Any]:
    """The positional parameters, and the options that are among the arguments.

    All parameters outside parsing (`args` is None), where an option requests help (which lists them), or where an
    option is unknown (the error suggests the nearest one).
    """
    if args is None:
        return parameters
    options = {arg.partition("=")[0] for arg in args if arg.startswith("-") and arg != "-"}
    names = [{*parameter.opts, *parameter.secondary_opts} for parameter in parameters]
    if not options <= set().union(*names) or options & {*context.help_option_names, HELP_ALL}:
        return parameters
    selected = [
        parameter
        for parameter, own_names in zip(parameters, names, strict=True)
        if parameter.param_type_name == "argument" or own_names & options
    ]
    for parameter in filter(_is_optional_text, selected):
        parameter.process_value = _keep_text
    return selected


def _is_optional_text(parameter: Any) -> bool:
    """Whether a parameter is optional and its value any text."""
    annotation = getattr(getattr(parameter, "type_descriptor", None), "annotation", None)
    return annotation in (str, list[str]) and not parameter.required


def _keep_text(_context: Any, value: Any) -> Any:
    """The value of a text parameter as it is; to convert it Typer would import a library larger than itself."""
    return list(value) if isinstance(value, tuple) else value


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
