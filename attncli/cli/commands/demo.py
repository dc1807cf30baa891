"""`attn demo`: worked examples, each a problem file that includes the published numbers."""

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from attncli.base.errors import AttnError
from attncli.cli import streams
from attncli.cli.options import MaxSize, make_inputs
from attncli.cli.output_file import check_is_no_input, output_file
from attncli.cli.warnings import Strict, write_warnings

if TYPE_CHECKING:
    from attncli.io.examples import Example
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
    list_all: Annotated[bool, typer.Option("--list", help="List the worked examples.")] = False,
    save: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write the example to a new file, to start from; - prints it."),
    ] = None,
    max_size: MaxSize = None,
    strict: Strict = False,
) -> None:
    """Report a worked example, list all of them, or save the file of one."""
    from attncli.io import examples

    if list_all and save is not None:
        raise AttnError("--list and --save contradict each other", hint="leave out one of them")
    if list_all:
        width = max(map(len, examples.names()))
        lines = [f"{name:{width}}  {examples.load(name).title}" for name in examples.names()]
        streams.write_output(streams.output_target().encodable("\n".join(lines) + "\n"))
    elif save is not None:
        _save(examples.text(name), save)
    else:
        save_command = f"attn demo {name} --save {name}.yaml" if name in examples.names() else ""
        inputs = make_inputs(max_size)
        example = examples.load(name, inputs)
        check_is_no_input(None, inputs)
        _write_report(example, save_command, strict=strict)


def _save(text: str, save: str) -> None:
    """Write the text of an example to a new file, never over one that exists, or to a pipe or an open file."""
    from attncli.io.paths import path_of
    from attncli.io.writers.atomic import atomic_write_file
    from attncli.io.writers.in_place import is_in_place

    file = output_file(save, "--save")
    if file is None:
        streams.write_output(text)
        return
    path = path_of(file)
    if path.exists() and not is_in_place(path):
        raise AttnError("is there already", where=file, hint="name a new file")
    atomic_write_file(file, text)


def _write_report(example: "Example", save_command: str, *, strict: bool) -> None:
    """Write the report of an example; exit status 1 where a number is not the published one."""
    from attncli.render.reports.example import render

    report = _make_report(example, save_command)
    write_warnings(_notes(report), strict=strict)
    streams.write_output(render(report, streams.output_target()))
    if report.differs:
        raise typer.Exit(1)


def _notes(report: "ExampleReport") -> Iterator[str]:
    """The warnings of every part, with its title where it has one."""
    for part in report.parts:
        for note in part.view.result.trace.notes:
            yield f"{part.title}: {note}" if part.title else note


def _make_report(example: "Example", save_command: str) -> "ExampleReport":
    """Compute every part and compare it with its published numbers."""
    from attncli.analysis.compare import compare
    from attncli.engine.run import run
    from attncli.render.reports.example import ExampleReport, PartReport
    from attncli.render.view import View

    parts = []
    for part in example.parts:
        result = run(part.problem, part.show)
        parts.append(
            PartReport(
                title=part.title,
                about=part.about,
                command=f"attn compute {shlex.quote(example.file)} {part.options}".rstrip(),
                view=View(result),
                comparisons=[
                    compare(name, value, result.trace[name].value, part.problem.precision)
                    for name, value in part.expected.items()
                ],
            )
        )
    return ExampleReport(example.title, example.about, example.source, save_command, parts, example.together)
