"""The task of a worker: one block, from the arrays that every block reads and the parts that belong to this one."""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager

from attncli.base.axes import Letters
from attncli.base.dataclasses import dataclass
from attncli.base.lazy_numpy import Array, np
from attncli.engine import block_rows, tiles
from attncli.engine.block_plan import CONTEXT, BlockPlan
from attncli.engine.blocks import Block
from attncli.engine.scratch import SCRATCH
from attncli.engine.tile_plan import TilePlan


class Cancelled(Exception):  # noqa: N818 - it stops a task early, and is no error
    """The result of the block is not needed any more."""


@dataclass(frozen=True)
class BlockResult:
    """The values of the selected nodes of a block, which queries attend to anything, and the range of keys computed.

    A value that was written to its place is not among them. Where blocks end before scores are masked, it is not known
    what attends to anything.
    """

    values: Mapping[str, Array]
    attends: Array | None
    keys: tuple[int, int]


@dataclass(frozen=True)
class Output:
    """The array of the whole context, with the letters of its axes, where workers of this process write to it."""

    value: Array
    axes: Letters

    def part(self, block: Block) -> Array:
        """The part of a block."""
        part: Array = self.value[block.index(self.axes)]
        return part


@dataclass(frozen=True)
class BlockTask:
    """The arrays that every block reads, and how a block is computed: in tiles, or in whole rows of the nodes `names`.

    With `every_key` rows have all keys, also those that are masked for the whole block. Tiles write the context to an
    `output`; without it, it is a value of the result.
    """

    plan: BlockPlan
    tile_plan: TilePlan | None
    names: Sequence[str] = (CONTEXT,)
    every_key: bool = False
    output: Output | None = None

    def query_inputs(self, block: Block) -> dict[str, Array]:
        """The parts that belong to the queries of a block."""
        return self.plan.inputs_of_block(block, with_query_axis=True)

    def steps(self, block: Block, query_inputs: Mapping[str, Array]) -> Generator[None, None, BlockResult]:
        """Compute a block from the parts that belong to its queries; a caller may stop at each yield."""
        arrays = self.plan.inputs_of_block(block, with_query_axis=False) | dict(query_inputs)
        with np.errstate(all="ignore"):
            if self.tile_plan is not None:
                out = None if self.output is None else self.output.part(block)
                context, attends = yield from tiles.compute(self.plan, self.tile_plan, arrays, out)
                values = {CONTEXT: context} if out is None else {}
                return BlockResult(values, attends, (0, self.plan.lengths.keys))
            yield
            bounds = block_rows.key_bounds(self.plan.score_nodes, arrays, self.plan.lengths.keys)
            first, end = map(int, bounds.any_visible)
            if self.every_key or first == end:  # a query without visible keys needs its row of zeros
                first, end = 0, self.plan.lengths.keys
            table = self.plan.attending_table
            names = self.names if table is None else (*self.names, table)
            values = block_rows.compute(self.plan, self.plan.slice_keys(arrays, first, end), names)
            named = {name: values[name] for name in self.names}
            return BlockResult(named, self.plan.attends(values), (first, end))


def compute(
    task: BlockTask, block: Block, query_inputs: Mapping[str, Array], is_cancelled: Callable[[], bool] = bool
) -> BlockResult:
    """Compute a block of a task, wherever it runs; raises Cancelled at a yield where `is_cancelled()`."""
    with begin(task, block, query_inputs) as begun:
        return begun.finish(is_cancelled)


@dataclass(frozen=True)
class BegunBlock:
    """A block that was computed up to the first yield of its steps."""

    steps: Generator[None, None, BlockResult]

    def finish(self, is_cancelled: Callable[[], bool] = bool) -> BlockResult:
        """Compute the rest; raises Cancelled at a yield where `is_cancelled()`."""
        while not is_cancelled():
            try:
                next(self.steps)
            except StopIteration as end:
                result: BlockResult = end.value
                return result
        raise Cancelled


@contextmanager
def begin(task: BlockTask, block: Block, query_inputs: Mapping[str, Array]) -> Iterator[BegunBlock]:
    """Compute a block of a task up to the first yield of its steps, before any of its products."""
    # Steps are closed by this thread, whose floating-point state they changed.
    with SCRATCH.in_use(), closing(task.steps(block, query_inputs)) as steps:
        next(steps)
        yield BegunBlock(steps)
