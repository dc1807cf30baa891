"""`attn demo`: worked examples, each a problem file that includes the expected numbers."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from attncli.base.errors import AttnError
from attncli.base.exit_status import DIFFERS
from attncli.cli import streams
from attncli.cli.example_report import ReportOptions, make_report
from attncli.cli.options import MaxSize, make_inputs
from attncli.cli.output_file import check_is_no_input, write_new_file
from attncli.cli.warnings import Strict, write_warnings

if TYPE_CHECKING:
    from attncli.render.reports.example import ExampleReport


def _complete_name(incomplete: str) -> list[str]:
    """The worked examples that begin so."""
    from attncli.io.examples import names

    return [name for name in names() if name.startswith(incomplete)]


def demo(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME|FILE", help="Which worked example, or a file of your own.", autocompletion=_complete_name
        ),
    ] = "tutorial",
    *,
    list_all: Annotated[bool, typer.Option("--list", help="List the worked examples by topic.")] = False,
    save: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write the example to a new file, to start from; - prints it."),
    ] = None,
    step: Annotated[bool, typer.Option("--step", help="Wait for Enter before each further part; q ends.")] = False,
    part: Annotated[int | None, typer.Option(metavar="N", help="Show one part, counted from 1.")] = None,
    explain: Annotated[bool, typer.Option("--explain", "-e", help="Show every step of each part.")] = False,
    precision: Annotated[
        int | None, typer.Option(metavar="DIGITS", help="Decimals; without it those of the example, or 4.")
    ] = None,
    max_size: MaxSize = None,
    strict: Strict = False,
) -> None:
    """Report a worked example, list all of them, or save the file of one."""
    from attncli.io import examples

    if list_all and save is not None:
        raise AttnError("--list and --save contradict each other", hint="leave out one of them")
    shown = {"--step": step, "--part": part is not None, "--explain": explain, "--precision": precision is not None}
    for option in (option for option, is_given in shown.items() if is_given):
        if list_all or save is not None:
            other = "--list" if list_all else "--save"
            message = f"{other} computes nothing, so {option} would have no effect"
            raise AttnError(message, hint="leave out one of them")
    if list_all:
        from attncli.render.reports.catalogue import render_topics

        streams.write_output(render_topics(examples.by_topic(), streams.output_target()))
    elif save is not None:
        write_new_file(examples.text(name), save, "--save")
    else:
        save_command = f"attn demo {name} --save {name}.yaml" if name in examples.names() else ""
        inputs = make_inputs(max_size)
        example = examples.load(name, inputs)
        check_is_no_input(None, inputs)
        report = make_report(example, ReportOptions(save_command, part, precision, explain=explain))
        write_warnings(_notes(report), strict=strict)
        _write_report(report, example.file, step=step)


def _write_report(report: "ExampleReport", file: str, *, step: bool) -> None:
    """Write the report of the example in a file; exit status 1 where a number is not the expected one."""
    from attncli.cli.pacing import write_at_readers_pace
    from attncli.render.reports.example import pages

    try:
        texts = list(pages(report, streams.output_target()))
    except AttnError as error:
        raise error.at(file) from None
    if step:
        write_at_readers_pace(texts, "--step")
    else:
        streams.write_output(texts)
    if report.differs:
        raise typer.Exit(DIFFERS)


def _notes(report: "ExampleReport") -> Iterator[str]:
    """The warnings of every part, with its title where it has one."""
    for part in report.parts:
        for note in part.view.result.trace.notes:
            yield f"{part.title}: {note}" if part.title else note
