"""`attn check`: are expected numbers right, where do they first differ, and what would explain it."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import typer

from attncli.base.errors import AttnError
from attncli.base.program import DIFFERS, FAILED
from attncli.base.text import count_of
from attncli.cli import streams
from attncli.cli.completion import complete_expected
from attncli.cli.option_values import (
    at_layers,
    check_convention,
    check_is_given,
    check_stdin,
    document_notes,
    edited_problem,
    given_keys,
    make_inputs,
    problem_warnings,
    read_edits,
    read_problem_options,
    write_alias_notes,
)
from attncli.cli.output import write_answer
from attncli.cli.output_file import check_is_new, check_is_no_input, named_file
from attncli.cli.output_options import OutputOptions, with_output_options, writes_checks
from attncli.cli.problem_options import (
    As,
    EditTexts,
    Layers,
    MaxSize,
    Strict,
    argument,
    flag,
    option,
    with_problem_options,
)
from attncli.cli.terminal import ProgressBar
from attncli.cli.usage_errors import named_arrays_error
from attncli.io.paths import STDIN, is_there, path_of
from attncli.render.formats import DEFAULT_FORMAT

if TYPE_CHECKING:
    from attncli.checks.report import BeforeEdits, CheckOptions, CheckOutcome, CheckReport
    from attncli.io.expected import Expected
    from attncli.io.inputs import Inputs
    from attncli.io.problem_files import Document, FilePart
    from attncli.problem.edits import Edit

MAX_CHANGES = 3  # changes of an exercise to name
NOTHING_EXPECTED = "write expected: {output: …} in the file, or give --against output=FILE"


@dataclass(frozen=True)
class CheckRequest:
    """What to check, and how: keys from options, and expected numbers that replace the files' own."""

    keys: Mapping[str, Any]
    against: Sequence[str]
    options: "CheckOptions"
    head: str | None
    batch: str | None
    inputs: "Inputs"
    strict: bool
    convention: str | None = None
    edits: "Sequence[Edit]" = ()
    handed_out: Mapping[str, str] = field(default_factory=dict)  # the exercises by students' names

    @property
    def needs_expected(self) -> bool:
        """Whether files must have expected numbers: options give none, and more than slips is requested."""
        return not self.against and not self.options.finds_unnoticed


@dataclass(frozen=True)
class Suite:
    """The files to check (None: a problem of options alone).

    `is_several` is true if several were named, or a folder; `left_out` are files in folders without expected numbers.
    `errors` has the folders without a problem, with a reason each.
    """

    files: Sequence[str | None]
    is_several: bool = False
    left_out: Sequence[str] = ()
    errors: "Mapping[str | None, AttnError]" = field(default_factory=dict)


