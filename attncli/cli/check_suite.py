"""The problems of `attn check`, each read and checked: one that can't be does not hide the others."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any

from attncli.base.dataclasses import dataclass
from attncli.base.errors import AttnError
from attncli.cli.axis_positions import parse_positions
from attncli.cli.option_values import edited_problem, read_problem_options
from attncli.cli.options import convention_warnings
from attncli.cli.output_options import OutputOptions
from attncli.cli.progress import ProgressBar
from attncli.cli.warnings import unread_keys, write_warnings

if TYPE_CHECKING:
    from attncli.analysis.check.report import BeforeEdits, CheckOptions, CheckOutcome, CheckReport
    from attncli.io.expected import Expected
    from attncli.io.inputs import Inputs
    from attncli.io.parts import FilePart
    from attncli.problem.edits import Edit, EditedProblem
    from attncli.problem.spec import ProblemSpec

NOTHING_EXPECTED = "write expected: {output: …} in the file, or give --against output=FILE"


@dataclass(frozen=True)
class CheckRequest:
    """What is checked, and how: the keys given as options, what is expected in place of that of the files."""

    keys: Mapping[str, Any]
    against: Sequence[str]
    options: "CheckOptions"
    head: str | None
    batch: str | None
    inputs: "Inputs"
    strict: bool
    convention: str | None = None
    edits: "Sequence[Edit]" = ()

    @property
    def needs_expected(self) -> bool:
        """Whether files must say what is expected: it is not given as an option, and not only slips are looked for."""
        return not self.against and not self.options.finds_unnoticed


@dataclass(frozen=True)
class Suite:
    """The files that are checked (None: a problem of options alone).

    `is_several` is whether several were named, or a folder; `left_out` are files of folders that expect nothing. Of the
    files, `errors` has those that are folders without a problem, with what is wrong of each.
    """

    files: Sequence[str | None]
    is_several: bool = False
    left_out: Sequence[str] = ()
    errors: "Mapping[str | None, AttnError]" = field(default_factory=dict)


def find_suite(problems: Sequence[str], request: CheckRequest) -> Suite:
    """The files that are named, and in place of a folder those in it; none: the problem of the options.

    With `--against` every file of a folder is checked, with `--slips` every problem, otherwise those in which something
    is expected. Raises AttnError where the one folder that is named has none, or can't be read; of several names the
    others are checked.
    """
    from attncli.io import formats
    from attncli.io.paths import is_there, path_of
    from attncli.io.problem_files import files_of_problems

    folders = [name for name in problems if is_there(path_of(name)) and path_of(name).is_dir()]
    if not folders:
        return Suite(list(problems) or [None], is_several=len(problems) > 1)
    files: list[str | None] = []
    left_out: list[str] = []
    errors: dict[str | None, AttnError] = {}
    for name in problems:
        if name not in folders:
            files.append(name)
            continue
        try:
            found = files_of_problems(name)
            checked = [file for file in found if request.against or _is_checked(file, request)]
            if not checked:
                hint = f"expected a file ({formats.expected('problem')}) with the key expected"
                raise AttnError("has no problem of which something is expected", where=name, hint=hint)
        except AttnError as error:
            if len(problems) == 1:
                raise
            errors[name] = error
            files.append(name)
            continue
        files += checked
        left_out += [file for file in found if file not in checked]
    return Suite(files, True, left_out, errors)


def _is_checked(file: str, request: CheckRequest) -> bool:
    """Whether a file of a folder is checked; also where it can't be read, which is said when it is checked."""
    from attncli.io.problem_files import expects_something, is_problem

    try:
        return (expects_something if request.needs_expected else is_problem)(file, request.inputs)
    except AttnError:
        return True


