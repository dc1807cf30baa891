"""Tiles: a block of queries over some keys at a time, where the normalizer says how the keys of a row gather.

A tile's scores stand in a buffer that its thread uses again and again. The weights of a tile are parts, not divided
yet; the last column of the values is 1, so that one product gives the mixture and the sum of the parts.
"""

import math
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from attncli.arrays import Array, np
from attncli.blockwise.blocks import Source
from attncli.blockwise.recipe import Move, Recipe
from attncli.blockwise.rows import Values, seen
from attncli.catalogue import Chosen
from attncli.ops.contexts import mixed
from attncli.ops.heads import beside
from attncli.ops.masks import hide
from attncli.ops.scores import scaled
from attncli.pieces import Merging, factors_of, merging_of

KEYS = 512  # in a tile: with 512 queries it stays in a core's second cache
LEAST = 128  # keys that all queries see, for which they are taken apart from those that only some see
SAFE = 30.0  # exponentials of numbers up to here, of either sign, neither overflow nor vanish,
LOG2E = 1 / math.log(2)
LARGEST = 1e15  # nor do their products with values up to here
FACTOR, MIXED = "right factor", "values and 1"


@dataclass(frozen=True)
class Product:
    """The step that is a product of two factors, and how the left one comes from the queries.

    `safe` is a bound on the norm of a left row: below it no score is farther from 0 than SAFE, and its exponential is
    taken as it is, as a power of two: `exp(s / T) = 2^(s · log₂e / T)`, whose factor is folded into the queries.
    """

    name: str
    left: Callable[..., Array]
    query: str
    arrays: Mapping[str, str]
    options: Mapping[str, Any]
    scale: float
    safe: float


@dataclass(frozen=True)
class Tiling:
    """What is the same for every tile: the moves to its scores, and how its keys gather."""

    moves: Sequence[Move]
    unmasked: str  # the scores where every query sees every key
    visible: str  # which keys each query sees; only where something hides some
    normalizer: Callable[..., Array]
    parameters: Mapping[str, Any]
    dtype: str
    query: str
    value: str
    finite: bool  # whether all values are
    product: Product | None = None
    sink: str | None = None

    @property
    def rule(self) -> Merging:
        """How the keys of a row gather."""
        rule = merging_of(self.normalizer)
        assert rule is not None  # else there are no tiles
        return rule


def plan(recipe: Recipe, normalize: Chosen, context: Chosen) -> tuple[Recipe, Tiling] | None:
    """How a problem goes tile by tile, with the arrays that tiles read; None where it can't."""
    rule = merging_of(normalize.entry.function)
    if rule is None or "linear" not in context.entry.traits:
        return None
    dtype = recipe.precision.working
    sources = {name: replace(x, value=_typed(x.value, dtype)) for name, x in recipe.sources.items()}
    answer = recipe.answering[-1]
    value = sources[answer.inputs["value"]]
    finite = bool(np.isfinite(value.value).all())
    if finite:
        ones = np.ones((*value.value.shape[:-1], 1), dtype)
        sources[value.name] = replace(value, value=np.concatenate([value.value, ones], axis=-1))
    hiding = recipe.scoring[-1]
    tiling = Tiling(
        moves=recipe.scoring,
        unmasked=hiding.inputs["scores"] if hiding.function is hide else recipe.scores,
        visible=hiding.inputs.get("visible", ""),
        normalizer=normalize.entry.function,
        parameters=normalize.scalars,
        dtype=dtype,
        query=recipe.scoring[0].inputs["query"],
        value=value.name,
        finite=finite,
        sink=next((move.inputs["sink"] for move in recipe.answering if "sink" in move.inputs), None),
    )
    if factors_of(recipe.scoring[0].function) is not None:
        tiling = _factored(tiling, sources, finite and abs(value.value).max() <= LARGEST)
    return replace(recipe, sources=sources), tiling


