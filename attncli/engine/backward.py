"""The backward pass in blocks: gradients of tables for some queries at a time, of which only sums are kept.

A block evaluates slices of the nodes of both passes: in whole rows, or if weights are exponentials over their sum, in
tiles, from each row's log-sum-exp and sum in the forward pass. Source: Dao 2023 (FlashAttention-2), algorithm 2.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from threading import Event, Lock
from typing import Any

from attncli.base.lazy_numpy import Array, all_finite, np
from attncli.engine.blocks import (
    ALL,
    Block,
    BlockInput,
    BlockPlan,
    Lengths,
    PlanParts,
    Values,
    key_bounds,
    make_blocks,
    split_plan,
)
from attncli.engine.blockwise import BlockwiseRun, run_blockwise
from attncli.engine.dense import DenseEngine, call, evaluate, evaluate_wide, with_digits_of
from attncli.engine.options import BlockSizes, RunOptions
from attncli.engine.threads import Cancelled, one_thread_each, run_all, threads_of
from attncli.engine.tile_plan import can_tile
from attncli.engine.tiles import key_tiles
from attncli.ops.masks import apply_mask, apply_mask_scores
from attncli.ops.recording.derivatives import derivatives_of
from attncli.ops.records import TAP, OperatorRecord
from attncli.ops.structural import repeat_kv, with_column, with_column_sink
from attncli.plan.build import plan_of
from attncli.plan.graph import GRADIENT, Node, Plan
from attncli.problem.fields import CONTEXT, LSE, OUTPUT
from attncli.problem.spec import ProblemSpec

ROW_SUMS = "sums of dA∘A over the keys"
LANES = 4  # partial sums of blocks of the same heads: the sum does not depend on the number of workers
TABLES_OF_TILE = 4  # tables in the caches together: weights, scores, and their gradients


@dataclass(frozen=True)
class BackwardParts:
    """The gradients to compute before blocks, in blocks, and after them, each in order.

    `recomputed` are the forward nodes that blocks read; `kept` are the gradients that leave blocks. Those in `whole`
    belong to tables that indices of queries and keys look up: a block has a summand for each number.
    """

    before: Sequence[Node]
    recomputed: Sequence[Node]
    in_blocks: Sequence[Node]
    after: Sequence[Node]
    kept: Sequence[Node]
    whole: Collection[str]


def split_backward(plan: Plan, forward: PlanParts, select: Collection[str]) -> BackwardParts:
    """The required parts of a plan's gradients; `forward` are its forward pass's."""
    needed, tables = plan.needed_for(select), {node.name for node in forward.in_blocks}
    read_in_blocks, in_blocks, whole, later = tables - {CONTEXT}, dict[str, Node](), set[str](), set[str]()
    gradients = [node for node in plan.nodes if node.stage == GRADIENT and node.name in needed]
    for node in gradients:
        sources = set(node.inputs.values())
        if node.is_pair_table or sources & read_in_blocks:
            in_blocks[node.name] = node
            if node.is_pair_table:
                read_in_blocks.add(node.name)
            if sources & whole or any(_is_of_table(node, plan.by_name[name]) for name in sources):
                whole.add(node.name)
        elif sources & (later | in_blocks.keys()):
            later.add(node.name)
    after = [node for node in gradients if node.name in later]
    read_after = {name for node in after for name in node.inputs.values()}
    return BackwardParts(
        before=[node for node in gradients if node.name not in later and node.name not in in_blocks],
        recomputed=_recomputed(plan, in_blocks.values(), tables),
        in_blocks=list(in_blocks.values()),
        after=after,
        kept=[node for name, node in in_blocks.items() if name in read_after or name in select],
        whole=whole,
    )


def _is_of_table(gradient: Node, source: Node) -> bool:
    """Whether a gradient belongs to a table that is read by index."""
    return source.is_lookup and source.axes[-2:] == gradient.axes[-2:]


def _recomputed(plan: Plan, gradients: Collection[Node], tables: Collection[str]) -> Sequence[Node]:
    """Those of the nodes `tables` that gradients need, in order."""
    pending, found = [name for node in gradients for name in node.inputs.values()], set[str]()
    while pending:
        name = pending.pop()
        name = plan.by_name[name].tapped_from or name
        if name in tables and name not in found:
            found.add(name)
            pending += plan.by_name[name].inputs.values()
    return [node for node in plan.nodes if node.name in found]


def run_backward(plan: Plan, problem: ProblemSpec, select: Sequence[str], options: RunOptions) -> BlockwiseRun:
    """The forward pass in blocks, and the selected gradients, with intermediate ones that are not tables."""
    forward = replace(problem, grad_output=None)
    forward_plan = plan_of(forward)
    names = [name for name in dict.fromkeys((*select, OUTPUT, LSE)) if forward_plan.find(name) is not None]
    forward_plan = forward_plan.for_results(names)
    ran = run_blockwise(forward_plan, forward, names, options)
    forward_parts = split_plan(forward_plan, tuple(forward_plan.resolve(name) for name in names))
    parts = split_backward(plan, forward_parts, [plan.resolve(name) for name in select])
    engine = DenseEngine(plan, problem, problem.precision)
    engine.values |= {step.name: step.value for step in ran.steps}
    engine.notes |= {step.name: step.notes for step in ran.steps if step.notes}
    with one_thread_each(options), np.errstate(all="ignore"):
        engine.run(_with_repeats([*_given(plan), *parts.before], plan, engine.values))
        if parts.in_blocks:
            task = make_task(plan, parts, forward_parts, engine.values, problem)
            engine.values |= _Sums(task, options).run(problem, options)
        engine.run(_with_repeats(parts.after, plan, engine.values))
    finite = {node.name for node in (*parts.kept, *parts.after, *parts.before) if all_finite(engine.values[node.name])}
    return BlockwiseRun(engine.steps(), finite.union(ran.are_finite))


def _given(plan: Plan) -> Sequence[Node]:
    """The gradient of the output."""
    return [node for node in plan.nodes if node.source == ("grad_output",)]


def _with_repeats(nodes: Sequence[Node], plan: Plan, values: Values) -> Sequence[Node]:
    """The nodes, after their repeated keys and values, which the forward pass repeats block by block."""
    read = {name for node in nodes for name in node.inputs.values() if name not in values}
    return [*(n for n in plan.nodes if n.name in read and n.function is repeat_kv), *nodes]


@dataclass(frozen=True)
class _Exponentials:
    """Weights and gradients of scores in tiles, without whole rows, by a normalizer's online form."""

    record: OperatorRecord
    parameters: Mapping[str, Any]

    def compute(self, node: Node, values: Values) -> Array | None:
        """The value of the normalizer's node or of its derivative's; None for any other."""
        rule = self.record.online
        assert rule is not None
        assert rule.gradient is not None
        assert rule.exp_scale is not None
        if node.function is self.record.function:
            shift = values[LSE] / rule.exp_scale(self.parameters)
            return rule.numerator(values[node.inputs["scores"]], shift, out=None, **self.parameters)
        if node.function == (derivatives_of(self.record.function) or {}).get("scores"):
            grad, weights = values[node.inputs["grad"]], values[node.inputs["forward"]]
            return rule.gradient(grad, weights, values[ROW_SUMS], **node.options)
        return None


