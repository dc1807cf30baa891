"""The job of a worker: one block, from what every block reads and what belongs to this one."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

from attncli.arrays import Array, np
from attncli.blockwise import rows, tiles
from attncli.blockwise.blocks import Block
from attncli.blockwise.recipe import Recipe
from attncli.blockwise.tiling import Tiling

CONTEXT, WEIGHTS = "context", "weights"


class GivenUp(Exception):  # noqa: N818 - it is no error
    """Nobody wants the block any more."""


@dataclass(frozen=True)
class Done:
    """What came of a block: the wanted steps, which queries attend to anything, and the keys that were looked at."""

    values: Mapping[str, Array]
    attends: Array
    keys: tuple[int, int]


@dataclass(frozen=True)
class Job:
    """What every block reads, and how: tile by tile, or whole rows of the wanted steps.

    With `every_key` rows have all keys, also those that the masks hide from the whole block.
    """

    recipe: Recipe
    tiling: Tiling | None
    wanted: Sequence[str] = (CONTEXT,)
    every_key: bool = False

    def asking(self, block: Block) -> dict[str, Array]:
        """What belongs to the queries of a block."""
        return self.recipe.cut(block, asking=True)

    def steps(self, block: Block, asking: Mapping[str, Array]) -> Generator[None, None, Done]:
        """A block, from what belongs to its queries; between two steps the work may be given up."""
        arrays = self.recipe.cut(block, asking=False) | dict(asking)
        with np.errstate(all="ignore"):
            if self.tiling is not None:
                context, attends = yield from tiles.compute(self.recipe, self.tiling, arrays)
                return Done({CONTEXT: context}, attends, (0, self.recipe.lengths.keys))
            reach = rows.seen(self.recipe, arrays)
            first, end = map(int, reach.some)
            if self.every_key or first == end:  # a query that sees nothing is told so by its own weights
                first, end = 0, self.recipe.lengths.keys
            values = rows.compute(self.recipe, self.recipe.of_keys(arrays, first, end), (*self.wanted, WEIGHTS))
            attends = (values[WEIGHTS] != 0).any(axis=-1)
            return Done({name: values[name] for name in self.wanted}, attends, (first, end))


def compute(job: Job, block: Block, asking: Mapping[str, Array], given_up: Callable[[], bool] = bool) -> Done:
    """A block of a job, wherever it is computed; raises GivenUp between two steps where nobody wants it any more."""
    with closing(job.steps(block, asking)) as steps:  # by this thread, whose state of arithmetic they have changed
        while True:
            try:
                next(steps)
            except StopIteration as end:
                done: Done = end.value
                return done
            if given_up():
                raise GivenUp
