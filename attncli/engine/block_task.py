"""The task of a worker: one block, from the arrays that every block reads and this block's slices."""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass

from attncli.base.axes import Letters
from attncli.base.lazy_numpy import Array, np
from attncli.engine import tiles
from attncli.engine.blocks import Block, BlockPlan, Values, key_bounds
from attncli.engine.dense import evaluate, evaluate_wide
from attncli.engine.tile_plan import TilePlan
from attncli.problem.fields import CONTEXT, LSE


@dataclass(frozen=True)
class BlockResult:
    """The values of a block's selected nodes, the queries that attend to any key, and the computed range of keys.

    A value that was already written to its array is not among them. If blocks end before scores are masked, it is
    unknown which queries attend to any key.
    """

    values: Mapping[str, Array]
    attends: Array | None
    keys: tuple[int, int]


@dataclass(frozen=True)
class Output:
    """The array of the whole context, with the letters of its axes, if workers of this process write to it."""

    value: Array
    axes: Letters

    def part(self, block: Block) -> Array:
        """The slice of a block."""
        part: Array = self.value[block.index(self.axes)]
        return part


@dataclass(frozen=True)
class BlockTask:
    """The arrays that every block reads, and how to compute a block: in tiles, or in whole rows of the nodes `names`.

    With `every_key` rows have all keys, also those that are masked in the whole block. Tiles compute the context, and
    the log-sum-exp if it is named. They write the context to `output`; without it the result has the context.
    """

    plan: BlockPlan
    tile_plan: TilePlan | None
    names: Sequence[str] = (CONTEXT,)
    every_key: bool = False
    output: Output | None = None

    def query_inputs(self, block: Block) -> dict[str, Array]:
        """The slices for the queries of a block."""
        return self.plan.inputs_of_block(block, with_query_axis=True)

    def steps(self, block: Block, query_inputs: Mapping[str, Array]) -> Generator[None, None, BlockResult]:
        """Compute a block from its slices; a caller may stop at each yield."""
        arrays = self.plan.inputs_of_block(block, with_query_axis=False) | dict(query_inputs)
        with np.errstate(all="ignore"):
            if self.tile_plan is not None:
                out = None if self.output is None else self.output.part(block)
                found = yield from tiles.compute(self.plan, self.tile_plan, arrays, out)
                values = {} if out is not None else {CONTEXT: found.context}
                values |= {LSE: found.log_sum_exp()} if LSE in self.names else {}
                return BlockResult(values, found.attends, (0, self.plan.lengths.keys))
            yield
            bounds = key_bounds(self.plan.score_nodes, arrays, self.plan.lengths.keys)
            first, end = map(int, bounds.any_visible)
            if self.every_key or first == end:  # a query without visible keys needs its row of zeros
                first, end = 0, self.plan.lengths.keys
            table = self.plan.attending_table
            names = self.names if table is None else (*self.names, table)
            values = _compute_rows(self.plan, self.plan.slice_keys(arrays, first, end), names)
            named = {name: values[name] for name in self.names}
            return BlockResult(named, self.plan.attends(values), (first, end))


def _compute_rows(plan: BlockPlan, arrays: Values, names: Sequence[str]) -> Values:
    """The values of the named nodes of a block, as in the dense engine; half types are not yet rounded.

    `arrays` are the block's slices of all inputs.
    """
    values, selected = dict(arrays), set(names)
    compute_node = evaluate_wide if plan.precision.has_wide_tables else evaluate
    for node in plan.nodes:
        keep = values.__setitem__ if selected & set(node.taps.values()) else None
        values[node.name] = compute_node(node, values, plan.precision, keep)
    return {name: values[name] for name in names}
