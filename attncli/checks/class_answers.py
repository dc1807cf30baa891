"""The answers of a class: compared with the exercises handed out, and their grades as CSV."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import PurePath
from typing import Any

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import np
from attncli.base.text import count_of, delimited_rows, one_line, without_formula
from attncli.checks.document import explained_by
from attncli.checks.report import CheckOutcome
from attncli.io.inputs import Inputs
from attncli.io.problem_files import Document, RawValue, expects_something, files_of_problems
from attncli.problem.fields import EXPECTED
from attncli.problem.spec import FIELDS

HEADER = ("name", "right", "of", "first_wrong", "explained_by")


def find_handed_out(folder: str, inputs: Inputs) -> dict[str, str]:
    """The exercises in a folder by students' names; raises AttnError if it has none."""
    found = {name_of(file): file for file in files_of_problems(folder) if expects_something(file, inputs)}
    if not found:
        raise AttnError("has no exercises", where=folder, hint="name the folder that attn worksheet wrote")
    return found


def name_of(file: str) -> str:
    """The name that links an answer to its exercise: the file's, in lower case.

    >>> name_of("answers/Ann.xlsx")
    'ann'
    """
    return PurePath(file).stem.casefold()


def as_handed_out(answer: Document, exercise: Document) -> tuple[Document, list[str]]:
    """The exercise with the given answers, and a sentence for each input that was changed."""
    changes = [text for key in FIELDS if (text := _change(key, answer, exercise))]
    expected = answer.get(EXPECTED)
    if expected is None:
        return exercise, changes
    filled = _filled(exercise[EXPECTED].value, expected.value)
    return {**exercise, EXPECTED: RawValue(filled, expected.origin)}, changes


def _change(key: str, answer: Document, exercise: Document) -> str:
    """How a key of an answer differs from the exercise's; empty if it does not."""
    if key not in exercise or key not in answer:
        is_left_out = key in exercise
        return f"{key} is {'left out' if is_left_out else 'new'}" if is_left_out or key in answer else ""
    given, own = (dict(_leaves(document[key].value)) for document in (answer, exercise))
    if given.keys() != own.keys():
        return f"{key} has another form"
    cells = [path for path, value in own.items() if given[path] != value]
    if not cells:
        return ""
    first = f"[{', '.join(map(str, cells[0]))}]" if cells[0] else ""
    others = f", and {count_of(len(cells) - 1, 'other number')}" if len(cells) > 1 else ""
    return f"{key}{first} is {given[cells[0]]}, and was {own[cells[0]]}{others}"


def _leaves(value: Any) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """The values in nested lists and mappings, with their paths."""
    if isinstance(value, (Mapping, list)):
        for key, part in value.items() if isinstance(value, Mapping) else enumerate(value):
            yield from (((key, *path), leaf) for path, leaf in _leaves(part))
    else:
        yield (), value


def _filled(asked: Any, given: Any) -> Any:
    """The requested numbers, null, replaced by the given ones; if these have another form, the given ones alone."""
    if isinstance(asked, Mapping) and isinstance(given, Mapping) and given.keys() <= asked.keys():
        return {key: _filled(part, given.get(key)) for key, part in asked.items()}
    if isinstance(asked, list) and isinstance(given, list) and len(asked) == len(given):
        return [_filled(part, own) for part, own in zip(asked, given, strict=True)]
    return asked if given is None else given


def grades_csv(outcomes: Iterable[CheckOutcome]) -> str:
    """The file: a row for each answer file; a blank number counts as not right.

    If a file can't be checked, the reason replaces the first wrong number, and there are no counts. A text that a
    spreadsheet reads as a formula, such as a student's name, gets an apostrophe.
    """
    rows = [[without_formula(cell) if isinstance(cell, str) else cell for cell in row] for row in _rows(outcomes)]
    return delimited_rows([HEADER, *rows])


def _rows(outcomes: Iterable[CheckOutcome]) -> Iterator[Sequence[object]]:
    """The row of each file, for all its parts together."""
    for file, parts in groupby(outcomes, key=lambda outcome: outcome.file):
        found = list(parts)
        reports = [outcome.report for outcome in found if outcome.report is not None]
        error = next((outcome.error for outcome in found if outcome.error is not None), None)
        if error is not None:
            reason = one_line(error.typed.removeprefix(file).lstrip(" ,:"))
            yield PurePath(file).stem, "", "", f"can't be checked: {reason}", ""
            continue
        right = sum(report.count - report.differ for report in reports)
        of = sum(report.count for report in reports) + sum(sum(outcome.unanswered.values()) for outcome in found)
        wrong = next((outcome for outcome in found if outcome.unanswered or not outcome.agrees), None)
        blank = sum(sum(outcome.unanswered.values()) for outcome in found) if reports else 0
        first = "" if wrong is None else _with_blanks(first_wrong(wrong), blank)
        explained = "" if wrong is None or wrong.report is None else explained_by(wrong.report)
        yield PurePath(file).stem, right, of, first, explained


def first_wrong(outcome: CheckOutcome) -> str:
    """The first number that is not right, `weights[word_1,word_3]`; for blanks, how many a result has."""
    report = outcome.report
    for result in () if report is None else report.results:
        if report is not None and not result.agrees:
            labelled = report.trace.labelled(report.trace[result.name])
            index = tuple(map(int, np.argwhere(result.differs)[0]))
            return f"{result.name}[{','.join(labelled.labels_of_cell(index))}]"
        if result.name in outcome.unanswered:
            return result.name + _not_filled_in(outcome.unanswered[result.name])
    name, count = next(iter(outcome.unanswered.items()))
    return name + _not_filled_in(count)


def _with_blanks(first: str, blank: int) -> str:
    """The first wrong number, and how many numbers are blank unless it says that all are."""
    return f"{first}; {blank} blank" if blank and not first.endswith(_not_filled_in(blank)) else first


def _not_filled_in(count: int) -> str:
    return f": {count_of(count, 'number')} not filled in"
