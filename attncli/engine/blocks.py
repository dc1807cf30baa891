"""Blocks: ranges of batch items, heads and queries, their nodes of a plan, and their slices of arrays."""

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
FEW_ROWS = 8  # blocks of fewer queries have as many heads as blocks of so many: reading keys dominates their time
MIN_BLOCKS = 2  # work for two workers
FEW_BLOCKS = 8  # of fewer blocks, a last one alone takes much of the time
Values = dict[str, Array]


@dataclass(frozen=True)
class Lengths:
    """The numbers of batch items, query heads, key heads, queries and keys."""

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

    Indices of queries and keys look up a lookup table: its rows and columns stay whole. An array that `is_shared` is
    not repeated for the query heads that share a key head.
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
        """The same array, with floats in another type."""
        value = astype_float(self.value, dtype)
        return self if value is self.value else replace(self, value=value)

    def slice_block(self, block: Block, groups: int) -> Array:
        """The slice of a block.

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
        """Full slices, one for each axis before the keys; None if no axis of keys is sliced."""
        return (ALL,) * self.axes.index("m") if "m" in self.axes and not self.is_lookup else None


def astype_float(x: Array, dtype: str) -> Array:
    """Floats in another type; anything else unchanged."""
    if x.dtype == np.float16 and dtype == "float32":
        return to_single(x)
    return x.astype(dtype, copy=False) if x.dtype.kind == "f" else x


def heads_that_fit(lengths: Lengths, most: int) -> int:
    """A block's number of query heads, at most `most` if possible: one key head's, or several whole ones'."""
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
    """A block's number of query heads, in all its batch items at most `most` if possible."""
    heads = heads_that_fit(lengths, most)
    return heads * _items_that_fit(lengths, heads, most)


