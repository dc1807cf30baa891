"""Blocks: ranges of batch items, heads and queries, the part of a plan that they evaluate, and of each array."""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from attncli.base.axes import Letters
from attncli.base.dtypes import Precision, to_single
from attncli.base.lazy_numpy import Array, np
from attncli.ops.differences import take_heads
from attncli.ops.elementwise import fill_empty_rows
from attncli.ops.masks import apply_mask
from attncli.ops.records import KeyBounds, OperatorRecord, StructuralRecord
from attncli.ops.registry import record_of
from attncli.ops.structural import repeat_kv
from attncli.plan.build import MAX_PLANS
from attncli.plan.graph import Node, Plan
from attncli.problem.fields import LSE, WEIGHTS

ALL = slice(None)
FEW_ROWS = 8  # blocks of fewer have as many heads as one of so many: reading the keys takes most of their time
MIN_BLOCKS = 2  # so that there is work for two workers
FEW_BLOCKS = 8  # of fewer, one that is left over takes much of the time
Values = dict[str, Array]


@dataclass(frozen=True)
class Lengths:
    """How many batch items, query heads, key heads, queries and keys there are."""

    items: int
    heads: int
    kv_heads: int
    queries: int
    keys: int


@dataclass(frozen=True)
class Block:
    """A range of batch items, of query heads and of queries."""

    items: slice
    heads: slice
    queries: slice

    def index(self, axes: Letters) -> tuple[slice, ...]:
        """The index of the block in an array with these axes."""
        along = {"b": self.items, "h": self.heads, "n": self.queries}
        return tuple(along.get(letter, ALL) for letter in axes)