def outcomes_of_file(file: str | None, suite: Suite, request: CheckRequest) -> "Iterator[CheckOutcome]":
    """The outcome of each part of a file of a suite (None: a problem of options alone) of which something is expected.

    Where slips are looked for nothing need be. An error is an outcome too.
    """
    from attncli.analysis.check.report import CheckOutcome
    from attncli.io.inputs import STDIN_NAME
    from attncli.io.parts import file_parts
    from attncli.io.paths import STDIN

    start = time.monotonic()
    name = STDIN_NAME if file == STDIN else file or ""
    try:
        if file in suite.errors:
            raise suite.errors[file]
        document = read_problem_options(file, request.keys, request.inputs)
        parts = file_parts(document, name)
        if request.needs_expected:
            parts = [part for part in parts if part.expected.value is not None]
        if not parts:
            raise AttnError("nothing is expected", where=name, hint=NOTHING_EXPECTED)
    except AttnError as error:
        yield CheckOutcome(file or "", "", None, error, time.monotonic() - start)
        return
    for part in parts:
        report, before, reason = _check(part, request)
        yield CheckOutcome(file or "", part.name, report, reason, time.monotonic() - start, before)
        start = time.monotonic()


def _check(
    part: "FilePart", request: CheckRequest
) -> "tuple[CheckReport | None, BeforeEdits | None, AttnError | None]":
    """The report of a part, and that before it was edited, or why there is none."""
    try:
        return *_reports(part, request), None
    except AttnError as error:
        return None, None, error
    except MemoryError:
        hint = "check some queries with --only"
        return None, None, AttnError("there is not enough memory", where=part.place, hint=hint)


def _reports(part: "FilePart", request: CheckRequest) -> "tuple[CheckReport, BeforeEdits | None]":
    """The report of a part, and that before it was edited; its warnings are written."""
    from attncli.analysis.check.check import check_expected
    from attncli.analysis.check.report import BeforeEdits
    from attncli.io.assemble import assemble
    from attncli.plan.build import keys_unread_by_plan, plan_of

    given = assemble(part.problem, request.convention)
    edited = _edited(given, part, request)
    problem = edited.after
    expected = _expected(part, plan_of(problem).names, request)
    positions, _ = parse_positions(OutputOptions(head=request.head, batch=request.batch), problem.layout)
    options = replace(request.options, head=positions.get("h"), batch=positions.get("b"))
    warnings = [*convention_warnings(problem), *unread_keys(part.problem, keys_unread_by_plan(problem))]
    warnings += [f"{name} is no result, and is not checked" for name in expected.left_out]
    _write_warnings(warnings, part, request)
    with ProgressBar("checking") as progress:
        options = replace(options, run=replace(options.run, progress=progress))
        report = check_expected(problem, expected, options, part.place)
        without_slips = replace(options, tries_slips=False, finds_unnoticed=False)
        before = check_expected(given, expected, without_slips, part.place) if edited.cells else None
    _write_warnings(report.trace.notes, part, request)
    return report, None if before is None else BeforeEdits(before, edited.cells)


def _edited(given: "ProblemSpec", part: "FilePart", request: CheckRequest) -> "EditedProblem":
    """The problem of a part before and after the edits; an error names the part."""
    try:
        return edited_problem(given, request.edits)
    except AttnError as error:
        raise error.at(part.place) if part.name else error from None


def _write_warnings(warnings: Iterable[str], part: "FilePart", request: CheckRequest) -> None:
    """Write the warnings on a part, with its file where it has one: a suite has others."""
    place = f"{part.place}: " if part.place else ""
    write_warnings([f"{place}{warning}" for warning in warnings], strict=request.strict)


def _expected(part: "FilePart", names: Sequence[str], request: CheckRequest) -> "Expected":
    """What is expected of the results: the options in place of the file."""
    from attncli.io.expected import read_against, read_expected

    if request.against:
        return read_against(request.against, request.inputs, names)
    expected = read_expected(part.expected, names)
    if not expected.by_name and request.needs_expected:
        raise AttnError("nothing is expected", where=part.place, hint=NOTHING_EXPECTED)
    return expected
