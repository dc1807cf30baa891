"""`attn list` and `attn show`: the catalogue, as its records say it."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from attncli.base.errors import UnknownNameError
from attncli.cli import streams
from attncli.ops import kinds, operators

if TYPE_CHECKING:
    from attncli.ops.registry import OperatorRecord

PLURALS = {
    "scores": "score",
    "normalizers": "normalize",
    "contexts": "context",
    "positions": "position",
    "masks": "mask",
    "norms": "qk_norm",
    "generators": "generator",
}


def _kinds(incomplete: str) -> list[str]:
    return [name for name in PLURALS if name.startswith(incomplete)]


def _names(incomplete: str) -> list[tuple[str, str]]:
    every = ((name, record.summary) for kind in kinds() for name, record in operators(kind).items())
    return [(name, summary) for name, summary in every if name.startswith(incomplete)]


def list_entries(
    kind: Annotated[
        str | None,
        typer.Argument(metavar="KIND", help=f"One of {', '.join(PLURALS)}.", autocompletion=_kinds),
    ] = None,
) -> None:
    """List the catalogue: what each stage can be, in a sentence."""
    from attncli.render.reports.catalogue import listed

    if kind is not None and PLURALS.get(kind, kind) not in kinds():
        raise UnknownNameError("kind", kind, PLURALS)
    wanted = list(PLURALS.items()) if kind is None else [(kind, PLURALS.get(kind, kind))]
    streams.put(listed([(plural, list(operators(name).values())) for plural, name in wanted], streams.screen()))


def show(
    name: Annotated[str, typer.Argument(help="The name of an entry, such as additive.", autocompletion=_names)],
) -> None:
    """Show one entry: its formula, parameters, source, and an example to do by hand."""
    from attncli.render.reports.catalogue import shown

    found: list[OperatorRecord] = [operators(kind)[name] for kind in kinds() if name in operators(kind)]
    if not found:
        every: Any = [known for kind in kinds() for known in operators(kind)]
        raise UnknownNameError("name", name, every)
    streams.put(shown(found, streams.screen()))
