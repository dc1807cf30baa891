"""Limits of a search: its time, and the queries of a large problem that attempts are made on."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from attncli.base.dataclasses import dataclass
from attncli.plan.build import plan_of
from attncli.problem.spec import ProblemSpec

Rows = Sequence[int] | None
MIN_ROWS, MAX_ROWS = 4, 64


@dataclass(frozen=True)
class SearchLimits:
    """How long slips are tried, and how many scores an attempt may compute, of all heads and batch items together.

    A problem of more than `part_cells` scores is tried on a part: some of its queries and, where the heads are not
    merged and projected, one key head with its query heads of one batch item. A slip that needs all queries is tried
    where these have no more than `whole_cells` scores. What explains the part is confirmed on the whole, `whole_cells`
    scores at a time, for as long again. `clock` gives seconds.
    """

    seconds: float = 10.0
    part_cells: int = 2**16
    whole_cells: int = 2**22
    clock: Callable[[], float] = time.monotonic


def cell_count(problem: ProblemSpec) -> int:
    """How many weights a problem has."""
    return math.prod(plan_of(problem)["weights"].shape)


def query_count(problem: ProblemSpec) -> int:
    """How many queries are computed."""
    return plan_of(problem)["weights"].shape[-2]


def some_rows(problem: ProblemSpec, limits: SearchLimits, telling: Sequence[int] = ()) -> Rows:
    """The positions of some queries among those that are computed: the first, the last, others spread between them.

    None where the problem is small enough for all. Some of the queries in `telling` are among them.
    """
    cells, queries = cell_count(problem), query_count(problem)
    count = max(MIN_ROWS, min(MAX_ROWS, limits.part_cells * queries // cells))
    if cells <= limits.part_cells or queries <= count:
        return None
    own = _spread(telling, count // 2)
    return sorted({*own, *_spread(range(queries), count - len(own))})


def all_rows(problem: ProblemSpec, limits: SearchLimits) -> Iterator[Sequence[int]]:
    """The positions of all queries that are computed, so many at a time that they have about `whole_cells` scores."""
    queries = query_count(problem)
    count = max(limits.whole_cells * queries // cell_count(problem), 1)
    for first in range(0, queries, count):
        yield range(first, min(first + count, queries))


def part_of(problem: ProblemSpec, rows: Rows) -> ProblemSpec:
    """The problem with some of its queries, by their positions among those that are computed; None for all."""
    if rows is None:
        return problem
    selected = problem.selected_queries
    positions = rows if selected is None else [selected[row] for row in rows]
    # Without labels of the user's own a position is never taken for a label.
    return replace(problem, tokens=None, query_tokens=None, only=tuple(map(str, positions)))


def _spread(items: Sequence[int], count: int) -> list[int]:
    """So many of the items at most, the first and the last with them, the others at equal distances."""
    if len(items) <= count:
        return list(items)
    return [items[round(step * (len(items) - 1) / max(count - 1, 1))] for step in range(count)]
