"""`attn check`: is what is expected of problems right, where does it first differ, and what would explain it."""

from typing import Annotated, Any

import typer

from attncli.base.program import DIFFERS, FAILED
from attncli.cli.check_output import run_suite, write_reports
from attncli.cli.check_suite import CheckRequest, find_suite
from attncli.cli.completion import complete_expected
from attncli.cli.option_values import check_stdin, parse_tolerance, read_edits
from attncli.cli.options import As, EditTexts, MaxSize, check_convention, make_inputs, with_problem_options
from attncli.cli.output_file import named_file
from attncli.cli.output_options import OutputOptions
from attncli.cli.warnings import Strict


@with_problem_options
def check(
    problems: Annotated[
        list[str] | None,
        typer.Argument(metavar="PROBLEM", help="Problem files, folders of them, or -."),
    ] = None,
    *,
    against: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="What is expected: weights='.6 .4', output=o.npy, or an archive.",
            autocompletion=complete_expected,
        ),
    ] = None,
    rtol: Annotated[str | None, typer.Option(metavar="X", help="Relative tolerance, in place of that derived.")] = None,
    atol: Annotated[str | None, typer.Option(metavar="X", help="Absolute tolerance, in place of that derived.")] = None,
    ulp: Annotated[
        str | None, typer.Option(metavar="N", help="Tolerance in units in the last place of the type.")
    ] = None,
    slips: Annotated[bool, typer.Option("--slips", help="Name the slips that would go unnoticed here.")] = False,
    reference: Annotated[bool, typer.Option("--reference", help="Compute ours with more digits than float64.")] = False,
    head: Annotated[str | None, typer.Option(metavar="N", help="Check one head, counted from 0.")] = None,
    batch: Annotated[
        str | None, typer.Option(metavar="N", hidden=True, help="Check one batch item, counted from 0.")
    ] = None,
    precision: Annotated[
        int | None, typer.Option(metavar="DIGITS", help="Decimals of worked lines; without it 4.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Write the report as JSON.")] = False,
    junit: Annotated[
        str | None, typer.Option(metavar="FILE", help="Also write the verdicts as JUnit's XML, for CI.")
    ] = None,
    edits: EditTexts = None,
    convention: As = None,
    max_size: MaxSize = None,
    strict: Strict = False,
    **keys: Any,
) -> None:
    """Check the problems of files, folders and options (`keys`); several have a line each, one its whole report."""
    from attncli.analysis.check.report import CheckOptions
    from attncli.engine.options import RunOptions

    decimals = OutputOptions(precision=precision).decimals
    junit = None if junit is None else named_file(junit, "--junit")
    check_stdin(*(problems or ()), *(text.partition("=")[2] or text for text in against or ()), *keys.values())
    check_convention(convention)
    inputs = make_inputs(max_size)
    options = CheckOptions(
        rtol=parse_tolerance(rtol, "--rtol"),
        atol=parse_tolerance(atol, "--atol"),
        ulp=parse_tolerance(ulp, "--ulp"),
        many_digits=reference,
        finds_unnoticed=slips,
        run=RunOptions(blas_is_limited=True),
    )
    request = CheckRequest(keys, against or (), options, head, batch, inputs, strict, convention, read_edits(edits))
    suite = find_suite(problems or (), request)
    outcomes = run_suite(suite, request, junit, has_lines=suite.is_several and not json)
    write_reports(outcomes, suite, inputs, decimals, is_json=json)
    if any(outcome.error is not None for outcome in outcomes):
        raise typer.Exit(FAILED)
    if not all(outcome.agrees for outcome in outcomes):
        raise typer.Exit(DIFFERS)
