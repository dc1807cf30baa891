"""Tilings: how a problem goes in tiles of some queries and some keys, read off its recipe once for all of them.

A score that is a product has its factors made once, for all blocks.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from attncli.base.lazy_numpy import Array, np
from attncli.engine.blocks import Source
from attncli.engine.recipe import Move, Recipe
from attncli.ops.masks import apply_mask
from attncli.ops.registry import Operator, OperatorRecord, record_of
from attncli.ops.rules import Factorization, OnlineNormalizer
from attncli.ops.scores import scale as scale_scores

SAFE = 30.0  # exponentials of numbers up to here, of either sign, neither overflow nor vanish,
LARGEST = 1e15  # nor do their products with values up to here
LEFT, RIGHT = "left factor", "right factor"
LOG2E = 1 / math.log(2)


@dataclass(frozen=True)
class TilePlan:
    """What is the same for every tile: the moves to its scores, and how its keys gather.

    `product` names the step that is the product of LEFT and RIGHT, if there is one; the moves are those after it.

    Where no score can be farther from 0 than SAFE its exponential is taken as it is, as a power of two: `binary` is
    the factor in `exp(s / T) = 2^(s · log₂e / T)`, which the left factor has already.
    """

    moves: Sequence[Move]
    unmasked: str  # the scores where every query sees every key
    visible: str  # which keys each query sees; only where something hides some
    keys: int  # in a tile, at most
    normalizer: Callable[..., Array]
    parameters: Mapping[str, Any]
    dtype: str
    query: str  # what belongs to the queries: they themselves, or the left factor
    value: str
    finite: bool  # whether all values are
    sink: str | None
    ones: Array  # [keys 1]: parts times ones are their sums
    product: str | None = None
    binary: float | None = None

    @property
    def rule(self) -> OnlineNormalizer:
        """How the keys of a row gather."""
        record = record_of(self.normalizer)
        assert isinstance(record, OperatorRecord)
        assert record.online is not None  # else there are no tiles
        return record.online


def can_merge(normalize: Operator, context: Operator) -> bool:
    """Whether the keys of a row gather, in weights and in what they make of the values."""
    return normalize.record.online is not None and context.record.is_linear


def plan(recipe: Recipe, normalize: Operator, keys: int) -> tuple[Recipe, TilePlan]:
    """How a problem that can merge goes in tiles of so many keys, with the arrays that they read."""
    dtype = recipe.precision.working
    sources = {name: x.typed(dtype) for name, x in recipe.sources.items()}
    answer = recipe.answering[-1]
    value = sources[answer.inputs["value"]]
    largest = max_row_norm(value.value)
    finite = math.isfinite(largest)
    hiding, scored = recipe.scoring[-1], record_of(recipe.scoring[0].function)
    factors = scored.factorization if isinstance(scored, OperatorRecord) else None
    tiling = TilePlan(
        moves=recipe.scoring,
        unmasked=hiding.inputs["scores"] if hiding.function is apply_mask else recipe.scores,
        visible=hiding.inputs.get("visible", ""),
        keys=keys,
        normalizer=normalize.record.function,
        parameters=normalize.options,
        dtype=dtype,
        query=recipe.scoring[0].inputs["query"],
        value=value.name,
        finite=finite,
        sink=next((move.inputs["sink"] for move in recipe.answering if "sink" in move.inputs), None),
        ones=np.ones((keys, 1), dtype),
    )
    if factors is not None:
        tiling = _factored(tiling, factors, sources, finite and largest <= LARGEST)
    return replace(recipe, sources=sources), tiling


def _factored(tiling: TilePlan, factors: Factorization, sources: dict[str, Source], small: bool) -> TilePlan:
    """The first move as a product of two factors; the left one takes the scales that follow, while it is small."""
    first, *moves = tiling.moves
    query, key = sources[first.inputs["query"]], sources[first.inputs["key"]]
    name, scale = first.name, factors.scale(query.value.shape[-1])
    if moves and moves[0].function is scale_scores:
        name, scale, *moves = moves[0].name, scale * moves[0].options["scale"], *moves[1:]
    given = {argument: sources[source].value for argument, source in first.inputs.items()}
    del given["query"], given["key"]
    left = factors.left(query.value, **given, **first.options)
    right = factors.right(key.value, **given, **first.options)
    binary = None
    if small and tiling.rule.exp_scale is not None and all(move.stage == "mask" for move in moves):
        factor = tiling.rule.exp_scale(tiling.parameters)
        farthest = max_row_norm(left) * abs(scale) * max_row_norm(right)
        if tiling.sink is not None:
            farthest = np.maximum(farthest, abs(sources[tiling.sink].value).max())
        binary = LOG2E * factor if farthest * abs(factor) < SAFE else None
    sources[LEFT] = Source(LEFT, left * (scale * (binary or 1)), query.axes)
    sources[RIGHT] = Source(RIGHT, np.ascontiguousarray(right), key.axes)
    read = {source for move in moves for source in move.inputs.values()}
    for one in {query.name, key.name} - read - {tiling.value}:
        del sources[one]
    return replace(tiling, moves=moves, query=LEFT, product=name, binary=binary)


def max_row_norm(x: Array) -> float:
    """The norm of the longest row."""
    return math.sqrt(np.vecdot(x, x).max())
