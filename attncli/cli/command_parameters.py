"""The parameters of a command, of which Typer makes options: all of them, or those that a command line names.

A command has up to a hundred options. To make them all takes as long as a twentieth of a run, and a run needs few.
"""

import inspect
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import wraps
from typing import Any

from typer.models import OptionInfo

from attncli.cli.lazy_options import HELP_ALL
from attncli.problem.fields import option_name

# The parameters of a command without the options that none of these words is; with None all of them.
MakeParameters = Callable[[Collection[str] | None], list[inspect.Parameter]]


def set_parameters(command: Callable[..., Any], make: MakeParameters) -> None:
    """Let a command have the parameters that a function makes, in place of those of its signature."""
    vars(command)["make_parameters"] = make


def parameters_of(command: Callable[..., Any], words: Collection[str] | None = None) -> list[inspect.Parameter]:
    """The parameters of a command, without the options that none of the words is; all of them without words."""
    make: MakeParameters | None = getattr(command, "make_parameters", None)
    if make is not None:
        return make(words)
    return select_options(inspect.signature(command).parameters.values(), words)


def select_options(parameters: Iterable[inspect.Parameter], words: Collection[str] | None) -> list[inspect.Parameter]:
    """The parameters without the options that none of the words is; all of them without words."""
    return [p for p in parameters if words is None or not _is_option(p) or not _words(p).isdisjoint(words)]


def with_named_options(command: Callable[..., Any], args: Sequence[str] | None) -> Callable[..., Any]:
    """The command as Typer is to see it: with the options that are among the arguments, and their defaults otherwise.

    It has all of its options without arguments, where they ask for help, and where one of them is unknown, so that the
    nearest one can be named.
    """
    words = None if args is None else options_among(args)
    parameters = parameters_of(command, words)
    if words is not None and (HELP_ALL in words or not words <= set().union(*map(_words, parameters))):
        parameters = parameters_of(command)

    @wraps(command)
    def run(**values: Any) -> None:
        command(**values)

    vars(run)["__signature__"] = inspect.Signature(parameters)  # inspect reads it there
    return run


def options_among(args: Iterable[str]) -> set[str]:
    """The words of a command line that are options, or look like one."""
    return {arg.partition("=")[0] for arg in args if arg.startswith("-") and arg != "-"}


def _is_option(parameter: inspect.Parameter) -> bool:
    """Whether Typer makes an option of a parameter."""
    return any(isinstance(extra, OptionInfo) for extra in _extras(parameter))


def _words(parameter: inspect.Parameter) -> set[str]:
    """What an option is called on the command line: its declared words, without any `--` and its name."""
    infos = [extra for extra in _extras(parameter) if isinstance(extra, OptionInfo)]
    declared = [str(text) for info in infos for text in (info.default, *(info.param_decls or ())) if text is not ...]
    return {word for text in declared or [option_name(parameter.name)] for word in text.split("/")}


def _extras(parameter: inspect.Parameter) -> tuple[Any, ...]:
    """What an annotation says besides the type."""
    extras: tuple[Any, ...] = getattr(parameter.annotation, "__metadata__", ())
    return extras
