"""The part of a plan that is evaluated block by block, and the arrays that its nodes read."""

import math
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Any

from attncli.base.dataclasses import dataclass
from attncli.base.dtypes import Precision
from attncli.base.lazy_numpy import Array
from attncli.engine.blocks import Block, BlockInput, Lengths
from attncli.ops.elementwise import fill_empty_rows
from attncli.ops.masks import apply_mask
from attncli.ops.structural import repeat_kv
from attncli.plan.build import MAX_PLANS
from attncli.plan.graph import Node, Plan

CONTEXT, WEIGHTS = "context", "weights"


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

    That is the last node that makes one of the tables in `select`; without any, the weights.
    """
    computing = _computing_nodes(plan, select)
    context = plan.results.get("context", "")
    if context in plan.needed_for(node.name for node in computing):
        return context
    tables = [node.name for node in computing if node.is_pair_table and not node.is_input]
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
    block_names, after_names = set[str](), set[str]()
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
        if node.function is repeat_kv and node.name not in select and node.name not in block_names
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
        """The node that fills the weights of queries that attend to nothing; None where those are 0."""
        return next((node for node in self.context_nodes if node.function is fill_empty_rows), None)

    @property
    def attending_table(self) -> str | None:
        """The name of the table that says what a query attends to; None where blocks end before it.

        The weights do, before those of queries that attend to nothing are filled; where blocks end before them, the
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

    @property
    def needs_all_heads(self) -> bool:
        """Whether a block must have all heads: an operator of another package computes with their number."""
        records = [node.record for node in self.nodes if node.record is not None]
        return any("heads" in record.arguments and not record.is_built_in for record in records)

    def inputs_of_block(self, block: Block, *, with_query_axis: bool) -> dict[str, Array]:
        """The parts of the inputs that belong to a block: of those with a query axis, or of the others."""
        return {
            name: x.slice_block(block, self.groups)
            for name, x in self.inputs.items()
            if x.has_query_axis == with_query_axis
        }

    def slice_keys(self, arrays: Mapping[str, Array], first: int, end: int, step: int = 1) -> dict[str, Array]:
        """The parts of a block's arrays that belong to the keys from `first` to before `end`, or to one in `step`."""
        part = dict(arrays)
        for name, before in self._key_axes:
            part[name] = part[name][(*before, slice(first, end, step))]
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
