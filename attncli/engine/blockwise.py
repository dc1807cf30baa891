"""The blockwise engine: it computes projections whole, scores to context in blocks, and the output whole."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial

from attncli.base.lazy_numpy import Array, all_finite, np
from attncli.base.memory import keep_freed_memory
from attncli.engine import tiles
from attncli.engine.block_task import BlockResult, BlockTask, Output
from attncli.engine.blocks import (
    ALL,
    MIN_BLOCKS,
    Block,
    BlockPlan,
    Lengths,
    PlanParts,
    heads_of_items_that_fit,
    key_bounds,
    make_block_plan,
    make_blocks,
    split_plan,
)
from attncli.engine.dense import DenseEngine
from attncli.engine.options import SERIAL, THREADS, Allocate, BlockSizes, RunOptions, in_memory
from attncli.engine.threads import (
    ThreadsExecutor,
    executor,
    has_one_thread_in_blocks,
    one_thread_each,
    run_all,
    threads_of,
)
from attncli.engine.tile_plan import can_tile, make_tile_plan
from attncli.ops.elementwise import add_bias
from attncli.plan.diagnostics import empty_rows_warning
from attncli.plan.graph import Plan
from attncli.plan.trace import Step
from attncli.problem.fields import CONTEXT, LSE, WEIGHTS
from attncli.problem.spec import ProblemSpec

POSITIONS = "query_positions"  # masks that read them, such as causal ones, skip more keys in smaller blocks
MIN_TILE_KEYS = 32  # for a score with many numbers per pair, such as additive's hidden units
FEW_KEYS_ROWS = 4  # at most so many times the queries in blocks whose few keys would make small tiles
WIDER_WITH_TABLE = 2  # so many times the keys in tiles with an added table: longer reads are faster
PER_NUMBER = 4  # multiply-adds in the time of reading a number of keys and values, which dominates few queries
FEW_HEADS, FEW_QUERIES = 8, 32  # from so many heads in all batch items, or up to so few queries, queries stay together
KEPT_BYTES = 2**25 - 2**16  # for the temporaries of blocks; glibc keeps no blocks from 32 MB on


@dataclass(frozen=True)
class BlockwiseRun:
    """The kept steps, in order, and the names of those from blocks with only finite numbers."""

    steps: Sequence[Step]
    are_finite: Collection[str]


def run_blockwise(plan: Plan, problem: ProblemSpec, select: Sequence[str], options: RunOptions) -> BlockwiseRun:
    """The steps before the blocks, the context, the selected tables, and the steps after the context.

    There is no context without values, or if only scores or weights are selected: then blocks end with the last of
    these.
    """
    keep_freed_memory(KEPT_BYTES)
    parts = split_plan(plan, tuple(plan.resolve(name) for name in select))
    pool, blas_is_limited = threads_of(options), has_one_thread_in_blocks(options)
    engine = DenseEngine(
        plan, problem, problem.precision, run_all=partial(run_all, pool=pool) if blas_is_limited else None
    )
    with one_thread_each(options):
        engine.run(parts.before)
        if not parts.kept:
            return BlockwiseRun(engine.steps(), ())
        table, layout = plan["weights"], problem.leading
        lengths = Lengths(layout.batch or 1, layout.heads, layout.kv_heads, *table.shape[-2:])
        block_plan = make_block_plan(parts, engine.values, lengths, problem.precision)
        buffers = ResultBuffers(block_plan, parts, options.allocate)
        _fill(buffers, problem, options, pool)
        engine.values |= buffers.values
        engine.notes |= buffers.notes(plan, problem)
        engine.run(parts.after)
    return BlockwiseRun(engine.steps(), buffers.are_finite)


@dataclass(frozen=True)
class _BlockedTask:
    """The blocks of a problem, and the task that computes each."""

    task: BlockTask
    blocks: Sequence[Block]


def _fill(buffers: "ResultBuffers", problem: ProblemSpec, options: RunOptions, pool: ThreadsExecutor | None) -> None:
    """Compute every block and keep its results."""
    in_tiles = CONTEXT in buffers.values and buffers.values.keys() <= {CONTEXT, LSE} and can_tile(problem)
    is_for_one = in_tiles and _is_for_one_thread(buffers.plan, problem, options.sizes)
    with executor(options, None if is_for_one else pool) as run:
        if in_tiles:
            work = _tile_work(buffers, problem, options, min_blocks=1 if is_for_one else MIN_BLOCKS)
        else:
            work = _row_work(buffers, options.sizes)
        with closing(run(work.task, work.blocks, buffers.keep)) as finished:
            for number, _ in enumerate(finished, 1):
                if options.progress is not None:
                    options.progress(number, len(work.blocks))


def _is_for_one_thread(plan: BlockPlan, problem: ProblemSpec, sizes: BlockSizes) -> bool:
    """Whether a problem in tiles is so fast that other threads would save no time.

    This is known if the score is a product, by BLAS, and every node belongs to this package. Masked cells count too.
    """
    score, context, lengths = plan.score_nodes[0], plan.context_nodes[-1], plan.lengths
    is_product = score.record is not None and score.record.factorization is not None
    normalizer = problem.normalize.record.online
    assert normalizer is not None  # tiles need one
    if not is_product or plan.precision.is_extended or not all(node.is_built_in for node in plan.nodes):
        return False
    key, value = (plan.inputs[name].value for name in (score.inputs["key"], context.inputs["value"]))
    cells = lengths.items * lengths.heads * lengths.queries * lengths.keys
    work = cells * (normalizer.multiplications + key.shape[-1] + value.shape[-1]) + PER_NUMBER * (key.size + value.size)
    if plan.precision.accumulation_dtype != "float32":
        work *= 2
    return bool(work <= sizes.alone_multiplications)


def _tile_work(buffers: "ResultBuffers", problem: ProblemSpec, options: RunOptions, *, min_blocks: int) -> _BlockedTask:
    """Blocks to compute tile by tile: at least `min_blocks` for several heads, batch items or queries."""
    plan, sizes, lengths = buffers.plan, options.sizes, buffers.plan.lengths
    output = buffers.output if options.executor in (SERIAL, THREADS) else None
    is_masked = any(node.stage == "mask" and POSITIONS in node.inputs for node in plan.score_nodes)
    reads_table = any(node.function is add_bias for node in plan.score_nodes)
    cells = max(sizes.tile_cells * (WIDER_WITH_TABLE if reads_table else 1) // buffers.parts.numbers_per_pair, 1)
    rows = min(sizes.masked_rows if is_masked else sizes.rows, max(cells // MIN_TILE_KEYS, 1))
    if is_masked:
        rows = _masked_rows(lengths, rows, cells, min_blocks)
        if _seen_keys(plan, rows) < min(2 * rows, lengths.keys // 4):  # a narrow window: a fifth less time
            rows = max(rows // 2, 1)
    else:
        rows = _rows(lengths, max(rows, min(FEW_KEYS_ROWS * rows, cells // lengths.keys)), min_blocks)
    keys = min(max(cells // rows, 1), lengths.keys)
    if is_masked and rows < keys and heads_of_items_that_fit(lengths, cells // rows**2) > 1:
        keys = rows  # square tiles of several heads: fewer of them than long ones of one head
    all_heads = plan.needs_all_heads
    blocks = list(make_blocks(lengths, rows, keys, cells, all_heads=all_heads, min_blocks=min_blocks))
    if is_masked:
        blocks = [part for block in blocks for part in _split_first_queries(block)]
    with np.errstate(all="ignore"):
        plan, tile_plan = make_tile_plan(plan, problem.normalize, rows, keys, sizes)
    return _BlockedTask(BlockTask(plan, tile_plan, tuple(buffers.values), output=output), blocks)


def _split_first_queries(block: Block) -> Iterator[Block]:
    """A block; its first queries, which see few keys if masks are causal, become a separate one."""
    if block.queries.start == 0 and block.queries.stop > tiles.FEW_KEYS:
        yield replace(block, queries=slice(tiles.FEW_KEYS, block.queries.stop))
        yield replace(block, queries=slice(0, tiles.FEW_KEYS))
    else:
        yield block


def _row_work(buffers: "ResultBuffers", sizes: BlockSizes) -> _BlockedTask:
    """Blocks to compute in whole rows."""
    lengths, names = buffers.plan.lengths, tuple(buffers.values)
    numbers = lengths.keys * buffers.parts.numbers_per_pair
    task = BlockTask(buffers.plan, None, names, buffers.every_key)
    rows, all_heads = _rows(lengths, max(sizes.row_cells // numbers, 1), MIN_BLOCKS), buffers.plan.needs_all_heads
    return _BlockedTask(task, list(make_blocks(lengths, rows, numbers, sizes.row_cells, all_heads=all_heads)))


def _seen_keys(plan: BlockPlan, rows: int) -> float:
    """The number of keys that a block in the middle sees, by the bounds of all masks."""
    first = max(plan.lengths.queries - rows, 0) // 2
    block = Block(slice(0, 1), slice(0, 1), slice(first, min(first + rows, plan.lengths.queries)))
    arrays = {name: x.slice_block(block, plan.groups) for name, x in plan.inputs.items()}
    bounds = key_bounds(plan.score_nodes, arrays, plan.lengths.keys)
    return bounds.any_visible[1] - bounds.any_visible[0] - (bounds.gap[1] - bounds.gap[0])


def _masked_rows(lengths: Lengths, most: int, cells: int, min_blocks: int) -> int:
    """A block's number of queries if keys are masked: `most`, or half as many.

    Smaller blocks compute fewer masked cells; larger ones take less time per cell, as their workers wait less for each
    other. So blocks are the smaller ones if there would be a single larger one, which can't be shared, or if square
    tiles of the heads then have about the right number of cells.
    """
    half = max(most // 2, 1)
    is_one_block = lengths.items * lengths.heads * -(-lengths.queries // most) < min_blocks
    return half if is_one_block or heads_of_items_that_fit(lengths, cells // half**2) * most**2 > cells else most


def _rows(lengths: Lengths, most: int, min_blocks: int) -> int:
    """A block's number of queries, at most `most`, such that blocks are about equally large.

    For one head, or few heads with many queries, the number of blocks is a multiple of `min_blocks` if possible. A few
    queries of several heads stay together, as each block reads the keys again; many heads make enough blocks.
    """
    count, all_heads = -(-lengths.queries // most), lengths.items * lengths.heads
    if all_heads == 1 or (all_heads < FEW_HEADS and lengths.queries >= FEW_QUERIES):
        count = min_blocks * -(-lengths.queries // (min_blocks * most))
    return -(-lengths.queries // count)


class ResultBuffers:
    """Arrays of the selected results, which blocks fill, and the queries that attend to any key.

    `parts` says which nodes are kept, and where blocks end; if that is before scores are masked, it is unknown which
    queries attend to any key.
    """

    def __init__(self, plan: BlockPlan, parts: PlanParts, allocate: Allocate) -> None:
        self.plan, self.parts = plan, parts
        self.nodes = {node.name: node for node in parts.kept}
        self.values: dict[str, Array] = {}
        for name, node in self.nodes.items():
            allocate_value = allocate if "m" in node.letters else in_memory
            dtype = np.dtype(bool if node.is_boolean else plan.precision.numpy_name)
            self.values[name] = allocate_value(name, node.shape, dtype)
        self.attends = None if plan.attending_table is None else np.zeros(plan.row_shape(parts.last), dtype=bool)
        # Only for values that this thread copies; it reads them while they are in the caches.
        self.are_finite = {name for name, value in self.values.items() if value.dtype.kind == "f" and name != CONTEXT}

    @property
    def every_key(self) -> bool:
        """Whether cells of masked keys are computed: for a selected node, or for filled rows without keys."""
        names = self.nodes.items()
        selects = any(node.has_key_axis for name, node in names if name != WEIGHTS)
        return selects or self.plan.fill is not None

    @property
    def output(self) -> Output | None:
        """The array of the context, if blocks compute in its stored type."""
        value, precision = self.values[CONTEXT], self.plan.precision
        is_written = precision.name == precision.accumulation_dtype
        return Output(value, self.nodes[CONTEXT].letters) if is_written else None

    def keep(self, block: Block, result: BlockResult) -> None:
        """Copy the results of a block to its slice of the arrays; weights outside its visible keys are 0."""
        for name, value in result.values.items():
            table = self.values[name]
            index = block.index(self.nodes[name].letters)
            index = tuple(part if size > 1 else ALL for part, size in zip(index, table.shape, strict=True))
            if name == WEIGHTS:
                first, end = result.keys
                table[(*index[:-1], slice(0, first))] = 0
                table[(*index[:-1], slice(end, None))] = 0
                index = (*index[:-1], slice(first, end))
            with np.errstate(over="ignore"):  # `engine.nonfinite` reports it
                rounded = self.plan.precision.round(value)
            if name in self.are_finite and not all_finite(rounded):
                self.are_finite.discard(name)  # another thread may have done so
            table[index] = rounded
        if self.attends is not None:
            self.attends[block.index(self.parts.last.letters[:-1])] = result.attends

    def notes(self, plan: Plan, problem: ProblemSpec) -> Mapping[str, tuple[str, ...]]:
        """The warning about queries that see no key: on the weights, or else on the plan's last result."""
        if self.attends is None or WEIGHTS in self.plan.inputs or self.attends.all():  # given weights have the warning
            return {}
        axes = self.parts.last.letters[:-1]
        empty = empty_rows_warning(plan, ~self.attends, axes, problem.numbered_query_labels)
        last = next(node.name for node in reversed(self.parts.in_blocks) if node.name in self.values)
        return {WEIGHTS if WEIGHTS in self.values else last: empty}
