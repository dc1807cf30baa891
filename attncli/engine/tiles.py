"""Tiles: a block of queries over some keys at a time, by the online form of the normalizer.

The scores of a tile are computed in a buffer that its thread reuses; what is accumulated is divided at the end.
"""

from collections.abc import Generator, Iterator, Sequence
from itertools import pairwise
from typing import Literal

from attncli.base.dataclasses import dataclass
from attncli.base.lazy_numpy import Array, all_finite, np
from attncli.engine.accumulators import Accumulator, DirectExponentials, VisibleCells, hide
from attncli.engine.block_plan import BlockPlan
from attncli.engine.block_rows import Values, key_bounds
from attncli.engine.blocks import Block, astype_float
from attncli.engine.evaluate import call
from attncli.engine.grouped_heads import grouped_product, repeated_for
from attncli.engine.scratch import SCRATCH
from attncli.engine.slices import slice_left, slice_right
from attncli.engine.small_products import Panels, scale, store_by_feature
from attncli.engine.tile_plan import RIGHT, SMALL_SCORES, TilePlan
from attncli.ops.elementwise import add
from attncli.ops.masks import apply_mask, bias
from attncli.ops.rules import KeyBounds
from attncli.ops.tables import add_bias, table_cells
from attncli.plan.graph import Node

TILE_ALIGNMENT = 64  # keys that are masked nowhere begin and end at multiples, and tiles have multiples of so many
SAMPLED_KEYS = 16
FEW_KEYS, MANY_KEYS = 64, 4  # so few keys, where there are more than so many times as many
BiasUse = Literal["none", "bounds", "masks"]  # what biases of −∞ hide: nothing, ranges of keys, or each cell


@dataclass(frozen=True)
class KeyTile:
    """A range of keys, and those ranges of it in which cells may be masked."""

    first: int
    end: int
    masked: Sequence[tuple[int, int]]

    @property
    def is_masked_throughout(self) -> bool:
        """Whether cells of every key may be."""
        return sum(end - first for first, end in self.masked) == self.end - self.first


def compute(
    plan: BlockPlan, tiles: TilePlan, arrays: Values, out: Array | None = None
) -> Generator[None, None, tuple[Array, Array]]:
    """The context of a block, and which of its queries attend to anything; yields before the first tile and after each.

    The context is written to `out` [… n e], where there is one.
    """
    block, value = _Block(plan, tiles, arrays), arrays[tiles.value]
    tiles = block.tiles
    is_in_place = out is not None and out.dtype == tiles.dtype
    context = out if out is not None and is_in_place else np.empty(block.context_shape, tiles.dtype)
    sums: Accumulator | None = None
    if tiles.exp_scale is not None:
        direct = DirectExponentials(tiles, context, block.sink, values_are_finite=True)
        yield from block.accumulate(direct)
        sums = direct if direct.is_safe(block.see_a_key) else None
    if sums is None:
        block.bound_keys("masks")
        sums = Accumulator(tiles, context, block.sink, values_are_finite=all_finite(value))
        yield from block.accumulate(sums)
    attends = sums.result()
    if tiles.fill is not None and not attends.all():
        mean = repeated_for(value, arrays[tiles.query]).mean(axis=-2, keepdims=True)
        np.copyto(context, np.nan if tiles.fill == "nan" else mean, where=~attends[..., None])
    if out is not None and not is_in_place:
        out[...] = context
    return context, attends


