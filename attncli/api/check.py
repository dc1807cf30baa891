"""A check from Python: `check(problem, against={…})`, and the report that it returns."""

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

from attncli.api.arguments import ProblemKeys
from attncli.api.problem import Problem, problem_of
from attncli.api.shown import document_html, document_text
from attncli.base.errors import AttnError
from attncli.base.text import repr_excerpt
from attncli.checks.check import check as check_problem
from attncli.checks.check import check_expected
from attncli.checks.document import check_document, check_tables, verdict
from attncli.checks.report import CheckOptions, CheckReport, Explanation, PartExplanation, QuantityCheck
from attncli.engine.options import RunOptions
from attncli.io.entries import own_name
from attncli.io.expected import Expected
from attncli.problem.numbers import to_integer, to_number_from

__all__ = ["Report", "check"]


class Report:
    """The findings of a check, as `check` returns them; `print(report)` and a notebook show the report of `attn check`.

    A report is true if all numbers agree, so that `assert check(…)` works; `raise_for_difference` also gives the
    reason.

    >>> import attncli
    >>> scores = {"scores": [[1.7, 0.2, 0.8]], "weights": [[0.5898, 0.1316, 0.2786]]}
    >>> problem = attncli.Problem(query=[[1.7, 0.2, 0.8]], key=[[1, 0, 0], [0, 1, 0], [0, 0, 1]], score="dot")
    >>> report = attncli.check(problem, against=scores)
    >>> report
    Report(3 of 6 numbers differ; the first step that differs is weights...)
    >>> report.first_difference, [result.differ for result in report.results]
    ('weights', [0, 3])
    """

    def __init__(self, data: CheckReport) -> None:
        self._data = data

    @property
    def agrees(self) -> bool:
        """Whether no number differs."""
        return self._data.agrees

    @property
    def results(self) -> Sequence[QuantityCheck]:
        """The findings on each quantity, in the order of the computation.

        Each has a `name`, `count` and `differ` (how many numbers are expected, how many of them differ), `digits`,
        `tolerance` and `tolerance_reason`, the largest errors `max_abs`, `max_rel` and `max_ulp`, `correlation` and
        `cosine`, the `worst` cell (its `position`, `labels`, `expected` and `computed`), and the arrays `expected`,
        `computed` and `differs`.
        """
        return self._data.results

    @property
    def first_difference(self) -> str | None:
        """The name of the first step that differs, in the order of the computation; None if all agree."""
        return self._data.first_difference

    @property
    def explained_by(self) -> Sequence[Explanation]:
        """The slips that explain the numbers, the simplest first: each has `slips`, their names, and a `sentence`.

        `parameters` are the fitted numbers, or the maps of heads: `{"factor": 1.4142}`.
        """
        return self._data.explanations

    @property
    def explained_in_part(self) -> Sequence[PartExplanation]:
        """The slips that explain the numbers of some batch items, heads or queries, if none explains all of them.

        Each has the `name` of a result, the `part` of one of its axes (its `positions` along `axis`), an `explanation`,
        and `others_agree`, whether all other numbers are right.
        """
        return self._data.parts

    @property
    def unnoticed(self) -> Sequence[Explanation] | None:
        """The slips that these inputs can't distinguish from the right computation; None without `slips=True`."""
        return self._data.unnoticed

    def raise_for_difference(self) -> None:
        """Raise AssertionError, whose message is the report, if a number differs; do nothing otherwise."""
        __tracebackhide__ = True  # pytest shows the line of the test
        if not self.agrees:
            explanation = document_text(check_document(self._data, has_verdict=False))
            raise AssertionError(f"{verdict(self._data)}.\n{explanation}")  # pytest's summary has the first line

    def __bool__(self) -> bool:
        return self.agrees

    def __str__(self) -> str:
        return document_text(check_document(self._data))

    def __repr__(self) -> str:
        return f"Report({verdict(self._data)})"

    def _repr_html_(self) -> str:
        return document_html(check_tables(self._data))


