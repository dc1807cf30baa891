"""`attn list`: the operators of every kind, or of one."""

from typing import Annotated

import typer

from attncli.base.errors import UnknownNameError
from attncli.cli import streams
from attncli.cli.warnings import Strict, write_warnings
from attncli.ops import broken_packages, kinds, operators

# Where the plural of a kind is not its name and an s.
_IRREGULAR_PLURALS = {"normalize": "normalizers", "qk_norm": "norms"}


def kind_of_plural() -> dict[str, str]:
    """The kinds of operators by their plurals, in the registry's order: `scores` is the plural of `score`."""
    return {_IRREGULAR_PLURALS.get(kind, f"{kind}s"): kind for kind in kinds()}


def _complete_kind(incomplete: str) -> list[str]:
    """The plurals that begin so."""
    return [plural for plural in kind_of_plural() if plural.startswith(incomplete)]


def list_operators(
    kind: Annotated[
        str | None,
        typer.Argument(metavar="KIND", help=f"One of {', '.join(kind_of_plural())}.", autocompletion=_complete_kind),
    ] = None,
    *,
    strict: Strict = False,
) -> None:
    """Write the name and summary of every operator, or of those of one kind (its plural or its name)."""
    from attncli.render.reports.catalogue import render_list

    plurals = kind_of_plural()
    if kind is not None and plurals.get(kind, kind) not in kinds():
        raise UnknownNameError("kind", kind, plurals)
    titles = plurals if kind is None else {kind: plurals.get(kind, kind)}
    groups = [(title, list(operators(name).values())) for title, name in titles.items()]
    write_warnings(broken_packages(), strict=strict)
    streams.write_output(render_list(groups, streams.output_target()))