@with_problem_options()
@with_output_options("format", "json", "output", "pager", is_written=writes_checks)
def check(
    problems: list[str] | None = argument("Problem files, folders of them, or -.", "PROBLEM"),
    *,
    layers: Layers = None,
    against: list[str] | None = option(
        "Expected: weights='.6 .4', 'weights={cat: {sat: .6}}'.", metavar="NAME=VALUE", complete=complete_expected
    ),
    rtol: str | None = option("Relative tolerance, instead of the derived one.", metavar="X"),
    atol: str | None = option("Absolute tolerance, instead of the derived one.", metavar="X"),
    ulp: str | None = option("Tolerance in units in the last place of the type.", metavar="N", is_listed=False),
    slips: bool = flag("Name the mistakes that these inputs would not reveal.", "--slips"),
    reference: bool = flag("Compute the reference with more digits than float64.", "--reference"),
    head: str | None = option("Check one head, counted from 0.", metavar="N", is_listed=False),
    batch: str | None = option("Check one batch item, counted from 0.", metavar="N", is_listed=False),
    precision: int | None = option("Decimals of worked lines; default 4.", metavar="DIGITS", is_listed=False),
    quiet: bool = flag("Print the verdict; of several files, those that differ.", "--quiet", "-q"),
    output_options: OutputOptions,
    junit: str | None = option("Also write the verdicts as JUnit's XML, for CI.", metavar="FILE"),
    csv: str | None = option("Also write the grades of a class, a row for each file.", "--csv", metavar="FILE"),
    force: bool = flag("Let --csv replace a file.", "--force", is_listed=False),
    handed_out: str | None = option("Exercises of attn worksheet: report changed inputs.", metavar="FOLDER"),
    edits: EditTexts = None,
    convention: As = None,
    max_size: MaxSize = None,
    strict: Strict = False,
    **keys: Any,
) -> None:
    """Check the problems of files, folders and options (`keys`); several get a line each, one a whole report."""
    from attncli.checks.report import CheckOptions
    from attncli.engine.options import RunOptions

    output_options = replace(output_options, precision=precision)
    output_options.check_format("check", writes_checks)
    _ = output_options.decimals  # an error before any work
    is_on_output = output_options.file is None
    if quiet and is_on_output and output_options.output_format.name != DEFAULT_FORMAT:  # a program reads one object
        message = f"--quiet and --format {output_options.output_format.name} contradict each other"
        raise AttnError(message, hint="leave out one of them")
    check_is_given("check", problems, keys)
    problems = at_layers(problems or (), layers or ())
    junit = None if junit is None else named_file(junit, "--junit")
    csv = None if csv is None else named_file(csv, "--csv")
    check_is_new(csv, force=force, idle="only --csv needs it")
    check_stdin(*(problems or ()), *(text.partition("=")[2] or text for text in against or ()), *keys.values())
    check_convention(convention)
    inputs = make_inputs(max_size)
    options = CheckOptions(
        rtol=_tolerance(rtol, "--rtol"),
        atol=_tolerance(atol, "--atol"),
        ulp=_tolerance(ulp, "--ulp"),
        many_digits=reference,
        finds_unnoticed=slips,
        finds_passed=not quiet and any(limit is not None for limit in (rtol, atol, ulp)),
        run=RunOptions(blas_is_limited=True),
    )
    request = CheckRequest(keys, against or (), options, head, batch, inputs, strict, convention, read_edits(edits))
    if handed_out is not None:
        request = replace(request, handed_out=_find_handed_out(handed_out, inputs))
    given = {*given_keys(keys), *(["against"] if against else []), *(["as"] if convention else [])}
    if problems and (error := named_arrays_error("attn check", problems, given, takes_expected=True)) is not None:
        raise error
    suite = _find_suite(problems or (), request)
    outcomes = _run_suite(suite, request, junit)
    if csv is not None:
        _write_grades(outcomes, inputs, csv)
    _write_answer(outcomes, suite, inputs, output_options, is_quiet=quiet)
    if any(outcome.error is not None for outcome in outcomes):
        raise typer.Exit(FAILED)
    if not all(outcome.agrees for outcome in outcomes):
        raise typer.Exit(DIFFERS)


def _find_suite(problems: Sequence[str], request: CheckRequest) -> Suite:
    """The named files, and the files in named folders; without any, the problem of the options.

    With `--against` it checks every file of a folder, with `--slips` every problem, otherwise files with expected
    numbers. Raises AttnError if the only named folder has no problem or can't be read; among several, the others are
    checked.
    """
    from attncli.checks.class_answers import name_of
    from attncli.io.problem_files import files_of_problems

    folders = [name for name in problems if is_there(path_of(name)) and path_of(name).is_dir()]
    files: list[str] = []
    left_out: list[str] = []
    errors: dict[str | None, AttnError] = {}
    for name in problems:
        found = checked = [name]
        if name in folders:
            try:
                found = files_of_problems(name)
                checked = _checked_files(name, found, request)
            except AttnError as error:
                if len(problems) == 1:
                    raise
                found = checked = [name]
                errors[name] = error
        files += checked
        left_out += [file for file in found if file not in checked]
    if folders:  # a class
        names = {name_of(file) for file in files}
        files += [file for name, file in request.handed_out.items() if name not in names]  # nothing came back
    return Suite(files or [None], len(problems) > 1 or bool(folders), left_out, errors)


def _find_handed_out(folder: str, inputs: "Inputs") -> Mapping[str, str]:
    """The exercises in a folder by students' names."""
    from attncli.checks.class_answers import find_handed_out

    try:
        return find_handed_out(folder, inputs)
    except AttnError as error:
        raise error.at("--handed-out") from None