def _items_that_fit(lengths: Lengths, heads: int, most: int) -> int:
    """A block's number of batch items, so that their query heads are at most `most` if possible."""
    return max(min(most // heads, lengths.items), 1) if heads == lengths.heads else 1


def _heads_at_once(lengths: Lengths, most: int, in_queries: int, min_blocks: int) -> int:
    """A block's number of query heads, at most `most` if possible; fewer if that balances a small number of blocks.

    Each head has `in_queries` blocks; work is balanced if the number of blocks is a multiple of `min_blocks`. Heads
    that share keys stay together if there are few queries.
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
    """Nearly equal slices of an axis, at most `most` long; their number is a multiple of `multiple` if possible."""
    parts = min(multiple * -(-count // (multiple * most)), count)
    ends = [-(-count * number // parts) for number in range(parts + 1)]
    yield from map(slice, ends, ends[1:])


def make_blocks(
    lengths: Lengths, rows: int, keys: int, cells: int, *, all_heads: bool = False, min_blocks: int = MIN_BLOCKS
) -> Iterator[Block]:
    """All blocks of at most `rows` queries, with about `cells` cells for `keys` keys, the last queries first.

    A block has as many heads as fit, one key head's or several whole ones', then batch items; but several heads or
    items make at least `min_blocks` blocks. Blocks of few queries have all query heads of a key head if they fit, since
    each block reads the keys again. With causal masks the last queries have most keys: the longest blocks come first.
    With `all_heads` every block has all heads, and fewer queries instead.
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
    # Give each worker equally many blocks, and all blocks equally many items.
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
    """The nodes of a plan before the blocks, in blocks, and after them, each in order.

    Nodes of blocks have an axis of queries and one of keys, or depend on such nodes, up to the context. Inner
    quantities belong to the node that computes them. If no selected node needs the context, nothing comes after blocks;
    if no selected node needs blocks, there are none. Repeated arrays have `sources`: blocks repeat them for query heads
    one by one.
    """

    before: Sequence[Node]
    in_blocks: Sequence[Node]
    after: Sequence[Node]
    last: Node  # where blocks end
    kept: Sequence[Node]  # in blocks: the selected ones, and the context if any of them needs it
    score_nodes: Sequence[Node]  # in blocks, without inner quantities: up to the scores
    context_nodes: Sequence[Node]  # and after them
    scores: str
    sources: Mapping[str, Node]  # the original node by the name that nodes in blocks read

    @cached_property
    def numbers_per_pair(self) -> int:
        """The numbers per pair of a query and a key in the largest table of blocks."""
        tables = (node for node in self.in_blocks if {"n", "m"} <= set(node.letters))
        return max((math.prod(node.shape[node.letters.index("m") + 1 :]) for node in tables), default=1)


def last_of_blocks(plan: Plan, select: Collection[str]) -> str:
    """The name of the node where blocks end: the context, or the last table if no node in `select` needs the context.

    That is the last node for a table in `select`; without any, the weights. For the log-sum-exp alone it is the
    context, because tiles compute both.
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
    """The nodes whose functions compute those in `select`, in order; for an inner quantity its operator's."""
    return [plan.by_name[node.tapped_from or node.name] for node in plan.nodes if node.name in select]


# Keyed by the plan's identity, not by equality: options of −0 and 0 are equal, but give different results.
_PARTS: dict[tuple[int, tuple[str, ...]], tuple[Plan, PlanParts]] = {}


def split_plan(plan: Plan, select: tuple[str, ...]) -> PlanParts:
    """The parts of a plan; repeated keys and values are computed whole, before blocks, only if in `select`."""
    known = _PARTS.get((id(plan), select))
    if known is None:
        if len(_PARTS) >= MAX_PLANS:
            _PARTS.clear()
        known = _PARTS[id(plan), select] = plan, _split(plan, select)  # so that no other plan gets this id
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
            or node.name == context  # with given weights it reads no other node of blocks
        ):
            block_names.add(node.name)
    block_names |= {node.name for node in plan.nodes if node.tapped_from in block_names}
    repeats = {  # repeated block by block
        node.name: node.inputs["x"]
        for node in plan.nodes
        if node.function is repeat_kv
        and node.name not in select
        and node.name not in block_names
        and node.axis("h") == weights.axis("h")  # others, for pairs of heads, are repeated whole
    }
    needs_context = last.name == context
    needed = plan.needed_for([*(node.name for node in _computing_nodes(plan, select)), last.name])
    in_blocks = {n.name: n for n in plan.nodes if n.name in block_names and n.name in needed}
    computed = [node for node in in_blocks.values() if node.tapped_from is None]
    read = dict.fromkeys(source for node in computed for source in node.inputs.values())
    scores = plan.results.get("masked_scores", "")
    end = next((at for at, node in enumerate(computed, 1) if node.name == scores), 0)  # 0 for given scores
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
    """The nodes from queries and keys to scores, those from scores to the context, and their arrays.

    `score_nodes` end with the node `scores`, which the normalizer (or the sink before it) reads; they are empty if
    scores or weights are given.
    """

    inputs: Mapping[str, BlockInput]
    score_nodes: Sequence[Node]
    context_nodes: Sequence[Node]
    scores: str
    lengths: Lengths
    precision: Precision

    @property
    def groups(self) -> int:
        """The number of query heads that share a key head."""
        return self.lengths.heads // self.lengths.kv_heads

    @property
    def nodes(self) -> Sequence[Node]:
        """Every computed node, in order."""
        return (*self.score_nodes, *self.context_nodes)

    @property
    def fill(self) -> Node | None:
        """The node that fills the weights of queries that see no key; None if they stay 0."""
        return next((node for node in self.context_nodes if node.function is fill_empty_rows), None)

    @property
    def attending_table(self) -> str | None:
        """The name of the table that shows whether a query attends to any key; None if blocks end before it.

        It is the weights, before rows without keys are filled. If blocks end earlier, it is the masked scores, which
        reveal queries that see no key, but not those whose visible keys have weight 0.
        """
        if self.fill is not None:
            return self.fill.inputs["weights"]
        if WEIGHTS in self.inputs or any(node.name == WEIGHTS for node in self.nodes):
            return WEIGHTS
        return next((node.name for node in self.score_nodes if node.function is apply_mask), None)

    def attends(self, values: Mapping[str, Array]) -> Array | None:
        """The queries [… n] that attend to any key, by the value of that table; None without it."""
        table = self.attending_table
        if table is None:
            return None
        attends: Array = (values[table] != (-math.inf if table == self.scores else 0)).any(axis=-1)
        return attends

    def row_shape(self, node: Node) -> tuple[int, ...]:
        """The lengths of a node's axes except the last one, with all query heads, even if it has pairs."""
        whole = {"h": self.lengths.heads}
        return tuple(whole.get(letter, length) for letter, length in node.axes[:-1])

    @property
    def needs_all_heads(self) -> bool:
        """Whether a block must have all heads: they are pairs, or another package's operator reads their number."""
        if any(node.function is take_heads for node in self.nodes):
            return True
        records = [node.record for node in self.nodes if node.record is not None]
        return any("heads" in record.arguments and not record.is_built_in for record in records)

    def inputs_of_block(self, block: Block, *, with_query_axis: bool) -> dict[str, Array]:
        """A block's slices of the inputs: of those with a query axis, or of the others."""
        return {
            name: x.slice_block(block, self.groups)
            for name, x in self.inputs.items()
            if x.has_query_axis == with_query_axis
        }

    def slice_keys(self, arrays: Mapping[str, Array], first: int, end: int) -> dict[str, Array]:
        """The slices of a block's arrays for the keys from `first` to before `end`."""
        part = dict(arrays)
        for name, before in self._key_axes:
            part[name] = part[name][(*before, slice(first, end))]
        return part

    @cached_property
    def _key_axes(self) -> Sequence[tuple[str, tuple[Any, ...]]]:
        """The names of the inputs with an axis of keys, and full slices of the axes before it."""
        return [(name, before) for name, x in self.inputs.items() if (before := x.index_before_keys) is not None]


def make_block_plan(parts: PlanParts, values: Mapping[str, Array], lengths: Lengths, precision: Precision) -> BlockPlan:
    """The block plan, with the arrays that its nodes read; `values` has the nodes' before the blocks."""
    inputs = {
        name: BlockInput(name, values[node.name], node.letters, node.is_lookup) for name, node in parts.sources.items()
    }
    return BlockPlan(inputs, parts.score_nodes, parts.context_nodes, parts.scores, lengths, precision)


def key_bounds(nodes: Sequence[Node], arrays: Mapping[str, Array], keys: int) -> KeyBounds:
    """The ranges of `keys` keys outside which all cells are masked, and inside which none is, for all masks together.

    Masks are among the nodes; `arrays` belong to a block.
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
    if candidates is not None:  # a key that a query may choose counts, even if another rule hides it later
        return KeyBounds(candidates.any_visible, (0.0, 0.0), candidates.gap)
    return bounds
