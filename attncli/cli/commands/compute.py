"""`attn compute`: a problem from a file, from options, or from both, to its scores, weights and output."""

from typing import Annotated, Any

import typer

from attncli.cli.options import document, with_problem_options
from attncli.cli.output import FORMATS, OutputOptions, show

Explain = Annotated[bool, typer.Option("--explain", "-e", help="Show every step, from the vectors to the output.")]
Cell = Annotated[
    str | None,
    typer.Option(metavar="QUERY,KEY", help="The cell that --explain works out by hand: labels or positions."),
]
Head = Annotated[str | None, typer.Option(metavar="N|all", help="Show one head, counted from 0, or all of them.")]
Batch = Annotated[
    str | None, typer.Option(metavar="N|all", help="Show one batch item, counted from 0, or all of them.")
]
Precision = Annotated[int, typer.Option(metavar="DIGITS", help="Decimals in tables and explanations.")]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        "-f",
        metavar="|".join(FORMATS),
        help="How the result is written.",
        autocompletion=lambda incomplete: [name for name in FORMATS if name.startswith(incomplete)],
    ),
]
Json = Annotated[bool, typer.Option("--json", help="The same as --format json.")]
Output = Annotated[
    str | None,
    typer.Option("--output", "-o", metavar="FILE", help="Write to a file; its suffix picks the format."),
]
Select = Annotated[
    str | None,
    typer.Option(metavar="NAME,NAME", help="Which results: scores, weights, context, output, or any step."),
]
Executor = Annotated[
    str,
    typer.Option(
        metavar="threads|serial|tcp://HOST:PORT",
        help="Who computes large problems: all cores, one, or the workers of a Dask scheduler.",
        autocompletion=lambda incomplete: [name for name in ("threads", "serial") if name.startswith(incomplete)],
    ),
]


@with_problem_options
def compute(
    problem: Annotated[
        str | None, typer.Argument(metavar="PROBLEM", help="A YAML or JSON file, or - for standard input.")
    ] = None,
    *,
    explain: Explain = False,
    cell: Cell = None,
    head: Head = None,
    batch: Batch = None,
    precision: Precision = 4,
    format: Format = None,
    json: Json = False,
    output: Output = None,
    select: Select = None,
    executor: Executor = "threads",
    **keys: Any,
) -> None:
    """Compute attention: scores, weights and output."""
    from attncli.io.assemble import assemble

    wanted = OutputOptions(explain, cell, head, batch, precision, format, json, output, select, executor)
    show(assemble(document(problem, keys)), wanted)
