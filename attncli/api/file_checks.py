"""Checks of the parts of problem files against their expected numbers, with the text of `attn check FILE`."""

from collections.abc import Sequence
from dataclasses import dataclass

from attncli.base.errors import AttnError
from attncli.checks.check import DEFAULT, check_expected
from attncli.checks.document import check_document
from attncli.checks.objects import NOTHING_GIVEN
from attncli.io.assemble import assemble
from attncli.io.expected import count_unanswered, is_unanswered, read_expected
from attncli.io.problem_files import FilePart, file_parts, read_document
from attncli.plan.build import plan_of
from attncli.render.formats import terminal
from attncli.render.target import TEXT_FILE

NOTHING_EXPECTED = "write expected: {output: …} in the file"


@dataclass(frozen=True)
class PartCheck:
    """The report on a part of a file: why it fails (None: all numbers agree), and further remarks."""

    failure: str | None
    notes: Sequence[str] = ()


def parts_with_expected(file: str) -> Sequence[FilePart]:
    """The parts of a problem file with expected numbers; a file without parts is one part.

    Raises AttnError if the file can't be read or is not a problem, or has no expected numbers.
    """
    parts = [part for part in file_parts(read_document(file), file) if part.expected.value is not None]
    if not parts:
        raise AttnError("no expected numbers", where=file, hint=NOTHING_EXPECTED)
    return parts


def check_file_part(file: str, number: int) -> PartCheck:
    """Compare the results of a part, by its number from 0 among parts with expected numbers, with these.

    An error that the user can correct is also a failure.
    """
    try:
        return _check_part(parts_with_expected(file)[number])
    except AttnError as error:
        return PartCheck(error.typed)


def _check_part(part: FilePart) -> PartCheck:
    """The check of a part; raises AttnError if it can't be checked."""
    if count_unanswered(part.expected) and is_unanswered(part.expected):
        return PartCheck(f"{part.place}: {NOTHING_GIVEN}")
    problem = assemble(part.problem)
    expected = read_expected(part.expected, plan_of(problem).expected_names)
    if not expected.by_name:
        raise AttnError("no expected numbers", where=part.place, hint=NOTHING_EXPECTED)
    report = check_expected(problem, expected, DEFAULT, part.place)
    unchecked = [f"{name} is not a result, and is not checked" for name in expected.left_out]
    notes = (*expected.notes, *unchecked, *report.trace.notes)
    if report.agrees:
        return PartCheck(None, notes)
    return PartCheck("".join(terminal.render(check_document(report), TEXT_FILE)).rstrip("\n"), notes)