@dataclass(frozen=True)
class BackwardTask:
    """The arrays that blocks read, and the nodes that they evaluate: in tiles, or without `exponentials` in rows.

    With `every_key` rows have all keys, also those that are masked in the whole block.
    """

    plan: BlockPlan
    parts: BackwardParts
    nodes: Sequence[Node]
    numbers_per_pair: int
    exponentials: _Exponentials | None
    every_key: bool

    @property
    def dtype(self) -> Any:
        """The type of the blocks' sums."""
        precision = self.plan.precision
        return np.dtype(precision.widened_name if self.exponentials is None else precision.accumulation_dtype)

    def values(self, block: Block, sizes: BlockSizes) -> Iterator[tuple[slice, Values]]:
        """The kept gradients of a block, for one range of keys after another."""
        arrays = self.plan.inputs_of_block(block, with_query_axis=True)
        arrays |= self.plan.inputs_of_block(block, with_query_axis=False)
        keys = self.plan.lengths.keys
        bounds = key_bounds(self.nodes, arrays, keys)
        if self.exponentials is None:
            first, end = map(int, bounds.any_visible)
            if self.every_key or first == end:
                first, end = 0, keys
            yield slice(first, end), self._compute_rows(self.plan.slice_keys(arrays, first, end))
        elif bounds.any_visible[0] < bounds.any_visible[1]:
            for number, tile in enumerate(key_tiles(bounds, _tile_keys(self, sizes), sizes.min_unmasked_keys)):
                part = self.plan.slice_keys(arrays, tile.first, tile.end)
                found = self._compute_tile(part, self.exponentials, is_first=number == 0, is_masked=bool(tile.masked))
                yield slice(tile.first, tile.end), found

    def _compute_rows(self, values: Values) -> Values:
        """The gradients as in the dense engine; sums are not yet rounded."""
        precision, names = self.plan.precision, [node.name for node in self.parts.kept]
        for node in self.nodes:
            compute = evaluate_wide if precision.has_wide_tables or node.name in names else evaluate
            values[node.name] = compute(node, values, precision, values.__setitem__)
        return {name: values[name] for name in names}

    def _compute_tile(self, values: Values, exponentials: _Exponentials, *, is_first: bool, is_masked: bool) -> Values:
        """The gradients from a tile; every tile has the sink after its keys, but only the first one's counts."""
        for node in self.nodes:
            if node.function is with_column_sink and not is_first:
                continue
            if not is_masked and node.function in (apply_mask, apply_mask_scores):
                values[node.name] = values[node.inputs["scores" if node.function is apply_mask else "grad"]]
            elif is_masked or node.stage != "mask":
                value = exponentials.compute(node, values)
                values[node.name] = _call(node, values) if value is None else value
        return {node.name: values[node.name] for node in self.parts.kept if node.name in values}


