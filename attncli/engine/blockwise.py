"""The blockwise engine: a large problem's projections whole, its scores to context in blocks, its output whole."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from math import prod

from attncli.base.lazy_numpy import Array, np
from attncli.engine import block_rows
from attncli.engine.block_plan import BlockPlan, make_block_plan, split_plan
from attncli.engine.block_task import CONTEXT, WEIGHTS, BlockResult, BlockTask
from attncli.engine.blocks import ALL, Block, Lengths, make_blocks
from attncli.engine.dense import DenseEngine
from attncli.engine.executors import executor
from attncli.engine.options import Allocate, BlockSizes, RunOptions, in_memory
from attncli.engine.tile_plan import can_tile, make_tile_plan
from attncli.plan.graph import Node, Plan
from attncli.problem.spec import ProblemSpec
from attncli.trace.diagnostics import empty_rows_warning, overflow_warning
from attncli.trace.steps import Step


def run_blockwise(plan: Plan, problem: ProblemSpec, select: Sequence[str], options: RunOptions) -> Sequence[Step]:
    """The steps before the blocks, the context and the selected steps of the tables, and those after the context."""
    names = [plan.resolve(name) for name in select]
    parts = split_plan(plan, names)
    engine = DenseEngine(plan, problem, problem.precision)
    engine.run(parts.before)
    table, layout = plan["weights"], problem.layout
    lengths = Lengths(layout.batch or 1, layout.heads, layout.kv_heads, *table.shape[-2:])
    block_plan = make_block_plan(plan, parts, engine.values, lengths, problem.precision)
    in_blocks = {node.name: node for node in parts.in_blocks}
    wanted = [in_blocks[name] for name in dict.fromkeys((*names, CONTEXT)) if name in in_blocks]
    buffers = ResultBuffers(block_plan, wanted, options.allocate)
    _fill(buffers, problem, options, any(node.stage == "mask" for node in block_plan.scoring), parts.in_blocks)
    engine.values |= buffers.values
    engine.notes |= buffers.notes(problem.selected_query_labels)
    engine.run(parts.after)
    return engine.steps()


@dataclass(frozen=True)
class _Cut:
    """The blocks of a problem, and what is computed in each."""

    task: BlockTask
    blocks: Sequence[Block]


def _fill(
    buffers: "ResultBuffers", problem: ProblemSpec, options: RunOptions, is_masked: bool, nodes: Sequence[Node]
) -> None:
    """Compute every block and keep its results."""
    names = list(buffers.values)
    if names == [CONTEXT] and can_tile(problem.normalize, problem.context):
        cut = _cut_tiles(buffers.plan, problem, options.sizes, is_masked)
    else:
        cut = _cut_rows(buffers, options.sizes, nodes)
    with executor(options) as run, closing(run(cut.task, cut.blocks, buffers.keep)) as done:
        for number, _ in enumerate(done, 1):
            if options.progress is not None:
                options.progress(number, len(cut.blocks))


def _cut_tiles(plan: BlockPlan, problem: ProblemSpec, sizes: BlockSizes, is_masked: bool) -> _Cut:
    """Blocks that are computed tile by tile."""
    lengths = plan.lengths
    rows = sizes.masked_rows if is_masked else _even_rows(lengths.queries, sizes.rows)
    keys = min(max(sizes.tile_cells // rows, 1), lengths.keys)
    with np.errstate(all="ignore"):
        task = BlockTask(*make_tile_plan(plan, problem.normalize, keys, sizes))
    return _Cut(task, list(make_blocks(lengths, rows, keys, sizes.tile_cells)))


def _cut_rows(buffers: "ResultBuffers", sizes: BlockSizes, nodes: Sequence[Node]) -> _Cut:
    """Blocks that are computed in whole rows."""
    lengths, names = buffers.plan.lengths, tuple(buffers.values)
    numbers = lengths.keys * max(map(_numbers_per_pair, nodes))
    task = BlockTask(buffers.plan, None, names, buffers.every_key)
    return _Cut(task, list(make_blocks(lengths, max(sizes.row_cells // numbers, 1), numbers, sizes.row_cells)))


def _numbers_per_pair(node: Node) -> int:
    """How many numbers a node has for each pair of a query and a key; one where it has none of the two axes."""
    letters = node.letters
    return prod(node.shape[letters.index("m") + 1 :]) if {"n", "m"} <= set(letters) else 1


def _even_rows(queries: int, most: int) -> int:
    """How many queries a block has where there is an even number of blocks, none of more than `most`."""
    return -(-queries // (2 * -(-queries // (2 * most))))


class ResultBuffers:
    """The wanted results as blocks fill them, and which queries attend to anything."""

    def __init__(self, plan: BlockPlan, nodes: Sequence[Node], allocate: Allocate) -> None:
        self.plan = plan
        self.nodes = {node.name: node for node in nodes}
        self.values: dict[str, Array] = {}
        for name, node in self.nodes.items():
            room = allocate if "m" in node.letters else in_memory
            self.values[name] = room(name, node.shape, np.dtype(bool if node.is_boolean else plan.precision.numpy_name))
        self.attends = np.zeros(self.values[CONTEXT].shape[:-1], dtype=bool)

    @property
    def every_key(self) -> bool:
        """Whether a node is wanted that has cells for hidden keys too."""
        return any({"m", "m+1"} & set(node.letters) for name, node in self.nodes.items() if name != WEIGHTS)

    def keep(self, block: Block, result: BlockResult) -> None:
        """Put the results of a block in their place; the weights of keys that no query of it may see are 0."""
        for name, value in result.values.items():
            table = self.values[name]
            index = block.index(self.nodes[name].letters)
            index = tuple(part if size > 1 else ALL for part, size in zip(index, table.shape, strict=True))
            if name == WEIGHTS:
                first, end = result.keys
                table[(*index[:-1], slice(0, first))] = 0
                table[(*index[:-1], slice(end, None))] = 0
                index = (*index[:-1], slice(first, end))
            table[index] = self.plan.precision.stored(value)
        self.attends[block.index(self.nodes[CONTEXT].letters[:-1])] = result.attends

    def notes(self, labels: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
        """Warnings by step: the weights, or else the context, say which queries attend to nothing."""
        empty = empty_rows_warning(~self.attends, self.nodes[CONTEXT].letters[:-1], labels)
        notes = {WEIGHTS if WEIGHTS in self.values else CONTEXT: empty}
        notes[CONTEXT] = (*notes.get(CONTEXT, ()), *self._overflow_warnings())
        return notes

    def _overflow_warnings(self) -> tuple[str, ...]:
        """Where the context is not finite, the warnings of the steps that led to its first such query."""
        finite = np.isfinite(self.values[CONTEXT])
        if finite.all():
            return ()
        at = np.unravel_index(int(finite.argmin()), finite.shape)
        place = dict(zip(self.nodes[CONTEXT].letters, map(int, at), strict=False))
        block = Block(*(slice(place.get(letter, 0), place.get(letter, 0) + 1) for letter in "bhn"))
        arrays = self.plan.all_inputs_of_block(block)
        nodes = self.plan.nodes
        with np.errstate(all="ignore"):
            values = arrays | block_rows.compute(self.plan, arrays, [node.name for node in nodes])
        warnings = (
            overflow_warning(node.name, node.stage, node.arguments(values), values[node.name]) for node in nodes
        )
        return tuple(warning for found in warnings for warning in found)
