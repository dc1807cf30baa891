"""Tiles: a block of queries over some keys at a time, by the online form of the normalizer.

The scores of a tile are computed in a buffer that its thread reuses; what is accumulated is divided at the end.
"""

import math
import threading
from collections.abc import Generator, Iterator

from attncli.base.lazy_numpy import Array, np
from attncli.engine.block_plan import BlockPlan
from attncli.engine.block_rows import Values, key_bounds
from attncli.engine.blocks import astype_float
from attncli.engine.evaluate import call
from attncli.engine.tile_plan import RIGHT, TilePlan
from attncli.ops.contexts import weighted_values
from attncli.ops.masks import apply_mask
from attncli.ops.rules import KeyBounds
from attncli.ops.structural import per_head

TILE_ALIGNMENT = 64  # the range of keys visible to all queries begins and ends at multiples, so that tiles are full


class _Scratch(threading.local):
    """Buffers of one thread, by name; a buffer grows to the largest size that was requested."""

    def __init__(self) -> None:
        self.buffers: dict[str, Array] = {}

    def get(self, name: str, shape: tuple[int, ...], dtype: str) -> Array:
        """A buffer of a shape, uninitialized."""
        size, buffer = math.prod(shape), self.buffers.get(name)
        if buffer is None or buffer.size < size or buffer.dtype != dtype:
            buffer = self.buffers[name] = np.empty(size, dtype=dtype)
        return buffer[:size].reshape(shape)


_SCRATCH = _Scratch()


def compute(plan: BlockPlan, tiles: TilePlan, arrays: Values) -> Generator[None, None, tuple[Array, Array]]:
    """The context of a block, and which of its queries attend to anything; yields after each tile."""
    accumulator = OnlineAccumulator(tiles, arrays)
    for first, end, is_masked in key_tiles(key_bounds(plan, arrays), tiles.keys, tiles.min_unmasked_keys):
        part = plan.slice_keys(arrays, first, end)
        scores, visible = _scores(tiles, accumulator, part, is_masked, plan.scores)
        accumulator.add(scores, visible, part[tiles.value])
        yield
    context, attends = accumulator.result()
    if tiles.fill is not None and not attends.all():
        value = arrays[tiles.value]
        filled = np.nan if tiles.fill == "nan" else value.mean(axis=-2, keepdims=True)
        context = np.where(attends[..., None], context, filled)
    return context, attends