def _as_handed_out(document: "Document", file: str, request: CheckRequest) -> "Document":
    """A file's answers to its exercise as handed out; changed inputs are reported."""
    from attncli.checks.class_answers import as_handed_out, name_of
    from attncli.io.problem_files import read_document

    exercise = request.handed_out.get(name_of(file))
    if exercise is None:
        streams.write_warnings([f"{file}: no exercise of this name was handed out"], strict=request.strict)
        return document
    document, changes = as_handed_out(document, read_document(exercise, request.inputs))
    if changes:
        more = [f"and {count_of(len(changes) - MAX_CHANGES, 'more change')}"] if len(changes) > MAX_CHANGES else []
        message = f"{file}: {'; '.join([*changes[:MAX_CHANGES], *more])}; it is checked as it was handed out"
        streams.write_warnings([message], strict=request.strict)
    return document


def _checked_files(folder: str, files: Sequence[str], request: CheckRequest) -> list[str]:
    """The files of a folder to check; unreadable ones too, whose error appears when they are checked.

    Raises AttnError if there are none.
    """
    from attncli.io import formats
    from attncli.io.problem_files import expects_something, is_problem

    def is_checked(file: str) -> bool:
        try:
            return (expects_something if request.needs_expected else is_problem)(file, request.inputs)
        except AttnError:
            return True

    checked = [file for file in files if request.against or is_checked(file)]
    if not checked:
        hint = f"expected a file ({formats.expected('problem')}) with the key expected"
        raise AttnError("has no problem with expected numbers", where=folder, hint=hint)
    return checked


def _run_suite(suite: Suite, request: CheckRequest, junit: str | None) -> "Sequence[CheckOutcome]":
    """Check every problem of a suite and write the JUnit file, if named. It writes errors at once."""
    from attncli.checks.document import junit_xml
    from attncli.io.output_files import atomic_write

    with nullcontext() if junit is None else atomic_write(junit) as stream:  # open this first: it may not be writable
        outcomes = []
        for file in suite.files:
            for outcome in _outcomes_of_file(file, suite, request):
                if outcome.error is not None:
                    text = outcome.error.typed  # an option's error does not name the problem
                    names_file = not suite.is_several or outcome.file in text
                    streams.write_error(text if names_file else f"{outcome.file}: {text}")
                outcomes.append(outcome)
        if stream is not None:
            check_is_no_input(junit, request.inputs, "--junit")
            stream.writelines(line.encode() for line in junit_xml(outcomes))
    return outcomes


def _write_grades(outcomes: "Sequence[CheckOutcome]", inputs: "Inputs", file: str) -> None:
    """Write the grades of the files."""
    from attncli.checks.class_answers import grades_csv
    from attncli.io.output_files import atomic_write_file

    check_is_no_input(file, inputs, "--csv")
    atomic_write_file(file, grades_csv(outcomes))


def _write_answer(
    outcomes: "Sequence[CheckOutcome]", suite: Suite, inputs: "Inputs", options: OutputOptions, *, is_quiet: bool
) -> None:
    """Write how many of several problems agree and a line for each, or the reports of one and its parts.

    It writes nothing for a single problem that can't be checked. If it `is_quiet`, standard output gets the verdict
    alone.
    """
    from attncli.checks.document import check_answer, quiet_document
    from attncli.render.formats import terminal

    is_one = not suite.is_several and not any(outcome.part for outcome in outcomes)
    if is_one and outcomes[0].error is not None:
        return
    check_is_no_input(options.file, inputs)
    if is_quiet:
        check_is_no_input(None, inputs)
        with streams.while_read():
            streams.write_output(terminal.render(quiet_document(outcomes), streams.output_target()))
    if is_quiet and options.file is None:
        return
    answer = check_answer(outcomes, suite.left_out, options.decimals, is_suite=suite.is_several)
    with streams.while_read():
        write_answer(answer, options)


