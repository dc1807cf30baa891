"""The search for slips: those that explain numbers, one or two together, and those that would go unnoticed."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from attncli.analysis.slips.attempts import Attempt, own_attempt, same_slips, with_slip
from attncli.analysis.slips.limits import Rows, SearchLimits, all_parts, cell_count, part_of, part_rows
from attncli.analysis.slips.records import SLIPS, Slip
from attncli.base.errors import AttnError
from attncli.problem.spec import ProblemSpec

# Whether what is expected, or computed by us, agrees with an attempt; `rows` are the positions of its queries among
# those that are computed, None where it computes them all.
Judge = Callable[[Attempt, Rows], bool]
DEFAULT_LIMITS = SearchLimits()


@dataclass(frozen=True)
class SearchResult:
    """The attempts that were looked for, the simplest first, how many were made, and which were not and why."""

    explanations: tuple[Attempt, ...]
    tried_count: int
    pair_count: int = 0  # of those that were tried, how many are pairs of slips
    untried: tuple[str, ...] = ()


def explain(
    problem: ProblemSpec,
    accepts: Judge,
    limits: SearchLimits = DEFAULT_LIMITS,
    *,
    dtype: str | None = None,
    rows: Sequence[int] = (),
) -> SearchResult:
    """The slips that explain numbers: single ones or, where none does, pairs; the first variant of each.

    `accepts(attempt, rows)` says whether the numbers are those of an attempt. `dtype` is the type of the numbers, where
    the problem is computed in a wider one; `rows` are positions of queries whose numbers tell most, those that differ.
    A large problem is tried on some of its queries, and what explains those on all of them.
    """
    search = _Search(problem, accepts, limits, dtype, rows)
    found = search.first_of_each(search.singles())
    singles = search.tried_count
    if not found:
        found = search.first_of_each(search.pairs())
    return SearchResult(tuple(found), search.tried_count, search.tried_count - singles, tuple(search.untried))


def unnoticed(
    problem: ProblemSpec, agrees: Judge, limits: SearchLimits = DEFAULT_LIMITS, *, dtype: str | None = None
) -> SearchResult:
    """Every variant of every slip that can be made in a problem and changes no number of it that is compared.

    `agrees(attempt, rows)` says whether an attempt agrees with the right computation.
    """
    search = _Search(problem, agrees, limits, dtype, ())
    found = tuple(search.accepted(search.singles()))
    return SearchResult(found, search.tried_count, untried=tuple(search.untried))


class _Search:
    """One search: what was tried, and what was not."""

    def __init__(
        self, problem: ProblemSpec, accepts: Judge, limits: SearchLimits, dtype: str | None, telling: Sequence[int]
    ) -> None:
        self.problem, self.accepts, self.limits = problem, accepts, limits
        self.end = limits.clock() + limits.seconds
        self.dtype = dtype or problem.precision.name
        self.rows = part_rows(problem, limits, telling)
        self.own = own_attempt(part_of(problem, self.rows), self.dtype)
        self.own.compute_known_values()
        self.tried_count = 0
        self.untried: list[str] = []

    def singles(self) -> Iterator[Attempt]:
        """Each variant of each slip; those that need all queries on the whole problem, where it is small enough."""
        needs_whole = []
        for slip in SLIPS.values():
            if slip.needs_all_queries and self.own.problem.only is not None:
                needs_whole.append(slip)
            else:
                yield from self._made(self.own, slip)
        if not needs_whole:
            return
        whole = own_attempt(replace(self.problem, only=None), self.dtype)
        if self.problem.only is None and cell_count(self.problem) <= self.limits.whole_cells:
            for slip in needs_whole:
                yield from self._made(whole, slip)
            return
        names = [slip.name for slip in needs_whole if next(self._made(whole, slip), None) is not None]
        if names:
            self.untried.append(f"{', '.join(names)}: only some of the queries are computed, and they need all of them")

    def pairs(self) -> Iterator[Attempt]:
        """Each variant of two slips together; those that change the problem are made before those that change plans."""
        slips = sorted(SLIPS.values(), key=lambda slip: not slip.changes_problem)
        for at, slip in enumerate(slips):
            for first in self._made(self.own, slip):
                for second in slips[at + 1 :]:
                    yield from self._made(first, second)

    def first_of_each(self, attempts: Iterable[Attempt]) -> list[Attempt]:
        """The first accepted one of the attempts with the same slips."""
        first: dict[tuple[str, ...], Attempt] = {}
        for attempt in self.accepted(attempts):
            first.setdefault(attempt.slips, attempt)
        return list(first.values())

    def accepted(self, attempts: Iterable[Attempt]) -> Iterator[Attempt]:
        """The attempts that are accepted, as long as there is time."""
        for attempt in attempts:
            if self._time_is_over:
                self.untried.append(f"{' with '.join(attempt.slips)}, and those after it: there was no time left")
                return
            self.tried_count += 1
            try:
                if self._is_accepted(attempt):
                    yield attempt
            except AttnError as error:  # an operator of another package may refuse what a slip gives it
                self.untried.append(f"{' with '.join(attempt.slips)}: {error}")

    @property
    def _time_is_over(self) -> bool:
        return self.limits.clock() > self.end

    def _made(self, start: Attempt, slip: Slip) -> Iterator[Attempt]:
        """The variants of a slip in an attempt."""
        try:
            yield from with_slip(start, slip)
        except AttnError as error:  # an operator of another package may refuse what a slip gives it
            self.untried.append(f"{slip.name}: {error}")

    def _is_accepted(self, attempt: Attempt) -> bool:
        """Whether an attempt is accepted and, if it computes a part of the queries, also on all the others."""
        if self.rows is None or attempt.problem.only is None:
            return self.accepts(attempt, None)
        if not self.accepts(attempt, self.rows):
            return False
        for rows in all_parts(self.problem, self.limits):
            if self._time_is_over:
                remark = f"{' with '.join(attempt.slips)} was tried on queries up to {rows[0]}: there was no time left"
                self.untried.append(remark)
                return True
            if not self.accepts(same_slips(own_attempt(part_of(self.problem, rows), self.dtype), attempt), rows):
                return False
        return True
