"""The job of a worker: one block, from what every block reads and what belongs to this one."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

from attncli.base.lazy_numpy import Array, np
from attncli.engine import block_rows, tiles
from attncli.engine.blocks import Block
from attncli.engine.recipe import Recipe
from attncli.engine.tile_plan import TilePlan

CONTEXT, WEIGHTS = "context", "weights"


class Cancelled(Exception):  # noqa: N818 - it is no error
    """Nobody wants the block any more."""


@dataclass(frozen=True)
class BlockResult:
    """What came of a block: the wanted steps, which queries attend to anything, and the keys that were looked at."""

    values: Mapping[str, Array]
    attends: Array
    keys: tuple[int, int]


@dataclass(frozen=True)
class BlockTask:
    """What every block reads, and how: tile by tile, or whole rows of the wanted steps.

    With `every_key` rows have all keys, also those that the masks hide from the whole block.
    """

    recipe: Recipe
    tiling: TilePlan | None
    wanted: Sequence[str] = (CONTEXT,)
    every_key: bool = False

    def asking(self, block: Block) -> dict[str, Array]:
        """What belongs to the queries of a block."""
        return self.recipe.cut(block, asking=True)

    def steps(self, block: Block, asking: Mapping[str, Array]) -> Generator[None, None, BlockResult]:
        """A block, from what belongs to its queries; between two steps the work may be given up."""
        arrays = self.recipe.cut(block, asking=False) | dict(asking)
        with np.errstate(all="ignore"):
            if self.tiling is not None:
                context, attends = yield from tiles.compute(self.recipe, self.tiling, arrays)
                return BlockResult({CONTEXT: context}, attends, (0, self.recipe.lengths.keys))
            reach = block_rows.seen(self.recipe, arrays)
            first, end = map(int, reach.any_visible)
            if self.every_key or first == end:  # a query that sees nothing is told so by its own weights
                first, end = 0, self.recipe.lengths.keys
            values = block_rows.compute(self.recipe, self.recipe.of_keys(arrays, first, end), (*self.wanted, WEIGHTS))
            attends = (values[WEIGHTS] != 0).any(axis=-1)
            return BlockResult({name: values[name] for name in self.wanted}, attends, (first, end))


def compute(
    job: BlockTask, block: Block, asking: Mapping[str, Array], given_up: Callable[[], bool] = bool
) -> BlockResult:
    """A block of a job, wherever it is computed; raises GivenUp between two steps where nobody wants it any more."""
    with closing(job.steps(block, asking)) as steps:  # by this thread, whose state of arithmetic they have changed
        while True:
            try:
                next(steps)
            except StopIteration as end:
                done: BlockResult = end.value
                return done
            if given_up():
                raise Cancelled