def sampled_scores_are_small(plan: BlockPlan, tiles: TilePlan, block: Block) -> bool:
    """Whether exponentials of a block's scores of some keys, masked or not, are far from infinite and from 0."""
    if tiles.exp_scale is None:
        return False
    arrays = plan.inputs_of_block(block, with_query_axis=False) | plan.inputs_of_block(block, with_query_axis=True)
    keys = plan.lengths.keys
    with SCRATCH.in_use():
        scores = _Block(plan, tiles, arrays).scores(0, keys, -(-keys // SAMPLED_KEYS))
    return bool(np.abs(scores).max() * abs(tiles.exp_scale) < SMALL_SCORES)


def sums_stay_in_range(plan: BlockPlan, tiles: TilePlan, block: Block) -> bool:
    """Whether a block can be computed with exponentials as they are."""
    if tiles.exp_scale is None:
        return False
    arrays = plan.inputs_of_block(block, with_query_axis=False) | plan.inputs_of_block(block, with_query_axis=True)
    probe = _Block(plan, tiles, arrays)
    if probe.tiles.exp_scale is None:  # of few keys: it never takes them as they are, and says nothing of the others
        return True
    context = np.empty(probe.context_shape, probe.tiles.dtype)
    sums = DirectExponentials(probe.tiles, context, probe.sink, values_are_finite=True)
    with SCRATCH.in_use():
        for _ in probe.accumulate(sums):
            pass
    return sums.is_safe(probe.see_a_key)


def key_tiles(bounds: KeyBounds, keys: int, min_unmasked: int) -> Iterator[KeyTile]:
    """The tiles of at most `keys` keys that are visible to any query.

    Keys that are visible to all queries are masked nowhere, where there are at least `min_unmasked` of them.
    """
    first, end = map(int, bounds.any_visible)
    low, high = first, end
    if bounds.all_visible[0] > first:
        low = _round_up(int(bounds.all_visible[0]), TILE_ALIGNMENT)
    if bounds.all_visible[1] < end:
        high = int(bounds.all_visible[1]) // TILE_ALIGNMENT * TILE_ALIGNMENT
    masked = [(first, low), (high, end)] if high - low >= min(min_unmasked, end - first) else [(first, end)]
    alignment = TILE_ALIGNMENT if keys >= TILE_ALIGNMENT else 1
    count = -(-(end - first) // (keys if end - first <= keys else keys // alignment * alignment))
    at = [first + _round_up((end - first) * number // count, alignment) for number in range(count)]
    for start, stop in pairwise([*at, end]):
        within = [(max(start, masked_from), min(stop, masked_to)) for masked_from, masked_to in masked]
        yield KeyTile(
            start, stop, [(masked_from, masked_to) for masked_from, masked_to in within if masked_from < masked_to]
        )


def _round_up(number: int, unit: int) -> int:
    """The smallest multiple of a unit that is no smaller than a number."""
    return -(-number // unit) * unit


@dataclass(frozen=True, eq=False)
class _LeftFactors:
    """The left factor of scores; in slices the high one and the others, whose products are added.

    From the sum the `reference` [… n 1] is subtracted, the largest score of each query before it is scaled: scores that
    count are near it, and the difference is small and has more digits after the point than they have. What is left is
    multiplied by `scale`.
    """

    high: Array | Panels
    others: Array | Panels | None = None
    reference: Array | None = None
    scale: float = 1.0


class _Block:
    """The arrays of a block and its tiles.

    Queries that see few of many keys are computed with more care, which costs next to nothing there.
    """

    def __init__(self, plan: BlockPlan, tiles: TilePlan, arrays: Values) -> None:
        self.plan, self.tiles, self.arrays = plan, tiles, arrays
        may_leave_out_keys = tiles.exp_scale is not None and self._bias_hides_keys()
        self.bound_keys("masks" if tiles.exp_scale is None else "bounds" if may_leave_out_keys else "none")
        self.sink = None if tiles.sink is None else arrays[tiles.sink]
        query, value = arrays[tiles.query], arrays[tiles.value]
        leading = query.shape[:-2]
        if value.shape[:-2] != leading:
            leading = np.broadcast_shapes(leading, repeated_for(value[..., :1, :1], query).shape[:-2])
        self.rows = (*leading, query.shape[-2])
        self.context_shape = (*self.rows, value.shape[-1])
        if self._seen_keys <= FEW_KEYS < plan.lengths.keys // MANY_KEYS:
            self.tiles = tiles.for_few_keys

    def bound_keys(self, biases: BiasUse) -> None:
        """Make the tiles of the keys that masks leave, and biases of −∞, as far as these are used.

        By their bounds keys are left out that biases hide from every query, such as those whose columns they lack. The
        exponentials of other hidden scores are 0 without a mask.
        """
        bounds = self._bounds(with_biases=biases != "none")
        if biases == "bounds":
            bounds = KeyBounds(bounds.any_visible, self._bounds(with_biases=False).all_visible)
        self.key_tiles = list(key_tiles(bounds, self.tiles.keys, self.tiles.min_unmasked_keys))

    def _bounds(self, *, with_biases: bool) -> KeyBounds:
        """The key bounds of all masks, and of biases of −∞."""
        nodes = [node for node in self.plan.score_nodes if with_biases or node.function is not bias]
        return key_bounds(nodes, self.arrays, self.plan.lengths.keys)

    @property
    def _seen_keys(self) -> int:
        """How many keys there are from the first to the last that any query sees."""
        return self.key_tiles[-1].end - self.key_tiles[0].first if self.key_tiles else 0

    def _bias_hides_keys(self) -> bool:
        """Whether biases hide keys of the first query or the last: then ranges of keys may be left out."""
        for node in [node for node in self.plan.score_nodes if node.function is bias]:
            arguments = node.arguments(self.arrays)
            rows = arguments.pop("query_rows")[[0, -1]]
            if not bias(**arguments, query_rows=rows).all():
                return True
        return False

    def accumulate(self, sums: Accumulator) -> Generator[None]:
        """Add every tile, as long as no sum is too large; yields before the first, and after each."""
        if self.tiles.summation.in_slices:  # whose left factors are found by a product with all keys
            yield
        factors, arrays = self._left_factors(sums.score_factor), self._arrays_to_multiply()
        yield
        for tile in self.key_tiles:
            part = self.plan.slice_keys(arrays, tile.first, tile.end)
            scores = self._scores(factors, part)
            sums.add(scores, self._visible_cells(tile), part[self.tiles.value].astype(self.tiles.dtype, copy=False))
            yield
            if not sums.is_below_limit():
                return

    def _arrays_to_multiply(self) -> Values:
        """The arrays of the block, the right factor of scores as it is multiplied fastest."""
        if self.tiles.product is None or self.tiles.summation.in_slices:
            return self.arrays
        return self.arrays | {RIGHT: store_by_feature(self.arrays[RIGHT], self.rows[-1], "right factor")}

    def scores(self, first: int, end: int, step: int) -> Array:
        """The scores, before masking, of one in `step` keys from `first` to before `end`."""
        return self._scores(self._left_factors(1.0), self.plan.slice_keys(self.arrays, first, end, step))

    def _left_factors(self, factor: float) -> _LeftFactors | None:
        """The left factors of scores that are products, times their scale and a factor; None where they are none."""
        tiles, features, by = self.tiles, self.tiles.summation.features, self.tiles.scale * factor
        if tiles.product is None:
            return None
        query = self.arrays[tiles.query]
        if not tiles.summation.in_slices:
            return _LeftFactors(self._left_factor(query, by, features, "left factor"))
        slices = slice_left(query)
        high = self._left_factor(slices.high, 1.0, features, "left factor")
        others = self._left_factor(slices.others, 1.0, 2 * features, "other slices")
        return _LeftFactors(high, others, self._largest_scores(_LeftFactors(high, scale=by)) / by, by)

    def _left_factor(self, x: Array, by: float, terms: int, memory: str) -> Array | Panels:
        """A left factor times a number, in the type of scores."""
        dtype = self.tiles.summation.score_dtype
        return scale(x, by, dtype, keys=self._seen_keys, terms=terms, memory=memory)

    def _largest_scores(self, high: _LeftFactors) -> Array:
        """The largest score [… n 1] of each query, by high slices, of those that are not masked; 0 where all are."""
        largest = np.full((*self.rows, 1), -np.inf)
        for tile in self.key_tiles:
            part = self.plan.slice_keys(self.arrays, tile.first, tile.end)
            part[RIGHT] = slice_right(part[RIGHT]).high
            scores = self._scores(high, part)
            hide(scores, self._visible_cells(tile))
            np.maximum(largest, scores.max(axis=-1, keepdims=True), out=largest)
        return np.where(np.isfinite(largest), largest, 0)

    def _scores(self, left: _LeftFactors | None, part: Values) -> Array:
        """The scores of a tile before masking, in memory of their own."""
        tiles, buffer, dtype = self.tiles, None, self.tiles.summation.score_dtype
        if left is not None and tiles.product is not None:
            buffer = self._scores_before_nodes(left, part[RIGHT])
            part[tiles.product] = buffer
        for node in tiles.nodes:
            if node.stage != "mask":
                part[node.name] = astype_float(_value(node, part, buffer), dtype)
        scores: Array = part[tiles.scores_before_mask]
        return scores.copy() if tiles.has_own_operators and scores is not buffer else scores

    def _scores_before_nodes(self, left: _LeftFactors, keys: Array) -> Array:
        """The products of left factors with those of some keys [… m d], from which the nodes after them make scores."""
        features = self.tiles.summation.features
        if left.others is None:
            products = self._product(left.high, keys, features, "scores")
        else:
            right = slice_right(keys)
            products = self._product(left.high, right.high, features, "scores")
            products -= left.reference
            products += self._product(left.others, right.others, 2 * features, "other scores")
        if left.scale != 1:
            products *= left.scale
        return products

    def _product(self, left: Array | Panels, keys: Array, terms: int, memory: str) -> Array:
        """The product of a left factor with that of some keys [… m d]."""
        dtype = self.tiles.summation.score_dtype
        right = keys.astype(dtype, copy=False).swapaxes(-1, -2)
        return grouped_product(left, right, SCRATCH.get(memory, (*self.rows, right.shape[-1]), dtype), terms)

    def _visible_cells(self, tile: KeyTile) -> Sequence[VisibleCells]:
        """The keys of a tile whose cells may be masked, and which of them each query sees."""
        return [(slice(first - tile.first, end - tile.first), self._visible(first, end)) for first, end in tile.masked]

    def _visible(self, first: int, end: int) -> Array:
        """Which of some keys each query sees, true and false [… n m]."""
        part = self.plan.slice_keys(self.arrays, first, end)
        for node in self.tiles.nodes:
            if node.stage == "mask" and node.function is not apply_mask:
                part[node.name] = call(node, node.arguments(part))
        visible: Array = part[self.tiles.visible]
        return visible

    def see_a_key(self) -> Array:
        """Which queries [… n] see any key."""
        sees = np.zeros(self.rows, bool)
        has_bias = any(node.function is bias for node in self.tiles.nodes)  # of −∞, which hides keys where no mask does
        for tile in self.key_tiles:
            if not tile.is_masked_throughout and not has_bias:
                sees[...] = True
                break
            sees |= self._visible(tile.first, tile.end).any(axis=-1)
        return sees


def _value(node: Node, part: Values, buffer: Array | None) -> Array:
    """The value of a node of a tile; sums are computed in the buffer of the scores, where these are there.

    A bias of −∞ is added here as it is: its cells are masked, or their exponentials are 0.
    """
    arguments = node.arguments(part)
    if node.function is add and arguments["left"] is buffer:
        return np.add(buffer, arguments["right"], out=buffer)
    if node.function is add_bias:
        scores = arguments.pop("scores")
        return np.add(scores, table_cells(**arguments, fill=0), out=buffer if scores is buffer else None)
    return call(node, arguments)