def _typed(x: Array, dtype: str) -> Array:
    """Floating-point numbers in the type that tiles compute in."""
    return x.astype(dtype, copy=False) if x.dtype.kind == "f" else x


def _factored(tiling: Tiling, sources: dict[str, Source], small: bool) -> Tiling:
    """The first move as a product, with a scale that follows it; the keys' factor is turned once, for all blocks."""
    first, *moves = tiling.moves
    factors = factors_of(first.function)
    assert factors is not None  # the caller has looked
    name, scale = first.name, 1.0
    if moves and moves[0].function is scaled:
        name, scale, *moves = moves[0].name, moves[0].options["scale"], *moves[1:]
    arrays = {argument: source for argument, source in first.inputs.items() if argument not in ("query", "key")}
    key = sources[first.inputs["key"]]
    given = {argument: sources[source].value for argument, source in arrays.items()}
    right = factors.right(key.value, **given, **first.options)
    sources[FACTOR] = Source(
        FACTOR, np.ascontiguousarray(right.swapaxes(-1, -2)), (*key.axes[:-2], key.axes[-1], key.axes[-2])
    )
    if not any(first.inputs["key"] in move.inputs.values() for move in moves):
        del sources[key.name]
    bare = small and tiling.rule.exponential and all(move.stage == "mask" for move in moves)
    safe = -1.0
    if bare:
        longest, room = _longest(right), SAFE * tiling.parameters.get("temperature", 1.0)
        within = tiling.sink is None or bool(abs(sources[tiling.sink].value).max() <= room)
        safe = (room / longest if longest else math.inf) if within else -1.0
    product = Product(name, factors.left, first.inputs["query"], arrays, first.options, scale, safe)
    return replace(tiling, moves=moves, product=product)


def _longest(x: Array) -> float:
    """The norm of the longest row."""
    return math.sqrt(np.vecdot(x, x).max())


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


def compute(recipe: Recipe, tiling: Tiling, arrays: Values) -> tuple[Array, Array]:
    """The context of a block, and which of its queries attend to anything."""
    gathering = _Gathering(tiling, arrays)
    for first, end, masked in _spans(recipe, arrays):
        part = recipe.of_keys(arrays, first, end)
        scores, visible = _scores(tiling, gathering, part, masked, recipe.scores)
        gathering.add(scores, visible, part[tiling.value])
    return gathering.result()


