"""The options that describe a problem, made from its keys: `kv_heads` is `--kv-heads`."""

import inspect
from collections.abc import Callable, Collection, Iterable
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any

import typer

from attncli.base.text import sentence
from attncli.cli import streams
from attncli.cli.command_parameters import parameters_of, select_options, set_parameters
from attncli.cli.completion import complete_edit, complete_queries
from attncli.cli.lazy_options import HelpAll
from attncli.ops.registry import look_up, operators, registered, taken_kinds
from attncli.problem.fields import QUERIES, Field, option_name
from attncli.problem.spec import FIELDS

if TYPE_CHECKING:
    from attncli.io.inputs import Inputs
    from attncli.problem.spec import ProblemSpec

# What the help shows as the value of an option, by the kind of its field; an operator's is _OPERATOR.
_METAVARS = {
    "matrix": "MATRIX",
    "vector": "VECTOR",
    "labels": "LABELS",
    "text": "TEXT",
    "vocabulary": "FILE",
    "integer": "N",
    "number": "X",
    "boolean_matrix": "MATRIX",
    "booleans": "MATRIX",
    "counts": "VECTOR",
    "positions": "MATRIX",
    "window": "LEFT,RIGHT",
}
_OPERATOR = "NAME"


def with_problem_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command an option for every key of a problem, in place of its `**keys`, where they arrive as text.

    It gets `--help-all` too, because its short help leaves most of them out.
    """
    return _with_problem_options(command, are_listed=True)


def with_unlisted_problem_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the same options; its short help leaves all of them out, for it has others to list."""
    return _with_problem_options(command, are_listed=False)


def _with_problem_options(command: Callable[..., None], *, are_listed: bool) -> Callable[..., None]:
    """The command with an option for every key; the short help lists those used most where `are_listed`."""

    @wraps(command)
    def run(*args: Any, **values: Any) -> None:
        values.pop("help_all", None)  # where it is given the program has ended
        command(*args, **values)

    def make(words: Collection[str] | None) -> list[inspect.Parameter]:
        own = [p for p in parameters_of(command, words) if p.kind is not inspect.Parameter.VAR_KEYWORD]
        fields = [
            field for field in FIELDS.values() if words is None or not {*_words_of_option(field)}.isdisjoint(words)
        ]
        options = [_make_option(field, is_listed=are_listed and field.is_common) for field in fields]
        return [*own, *options, *select_options([help_all], words)]

    help_all = inspect.Parameter("help_all", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=HelpAll)
    set_parameters(run, make)
    return run


def _words_of_option(field: Field) -> list[str]:
    """The option of a key, and of a flag also its contrary."""
    name = option_name(field.name)
    return [name, f"--no-{name.removeprefix('--')}"] if field.kind == "flag" else [name]


def _make_option(field: Field, *, is_listed: bool) -> inspect.Parameter:
    """A key of a problem as a parameter of which Typer makes an option; the short help has it where `is_listed`."""
    kind: Any = {"labels": list[str], "flag": bool}.get(field.kind, str)
    is_flag = field.kind == "flag"
    option = typer.Option(
        "/".join(_words_of_option(field)),
        help=_help(field),
        metavar="|".join(field.words) if field.words else None if is_flag else _METAVARS.get(field.kind, _OPERATOR),
        rich_help_panel=field.panel,
        hidden=not is_listed,
        autocompletion=field_completion(field),
        show_default=False,
    )
    annotation = Annotated[kind | None, option]
    return inspect.Parameter(field.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def _help(field: Field) -> str:
    """The meaning of a key as a sentence; where it takes an operator, with the names of those registered.

    Operators of other packages are not looked up: that takes 30 ms, and the help is to appear at once.
    """
    names = f": {', '.join(registered(field.kind))}" if field.kind in taken_kinds() else ""
    return sentence(field.help + names)


def field_completion(field: Field) -> Callable[..., Any] | None:
    """The function that completes a word, an operator's name, also a mask's, or queries; None for other kinds."""
    if field.panel == QUERIES:
        return complete_queries
    if field.words:
        return lambda incomplete: [(word, "") for word in field.words if word.startswith(incomplete)]
    if field.kind == "boolean_matrix":
        return _complete_mask
    if field.kind in taken_kinds():
        return lambda incomplete: _complete(field.kind, operators(field.kind), incomplete)
    return None


def _complete_mask(incomplete: str) -> list[tuple[str, str]]:
    """The masks that begin with a text; the help does not need to import what lists them."""
    from attncli.problem.operators import named_masks

    return _complete("mask", named_masks(), incomplete)


def _complete(kind: str, names: Iterable[str], incomplete: str) -> list[tuple[str, str]]:
    """Those of the operators' names that begin with a text, each with its summary."""
    return [(name, look_up(kind, name).summary) for name in names if name.startswith(incomplete)]


def complete_convention(incomplete: str) -> list[tuple[str, str]]:
    """The conventions that begin so, each with the framework that it is of."""
    from attncli.problem.conventions import CONVENTIONS

    return [(name, convention.title) for name, convention in CONVENTIONS.items() if name.startswith(incomplete)]


As = Annotated[
    str | None,
    typer.Option(
        "--as",
        metavar="CONVENTION",
        help="Read it as a framework does; see attn list conventions.",
        autocompletion=complete_convention,
    ),
]


def check_convention(name: str | None) -> None:
    """Raise UnknownNameError where there is no convention of that name."""
    if name is not None:
        from attncli.problem.conventions import find_convention

        find_convention(name, where="--as")


def convention_warnings(problem: "ProblemSpec") -> list[str]:
    """The warnings on words that the convention of a problem does not have."""
    return [] if problem.convention is None else list(problem.convention.remarks)


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
        help="The most that is read into memory of each file: 500M, 2G, 1.5GiB; by default a quarter of what is free.",
    ),
]


def make_inputs(max_size: str | None) -> "Inputs":
    """The inputs of a command; a terminal that is read is announced on standard error."""
    from attncli.io.inputs import Inputs

    return Inputs(max_size, on_terminal=streams.announce_terminal)