def check(
    problem: Problem | None = None,
    *,
    against: Mapping[str, Any] | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    ulp: float | None = None,
    reference: bool = False,
    slips: bool = False,
    head: int | None = None,
    batch: int | None = None,
    executor: str = "threads",
    convention: str | None = None,
    **keys: Unpack[ProblemKeys],
) -> Report:
    """Compare numbers of another attention with the reference: where they first differ, and what explains it.

    The problem is a `Problem`, or its keys as keywords: `query=q, key=k, causal=True`. `against` maps names of results
    or steps (`output`, `weights`, `scores` …) to the expected numbers: an array, a tensor (also on a GPU, or with
    gradients), nested lists, or mappings from labels to numbers if only some are expected. [n e] and [1 h n e], [b n
    h·e] and [b h n e] are the same numbers; `dq`, `dk` and `dv` are `grad_query`, `grad_key` and `grad_value`, for
    `grad_output` of the problem or ones. Without `against` they come from the key `expected` in the file that the
    problem was loaded from.

    The tolerance is twice the error of the same formula computed step by step in the type of the numbers, at least four
    units in the last place of the largest number of the row; for numbers in Python lists it is half a unit of their
    last digit. Instead, numbers may differ by `atol + rtol · |expected|`, or by `ulp` units in the last place of their
    type. With `reference` the reference has more digits than float64.

    With `slips` the report names the mistakes that would go unnoticed on these inputs at this tolerance; `against` is
    then optional. `head` and `batch` choose the one head and batch item to check. `executor` and `convention` work as
    in `attention`.

    Raises AttnError if there is no result of a name, numbers do not fit it, or a key or a tolerance is wrong.

    Source of the rule for the tolerance: Dao 2023 (FlashAttention-2), in the tests of its code.

    >>> query, key = [[2, 0]], [[1, 0], [0, 1]]
    >>> check(query=query, key=key, score="dot", against={"weights": [[0.8808, 0.1192]]}).raise_for_difference()
    >>> check(query=query, key=key, score="dot", against={"weights": [[0.8808, 0.1129]]}).agrees
    False
    """
    problem = problem_of(problem, keys, convention)
    if against is not None:
        _check_names(against)
    options = CheckOptions(
        rtol=_tolerance(rtol, "rtol"),
        atol=_tolerance(atol, "atol"),
        ulp=_tolerance(ulp, "ulp"),
        many_digits=reference,
        head=None if head is None else to_integer(head, ("head",), 0),
        batch=None if batch is None else to_integer(batch, ("batch",), 0),
        finds_unnoticed=slips,
        run=RunOptions(executor),
    )
    if against is None:
        return Report(check_expected(problem.spec, _expected(problem, is_needed=not slips), options, ""))
    try:
        expected = {own_name(name): numbers for name, numbers in against.items()}
        return Report(check_problem(problem.spec, expected, options))
    except AttnError as error:
        if error.path[:1] == ("expected",):
            error.path = ("against", *error.path[1:])
        raise


def _check_names(against: object) -> None:
    """Raise AttnError unless expected numbers are given by names of results."""
    if not isinstance(against, Mapping) or not against:
        hint = "give the expected numbers by the names of results: against={'output': …}"
        raise AttnError(f"{repr_excerpt(against)} has no names", where="against", hint=hint)
    for name in against:
        if not isinstance(name, str):
            raise AttnError(f"{repr_excerpt(name)} is not the name of a result", where="against")


def _tolerance(value: float | None, name: str) -> float | None:
    """A tolerance as a number from 0; None if it is absent. Raises AttnError for any other value."""
    return None if value is None else to_number_from(value, (name,), 0)


def _expected(problem: Problem, *, is_needed: bool) -> Expected:
    """The expected numbers in a problem's file; raises AttnError if there are none and they are needed."""
    expected = problem.expected
    if is_needed and not expected.by_name:
        hint = "give the expected numbers by the names of results: against={'output': …}, or load a file with expected"
        raise AttnError("no expected numbers", where="against", hint=hint)
    return expected
