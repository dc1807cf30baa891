"""Tiles: a block of queries over some keys at a time, where the normalizer says how the keys of a row gather.

A tile's scores stand in a buffer that its thread uses again and again; its weights are parts, not divided yet.
"""

import math
import threading
from collections.abc import Generator, Iterator

from attncli.base.lazy_numpy import Array, np
from attncli.engine.block_rows import Values, seen
from attncli.engine.blocks import typed
from attncli.engine.recipe import Recipe
from attncli.engine.tile_plan import RIGHT, TilePlan
from attncli.ops.contexts import weighted_values
from attncli.ops.masks import apply_mask
from attncli.ops.rules import KeyBounds
from attncli.ops.structural import per_head

EVEN = 64  # what all see begins and ends at multiples of this: one key more would make every tile smaller
LEAST = 128  # keys that all queries see, for which they are taken apart from those that only some see


class _Scratch(threading.local):
    """Buffers of one thread, by name, each as large as it ever had to be."""

    def __init__(self) -> None:
        self.buffers: dict[str, Array] = {}

    def take(self, name: str, shape: tuple[int, ...], dtype: str) -> Array:
        """A buffer of a shape, with whatever is in it."""
        size, found = math.prod(shape), self.buffers.get(name)
        if found is None or found.size < size or found.dtype != dtype:
            found = self.buffers[name] = np.empty(size, dtype=dtype)
        return found[:size].reshape(shape)


_SCRATCH = _Scratch()


def compute(recipe: Recipe, tiling: TilePlan, arrays: Values) -> Generator[None, None, tuple[Array, Array]]:
    """The context of a block, and which of its queries attend to anything; a pause after each tile."""
    gathering = OnlineAccumulator(tiling, arrays)
    for first, end, masked in key_tiles(seen(recipe, arrays), tiling.keys):
        part = recipe.of_keys(arrays, first, end)
        scores, visible = _scores(tiling, gathering, part, masked, recipe.scores)
        gathering.add(scores, visible, part[tiling.value])
        yield
    return gathering.result()


