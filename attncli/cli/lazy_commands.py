"""The group of commands: each is imported when it is called, and usage errors are AttnErrors of one line."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from itertools import takewhile
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from attncli.base.errors import AttnError


@dataclass(frozen=True)
class CommandRef:
    """Where a command is, and the sentence that a list of commands has for it."""

    module: str
    function: str
    sentence: str


COMMANDS = {
    "compute": CommandRef("compute", "compute", "Compute attention: scores, weights and output."),
    "demo": CommandRef("demo", "demo", "Walk through a worked example and compare it with its published numbers."),
    "generate": CommandRef("generate", "generate", "Write a complete problem with numbers drawn from a seed."),
    "list": CommandRef("catalogue", "list_entries", "List the catalogue: what each stage can be, in a sentence."),
    "show": CommandRef(
        "catalogue", "show", "Show one entry: its formula, parameters, source, and an example to do by hand."
    ),
}


class _Sparing:
    """What makes nothing of options that are not on the command line; they keep the defaults of its function."""

    words: Sequence[str] | None = None

    def options_among(self, words: list[str]) -> list[str]:
        """The words among which its options may be."""
        return list(words)

    def parse_args(self, context: Any, args: list[str]) -> Any:
        """Parse its words."""
        self.words = self.options_among(args)
        try:
            return super().parse_args(context, args)  # type: ignore[misc] # a command or a group is the next class
        finally:
            self.words = None

    def get_params(self, context: Any) -> Any:
        """Arguments, and options: while words are parsed those that are among them."""
        return _given(super().get_params(context), self.words, context)  # type: ignore[misc] # the same


class Commands(_Sparing, TyperGroup):
    """The commands of `attn`; those that are only listed are not imported."""

    is_listing = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.commands = {name: TyperCommand(name, help=place.sentence) for name, place in COMMANDS.items()}

    def list_commands(self, context: Any) -> list[str]:
        """Their names, in the order of the help."""
        return list(self.commands)

    def get_command(self, context: Any, name: str) -> Any:
        """A command; while they are listed its name and its sentence."""
        if self.is_listing or name not in COMMANDS:
            return super().get_command(context, name)
        place, alone = COMMANDS[name], typer.Typer(add_completion=False)
        function = getattr(import_module(f"attncli.cli.commands.{place.module}"), place.function)
        alone.command(name, cls=OnlyWhatIsGiven)(function)
        return get_command(alone)

    def options_among(self, words: list[str]) -> list[str]:
        """The words before the command's name."""
        return list(takewhile(lambda word: word.startswith("-"), words))

    def format_help(self, context: Any, formatter: Any) -> None:
        """The help, with a sentence for each command."""
        with self._listing():
            super().format_help(context, formatter)

    def shell_complete(self, context: Any, incomplete: str) -> Any:
        """The names that begin so, each with its sentence."""
        with self._listing():
            return super().shell_complete(context, incomplete)

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Parse the words before the command's name."""
        with _one_line():
            return super().make_context(*args, **kwargs)

    def invoke(self, context: Any) -> Any:
        """Parse the words after the command's name and run the command."""
        with _one_line():
            return super().invoke(context)

    @contextmanager
    def _listing(self) -> Iterator[None]:
        self.is_listing = True
        try:
            yield
        finally:
            self.is_listing = False


class OnlyWhatIsGiven(_Sparing, TyperCommand):
    """A command that makes nothing of options that are not on the command line: there may be sixty of them."""


def _given(parameters: list[Any], words: Sequence[str] | None, context: Any) -> list[Any]:
    """The arguments, and the options that are among the words.

    All of them where help is wanted, or a word is no option that is known.
    """
    if words is None:
        return parameters
    given = {word.partition("=")[0] for word in words if word.startswith("-") and word != "-"}
    names = [{*parameter.opts, *parameter.secondary_opts} for parameter in parameters]
    if not given <= set().union(*names) or given & set(context.help_option_names):
        return parameters
    found = [
        parameter
        for parameter, own in zip(parameters, names, strict=True)
        if parameter.param_type_name == "argument" or own & given
    ]
    for parameter in filter(_is_text, found):
        parameter.process_value = _as_it_is
    return found


def _is_text(parameter: Any) -> bool:
    """Whether any words will do for a parameter, or none."""
    annotation = getattr(getattr(parameter, "type_descriptor", None), "annotation", None)
    return annotation in (str, list[str]) and not parameter.required


def _as_it_is(_context: Any, value: Any) -> Any:
    """Text is text; to find that out Typer would load a library larger than itself."""
    return list(value) if isinstance(value, tuple) else value


@contextmanager
def _one_line() -> Iterator[None]:
    """Turn a usage error into an AttnError that says which help to read."""
    try:
        yield
    except typer.TyperException as error:
        context = getattr(error, "ctx", None)
        command = context.command_path if context is not None else "attn"
        raise AttnError(error.format_message().rstrip("."), hint=f"{command} --help lists what there is") from None
