"""The grades of a class as CSV: of each file how many numbers are right, which is the first that is not, and why."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import PurePath

from attncli.base.lazy_numpy import np
from attncli.base.text import count_of, delimited_rows, one_line, without_formula
from attncli.checks.document import explained_by
from attncli.checks.report import CheckOutcome

HEADER = ("name", "right", "of", "first_wrong", "explained_by")


def grades_csv(outcomes: Iterable[CheckOutcome]) -> str:
    """The file: a row for each file; a number that is not filled in counts, and is not right.

    Of one that can't be checked there is the reason in place of the first wrong number, and no count. Text that a
    spreadsheet takes for a formula, such as a student's name of a file, has an apostrophe before it.
    """
    rows = [[without_formula(cell) if isinstance(cell, str) else cell for cell in row] for row in _rows(outcomes)]
    return delimited_rows([HEADER, *rows])


def _rows(outcomes: Iterable[CheckOutcome]) -> Iterator[Sequence[object]]:
    """The row of each file, with all its parts together."""
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
    """The first number that is not right, `weights[word_1,word_3]`; of what is not filled in how much of a result."""
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
    """The first wrong number, and how many numbers were left blank where it does not say so of all of them."""
    return f"{first}; {blank} blank" if blank and not first.endswith(_not_filled_in(blank)) else first


def _not_filled_in(count: int) -> str:
    return f": {count_of(count, 'number')} not filled in"