def _call(node: Node, values: Values) -> Array:
    """The value of a node, in its arguments' type; it keeps inner quantities."""
    arguments: dict[str, Any] = node.arguments(values)
    if node.taps:

        def tap(name: str, value: Array) -> Array:
            values[node.taps[name]] = value
            return value

        arguments[TAP] = tap
    return call(node, arguments)


def make_task(
    plan: Plan, parts: BackwardParts, forward: PlanParts, values: Values, problem: ProblemSpec
) -> BackwardTask:
    """The task of every block; `values` has what was computed before."""
    nodes = [*parts.recomputed, *parts.in_blocks]
    own = {name for node in nodes for name in (node.name, *node.taps.values())}
    inputs = dict[str, BlockInput]()
    for name in dict.fromkeys(name for node in nodes for name in node.inputs.values() if name not in own):
        source = plan.by_name[name]
        source = source if name in values else plan.by_name[source.inputs["x"]]  # repeated block by block
        inputs[name] = BlockInput(name, values[source.name], source.letters, source.is_lookup)
    layout, table, precision = problem.leading, plan["weights"], problem.precision
    lengths = Lengths(layout.batch or 1, layout.heads, layout.kv_heads, *table.shape[-2:])
    block_plan = BlockPlan(inputs, forward.score_nodes, forward.context_nodes, forward.scores, lengths, precision)
    has_tables = any(node.is_pair_table and node.name not in parts.whole for node in parts.kept)
    in_rows = has_tables or any(_adds_up_sinks(node, plan) for node in parts.kept)
    exponentials = None if in_rows else _exponentials(plan, block_plan, values, problem)
    if exponentials is not None:
        context, nodes = plan[CONTEXT], [with_digits_of(node, precision) for node in nodes if node.name != CONTEXT]
        sums = np.vecdot(values[f"grad_{context.name}"], values[context.name])
        rows = {ROW_SUMS: sums, LSE: np.where(np.isneginf(values[LSE]), 0, values[LSE])}  # finite for rows without keys
        inputs |= {name: BlockInput(name, row[..., None], (*context.letters[:-1], "1")) for name, row in rows.items()}
    every_key = has_tables or block_plan.fill is not None
    return BackwardTask(block_plan, parts, nodes, forward.numbers_per_pair, exponentials, every_key)


def _adds_up_sinks(node: Node, plan: Plan) -> bool:
    """Whether a sum is over keys and the sink, such as a temperature's: every tile would add the sink again."""
    reads = {plan.by_name[name].function for name in node.inputs.values()}
    return with_column in reads and node.function is not with_column_sink


def _exponentials(plan: Plan, blocks: BlockPlan, values: Values, problem: ProblemSpec) -> _Exponentials | None:
    """The way to compute weights and gradients in tiles; None if it is impossible.

    Numbers that are not finite need whole rows, and a half type has too few digits for the log-sum-exp.
    """
    rule, precision = problem.normalize.record.online, problem.precision
    if not can_tile(problem) or LSE not in values or blocks.fill is not None or rule is None or rule.gradient is None:
        return None
    if precision.name != precision.accumulation_dtype:
        return None
    arrays = [x.value for x in blocks.inputs.values() if x.value.dtype.kind == "f" and not x.is_lookup]
    arrays += [values[name] for name in (plan[CONTEXT].name, f"grad_{plan[CONTEXT].name}")]
    if not all(map(all_finite, arrays)):
        return None
    return _Exponentials(problem.normalize.record, problem.normalize.options)


