"""A problem block by block: prepared whole, scored and answered in blocks, and put together again."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace

from attncli.base.dtypes import Precision
from attncli.base.lazy_numpy import Array, np
from attncli.engine import block_rows, tile_plan
from attncli.engine.block_task import CONTEXT, WEIGHTS, BlockResult, BlockTask
from attncli.engine.blocks import Block, Lengths, blocks
from attncli.engine.dense import Recorder
from attncli.engine.executors import workers
from attncli.engine.options import Allocate, RunOptions, in_memory
from attncli.engine.recipe import Recipe, numbers, read_off
from attncli.plan.build import FINISH, PREPARE, SHARE, told
from attncli.problem.spec import ProblemSpec
from attncli.trace.diagnostics import empty_rows_warning, overflow
from attncli.trace.steps import Step, Trace, answering

# Blocks are the same whatever the number of workers, and so are the last digits.
ROWS = 1024  # queries of a block that goes tile by tile, at most
EDGE = 512  # where masks hide some keys: at the edges of what is visible smaller blocks waste less
TILE = 2**18  # cells of a tile: its scores stay in a core's second cache
CELLS = 2**19  # numbers of the largest step of a block of whole rows

SHARED = {"shared_key", "shared_value"}  # made on demand: blocks share heads without them
FINISHED = {"merged", "output", "w_o", "b_o"}  # made at the end, from the context


def trace(problem: ProblemSpec, select: Iterable[str], means: RunOptions) -> Trace:
    """The steps of queries, keys and values, the selected ones of the tables, and those from the context on.

    Raises AttnError where `select` names no step.
    """
    select = tuple(select)
    front = Recorder(Precision(problem.dtype or "float64"))
    for stage in PREPARE if SHARED.isdisjoint(select) else (*PREPARE, *SHARE):
        stage(problem, front)
    layout = problem.layout
    rows, keys = (front.now(role).value.shape[-2] for role in ("query", "key"))
    lengths = Lengths(layout.batch or 1, layout.heads, layout.kv_heads, rows, keys)
    recipe, steps = read_off(problem, front, lengths)
    known = (*front.steps.values(), *steps.values())
    wanted = dict.fromkeys(answering(name, known).name for name in select if name not in FINISHED)
    given = {name: steps[name] for name in wanted if name in steps and steps[name].stage == "given"}
    tables = ResultBuffers(
        recipe, steps, means.allocate, [name for name in wanted if name in steps and name not in given]
    )
    _fill(tables, problem, means)
    front.steps |= given | tables.steps(problem.selected_query_labels)
    for stage in FINISH:
        stage(problem, front)
    return told(problem, front.steps.values(), front.precision)


def _fill(tables: "ResultBuffers", problem: ProblemSpec, means: RunOptions) -> None:
    """Compute every block: tile by tile where the context alone is wanted and its normalizer can merge."""
    recipe, lengths = tables.recipe, tables.recipe.lengths
    if list(tables.values) == [CONTEXT] and tile_plan.can_merge(problem.normalize, problem.context):
        masked = any(move.stage == "mask" for move in recipe.scoring)
        rows = EDGE if masked else _evenly(lengths.queries)
        keys = min(max(TILE // rows, 1), lengths.keys)
        with np.errstate(all="ignore"):
            job, cells = BlockTask(*tile_plan.plan(recipe, problem.normalize, keys)), TILE
    else:
        job = BlockTask(recipe, None, tuple(tables.values), tables.every_key)
        keys, cells = lengths.keys * tables.cell, CELLS
        rows = max(cells // keys, 1)
    todo = list(blocks(lengths, rows, keys, cells))
    with workers(means) as fan_out, closing(fan_out(job, todo, tables.keep)) as done:
        for number, _ in enumerate(done, 1):
            if means.progress is not None:
                means.progress(number, len(todo))


def _evenly(queries: int) -> int:
    """How many queries a block has where there is an even number of blocks, none of them larger than ROWS."""
    return -(-queries // (2 * -(-queries // (2 * ROWS))))


class ResultBuffers:
    """The wanted steps as they fill, block by block: the context always, and which queries attend to anything."""

    def __init__(self, recipe: Recipe, steps: Mapping[str, Step], allocate: Allocate, wanted: Sequence[str]) -> None:
        self.recipe, self.made = recipe, steps
        self.values: dict[str, Array] = {}
        for name in dict.fromkeys((*wanted, CONTEXT)):
            room = allocate if "m" in steps[name].axes else in_memory
            self.values[name] = room(name, self._shape(steps[name]), steps[name].value.dtype)
        context = self.values[CONTEXT]
        self.attends = np.zeros(context.shape[:-1], dtype=bool)

    def _shape(self, step: Step) -> tuple[int, ...]:
        """How long the axes of a step are; one of length 1 that serves many stays so."""
        lengths = self.recipe.lengths
        known = {"b": lengths.items, "h": lengths.heads, "n": lengths.queries, "m": lengths.keys}
        known["m+1"] = lengths.keys + 1
        return tuple(
            size if letter not in known or (size == 1 < known[letter]) else known[letter]
            for letter, size in zip(step.axes, step.value.shape, strict=True)
        )

    @property
    def cell(self) -> int:
        """How many numbers the largest step that is computed has for each pair of a query and a key."""
        return max(numbers(step) for step in self.made.values() if step.stage != "given")

    @property
    def every_key(self) -> bool:
        """Whether a step is wanted that has cells for hidden keys too."""
        return any({"m", "m+1"} & set(self.made[name].axes) for name in self.values if name != WEIGHTS)

    def keep(self, block: Block, done: BlockResult) -> None:
        """Put what came of a block in its place; keys that no query of it may see weigh nothing."""
        for name, value in done.values.items():
            axes, table = self.made[name].axes, self.values[name]
            place = tuple(
                part if size > 1 else slice(None) for part, size in zip(block.place(axes), table.shape, strict=True)
            )
            if name == WEIGHTS:
                first, end = done.keys
                table[(*place[:-1], slice(0, first))] = 0
                table[(*place[:-1], slice(end, None))] = 0
                place = (*place[:-1], slice(first, end))
            table[place] = self.recipe.precision.stored(value)
        self.attends[block.place(self.made[CONTEXT].axes[:-1])] = done.attends

    def steps(self, labels: Sequence[str]) -> dict[str, Step]:
        """The steps, full; the weights, or else the context, say who attends to nothing."""
        empty = empty_rows_warning(~self.attends, self.made[CONTEXT].axes[:-1], labels)
        notes = {WEIGHTS: empty} if WEIGHTS in self.values else {CONTEXT: empty}
        notes[CONTEXT] = (*notes.get(CONTEXT, ()), *self._unsound())
        return {
            name: replace(self.made[name], value=value, notes=notes.get(name, ()))
            for name, value in self.values.items()
        }

    def _unsound(self) -> tuple[str, ...]:
        """Where the context is not finite, what its first such query says about the steps that led there."""
        sound = np.isfinite(self.values[CONTEXT])
        if sound.all():
            return ()
        at = np.unravel_index(int(sound.argmin()), sound.shape)
        place = dict(zip(self.made[CONTEXT].axes, map(int, at), strict=False))
        first = [slice(place.get(letter, 0), place.get(letter, 0) + 1) for letter in "bhn"]
        block = Block(*first)
        arrays = self.recipe.cut(block, asking=False) | self.recipe.cut(block, asking=True)
        with np.errstate(all="ignore"):
            values = arrays | block_rows.compute(self.recipe, arrays, [move.name for move in self.recipe.moves])
        notes = (overflow(move.name, move.stage, move.read(values), values[move.name]) for move in self.recipe.moves)
        return tuple(note for found in notes for note in found)
