"""The options that describe a problem, made from its keys: `kv_heads` is `--kv-heads`."""

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from attncli.base.errors import AttnError
from attncli.ops.registry import kinds, operators, registered
from attncli.problem.fields import Field
from attncli.problem.spec import FIELDS

if TYPE_CHECKING:
    from attncli.io.problem_files import Document

Command = TypeVar("Command", bound=Callable[..., None])

_METAVARS = {
    "matrix": "MATRIX",
    "vector": "VECTOR",
    "labels": "LABELS",
    "text": "TEXT",
    "vocabulary": "FILE",
    "integer": "N",
    "number": "X",
    "boolean_matrix": "MATRIX",
    "counts": "VECTOR",
    "window": "LEFT,RIGHT",
}
_ENTRY = "NAME:key=value"


def with_problem_options(command: Command) -> Command:
    """Give a command an option for every key of a problem; they arrive in its `**keys` as text."""
    signature = inspect.signature(command)
    own = [p for p in signature.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
    command.__signature__ = signature.replace(parameters=[*own, *map(_option, FIELDS.values())])  # type: ignore[attr-defined] # inspect's own way to say what a function takes
    return command


def _option(key: Field) -> inspect.Parameter:
    """One key as a parameter that Typer reads."""
    kind: Any = {"labels": list[str], "flag": bool}.get(key.kind, str)
    name = f"--{key.name.replace('_', '-')}"
    option = typer.Option(
        f"{name}/--no-{name[2:]}" if key.kind == "flag" else name,
        help=_help(key),
        metavar="|".join(key.words) if key.words else None if key.kind == "flag" else _METAVARS.get(key.kind, _ENTRY),
        rich_help_panel=key.panel,
        autocompletion=_completion(key),
        show_default=False,
    )
    annotation = Annotated[kind | None, option]
    return inspect.Parameter(key.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def _help(key: Field) -> str:
    """What the key means; the names there are, for one that names an operator; packages are not asked for theirs."""
    names = f": {', '.join(registered(key.kind))}" if key.kind in kinds() else ""
    return f"{key.help[0].upper()}{key.help[1:]}{names}."


def _completion(key: Field) -> Callable[[str], list[tuple[str, str]]] | None:
    """Names that begin as the word does, each with its sentence."""
    if key.words:
        return lambda incomplete: [(word, "") for word in key.words if word.startswith(incomplete)]
    if key.kind in kinds():
        return lambda incomplete: [
            (name, record.summary) for name, record in operators(key.kind).items() if name.startswith(incomplete)
        ]
    return None


def document(problem: str | None, keys: Mapping[str, Any]) -> "Document":
    """The problem file, if there is one, with the options over it."""
    from attncli.io.origin import STDIN, Origin, RawValue
    from attncli.io.problem_files import read_document

    given = {name: text for name, text in keys.items() if text not in (None, [], ())}
    from_stdin = [problem] if problem == STDIN else []
    from_stdin += [text for text in given.values() if text == STDIN]
    if len(from_stdin) > 1:
        raise AttnError("is named twice, and can be read once", where="standard input", hint="use - once")
    found = read_document(problem) if problem is not None else {}
    return found | {name: RawValue(_value(FIELDS[name], text), Origin(options=True)) for name, text in given.items()}


def _value(key: Field, text: Any) -> Any:
    """The text of an option as a problem file would hold it."""
    from attncli.io.parse import grammar

    if key.kind == "labels":
        return [label.strip() for part in text for label in part.split(",")]
    if key.kind in ("integer", "number"):
        return grammar.inline(text, (f"--{key.name}",))
    return text