def _tile_cells(task: BackwardTask, sizes: BlockSizes) -> int:
    """The most cells of a tile."""
    return max(sizes.tile_cells // (TABLES_OF_TILE * task.numbers_per_pair), 1)


def _rows(task: BackwardTask, sizes: BlockSizes) -> int:
    """The most queries of a block."""
    if task.exponentials is None:
        return max(sizes.row_cells // (task.plan.lengths.keys * task.numbers_per_pair), 1)
    return min(sizes.masked_rows, max(math.isqrt(_tile_cells(task, sizes)), 1))


def _tile_keys(task: BackwardTask, sizes: BlockSizes) -> int:
    """The most keys of a tile."""
    return max(_tile_cells(task, sizes) // _rows(task, sizes), 1)


def _lanes(task: BackwardTask, sizes: BlockSizes) -> Sequence[Sequence[Block]]:
    """The blocks in lanes, each of some heads; one worker sums a lane's gradients in order."""
    lengths, rows = task.plan.lengths, _rows(task, sizes)
    if task.exponentials is None:
        keys, cells = lengths.keys * task.numbers_per_pair, sizes.row_cells
    else:
        keys, cells = min(_tile_keys(task, sizes), lengths.keys), _tile_cells(task, sizes)
    of_heads = dict[tuple[int, int], list[Block]]()
    for block in make_blocks(lengths, rows, keys, cells, all_heads=task.plan.needs_all_heads):
        of_heads.setdefault((block.items.start, block.heads.start), []).append(block)
    count = -(-LANES // len(of_heads))
    return [blocks[at::count] for blocks in of_heads.values() for at in range(min(count, len(blocks)))]


class _Sums:
    """The sums of blocks' gradients: lanes are added in order, so that each sum has the same last digits.

    A gradient that only one block has, such as its queries', needs no lane sum.
    """

    def __init__(self, task: BackwardTask, options: RunOptions) -> None:
        self.task, self.sizes, self.progress = task, options.sizes, options.progress
        self.lanes = _lanes(task, options.sizes)
        self.totals = dict[str, Array]()
        for node in task.parts.kept:
            shape, dtype = node.shape, self._stored_dtype(node)
            allocated = options.allocate(node.name, shape, dtype) if node.is_pair_table else np.empty(shape, dtype)
            allocated[...] = 0
            self.totals[node.name] = allocated
        self._lock, self._stopped = Lock(), Event()
        self._waiting = dict[int, Values]()
        self._added = 0

    def _stored_dtype(self, node: Node) -> Any:
        """The type of an array: the results', or the sums' if several blocks add to it."""
        return np.dtype(self.task.plan.precision.numpy_name) if self._is_own(node) else self.task.dtype

    def _is_own(self, node: Node) -> bool:
        """Whether each block has its own slice of a gradient."""
        lengths, along = self.task.plan.lengths, dict(node.axes)
        heads = along.get("h", along.get("g", 1))
        has_axes = (along.get("b", 1), heads, along.get("n")) == (lengths.items, lengths.heads, lengths.queries)
        return has_axes and node.name not in self.task.parts.whole

    def _index(self, node: Node, block: Block, keys: slice = ALL) -> tuple[slice, ...]:
        """The index of a block's slice in the whole array of a node."""
        groups = self.task.plan.groups
        along = {"b": block.items, "h": block.heads, "n": block.queries, "m": keys}
        if block.heads != ALL:
            along["g"] = slice(block.heads.start // groups, (block.heads.stop - 1) // groups + 1)
        if node.name in self.task.parts.whole:
            along |= {"n": ALL, "m": ALL}
        return tuple(along.get(letter, ALL) if length > 1 else ALL for letter, length in node.axes)

    def run(self, problem: ProblemSpec, options: RunOptions) -> Values:
        """Compute every block; returns the rounded gradients."""
        try:
            run_all([partial(self._compute, number) for number in range(len(self.lanes))], threads_of(options))
        finally:
            self._stopped.set()
        return {name: problem.precision.round(value) for name, value in self.totals.items()}

    def _compute(self, number: int) -> None:
        """Compute the blocks of a lane, and add their sums to the whole, after earlier lanes."""
        sums, nodes = dict[str, Array](), {node.name: node for node in self.task.parts.kept}
        with np.errstate(all="ignore"):  # per thread
            for block in self.lanes[number]:
                for keys, found in self.task.values(block, self.sizes):
                    if self._stopped.is_set():
                        raise Cancelled
                    for name, value in found.items():
                        self._add(nodes[name], block, keys, value, sums)
        with self._lock:
            self._waiting[number] = sums
            while self._added in self._waiting:
                region = replace(self.lanes[self._added][0], queries=ALL)
                for name, value in self._waiting.pop(self._added).items():
                    self.totals[name][self._index(nodes[name], region)] += value
                self._added += 1
                if self.progress is not None:
                    self.progress(self._added, len(self.lanes))

    def _add(self, node: Node, block: Block, keys: slice, value: Array, sums: Values) -> None:
        """Add a block's gradient to its slice, or to its lane's sum."""
        total = self.totals[node.name]
        if self._is_own(node):
            total[self._index(node, block, keys)] += self.task.plan.precision.round(value)
            return
        if node.name not in sums:
            sums[node.name] = np.zeros_like(total[self._index(node, replace(block, queries=ALL))])
        sums[node.name][self._index(node, Block(ALL, ALL, block.queries), keys)] += value
