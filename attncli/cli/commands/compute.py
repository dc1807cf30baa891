"""`attn compute`: scores, weights and output of a problem from a file, from options, or from both."""

from typing import Annotated, Any

import typer

from attncli.cli.option_values import read_edits, read_problem_options
from attncli.cli.options import (
    As,
    EditTexts,
    MaxSize,
    check_convention,
    convention_warnings,
    make_inputs,
    with_problem_options,
)
from attncli.cli.output import compute_and_write, write_plan
from attncli.cli.output_file import check_is_no_input
from attncli.cli.output_options import OutputOptions, with_output_options
from attncli.cli.warnings import unread_keys, write_warnings


@with_problem_options
@with_output_options
def compute(
    problem: Annotated[
        str | None, typer.Argument(metavar="PROBLEM", help="A YAML or JSON file, or - for standard input.")
    ] = None,
    *,
    convention: As = None,
    edits: EditTexts = None,
    max_size: MaxSize = None,
    output_options: OutputOptions,
    **keys: Any,
) -> None:
    """Assemble the problem of a file and of the options (`keys`), and write its result or its plan."""
    from attncli.io.assemble import assemble
    from attncli.plan.unread import keys_unread_by_plan
    from attncli.problem.edits import edit_problem

    check_convention(convention)
    inputs = make_inputs(max_size)
    document = read_problem_options(problem, keys, inputs)
    spec = assemble(document, convention)
    check_is_no_input(output_options.file, inputs)
    warnings = [*convention_warnings(spec), *unread_keys(document, keys_unread_by_plan(spec))]
    write_warnings(warnings, strict=output_options.strict)
    edited = edit_problem(spec, read_edits(edits))
    if output_options.plan:
        write_plan(edited.after, output_options)
    else:
        compute_and_write(edited, output_options)