@dataclass(frozen=True)
class BlockInput:
    """An array that the nodes of a block read, with the letters of its axes.

    A lookup table is read by the indices of queries and keys: its rows and columns stay whole. What `is_shared` is not
    repeated for the query heads that share a key head.
    """

    name: str
    value: Array
    axes: Letters
    is_lookup: bool = False
    is_shared: bool = False

    @property
    def has_query_axis(self) -> bool:
        """Whether the array has a query axis, and is sliced per block."""
        return "n" in self.axes and not self.is_lookup

    def astype(self, dtype: str) -> "BlockInput":
        """The same with floating-point numbers in another type."""
        value = astype_float(self.value, dtype)
        return self if value is self.value else replace(self, value=value)

    def slice_block(self, block: Block, groups: int) -> Array:
        """The part that belongs to a block.

        `groups` query heads share a key head; its keys are repeated for each of them, unless they are shared.
        """
        along = {"b": block.items, "h": block.heads, "n": block.queries}
        if "g" in self.axes:
            along["g"] = slice(block.heads.start // groups, (block.heads.stop - 1) // groups + 1)
        if self.is_lookup:
            del along["n"]
        index = [
            along.get(letter, ALL) if size > 1 else ALL
            for letter, size in zip(self.axes, self.value.shape, strict=True)
        ]
        part: Array = self.value[tuple(index)]
        several = not self.is_shared and "g" in self.axes and part.shape[self.axes.index("g")] > 1
        return repeat_kv(part, heads=block.heads.stop - block.heads.start) if several else part

    @property
    def index_before_keys(self) -> tuple[Any, ...] | None:
        """Full slices, one for each axis before the keys; None where no axis of keys is sliced."""
        return (ALL,) * self.axes.index("m") if "m" in self.axes and not self.is_lookup else None


def astype_float(x: Array, dtype: str) -> Array:
    """Floating-point numbers in another type; anything else as it is."""
    if x.dtype == np.float16 and dtype == "float32":
        return to_single(x)
    return x.astype(dtype, copy=False) if x.dtype.kind == "f" else x


def heads_that_fit(lengths: Lengths, most: int) -> int:
    """The number of query heads of a block, at most `most` if possible: of one key head, or of several whole ones."""
    groups = lengths.heads // lengths.kv_heads
    return max(
        (
            count
            for count in range(1, min(most, lengths.heads) + 1)
            if lengths.heads % count == 0 and (groups % count == 0 or count % groups == 0)
        ),
        default=1,
    )


def heads_of_items_that_fit(lengths: Lengths, most: int) -> int:
    """The number of query heads of a block, at most `most` if possible, those of all its batch items together."""
    heads = heads_that_fit(lengths, most)
    return heads * _items_that_fit(lengths, heads, most)


def _items_that_fit(lengths: Lengths, heads: int, most: int) -> int:
    """The number of batch items of a block of so many query heads: with theirs it has `most` at most, if possible."""
    return max(min(most // heads, lengths.items), 1) if heads == lengths.heads else 1


def _heads_at_once(lengths: Lengths, most: int, in_queries: int, min_blocks: int) -> int:
    """The number of query heads of a block, at most `most` if possible; fewer where that shares few blocks evenly.

    Each head has `in_queries` blocks; they are shared evenly where their number is a multiple of `min_blocks`. Heads
    that share keys stay together where there are few queries.
    """
    fitting = heads = heads_that_fit(lengths, most)
    fewest = lengths.heads // lengths.kv_heads if lengths.queries < FEW_ROWS else 1
    while fewest < heads < lengths.heads:
        blocks = lengths.items * in_queries * lengths.heads // heads
        if blocks >= FEW_BLOCKS or blocks % min_blocks == 0:
            return heads
        heads = heads_that_fit(lengths, heads - 1)
    return fitting


def _even_parts(count: int, most: int, multiple: int) -> Iterator[slice]:
    """Nearly equal parts of an axis, at most `most` long; their number is a multiple of `multiple` if that can be."""
    parts = min(multiple * -(-count // (multiple * most)), count)
    ends = [-(-count * number // parts) for number in range(parts + 1)]
    yield from map(slice, ends, ends[1:])


def make_blocks(
    lengths: Lengths, rows: int, keys: int, cells: int, *, all_heads: bool = False, min_blocks: int = MIN_BLOCKS
) -> Iterator[Block]:
    """All blocks of at most `rows` queries, which with `keys` keys have about `cells` cells, the last queries first.

    A block has as many heads as fit, those of one key head or of several whole ones; then batch items; but of several
    of these there are at least `min_blocks` blocks. Those of few queries have all query heads of a key head, if these
    fit: each block reads the keys anew. With causal masks the last queries have most keys: the blocks that take longest
    are first. With `all_heads` every block has all heads, and fewer queries instead.
    """
    rows = min(rows, lengths.queries)
    if all_heads:
        rows = max(min(rows, cells // (keys * lengths.heads)), 1)
    in_queries = -(-lengths.queries // rows)
    single_head_blocks = lengths.items * lengths.heads * in_queries
    most = max(cells // (max(rows, FEW_ROWS) * keys), min(lengths.heads // lengths.kv_heads, cells // (rows * keys)))
    most = max(min(most, single_head_blocks // min_blocks), 1)  # heads of all items
    heads = lengths.heads if all_heads else _heads_at_once(lengths, most, in_queries, min_blocks)
    items = _items_that_fit(lengths, heads, most)
    # So that each worker has as many blocks, and all of them as many items.
    for some_items in _even_parts(lengths.items, items, min_blocks // math.gcd(min_blocks, in_queries)):
        for head in range(0, lengths.heads, heads):
            for row in reversed(range(0, lengths.queries, rows)):
                yield Block(
                    some_items,
                    slice(head, head + heads),
                    slice(row, min(row + rows, lengths.queries)),
                )


@dataclass(frozen=True)
class PlanParts:
    """The nodes of a plan that are evaluated before the blocks, in blocks, and after them, each in order.

    Nodes of blocks have an axis of queries and one of keys, or depend on such nodes, up to the context. Inner
    quantities belong to the node whose function computes them. Where no selected node needs the context there is
    nothing after blocks, and where none is of blocks there are no blocks. The `sources` of repeated arrays are what
    they repeat: they are repeated for query heads block by block.
    """

    before: Sequence[Node]
    in_blocks: Sequence[Node]
    after: Sequence[Node]
    last: Node  # at which blocks end
    kept: Sequence[Node]  # of those in blocks: the selected ones, and the context where any of them needs it
    score_nodes: Sequence[Node]  # of those in blocks, without inner quantities: up to the scores
    context_nodes: Sequence[Node]  # and after them
    scores: str
    sources: Mapping[str, Node]  # by the name that nodes in blocks read: the node whose array it is

    @cached_property
    def numbers_per_pair(self) -> int:
        """How many numbers the largest table in blocks has for each pair of a query and a key."""
        tables = (node for node in self.in_blocks if {"n", "m"} <= set(node.letters))
        return max((math.prod(node.shape[node.letters.index("m") + 1 :]) for node in tables), default=1)


def last_of_blocks(plan: Plan, select: Collection[str]) -> str:
    """The name of the node at which blocks end: the context, or where no node in `select` needs it, the last table.

    That is the last node that makes one of the tables in `select`; without any, the weights. Of the log-sum-exp alone
    it is the context, with which tiles have it.
    """
    computing = _computing_nodes(plan, select)
    context = plan.results.get("context", "")
    if context in plan.needed_for(node.name for node in computing):
        return context
    tables = [node.name for node in computing if node.is_pair_table and not node.is_input]
    if not tables and context and any(node.name == LSE for node in computing):
        return context
    return tables[-1] if tables else plan["weights"].name


def _computing_nodes(plan: Plan, select: Collection[str]) -> Sequence[Node]:
    """The nodes whose functions compute those in `select`, in order: of an inner quantity that of its operator."""
    return [plan.by_name[node.tapped_from or node.name] for node in plan.nodes if node.name in select]


# Parts by the plan itself, not by what it equals: an option of −0 equals one of 0, but leads to other results.
_PARTS: dict[tuple[int, tuple[str, ...]], tuple[Plan, PlanParts]] = {}


def split_plan(plan: Plan, select: tuple[str, ...]) -> PlanParts:
    """The parts of a plan; of the repeated keys and values only those in `select` are computed whole, before blocks."""
    known = _PARTS.get((id(plan), select))
    if known is None:
        if len(_PARTS) >= MAX_PLANS:
            _PARTS.clear()
        known = _PARTS[id(plan), select] = plan, _split(plan, select)  # with the plan, so that no other gets its id
    return known[1]


def _split(plan: Plan, select: tuple[str, ...]) -> PlanParts:
    """The parts of a plan."""
    context, last = plan.results.get("context", ""), plan.by_name[last_of_blocks(plan, select)]
    block_names, after_names, weights = set[str](), set[str](), plan["weights"]
    for node in plan.nodes:
        sources = set(node.inputs.values())
        if node.is_input or node.tapped_from is not None:
            continue
        if context in sources or sources & after_names:
            after_names.add(node.name)
        elif (
            node.is_pair_table
            or sources & block_names
            or node.name == context  # where the weights are given it reads no other node of blocks
        ):
            block_names.add(node.name)
    block_names |= {node.name for node in plan.nodes if node.tapped_from in block_names}
    repeats = {  # block by block
        node.name: node.inputs["x"]
        for node in plan.nodes
        if node.function is repeat_kv
        and node.name not in select
        and node.name not in block_names
        and node.axis("h") == weights.axis("h")  # others, of pairs of heads, are repeated whole
    }
    needs_context = last.name == context
    needed = plan.needed_for([*(node.name for node in _computing_nodes(plan, select)), last.name])
    in_blocks = {n.name: n for n in plan.nodes if n.name in block_names and n.name in needed}
    computed = [node for node in in_blocks.values() if node.tapped_from is None]
    read = dict.fromkeys(source for node in computed for source in node.inputs.values())
    scores = plan.results.get("masked_scores", "")
    end = next((at for at, node in enumerate(computed, 1) if node.name == scores), 0)  # 0 where the scores are given
    return PlanParts(
        before=[
            n for n in plan.nodes if n.name not in block_names and n.name not in after_names and n.name not in repeats
        ],
        in_blocks=list(in_blocks.values()),
        after=[n for n in plan.nodes if n.name in after_names] if needs_context else [],
        last=last,
        kept=[in_blocks[x] for x in dict.fromkeys((*select, context) if needs_context else select) if x in in_blocks],
        score_nodes=computed[:end],
        context_nodes=computed[end:],
        scores=scores,
        sources={name: plan.by_name[repeats.get(name, name)] for name in read if name not in block_names},
    )


@dataclass(frozen=True)
class BlockPlan:
    """The nodes from queries and keys to scores, those from scores to the context, and the arrays that they read.

    `score_nodes` end with the node of the name `scores`, which the normalizer (or the sink before it) reads; there are
    none where the normalizer reads given scores, or weights are given.
    """

    inputs: Mapping[str, BlockInput]
    score_nodes: Sequence[Node]
    context_nodes: Sequence[Node]
    scores: str
    lengths: Lengths
    precision: Precision

    @property
    def groups(self) -> int:
        """How many query heads share a key head."""
        return self.lengths.heads // self.lengths.kv_heads

    @property
    def nodes(self) -> Sequence[Node]:
        """Every computed node, in order."""
        return (*self.score_nodes, *self.context_nodes)

    @property
    def fill(self) -> Node | None:
        """The node that fills the weights of queries that see no key; None where those are 0."""
        return next((node for node in self.context_nodes if node.function is fill_empty_rows), None)

    @property
    def attending_table(self) -> str | None:
        """The name of the table that says what a query attends to; None where blocks end before it.

        The weights do, before those of queries that see no key are filled; where blocks end before them, the
        masked scores, which tell of queries that see no key, and not of those whose visible keys have a weight of 0.
        """
        if self.fill is not None:
            return self.fill.inputs["weights"]
        if WEIGHTS in self.inputs or any(node.name == WEIGHTS for node in self.nodes):
            return WEIGHTS
        return next((node.name for node in self.score_nodes if node.function is apply_mask), None)

    def attends(self, values: Mapping[str, Array]) -> Array | None:
        """Which queries [… n] attend to any key, by the value of that table; None without it."""
        table = self.attending_table
        if table is None:
            return None
        attends: Array = (values[table] != (-math.inf if table == self.scores else 0)).any(axis=-1)
        return attends

    def row_shape(self, node: Node) -> tuple[int, ...]:
        """The lengths of the axes of a node before its last one, with all query heads, also where it has pairs."""
        whole = {"h": self.lengths.heads}
        return tuple(whole.get(letter, length) for letter, length in node.axes[:-1])

    @property
    def needs_all_heads(self) -> bool:
        """Whether a block must have all heads: they are pairs, or an operator of others computes with their number."""
        if any(node.function is take_heads for node in self.nodes):
            return True
        records = [node.record for node in self.nodes if node.record is not None]
        return any("heads" in record.arguments and not record.is_built_in for record in records)

    def inputs_of_block(self, block: Block, *, with_query_axis: bool) -> dict[str, Array]:
        """The parts of the inputs that belong to a block: of those with a query axis, or of the others."""
        return {
            name: x.slice_block(block, self.groups)
            for name, x in self.inputs.items()
            if x.has_query_axis == with_query_axis
        }

    def slice_keys(self, arrays: Mapping[str, Array], first: int, end: int) -> dict[str, Array]:
        """The parts of a block's arrays that belong to the keys from `first` to before `end`."""
        part = dict(arrays)
        for name, before in self._key_axes:
            part[name] = part[name][(*before, slice(first, end))]
        return part

    @cached_property
    def _key_axes(self) -> Sequence[tuple[str, tuple[Any, ...]]]:
        """The names of the inputs that have an axis of keys, and full slices of the axes before it."""
        return [(name, before) for name, x in self.inputs.items() if (before := x.index_before_keys) is not None]


def make_block_plan(parts: PlanParts, values: Mapping[str, Array], lengths: Lengths, precision: Precision) -> BlockPlan:
    """The block plan, with the arrays that its nodes read; `values` has those of the nodes before the blocks."""
    inputs = {
        name: BlockInput(name, values[node.name], node.letters, node.is_lookup) for name, node in parts.sources.items()
    }
    return BlockPlan(inputs, parts.score_nodes, parts.context_nodes, parts.scores, lengths, precision)


def key_bounds(nodes: Sequence[Node], arrays: Mapping[str, Array], keys: int) -> KeyBounds:
    """The ranges of `keys` keys outside which all cells are masked, and inside which none is, by all masks together.

    Masks are among the nodes; `arrays` are those of a block.
    """
    whole = (0.0, float(keys))
    found: dict[str, KeyBounds] = {}
    bounds = KeyBounds(whole, whole)
    for node in nodes:
        record = record_of(node.function) if node.function is not None else None
        if isinstance(record, OperatorRecord) and record.kind == "mask":
            if record.key_bounds is None:  # it may mask any cell
                found[node.name] = KeyBounds(whole, (0.0, 0.0))
            else:
                found[node.name] = record.key_bounds(**node.arguments(arrays), **node.options)
        elif isinstance(record, StructuralRecord) and record.key_bounds is not None:
            of_rules = {rule: found[name] for rule, name in node.inputs.items() if name in found}
            bounds = found[node.name] = record.key_bounds(keys, **of_rules)  # the last node combines all masks
    candidates = found.get("candidates")
    if candidates is not None:  # a key that a query may choose counts, whatever hides it after that
        return KeyBounds(candidates.any_visible, (0.0, 0.0), candidates.gap)
    return bounds
