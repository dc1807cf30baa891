"""`attn compute`: scores, weights and output of a problem from a file, from options, or from both."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attncli.base.lazy_numpy import import_object
from attncli.cli import streams
from attncli.cli.option_values import (
    at_layers,
    check_convention,
    check_is_given,
    command_words,
    edited_problem,
    given_keys,
    make_inputs,
    problem_warnings,
    read_edits,
    read_problem_options,
    with_parts,
    write_alias_notes,
)
from attncli.cli.output_file import STDOUT, check_beside_is_no_input, check_is_no_input
from attncli.cli.output_options import OutputOptions, with_output_options
from attncli.cli.problem_options import As, EditTexts, Layer, MaxSize, argument, with_problem_options
from attncli.problem.fields import option_name

if TYPE_CHECKING:
    from attncli.cli.watch import Write
    from attncli.io.inputs import Inputs
    from attncli.plan.trace import RunResult
    from attncli.problem.edits import EditedProblem


@with_problem_options()
@with_output_options()
def compute(
    problem: str | None = argument("A file (.yaml …), -, '{query: …}', or a sentence.", "PROBLEM"),
    *,
    layer: Layer = None,
    convention: As = None,
    edits: EditTexts = None,
    max_size: MaxSize = None,
    output_options: OutputOptions,
    **keys: Any,
) -> None:
    """Assemble the problem from a file and options (`keys`), and write its result or its plan."""
    from attncli.cli.output import write_plan
    from attncli.io.assemble import assemble
    from attncli.io.problem_files import to_text
    from attncli.plan.build import keys_unread_by_plan

    check_is_given("compute", problem, keys)
    words = command_words(problem, {"--layer": layer, "--as": convention, "--set": edits, "--max-size": max_size}, keys)
    words += ("--gradient",) * output_options.gradient
    problem = next(iter(at_layers([problem] if problem else [], [layer] if layer else [])), None)
    check_convention(convention)

    def read(inputs: "Inputs") -> "EditedProblem":
        """Read the problem; warn of input without effect."""
        document = read_problem_options(problem, keys, inputs)
        spec = assemble(document, convention)
        check_is_no_input(output_options.file, inputs)
        if output_options.output_format.is_code:
            check_beside_is_no_input(output_options.file, inputs)
        write_alias_notes(document)
        warnings = problem_warnings(spec, document, keys_unread_by_plan(spec))
        streams.write_warnings(warnings, strict=output_options.strict)
        title = to_text(document["title"].value) if "title" in document else ""
        edited = replace(edited_problem(spec, read_edits(edits)), title=title, command=words)
        if output_options.shows_parts and not edited.cells:
            edited = with_parts(edited, document, problem or "")
        if output_options.guide and output_options.has_guide and output_options.output_format.story is not None:
            import_object(output_options.output_format.story)(edited.after)
        return edited.with_gradient() if output_options.gradient else edited

    if output_options.plan:
        write_plan(read(make_inputs(max_size)).after, output_options)
        return
    with _writer(output_options, problem) as write:
        if output_options.watch:
            from attncli.cli.watch import find_events, watch

            output_options.check_watch()
            option_texts = {option_name(key): str(text) for key, text in given_keys(keys).items()}
            watch(read, write, max_size, option_texts, find_events("--watch"))
        else:
            write(read(make_inputs(max_size)), None)


@contextmanager
def _writer(options: OutputOptions, problem: str | None) -> "Iterator[Write]":
    """The function that computes a problem, writes its result, and with --open shows it in the browser."""
    from attncli.cli.output import compute_and_write

    if not options.open:
        yield lambda edited, earlier: compute_and_write(edited, options, earlier)
        return
    from attncli.cli.browser import page_file

    name = None if problem is None or problem == STDOUT else Path(problem).stem
    with page_file(options, name) as to_file:
        yield lambda edited, earlier: compute_and_open(edited, to_file, earlier)


def compute_and_open(edited: "EditedProblem", options: OutputOptions, earlier: "RunResult | None") -> "RunResult":
    """Compute a problem, write its page to the options' file, and open it in the browser the first time.

    Without a browser it writes the page and warns. Parameters and exceptions are the same as in `compute_and_write`.
    """
    from attncli.cli.browser import write_and_open
    from attncli.cli.output import compute_and_write

    if earlier is not None:
        return compute_and_write(edited, options, earlier)
    return write_and_open(lambda: compute_and_write(edited, options), options)
