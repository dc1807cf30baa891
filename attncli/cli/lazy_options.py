"""The options of a command: only those on the command line are made, and the short help leaves some out."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from attncli.base.errors import AttnError
from attncli.cli import streams
from attncli.cli.command_table import CommandRef

HELP_ALL = "--help-all"


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


class LazyOptions:
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
        except typer.TyperException as error:
            if getattr(error, "ctx", None) is None:  # of an option without its value: the parser knows no command
                vars(error)["ctx"] = context
            raise
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
        """Write the help to the formatter: the options used most where `--help-all` lists the others, or every one."""
        from attncli.cli.help import render_help

        is_short = any(HELP_ALL in parameter.opts for parameter in self.get_params(context)) and not every_option
        target = streams.output_target()
        context.color = target.has_styles  # otherwise styles would be removed where they are asked for in a pipe
        formatter.write(render_help(self, context, self.ref, target, every_option=not is_short))


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