def _outcomes_of_file(file: str | None, suite: Suite, request: CheckRequest) -> "Iterator[CheckOutcome]":
    """The outcome of each part of a suite's file (None: a problem of options alone) with expected numbers.

    If slips are requested, expected numbers are optional. An error is an outcome too.
    """
    from attncli.checks.report import CheckOutcome
    from attncli.io.expected import count_unanswered, is_unanswered
    from attncli.io.inputs import STDIN_NAME
    from attncli.io.problem_files import file_parts

    start = time.monotonic()
    name = STDIN_NAME if file == STDIN else file or ""
    try:
        if file in suite.errors:
            raise suite.errors[file]
        document = read_problem_options(file, request.keys, request.inputs)
        if request.handed_out and file is not None:
            document = _as_handed_out(document, file, request)
        parts = file_parts(document, name)
        if request.needs_expected:
            parts = [part for part in parts if part.expected.value is not None]
        if not parts:
            raise AttnError("no expected numbers", where=name, hint=NOTHING_EXPECTED)
    except AttnError as error:
        yield CheckOutcome(file or "", "", None, error, time.monotonic() - start)
        return
    write_alias_notes(document)
    for part in parts:
        report = before = reason = None
        unanswered = count_unanswered(part.expected) if request.needs_expected else {}
        try:
            if not (unanswered and is_unanswered(part.expected)):
                report, before = _check(part, request)
        except AttnError as error:
            reason = error
        except MemoryError:
            hint = "check some queries with --only"
            reason = AttnError("there is not enough memory", where=part.place, hint=hint)
        yield CheckOutcome(file or "", part.name, report, reason, time.monotonic() - start, before, unanswered)
        start = time.monotonic()


def _check(part: "FilePart", request: CheckRequest) -> "tuple[CheckReport, BeforeEdits | None]":
    """The report of a part, and the report before it was edited; its warnings are written."""
    from attncli.checks.check import check_expected
    from attncli.checks.report import BeforeEdits
    from attncli.io.assemble import assemble
    from attncli.plan.build import keys_unread_by_plan, plan_of

    def warn(warnings: Iterable[str]) -> None:
        place = f"{part.place}: " if part.place else ""  # a suite has other files
        streams.write_warnings([f"{place}{warning}" for warning in warnings], strict=request.strict)

    given = assemble(part.problem, request.convention)
    try:
        edited = edited_problem(given, request.edits)
    except AttnError as error:
        raise error.at(part.place) if part.name else error from None
    problem = edited.after
    expected = _expected(part, plan_of(problem).expected_names, request)
    positions, _ = OutputOptions(head=request.head, batch=request.batch).positions(problem.leading)
    options = replace(request.options, head=positions.get("h"), batch=positions.get("b"))
    said = document_notes(part.problem)
    streams.write_notes(note for note in expected.notes if note not in said)
    unchecked = [f"{name} is not a result, and is not checked" for name in expected.left_out]
    warn([*problem_warnings(problem, part.problem, keys_unread_by_plan(problem)), *unchecked])
    with ProgressBar(f"checking {part.place}".rstrip()) as progress:
        options = replace(options, run=replace(options.run, progress=progress))
        report = check_expected(problem, expected, options, part.place)
        without_slips = replace(options, tries_slips=False, finds_unnoticed=False, finds_passed=False)
        before = check_expected(given, expected, without_slips, part.place) if edited.cells else None
    warn(report.trace.notes)
    return report, None if before is None else BeforeEdits(before, edited.cells)


def _expected(part: "FilePart", names: Sequence[str], request: CheckRequest) -> "Expected":
    """The expected numbers of the results: an option replaces the file's."""
    from attncli.io.expected import read_against, read_expected
    from attncli.io.problem_files import DECIMAL_COMMA
    from attncli.numbers.parsing import text_with_points

    if request.against:
        has_commas = DECIMAL_COMMA in part.problem and part.problem[DECIMAL_COMMA].value is True
        texts = [text_with_points(text) for text in request.against] if has_commas else request.against
        return read_against(texts, request.inputs, names)
    expected = read_expected(part.expected, names)
    if not expected.by_name and request.needs_expected:
        raise AttnError("no expected numbers", where=part.place, hint=NOTHING_EXPECTED)
    return expected


def _tolerance(text: str | None, option: str) -> float | None:
    """The value of an option from 0 on; None without it. Raises AttnError for others."""
    from attncli.problem.numbers import is_number, read_number, to_number_from

    if text is None:
        return None
    value = read_number(text, (option,))
    return to_number_from(value if is_number(value) else text, (option,), 0)
