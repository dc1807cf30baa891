"""`attn fit`: learn arrays and numbers of a problem, so that its results come close to targets."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer

from attncli.base.errors import AttnError
from attncli.cli import streams
from attncli.cli.completion import complete_expected, last_of_list, problem_on_line
from attncli.cli.option_values import (
    check_is_given,
    check_stdin,
    make_inputs,
    problem_warnings,
    read_problem_options,
    write_alias_notes,
)
from attncli.cli.output import write_result
from attncli.cli.output_file import check_free_space, check_is_new, check_is_no_input, named_file, write_problem
from attncli.cli.output_options import OutputOptions, split_names, with_output_options, writes_documents
from attncli.cli.problem_options import Force, MaxSize, Strict, argument, option, with_problem_options
from attncli.cli.terminal import ProgressBar

if TYPE_CHECKING:
    from attncli.fit.learning import Fit, FitOptions
    from attncli.io.expected import Expected
    from attncli.problem.spec import ProblemSpec

INTERRUPTED = "interrupted"


def _complete_learn(context: typer.Context, incomplete: str) -> list[str]:
    """The learnable arrays and numbers of the problem that continue the last name of a list."""
    from attncli.fit.learning import learnable
    from attncli.plan.build import plan_of

    problem = problem_on_line(context)
    names = {} if problem is None else dict.fromkeys(learnable(plan_of(problem)), "")
    return [text for text, _ in last_of_list(incomplete, names)]


@with_problem_options(are_listed=False)
@with_output_options("format", "json", "precision", "pager", is_written=writes_documents)
def fit(
    problem: str | None = argument("A problem file, or -.", "PROBLEM"),
    *,
    learn: list[str] | None = option(
        "Keys to learn: w_q, bias, score.sigma, normalize.temperature …", metavar="KEY,KEY", complete=_complete_learn
    ),
    target: list[str] | None = option(
        "Target numbers of results: output=FILE, weights='.6 .4'.", metavar="NAME=VALUE", complete=complete_expected
    ),
    steps: str | None = option("Steps of Adam at most; default 1000.", metavar="N"),
    rate: str | None = option("How far a step goes; default 0.05.", metavar="X"),
    output: str | None = option(
        "Write the fitted problem, to a .yaml or a folder.", "--output", "-o", metavar="FILE|FOLDER"
    ),
    force: Force = False,
    output_options: OutputOptions,
    max_size: MaxSize = None,
    strict: Strict = False,
    **keys: Any,
) -> None:
    """Learn the named keys of a problem, and write the fitted problem and the fall of the loss.

    Ctrl-C writes the best so far, and ends with 130.
    """
    from attncli.io.assemble import assemble
    from attncli.io.problem_text import problem_sizes
    from attncli.plan.build import keys_unread_by_plan

    output_options.check_format("fit", writes_documents)
    decimals = output_options.decimals  # an error before any work
    check_is_given("fit", [problem] if problem else None, keys)
    check_stdin(problem, *(text.partition("=")[2] for text in target or ()), *keys.values())
    inputs = make_inputs(max_size)
    document = read_problem_options(problem, keys, inputs)
    write_alias_notes(document)
    given = assemble(document)
    names = [name for text in learn or () for name in split_names(text, "--learn") or ()]
    if not names:
        raise AttnError("nothing is learned", where="--learn", hint="name keys: --learn w_q,score.sigma")
    options = _options(steps, rate)
    targets = _targets(given, target or (), inputs)
    file = None if output is None else named_file(output, "--output")
    check_is_no_input(file, inputs)
    check_is_new(file, force=force)
    streams.write_warnings(problem_warnings(given, document, keys_unread_by_plan(given)), strict=strict)
    if file is not None:
        check_free_space(file, problem_sizes(given))
    found = _fit(given, names, targets, options)
    if file is not None:
        write_problem(found.problem, file, inputs)
    _write_answer(found, problem, output_options, decimals, has_arrays=file is None)
    if found.stopped == INTERRUPTED:
        raise KeyboardInterrupt


def _options(steps: str | None, rate: str | None) -> "FitOptions":
    """The options of the descent; raises AttnError if a number is out of range."""
    from attncli.fit.learning import FitOptions, fit_options
    from attncli.problem.numbers import is_number, read_number

    def number(text: str, option: str) -> Any:
        value = read_number(text, (option,))
        return value if is_number(value) else text

    given = {name: text for name, text in {"steps": steps, "rate": rate}.items() if text is not None}
    try:
        options: FitOptions = fit_options(**{name: number(text, f"--{name}") for name, text in given.items()})
    except AttnError as error:
        name, *others = error.path
        error.path = (name if name.startswith("--") else f"--{name}", *others)
        raise
    return options


def _targets(problem: "ProblemSpec", texts: Sequence[str], inputs: Any) -> "Expected":
    """The targets; raises AttnError if none is given, or one is unreadable."""
    from attncli.fit.learning import TARGET
    from attncli.io.expected import read_against
    from attncli.plan.build import plan_of

    targets = read_against(texts, inputs, plan_of(problem).names, TARGET)
    streams.write_notes(targets.notes)
    if not targets.by_name:
        raise AttnError("there is no target", where="--target", hint="name a result and its numbers: output=FILE")
    return targets


def _fit(problem: "ProblemSpec", names: Sequence[str], targets: "Expected", options: "FitOptions") -> "Fit":
    """The fit, with a progress bar; an error has the location of the mistake."""
    from dataclasses import replace

    from attncli.fit.learning import LEARN, TARGET, fit

    numbers: Mapping[str, Any] = {name: target.value for name, target in targets.by_name.items()}
    with ProgressBar("fitting") as bar:

        def progress(step: int, count: int, loss: float) -> None:
            bar(step, count, f", loss {loss:.4g}")

        try:
            return fit(problem, names, numbers, replace(options, progress=progress))
        except AttnError as error:
            key, name, *_ = (*error.path, "", "")
            if key == TARGET and name in targets.by_name:
                raise targets.by_name[name].locate(error) from None
            if key == LEARN:
                error.path = ("--learn", *error.path[1:])
            raise


def _write_answer(
    found: "Fit", problem: str | None, options: OutputOptions, decimals: int, *, has_arrays: bool
) -> None:
    """Write the fall of the loss and the learned values."""
    from attncli.fit.document import fit_answer

    answer = fit_answer(found, problem, decimals, has_arrays=has_arrays)
    with streams.while_read():
        write_result(options.output_format.render_answer(answer, streams.output_target()), options)