def key_tiles(bounds: KeyBounds, keys: int, min_unmasked: int) -> Iterator[tuple[int, int, bool]]:
    """The tiles of at most `keys` keys that are visible to any query: first, end, and whether any cell is masked.

    Keys that are visible to all queries get tiles of their own where there are at least `min_unmasked` of them.
    """
    first, end = map(int, bounds.any_visible)
    unmasked_range = first, end
    if bounds.all_visible[0] > first:
        unmasked_range = -(-int(bounds.all_visible[0]) // TILE_ALIGNMENT) * TILE_ALIGNMENT, end
    if bounds.all_visible[1] < end:
        unmasked_range = unmasked_range[0], int(bounds.all_visible[1]) // TILE_ALIGNMENT * TILE_ALIGNMENT
    if unmasked_range[1] - unmasked_range[0] < min(min_unmasked, end - first):
        unmasked_range = (end, end)
    for low, high, is_masked in (
        (first, unmasked_range[0], True),
        (*unmasked_range, False),
        (unmasked_range[1], end, True),
    ):
        count = -(-(high - low) // keys)
        for number in range(count):
            yield low + (high - low) * number // count, low + (high - low) * (number + 1) // count, is_masked


def _scores(
    tiles: TilePlan, accumulator: "OnlineAccumulator", part: Values, is_masked: bool, name: str
) -> tuple[Array, Array | None]:
    """The scores of a tile, −∞ where masked; or the scores before masking, and the mask (true where visible)."""
    if tiles.product is not None:
        right = part[RIGHT].swapaxes(-1, -2)
        buffer = _SCRATCH.get("scores", (*accumulator.rows, right.shape[-1]), tiles.dtype)
        part[tiles.product] = np.matmul(part[tiles.query], right, out=buffer)
    # Multiply the exponentials by the 0/1 mask afterwards: faster than exponentiating −∞.
    masks_afterwards = tiles.exp2_factor is not None
    for node in tiles.nodes:
        if node.stage != "mask" or (is_masked and not (masks_afterwards and node.function is apply_mask)):
            part[node.name] = astype_float(call(node, node.arguments(part)), tiles.dtype)
    if is_masked and masks_afterwards:
        return part[tiles.scores_before_mask], part[tiles.visible]
    return part[name if is_masked else tiles.scores_before_mask], None


class OnlineAccumulator:
    """What a block has accumulated: weighted values, the denominator, and the running maximum of the scores."""

    def __init__(self, tiles: TilePlan, arrays: Values) -> None:
        self.tiles, self.rule = tiles, tiles.rule
        query, value = arrays[tiles.query], arrays[tiles.value]
        leading = np.broadcast(query[..., 0, 0], value[..., 0, 0]).shape
        self.rows = (*leading, query.shape[-2])
        self.weighted_values = np.empty((*self.rows, value.shape[-1]), tiles.dtype)  # the first tile fills it
        self.denominator: Array | None = None
        self.running_max: Array | None = None
        if self.rule.uses_running_max and tiles.exp2_factor is None:
            self.running_max = np.full((*self.rows, 1), self.rule.min_running_max, tiles.dtype)
        # Where numerators may cancel, a denominator of 0 does not imply that a query attends to nothing.
        self.attends = np.zeros(self.rows, bool) if self.rule.may_cancel else None
        self.sink_term: Array | float = 0.0
        if tiles.sink is not None:
            sink = per_head(arrays[tiles.sink], len(arrays[tiles.sink]) if len(leading) else None)
            sink = sink * (tiles.exp2_factor or 1)
            self.sink_term = self._numerator(np.array(np.broadcast_to(sink, (*self.rows, 1))))

    def _numerator(self, scores: Array) -> Array:
        """The numerators of some scores; what was accumulated is rescaled to the same running maximum."""
        if self.tiles.exp2_factor is not None:
            np.exp2(scores, out=scores)
            return scores
        before, finite_max = self.running_max, None
        if before is not None:
            self.running_max = np.maximum(before, scores.max(axis=-1, keepdims=True))
            finite_max = np.where(self.running_max == -np.inf, 0, self.running_max)
            if not np.array_equal(before, self.running_max):
                self._rescale(before, finite_max)
        numerator: Array = self.rule.numerator(scores, finite_max, out=scores, **self.tiles.parameters)
        return numerator

    def _rescale(self, before: Array, after: Array) -> None:
        """Multiply what was accumulated with the running maximum `before` by its factor for the maximum `after`."""
        factor = self.rule.numerator(np.where(before == -np.inf, 0, before), after, out=None, **self.tiles.parameters)
        factor = np.where(before == -np.inf, 0, factor)
        if self.denominator is not None:
            self.denominator *= factor
            self.weighted_values *= factor
            if not self.tiles.values_are_finite:  # a weight of 0 contributes 0, also of an infinite value
                np.copyto(self.weighted_values, 0, where=factor == 0)
        self.sink_term = self.sink_term * factor

    def add(self, scores: Array, visible: Array | None, value: Array) -> None:
        """Accumulate a tile; cells that are not visible contribute 0."""
        numerator = self._numerator(scores)
        if visible is not None:
            np.multiply(numerator, visible, out=numerator)
        if self.attends is not None:
            self.attends |= (numerator != 0).any(axis=-1)
        denominator = numerator @ self.tiles.ones[: numerator.shape[-1]]
        product = self.weighted_values
        if self.denominator is not None:
            product = _SCRATCH.get("product", self.weighted_values.shape, self.tiles.dtype)
        if self.tiles.values_are_finite:
            np.matmul(numerator, value, out=product)
        else:
            product[...] = weighted_values(numerator, value)
        if self.denominator is None:
            self.denominator = denominator
        else:
            self.denominator += denominator
            self.weighted_values += product

    def result(self) -> tuple[Array, Array]:
        """The context [… n e], and which queries attend to anything [… n]."""
        context, denominator = self.weighted_values, self.denominator
        if denominator is None:  # there was no tile
            context[...] = 0
            return context, np.zeros(self.rows, bool)
        attends = denominator[..., 0] != 0 if self.attends is None else self.attends
        if not self.rule.is_divided:
            return context, attends
        if self.tiles.sink is not None:
            denominator = denominator + self.sink_term
        if self.rule.extra_denominator is not None:
            largest = np.zeros_like(denominator) if self.running_max is None else self.running_max
            denominator = denominator + self.rule.extra_denominator(largest)
        if self.attends is not None:  # a row whose numerators cancel has weights 0
            attends = attends & (denominator[..., 0] != 0)
        if not attends.all():
            empty = denominator == 0
            denominator = np.where(empty, 1, denominator)
            context[empty[..., 0]] = 0
        np.divide(context, denominator, out=context)
        return context, attends