def key_tiles(reach: KeyBounds, keys: int) -> Iterator[tuple[int, int, bool]]:
    """The tiles of at most so many keys, from the first to the last that some query sees, and whether some do not."""
    first, end = map(int, reach.any_visible)
    free = first, end
    if reach.all_visible[0] > first:
        free = -(-int(reach.all_visible[0]) // EVEN) * EVEN, end
    if reach.all_visible[1] < end:
        free = free[0], int(reach.all_visible[1]) // EVEN * EVEN
    if free[1] - free[0] < min(LEAST, end - first):
        free = (end, end)
    for low, high, masked in ((first, free[0], True), (*free, False), (free[1], end, True)):
        count = -(-(high - low) // keys)
        for number in range(count):
            yield low + (high - low) * number // count, low + (high - low) * (number + 1) // count, masked


def _scores(
    tiling: TilePlan, block: "OnlineAccumulator", part: Values, masked: bool, name: str
) -> tuple[Array, Array | None]:
    """The scores of a tile, those of hidden keys −∞; or else which keys are visible, where that is left to be done."""
    if tiling.product is not None:
        right = part[RIGHT].swapaxes(-1, -2)
        room = _SCRATCH.take("scores", (*block.rows, right.shape[-1]), tiling.dtype)
        part[tiling.product] = np.matmul(part[tiling.query], right, out=room)
    later = tiling.binary is not None  # exp(−∞) = 0, and a zero is put in its place faster than an infinity is raised
    for move in tiling.moves:
        if move.stage != "mask" or (masked and not (later and move.function is apply_mask)):
            part[move.name] = typed(np.asarray(move.function(**move.read(part), **move.options)), tiling.dtype)
    if masked and later:
        return part[tiling.unmasked], part[tiling.visible]
    return part[name if masked else tiling.unmasked], None


class OnlineAccumulator:
    """What a block has gathered from its tiles so far: mixed values, the sum of the parts, and the largest scores."""

    def __init__(self, tiling: TilePlan, arrays: Values) -> None:
        self.tiling, self.rule = tiling, tiling.rule
        query, value = arrays[tiling.query], arrays[tiling.value]
        leading = np.broadcast(query[..., 0, 0], value[..., 0, 0]).shape
        self.rows = (*leading, query.shape[-2])
        self.mixture = np.empty((*self.rows, value.shape[-1]), tiling.dtype)  # the first tile fills it
        self.total: Array | None = None
        self.reference: Array | None = None
        if self.rule.uses_running_max and tiling.binary is None:
            self.reference = np.full((*self.rows, 1), self.rule.min_running_max, tiling.dtype)
        self.signed = np.zeros(self.rows, bool) if self.rule.may_cancel else None
        self.sunk: Array | float = 0.0
        if tiling.sink is not None:
            sink = per_head(arrays[tiling.sink], len(arrays[tiling.sink]) if len(leading) else None)
            sink = sink * (tiling.binary or 1)
            self.sunk = self._parts(np.array(np.broadcast_to(sink, (*self.rows, 1))))

    def _parts(self, scores: Array) -> Array:
        """What the scores weigh, measured against the largest so far; what was gathered is brought to the same."""
        if self.tiling.binary is not None:
            np.exp2(scores, out=scores)
            return scores
        before, shown = self.reference, None
        if before is not None:
            self.reference = np.maximum(before, scores.max(axis=-1, keepdims=True))
            shown = np.where(self.reference == -np.inf, 0, self.reference)
            if not np.array_equal(before, self.reference):
                worth = self.rule.numerator(np.where(before == -np.inf, 0, before), shown, **self.tiling.parameters)
                worth = np.where(before == -np.inf, 0, worth)
                if self.total is not None:
                    self.total *= worth
                    self.mixture *= worth
                    if not self.tiling.finite:  # what turns out to weigh nothing takes nothing, not even infinity
                        np.copyto(self.mixture, 0, where=worth == 0)
                self.sunk = self.sunk * worth
        parts: Array = self.rule.numerator(scores, shown, out=scores, **self.tiling.parameters)
        return parts

    def add(self, scores: Array, visible: Array | None, value: Array) -> None:
        """Take in a tile, and nothing of what is not visible."""
        parts = self._parts(scores)
        if visible is not None:
            np.multiply(parts, visible, out=parts)
        if self.signed is not None:
            self.signed |= (parts != 0).any(axis=-1)
        total = parts @ self.tiling.ones[: parts.shape[-1]]
        taken = self.mixture
        if self.total is not None:
            taken = _SCRATCH.take("taken", self.mixture.shape, self.tiling.dtype)
        if self.tiling.finite:
            np.matmul(parts, value, out=taken)
        else:
            taken[...] = weighted_values(parts, value)
        if self.total is None:
            self.total = total
        else:
            self.total += total
            self.mixture += taken

    def result(self) -> tuple[Array, Array]:
        """The mixture divided, and which queries attend to anything."""
        mixture, total = self.mixture, self.total
        if total is None:  # there was no tile
            mixture[...] = 0
            return mixture, np.zeros(self.rows, bool)
        attends = total[..., 0] != 0 if self.signed is None else self.signed
        if not self.rule.is_divided:
            return mixture, attends
        if self.tiling.sink is not None:
            total = total + self.sunk
        if self.rule.extra_denominator is not None:
            total = total + self.rule.extra_denominator(
                np.zeros_like(total) if self.reference is None else self.reference
            )
        if self.signed is not None:  # what cancels makes nothing of anything
            attends = attends & (total[..., 0] != 0)
        if not attends.all():
            nothing = total == 0
            total = np.where(nothing, 1, total)
            mixture[nothing[..., 0]] = 0
        np.divide(mixture, total, out=mixture)
        return mixture, attends
