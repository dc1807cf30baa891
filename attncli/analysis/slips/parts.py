"""Parts of a problem: some of its queries, one of its batch items, the heads of one key head."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from attncli.analysis.slips.limits import SearchLimits, all_rows, cell_count, part_of, some_rows
from attncli.base.axes import Letters
from attncli.base.dataclasses import dataclass
from attncli.base.lazy_numpy import Array, np
from attncli.ops.norms import is_over_all
from attncli.ops.records import Operator
from attncli.problem.array_axes import letters_of_field
from attncli.problem.spec import FIELDS, OPERATOR_FIELDS, ProblemSpec
from attncli.problem.validate.masks import table_letters

SEQUENCES = ("query", "key", "value", "past_key", "past_value", "residual", "embeddings", "query_embeddings")

POSITIONS = ("positions", "positions_of_queries")


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
        """The part of an array whose axes have these letters; an axis of length 1 stays, as it broadcasts."""
        for axis, letter in enumerate(letters):
            positions = self.positions(letter)
            if positions is not None and array.shape[axis] > 1:
                array = array.take(positions, axis)
        return array


ALL = Part()


@dataclass(frozen=True)
class Telling:
    """Where numbers tell most, as they differ: positions of queries, of a batch item and of a head."""

    rows: Sequence[int] = ()
    item: int = 0
    head: int = 0


NOTHING_TELLS = Telling()


def first_part(
    problem: ProblemSpec,
    limits: SearchLimits,
    telling: Telling = NOTHING_TELLS,
    *,
    all_queries: bool = False,
    all_heads: bool = False,
) -> Part:
    """The part of a large problem that slips are tried on: of one batch item and key head where it has such parts."""
    if cell_count(problem) <= limits.part_cells:
        return ALL
    per_group = problem.layout.heads // problem.layout.kv_heads
    item = telling.item if has_batch_parts(problem) else None
    group = telling.head // per_group if has_head_parts(problem) and not all_heads else None
    part = Part(None, item, group, per_group)
    if all_queries or not has_query_parts(problem):
        return part
    return replace(part, rows=some_rows(problem_part(problem, part), limits, telling.rows))


def all_parts(
    problem: ProblemSpec, limits: SearchLimits, *, all_queries: bool = False, all_heads: bool = False
) -> Iterator[Part]:
    """Parts that are the whole problem together; some may be larger than the limits where all queries are needed."""
    if cell_count(problem) <= limits.whole_cells:
        yield ALL
        return
    layout = problem.layout
    per_group = layout.heads // layout.kv_heads
    items = range(layout.batch or 1) if has_batch_parts(problem) else (None,)
    groups = range(layout.kv_heads) if has_head_parts(problem) and not all_heads else (None,)
    for item in items:
        for group in groups:
            part = Part(None, item, group, per_group)
            if all_queries or not has_query_parts(problem):
                yield part
            else:
                yield from (replace(part, rows=rows) for rows in all_rows(problem_part(problem, part), limits))


def has_batch_parts(problem: ProblemSpec) -> bool:
    """Whether one batch item of a problem is a problem."""
    return (problem.layout.batch or 1) > 1 and not _has_given_tables(problem) and not _reads_positions_of_all(problem)


def has_head_parts(problem: ProblemSpec) -> bool:
    """Whether one key head of a problem, with its query heads, is a problem whose results are a part of those of all.

    Not where heads are merged and projected, nor where an operator has numbers of its own for each head.
    """
    layout, operators = problem.layout, [getattr(problem, name) for name in OPERATOR_FIELDS]
    return (
        layout.has_input_head_axis
        and layout.kv_heads > 1
        and problem.w_o is None
        and problem.b_o is None
        and all(past is None or past.ndim == 4 for past in (problem.past_key, problem.past_value))
        and not _has_given_tables(problem)
        and not any(isinstance(operator, Operator) and _is_per_head(operator) for operator in operators)
    )


def has_query_parts(problem: ProblemSpec) -> bool:
    """Whether some queries of a problem have the results that they have among all: nothing is drawn for each query."""
    operators = (getattr(problem, name) for name in OPERATOR_FIELDS)
    derived = (x for operator in operators if isinstance(operator, Operator) for x in operator.record.derived.values())
    return not any({"n", "…"} & set(x.axes) for x in derived)


def problem_part(problem: ProblemSpec, part: Part) -> ProblemSpec:
    """The problem of a part; a part of batch items and of heads must be one that the problem has."""
    changed: dict[str, Any] = {}
    layout = problem.layout
    names = (*SEQUENCES, *POSITIONS, "mask", "bias", "sink", "key_lengths", "key_mask")
    own = {name: getattr(problem, name) for name in names}
    for name, array in own.items():
        if isinstance(array, np.ndarray) and (part.item, part.group) != (None, None):
            changed[name] = part.take(array, _letters(problem, name, array))
    if part.item is not None:
        layout = replace(layout, batch=1)
    if part.group is not None:
        layout = replace(layout, heads=part.heads_per_group, kv_heads=1)
        counts = {"heads": layout.heads, "kv_heads": 1}
        changed |= {name: count for name, count in counts.items() if getattr(problem, name) is not None}
    sizes = {"b": layout.batch or 1, "h": layout.heads, "g": layout.kv_heads}
    lengths = {letter: sizes.get(letter, length) for letter, length in problem.lengths.items()}
    return part_of(replace(problem, **changed, layout=layout, lengths=lengths), part.rows)


def _letters(problem: ProblemSpec, name: str, array: Array) -> Letters:
    """The letters of batch items and heads in an array of a problem; other axes are not taken apart, and have none."""
    count, layout = array.ndim, problem.layout
    if name in ("mask", "bias"):
        letters = table_letters(layout, count)
    elif name == "sink":
        letters = ("h",)
    elif name == "key_lengths" or (name == "key_mask" and count > 1):
        letters = ("b",)
    elif name == "key_mask":
        letters = ()
    elif name in POSITIONS:
        letters = letters_of_field(problem, FIELDS[name], array)
    else:
        heads = ("h",) if name in ("query", "query_embeddings") else ("g",)
        letters = (("b", *heads) if count == 4 else ("b",))[: count - 2]
    return tuple(letter if letter in ("b", "h", "g") else "" for letter in letters)


def _has_given_tables(problem: ProblemSpec) -> bool:
    """Whether scores or weights are given."""
    return problem.scores is not None or problem.weights is not None


def _reads_positions_of_all(problem: ProblemSpec) -> bool:
    """Whether something depends on the last position of all batch items, whose positions are given."""
    position = problem.position
    if position is None or all(getattr(problem, name) is None for name in POSITIONS):
        return False
    derived = [x for x in position.record.derived.values() if x.is_needed(position.parameters)]
    return any("position_count" in x.inputs(position.parameters) for x in derived)


def _is_per_head(operator: Operator) -> bool:
    """Whether an operator reads how many heads there are, or all of them, or has an array with an axis of heads."""
    record = operator.record
    letters = {name: record.parameter(name).letters for name in operator.arrays}
    leading = {name for name in letters if record.parameter(name).leading}  # an axis of others than heads
    has_axis = any(
        "h" in own or (operator.arrays[name].ndim > len(own) and name not in leading) for name, own in letters.items()
    )
    return has_axis or "heads" in record.arguments or is_over_all(operator)
