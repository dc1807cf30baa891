"""`attn show`: the record of one operator."""

from typing import Annotated

import typer

from attncli.base.errors import UnknownNameError
from attncli.cli import streams
from attncli.cli.warnings import Strict, write_warnings
from attncli.ops import broken_packages, kinds, operators


def _complete_name(incomplete: str) -> list[tuple[str, str]]:
    """The operators that begin so, each with its summary."""
    records = (record for kind in kinds() for record in operators(kind).values())
    return [(record.name, record.summary) for record in records if record.name.startswith(incomplete)]


def show(
    name: Annotated[str, typer.Argument(help="The name of an entry, such as additive.", autocompletion=_complete_name)],
    *,
    strict: Strict = False,
) -> None:
    """Write the record of the operator of that name, of every kind that has one."""
    from attncli.render.reports.catalogue import render_records

    records = [operators(kind)[name] for kind in kinds() if name in operators(kind)]
    write_warnings(broken_packages(), strict=strict)
    if not records:
        raise UnknownNameError("name", name, [known for kind in kinds() for known in operators(kind)])
    streams.write_output(render_records(records, streams.output_target()))