def _spans(recipe: Recipe, arrays: Values) -> Iterator[tuple[int, int, bool]]:
    """The tiles from the first key to the last that some query sees, and whether a mask hides any of it."""
    reach = seen(recipe, arrays)
    first, end = map(int, reach.some)
    free = max(int(reach.every[0]), first), min(int(reach.every[1]), end)
    if free[1] - free[0] < min(LEAST, end - first):
        free = (end, end)
    for low, high, masked in ((first, free[0], True), (*free, False), (free[1], end, True)):
        count = -(-(high - low) // KEYS)
        for number in range(count):
            yield low + (high - low) * number // count, low + (high - low) * (number + 1) // count, masked


def _scores(tiling: Tiling, block: "_Gathering", part: Values, masked: bool, name: str) -> tuple[Array, Array | None]:
    """The scores of a tile, those of hidden keys −∞; or else which keys are visible, where that is left to be done."""
    if tiling.product is not None:
        assert block.left is not None  # where there is a product there are its factors
        right = part[FACTOR]
        room = _SCRATCH.take("scores", (*block.gathered.shape[:-1], right.shape[-1]), tiling.dtype)
        part[tiling.product.name] = np.matmul(block.left, right, out=room)
    left = block.binary  # exp(−∞) = 0, and a zero is put in its place faster than an infinity is raised
    for move in tiling.moves:
        if move.stage != "mask" or (masked and not (left and move.function is hide)):
            part[move.name] = _typed(np.asarray(move.function(**move.read(part), **move.options)), tiling.dtype)
    if masked and left:
        return part[tiling.unmasked], part[tiling.visible]
    return part[name if masked else tiling.unmasked], None


class _Gathering:
    """What a block has gathered from the tiles so far: mixed values, the sum of the parts, and the largest scores."""

    def __init__(self, tiling: Tiling, arrays: Values) -> None:
        self.tiling, self.rule = tiling, tiling.rule
        query, value = arrays[tiling.query], arrays[tiling.value]
        self.left, product = None, tiling.product
        if product is not None:
            given = {argument: arrays[source] for argument, source in product.arrays.items()}
            self.left = product.left(query, **given, **product.options)
            self.left = np.multiply(self.left, product.scale, dtype=tiling.dtype)
        self.power = LOG2E / tiling.parameters.get("temperature", 1.0)
        self.binary = product is not None and self.left is not None and _longest(self.left) <= product.safe
        if self.binary:
            self.left *= self.power
        leading = np.broadcast_shapes(query.shape[:-2], value.shape[:-2])
        width = value.shape[-1] + (0 if tiling.finite else 1)
        self.gathered = np.zeros((*leading, query.shape[-2], width), tiling.dtype)
        self.reference: Array | None = None
        if self.rule.measured and not self.binary:
            self.reference = np.full((*self.gathered.shape[:-1], 1), self.rule.floor, tiling.dtype)
        self.signed = np.zeros(self.gathered.shape[:-1], bool) if self.rule.signed else None
        self.sunk: Array | float = 0.0
        if tiling.sink is not None:
            sink = beside(arrays[tiling.sink], len(arrays[tiling.sink]) if len(leading) else None)
            sink = sink * self.power if self.binary else sink
            self.sunk = self._parts(np.array(np.broadcast_to(sink, (*self.gathered.shape[:-1], 1))))

    def _parts(self, scores: Array) -> Array:
        """What the scores weigh, measured against the largest so far; what was gathered is brought to the same."""
        if self.binary:
            np.exp2(scores, out=scores)
            return scores
        before, shown = self.reference, None
        if before is not None:
            self.reference = np.maximum(before, scores.max(axis=-1, keepdims=True))
            shown = np.where(self.reference == -np.inf, 0, self.reference)
            if not np.array_equal(before, self.reference):
                worth = self.rule.parts(np.where(before == -np.inf, 0, before), shown, **self.tiling.parameters)
                worth = np.where(before == -np.inf, 0, worth)
                self.gathered *= worth
                self.sunk = self.sunk * worth
        parts: Array = self.rule.parts(scores, shown, out=scores, **self.tiling.parameters)
        return parts

    def add(self, scores: Array, visible: Array | None, value: Array) -> None:
        """Take in a tile, and nothing of what is not visible."""
        parts = self._parts(scores)
        if visible is not None:
            np.copyto(parts, 0, where=~visible)
        if self.signed is not None:
            self.signed |= (parts != 0).any(axis=-1)
        if self.tiling.finite:
            taken = _SCRATCH.take("gathered", self.gathered.shape, self.tiling.dtype)
            self.gathered += np.matmul(parts, value, out=taken)
        else:
            self.gathered[..., :-1] += mixed(parts, value)
            self.gathered[..., -1] += parts.sum(axis=-1)

    def result(self) -> tuple[Array, Array]:
        """The mixture divided, and which queries attend to anything."""
        mixture, total = self.gathered[..., :-1], self.gathered[..., -1:]
        attends = total[..., 0] != 0 if self.signed is None else self.signed
        if self.rule.divided:
            total = total + self.sunk
            if self.rule.beside is not None:
                total = total + self.rule.beside(np.zeros_like(total) if self.reference is None else self.reference)
            attends = attends & (total[..., 0] != 0)
            nothing = total == 0
            mixture = np.divide(mixture, np.where(nothing, 1, total), out=mixture)
            mixture[nothing[..., 0]] = 0
        return mixture, attends
