"""The slips of a check: those that explain the numbers that differ, and those that would go unnoticed."""

from collections.abc import Iterable, Sequence

from attncli.analysis.check.comparison import Comparison
from attncli.analysis.check.judge import Judge
from attncli.analysis.check.report import Explanation, QuantityCheck
from attncli.analysis.check.rounding import FLOAT64, in_type
from attncli.analysis.slips import Attempt, SearchLimits, SearchResult, Telling, explain, unnoticed
from attncli.base.dtypes import Precision, coarsest
from attncli.base.lazy_numpy import np
from attncli.problem.spec import ProblemSpec


def find_explanations(comparison: Comparison, results: Sequence[QuantityCheck]) -> SearchResult:
    """The slips with which a computation gives the expected numbers, the simplest first."""
    judge = Judge(comparison)
    return explain(
        _exact_problem(comparison),
        judge.accepts,
        _limits(comparison),
        dtype=_dtype(comparison),
        telling=_telling(comparison, results),
    )


def find_unnoticed(comparison: Comparison) -> SearchResult:
    """The slips with which a computation gives our numbers within the tolerance: these inputs can't tell them."""
    judge = Judge(comparison)
    problem = _exact_problem(comparison)
    return unnoticed(problem, judge.agrees_with_ours, _limits(comparison), dtype=_dtype(comparison))


def explanations(attempts: Iterable[Attempt]) -> tuple[Explanation, ...]:
    """What a report says of attempts."""
    return tuple(Explanation(attempt.slips, attempt.sentence) for attempt in attempts)


def _exact_problem(comparison: Comparison) -> ProblemSpec:
    """The problem of the reference, in float64 where that is wider than its own type."""
    problem = comparison.reference.trace.problem
    is_extended = Precision(comparison.problem.precision.name).epsilon < Precision(FLOAT64).epsilon
    return problem if is_extended else in_type(problem, FLOAT64)


def _limits(comparison: Comparison) -> SearchLimits:
    """The limits of a search that the options set."""
    return SearchLimits(seconds=comparison.options.seconds)


def _dtype(comparison: Comparison) -> str:
    """The type of the numbers that are checked."""
    return coarsest(map(comparison.dtype_of, comparison.quantities))


def _telling(comparison: Comparison, results: Sequence[QuantityCheck]) -> Telling:
    """The queries whose numbers differ, and the batch item and head of the worst, in the first quantity with any."""
    plan = comparison.trace.plan
    for result in results:
        letters = plan[result.name].letters
        if result.worst is not None and "n" in letters:
            place = dict(zip(letters, result.worst.position, strict=True))
            others = tuple(axis for axis, letter in enumerate(letters) if letter != "n")
            rows: list[int] = np.flatnonzero(result.differs.any(axis=others)).tolist()
            return Telling(rows, place.get("b", 0), place.get("h", 0))
    return Telling()
