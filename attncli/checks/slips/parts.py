"""Parts of a large problem to try slips on: some queries, one batch item, the heads of one key head."""

import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from attncli.base.axes import Letters
from attncli.base.lazy_numpy import Array, np
from attncli.ops.norms import is_over_all
from attncli.ops.records import Operator
from attncli.plan.build import plan_of
from attncli.problem.labels import letters_of_field
from attncli.problem.spec import FIELDS, OPERATOR_FIELDS, ProblemSpec

MIN_ROWS, MAX_ROWS = 4, 64


@dataclass(frozen=True)
class SearchLimits:
    """How long slips are tried, and how many scores an attempt may compute, over all heads and batch items.

    A problem of more than `part_cells` scores is tried on a part: some of its queries and, unless the heads are merged
    and projected, one key head with its query heads of one batch item; on `fit_cells` while fitting a number. A slip
    that needs all queries is tried if they have at most `whole_cells` scores. An explanation of the part is confirmed
    on the whole, `whole_cells` scores at a time, for as long again. `clock` returns seconds.
    """

    seconds: float = 10.0
    part_cells: int = 2**16
    fit_cells: int = 2**12
    whole_cells: int = 2**22
    clock: Callable[[], float] = time.process_time  # so that other programs do not change what is tried


@dataclass(frozen=True)
class Part:
    """Positions among the computed queries, one batch item, and one key head with its query heads; None for all."""

    rows: Sequence[int] | None = None
    item: int | None = None
    group: int | None = None
    heads_per_group: int = 1

    def positions(self, letter: str) -> Sequence[int] | None:
        """The positions along an axis by its letter; None for all."""
        if letter == "n":
            return self.rows
        if letter == "b":
            return None if self.item is None else (self.item,)
        if letter == "g" or self.group is None:
            return None if self.group is None else (self.group,)
        first = self.group * self.heads_per_group
        return range(first, first + self.heads_per_group) if letter == "h" else None

    def take(self, array: Array, letters: Letters) -> Array:
        """The part of an array with axes of these letters; an axis of length 1 stays, as it broadcasts."""
        for axis, letter in enumerate(letters):
            positions = self.positions(letter)
            if positions is not None and array.shape[axis] > 1:
                array = array.take(positions, axis)
        return array


ALL = Part()


@dataclass(frozen=True)
class Priority:
    """Positions of queries, a batch item and a head to try first, because their numbers differ."""

    rows: Sequence[int] = ()
    item: int = 0
    head: int = 0


NO_PRIORITY = Priority()


def cell_count(problem: ProblemSpec) -> int:
    """How many weights a problem has, or numbers in its queries if a recurrence replaces weights."""
    if problem.recurrence is None:
        return plan_of(problem).score_count
    layout, lengths = problem.leading, problem.lengths
    return (layout.batch or 1) * layout.heads * lengths["n"] * lengths["d"]


def first_part(
    problem: ProblemSpec,
    limits: SearchLimits,
    priority: Priority = NO_PRIORITY,
    needs_all: Collection[str] = (),
) -> Part:
    """The part of a large problem to try slips on: one batch item and key head, if it has such parts.

    It has all positions on the axes of these letters.
    """
    if cell_count(problem) <= limits.part_cells:
        return ALL
    per_group = problem.leading.heads // problem.leading.kv_heads
    item = priority.item if has_batch_parts(problem) and "b" not in needs_all else None
    group = priority.head // per_group if has_head_parts(problem) and "h" not in needs_all else None
    part = Part(None, item, group, per_group)
    if "n" in needs_all or not _has_query_parts(problem):
        return part
    return replace(part, rows=_some_rows(problem_part(problem, part), limits, priority.rows))


