"""The options that describe a problem, made from its keys: `kv_heads` is `--kv-heads`."""

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any

import typer

from attncli.base.text import sentence
from attncli.cli.command_group import HelpAll
from attncli.cli.completion import complete_convention, complete_edit, complete_layer, field_completion
from attncli.problem.fields import Field, option_name
from attncli.problem.spec import FIELDS

if TYPE_CHECKING:
    pass

# The help's placeholder for an option's value, by the kind of its field; an operator's is _OPERATOR.
_METAVARS = {
    "matrix": "MATRIX",
    "vector": "VECTOR",
    "labels": "LABELS",
    "text": "TEXT",
    "tokenizer": "FILE",
    "vocabulary": "FILE|small",
    "integer": "N",
    "number": "X",
    "boolean_matrix": "MATRIX",
    "booleans": "MATRIX",
    "counts": "VECTOR",
    "positions": "MATRIX",
    "sequence_bounds": "VECTOR",
    "page_numbers": "MATRIX",
    "window": "LEFT,RIGHT",
    "decimals_of_steps": "STEP=N",
}
_OPERATOR = "NAME"

Command = Callable[..., None]


def argument(help: str, metavar: str, default: Any = None, complete: Callable[..., Any] | None = None) -> Any:
    """A positional parameter of a command; the default `...` makes it required."""
    return typer.Argument(default, metavar=metavar, help=help, autocompletion=complete)


def option(
    help: str,
    *names: str,
    metavar: str | None = None,
    complete: Callable[..., Any] | None = None,
    default: str | None = None,
    is_listed: bool = True,
) -> Any:
    """A named parameter: `--` and its name, unless `names` gives others.

    The short help shows it if `is_listed`.
    """
    return typer.Option(default, *names, metavar=metavar, help=help, autocompletion=complete, hidden=not is_listed)


def flag(help: str, *names: str, is_listed: bool = True) -> Any:
    """A parameter that is true if one of its names is given."""
    return typer.Option(False, *names, help=help, hidden=not is_listed)


# Options that several commands share.
As = Annotated[
    str | None,
    typer.Option(
        "--as",
        metavar="CONVENTION",
        help="Interpret masks and layouts as this framework does.",
        autocompletion=complete_convention,
    ),
]
EditTexts = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="CELL=X",
        help="Set one number, 'w_q[0,1]=3', and show what changes.",
        autocompletion=complete_edit,
    ),
]
MaxSize = Annotated[
    str | None,
    typer.Option(
        "--max-size",
        metavar="SIZE",
        hidden=True,
        help="Largest file read into memory: 500M, 2G, 1.5GiB; default a quarter of the free memory.",
    ),
]
_LAYER_HELP = "A layer of a capture by attn capture: 3, decoder.3.cross."
_LAYER = typer.Option("--layer", metavar="LAYER", hidden=True, help=_LAYER_HELP, autocompletion=complete_layer)
Layer = Annotated[str | None, _LAYER]
Layers = Annotated[list[str] | None, _LAYER]
Force = Annotated[bool, typer.Option("--force", help="Replace a file that exists.")]
PAGER_HELP = "On a terminal, show the result page by page, with PAGER or less."
Pager = Annotated[bool, typer.Option("--pager", hidden=True, help=PAGER_HELP)]
STRICT_HELP = "Make every warning an error: write nothing, exit with 2."
Strict = Annotated[bool, typer.Option("--strict", hidden=True, help=STRICT_HELP)]


def with_problem_options(*, are_listed: bool = True) -> Callable[[Command], Command]:
    """Give a command an option for every key of a problem, in place of its `**keys`, where they arrive as text.

    The short help lists the most used ones if `are_listed`, else none; `--help-all` lists all.
    """

    def with_options(command: Command) -> Command:
        """The command with an option for each key."""

        @wraps(command)
        def run(*args: Any, **values: Any) -> None:
            values.pop("help_all", None)  # if it is given, the program has ended
            command(*args, **values)

        own = [p for p in parameters_of(command) if p.kind is not inspect.Parameter.VAR_KEYWORD]
        options = [_make_option(field, is_listed=are_listed and field.is_common) for field in FIELDS.values()]
        help_all = inspect.Parameter("help_all", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=HelpAll)
        return with_parameters(run, [*own, *options, help_all])

    return with_options


def parameters_of(command: Command) -> list[inspect.Parameter]:
    """The parameters of a command, which Typer turns into arguments and options."""
    return list(inspect.signature(command).parameters.values())


def with_parameters(command: Command, parameters: Sequence[inspect.Parameter]) -> Command:
    """The command with these parameters in place of its own."""
    vars(command)["__signature__"] = inspect.Signature(parameters)
    return command


def _make_option(field: Field, *, is_listed: bool) -> inspect.Parameter:
    """A key of a problem as a parameter that Typer turns into an option; in the short help if `is_listed`."""
    is_flag, name = field.kind == "flag", option_name(field.name)
    kind: Any = bool if is_flag else list[str] if field.kind == "labels" else str
    option = typer.Option(
        f"{name}/--no-{name.removeprefix('--')}" if is_flag else name,
        help=sentence(field.help),
        metavar="|".join(field.words) if field.words else None if is_flag else _METAVARS.get(field.kind, _OPERATOR),
        rich_help_panel=field.panel,
        hidden=not is_listed,
        autocompletion=field_completion(field),
        show_default=False,
    )
    annotation = Annotated[kind | None, option]
    return inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
