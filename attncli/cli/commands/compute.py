"""`attn compute`: scores, weights and output of a problem from a file, from options, or from both."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from attncli.cli.option_values import edited_problem, read_edits, read_problem_options
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
from attncli.problem.fields import option_name

if TYPE_CHECKING:
    from attncli.cli.watch import Read, Write
    from attncli.io.inputs import Inputs
    from attncli.problem.edits import EditedProblem


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
    from attncli.io.parts import to_text
    from attncli.plan.build import keys_unread_by_plan

    check_convention(convention)

    def read(inputs: "Inputs") -> "EditedProblem":
        """Read the problem; what is read in it but has no effect is a warning."""
        document = read_problem_options(problem, keys, inputs)
        spec = assemble(document, convention)
        check_is_no_input(output_options.file, inputs)
        warnings = [*convention_warnings(spec), *unread_keys(document, keys_unread_by_plan(spec))]
        write_warnings(warnings, strict=output_options.strict)
        title = to_text(document["title"].value) if "title" in document else ""
        return replace(edited_problem(spec, read_edits(edits)), title=title)

    if output_options.plan:
        write_plan(read(make_inputs(max_size)).after, output_options)
        return
    with _writer(output_options, problem) as write:
        if output_options.watch:
            output_options.check_watch()
            _watch(read, write, max_size, keys)
        else:
            write(read(make_inputs(max_size)), None)


@contextmanager
def _writer(options: OutputOptions, problem: str | None) -> "Iterator[Write]":
    """What computes a problem, writes its result, and with --open shows it in the browser."""
    if not options.open:
        yield lambda edited, earlier: compute_and_write(edited, options, earlier)
        return
    from attncli.cli.page_opening import compute_and_open, page_file

    with page_file(options, problem) as to_file:
        yield lambda edited, earlier: compute_and_open(edited, to_file, earlier)


def _watch(read: "Read", write: "Write", max_size: str | None, keys: Mapping[str, Any]) -> None:
    """Compute a problem, and again whenever one of its files is saved."""
    from attncli.cli.file_events import find_events
    from attncli.cli.watch import watch

    option_texts = {option_name(key): str(value) for key, value in keys.items()}
    watch(read, write, max_size, option_texts, find_events("--watch"))
