"""`attn worksheet`: an exercise with blanks and its key, or one for each student."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from attncli.base.errors import AttnError
from attncli.cli import streams
from attncli.cli.option_values import (
    check_is_given,
    make_inputs,
    problem_warnings,
    read_problem_options,
    write_alias_notes,
)
from attncli.cli.output_file import check_is_no_input, named_file, say_written
from attncli.cli.output_options import OutputOptions
from attncli.cli.problem_options import MaxSize, Strict, with_problem_options

if TYPE_CHECKING:
    from attncli.io.problem_files import Document
    from attncli.problem.spec import ProblemSpec
    from attncli.render.worksheet import Sheet


@with_problem_options(are_listed=False)
def worksheet(
    problem: Annotated[str | None, typer.Argument(metavar="PROBLEM", help="A problem file, or -.")] = None,
    *,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", metavar="FILE", help="The exercise, .md, .tex or .html; beside it its key."),
    ] = None,
    blank: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WHAT", help="What is blank: weights,output; 0.3 of the numbers; 'weights[word_2,*]'."
        ),
    ] = None,
    no_formulas: Annotated[bool, typer.Option("--no-formulas", help="Do not say how the steps are computed.")] = False,
    precision: Annotated[
        int | None, typer.Option(metavar="DIGITS", help="Decimals; default those of the file, or 4.")
    ] = None,
    max_size: MaxSize = None,
    strict: Strict = False,
    **keys: Any,
) -> None:
    """Write an exercise whose blanks are to be computed, and its key."""
    from attncli.analysis.blanks import parse_blanks
    from attncli.io.assemble import assemble
    from attncli.io.output_files import atomic_write_file
    from attncli.render.worksheet import check_suffix, key_file, render_sheet

    if output is None:
        raise AttnError("no file is named", where="--output", hint="name one, such as -o sheet.md")
    file = named_file(output, "--output")
    suffix = check_suffix(file)
    request = parse_blanks(blank or ())
    check_is_given("worksheet", problem, keys)
    inputs = make_inputs(max_size)
    document = read_problem_options(problem, keys, inputs)
    write_alias_notes(document)
    given = assemble(document)
    for name in (file, key_file(file)):
        check_is_no_input(name, inputs)
    sheet = make_sheet(given, document, request, precision, has_formulas=not no_formulas)
    streams.write_warnings(
        [*problem_warnings(given, document, given.unread), *sheet.result.trace.notes], strict=strict
    )
    texts = render_sheet(sheet, suffix)
    for name, text in zip((file, key_file(file)), texts, strict=True):
        atomic_write_file(name, text)
        say_written(name)


def make_sheet(problem, document, request, precision, *, has_formulas):
    from attncli.analysis.blanks import find_blanks
    from attncli.engine.run import run
    from attncli.render.view import DECIMALS
    from attncli.render.worksheet import Sheet, shown_steps

    raw = {key: document[key].value for key in ("title", "about", "precision") if key in document}
    decimals = OutputOptions(precision=raw.get("precision", DECIMALS) if precision is None else precision).decimals
    result = run(problem, every_step=True)
    blanks = find_blanks(result.trace, request, decimals, sorted(shown_steps(result.trace)))
    return Sheet(result, blanks, decimals, str(raw.get("title") or "Exercise"), str(raw.get("about") or ""), has_formulas=has_formulas)