def all_parts(problem: ProblemSpec, limits: SearchLimits, needs_all: Collection[str] = ()) -> Iterator[Part]:
    """Parts that together are the whole problem; some may exceed the limits if all queries are needed."""
    if cell_count(problem) <= limits.whole_cells:
        yield ALL
        return
    layout = problem.leading
    groups = range(layout.kv_heads) if has_head_parts(problem) and "h" not in needs_all else (None,)
    for item in range(layout.batch or 1) if has_batch_parts(problem) and "b" not in needs_all else (None,):
        for group in groups:
            part = Part(None, item, group, layout.heads // layout.kv_heads)
            if "n" in needs_all or not _has_query_parts(problem):
                yield part
                continue
            own = problem_part(problem, part)
            queries = _query_count(own)
            count = max(limits.whole_cells * queries // cell_count(own), 1)
            for first in range(0, queries, count):
                yield replace(part, rows=range(first, min(first + count, queries)))


def _query_count(problem: ProblemSpec) -> int:
    return plan_of(problem).pair_axes[-2].length


def _some_rows(problem: ProblemSpec, limits: SearchLimits, first: Sequence[int]) -> Sequence[int] | None:
    """The positions of some computed queries: the first, the last, others spread between, and some of `first`.

    None if the problem is small enough for all.
    """
    cells, queries = cell_count(problem), _query_count(problem)
    count = max(MIN_ROWS, min(MAX_ROWS, limits.part_cells * queries // cells))
    if cells <= limits.part_cells or queries <= count:
        return None
    own = _spread(first, count // 2)
    return sorted({*own, *_spread(range(queries), count - len(own))})


def _spread(items: Sequence[int], count: int) -> list[int]:
    """At most so many of the items, including the first and the last, at equal distances."""
    if len(items) <= count:
        return list(items)
    return [items[round(step * (len(items) - 1) / max(count - 1, 1))] for step in range(count)]


def has_batch_parts(problem: ProblemSpec) -> bool:
    """Whether one batch item of a problem is itself a problem."""
    return (problem.leading.batch or 1) > 1 and not _has_given_tables(problem) and not _reads_positions_of_all(problem)


def has_head_parts(problem: ProblemSpec) -> bool:
    """Whether one key head of a problem, with its query heads, gives the same results alone.

    Not if heads are merged and projected, nor if an operator has its own numbers for each head.
    """
    layout = problem.leading
    return (
        layout.has_input_head_axis
        and layout.kv_heads > 1
        and problem.w_o is None
        and problem.b_o is None
        and all(past is None or past.ndim == 4 for past in (problem.past_key, problem.past_value))
        and not _has_given_tables(problem)
        and problem.difference is None  # heads are pairs
        and not any(map(_is_per_head, _operators(problem)))
    )


def _has_query_parts(problem: ProblemSpec) -> bool:
    """Whether some queries of a problem give the same results alone.

    Something may be drawn for each query; a recurrence reads all earlier tokens.
    """
    if problem.recurrence is not None:
        return False
    derived = (x for operator in _operators(problem) for x in operator.record.derived.values())
    return not any({"n", "…"} & set(x.axes) for x in derived)


def _operators(problem: ProblemSpec) -> list[Operator]:
    return [value for name in OPERATOR_FIELDS if isinstance(value := getattr(problem, name), Operator)]


def problem_part(problem: ProblemSpec, part: Part) -> ProblemSpec:
    """The problem of a part; a part of batch items and of heads must exist in the problem."""
    if part.item is None and part.group is None:
        return part_of(problem, part.rows)
    changed: dict[str, Any] = {}
    of_heads = replace(part, rows=None)
    for name, field in FIELDS.items():
        array = getattr(problem, name)
        if isinstance(array, np.ndarray):
            changed[name] = of_heads.take(array, letters_of_field(problem, field, array))
    layout = problem.leading
    if part.item is not None:
        layout = replace(layout, batch=1)
    if part.group is not None:
        layout = replace(layout, heads=part.heads_per_group, kv_heads=1)
        counts = {"heads": layout.heads, "kv_heads": 1}
        changed |= {name: count for name, count in counts.items() if getattr(problem, name) is not None}
    sizes = {"b": layout.batch or 1, "h": layout.heads, "g": layout.kv_heads}
    lengths = {letter: sizes.get(letter, length) for letter, length in problem.lengths.items()}
    return part_of(replace(problem, **changed, leading=layout, lengths=lengths), part.rows)


def part_of(problem: ProblemSpec, rows: Sequence[int] | None) -> ProblemSpec:
    """The problem with some of its queries, by their positions among the computed ones; None for all."""
    if rows is None:
        return problem
    selected = problem.selected_queries
    positions = rows if selected is None else [selected[row] for row in rows]
    gradient = problem.grad_output
    if gradient is not None and gradient.shape[-2] > 1:  # it has only the computed queries
        gradient = gradient.take(rows, -2)
    # Without the user's own labels a position is never mistaken for a label.
    only = tuple(map(str, positions))
    return replace(problem, tokens=None, query_tokens=None, only=only, grad_output=gradient)


def _has_given_tables(problem: ProblemSpec) -> bool:
    return problem.scores is not None or problem.weights is not None


def _reads_positions_of_all(problem: ProblemSpec) -> bool:
    """Whether the last position of all batch items matters, and positions are given."""
    position = problem.position
    if position is None or (problem.positions is None and problem.positions_of_queries is None):
        return False
    derived = [x for x in position.record.derived.values() if x.is_needed(position.parameters)]
    return any("position_count" in x.inputs(position.parameters) for x in derived)


def _is_per_head(operator: Operator) -> bool:
    """Whether an operator reads the number of heads, or all heads, or has an array with a head axis."""
    record = operator.record
    parameters = {name: record.parameter(name) for name in operator.arrays}
    has_axis = any(
        "h" in parameter.letters
        or (operator.arrays[name].ndim > len(parameter.letters) and "s" not in parameter.leading)  # an axis of heads
        for name, parameter in parameters.items()
    )
    return has_axis or "heads" in record.arguments or is_over_all(operator)
