"""`attn generate`: a complete problem with numbers drawn from a seed, to compute and to change by hand."""

from collections.abc import Sequence
from typing import Any

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import import_object
from attncli.cli import streams
from attncli.cli.option_values import make_inputs, problem_warnings, read_problem_options, write_alias_notes
from attncli.cli.output_file import check_free_space, check_is_new, check_is_no_input, output_file, write_problem
from attncli.cli.problem_options import Force, MaxSize, Strict, argument, flag, option, with_problem_options

# "module:function" in wings that choose the numbers of a problem.
TELLING, BY_HAND = "attncli.checks.discriminating_problems:choose", "attncli.worksheet.hand_problems:choose"


@with_problem_options()
def generate(
    problem: str | None = argument("A YAML or JSON file to complete, or -.", "PROBLEM"),
    *,
    output: str | None = option(
        "A new .yaml file, or a new folder for the arrays and problem.yaml.", "--output", "-o", metavar="FILE|FOLDER"
    ),
    by_hand: bool = flag(
        "Draw a problem to do by hand: small integers, a square number of features, no tiny weights.", "--by-hand"
    ),
    telling: bool = flag(
        "Draw inputs that reveal every mistake that applies, if the output is checked in --dtype.", "--telling"
    ),
    force: Force = False,
    max_size: MaxSize = None,
    strict: Strict = False,
    **keys: Any,
) -> None:
    """Draw the missing numbers of a problem, possibly a worked example, and write it to a stream, file, or folder."""
    from attncli.io.assemble import assemble
    from attncli.io.problem_text import example_values, problem_sizes, problem_yaml

    file = output_file(output)
    inputs = make_inputs(max_size)
    document = read_problem_options(problem, keys, inputs)
    write_alias_notes(document)
    warnings: Sequence[str] = ()
    if by_hand and telling:
        raise AttnError("both choose the numbers", where="--by-hand and --telling", hint="give one of them")
    if telling:
        chosen = import_object(TELLING)(document)
        document, warnings = chosen.document, chosen.warnings
    if by_hand:
        document = import_object(BY_HAND)(document)
    complete = assemble(document)
    example = example_values(document, complete)
    check_is_no_input(file, inputs)
    check_is_new(file, force=force)
    streams.write_warnings([*problem_warnings(complete, document, complete.unread), *warnings], strict=strict)
    check_free_space(file, problem_sizes(complete))
    if file is None:
        streams.write_output(map(streams.output_target().escaped, problem_yaml(complete, example)))
    else:
        write_problem(complete, file, inputs, example)
