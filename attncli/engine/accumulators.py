"""Accumulators: what a block of queries has accumulated of its tiles, and the context that this makes.

Exponentials are accumulated as they are; where their sums leave the range that is safe, the block is computed once more
with the running maximum of its scores subtracted.
"""

import math
from collections.abc import Callable, Sequence

from attncli.base.lazy_numpy import Array, np
from attncli.engine.grouped_heads import grouped_product, repeated_for
from attncli.engine.scratch import SCRATCH
from attncli.engine.tile_plan import TilePlan
from attncli.ops.contexts import weighted_sum
from attncli.ops.masks import apply_mask
from attncli.ops.structural import per_head

# Sums of exponentials in this range have lost nothing to overflow or underflow, nor have their products with values.
SMALLEST_SUM, LARGEST_SUM = math.exp(-30), math.exp(60)
VisibleCells = tuple[slice, Array]  # some of the keys of a tile, and which of them each query sees [… n m]


def hide(scores: Array, visible: Sequence[VisibleCells]) -> None:
    """Set the scores of a tile [… n m] to −∞ where cells are not visible."""
    for keys, cells in visible:
        scores[..., keys] = apply_mask(scores[..., keys], cells)


class Accumulator:
    """Weighted values and denominators, summed over tiles.

    Where the normalizer needs it, the running maximum of the scores is subtracted from them. Masked cells score −∞.
    """

    score_factor = 1.0  # that the scores it gets have been multiplied by

    def __init__(self, tiles: TilePlan, context: Array, sink: Array | None, *, values_are_finite: bool) -> None:
        """`context` [… n e] is where the context is accumulated; `sink` [h] has a logit for each head."""
        self.tiles, self.rule, self.rows = tiles, tiles.rule, context.shape[:-1]
        self.values_are_finite = values_are_finite
        self.context = context  # the first tile fills it
        self.denominator: Array | None = None
        self.running_max: Array | None = None
        self._begin()
        # Where numerators may cancel, a denominator of 0 does not imply that a query attends to nothing.
        self.attends = np.zeros(self.rows, bool) if self.rule.may_cancel else None
        self.sink_term: Array | float = 0.0
        if sink is not None:
            logits = self.score_factor * per_head(sink, len(sink) if len(self.rows) > 1 else None)
            self.sink_term = self._numerator(np.array(np.broadcast_to(logits, (*self.rows, 1))))

    def _begin(self) -> None:
        """What is there before the first numerator."""
        if self.rule.uses_running_max:
            self.running_max = np.full((*self.rows, 1), self.rule.min_running_max, self.tiles.summation.score_dtype)

    def _numerator(self, scores: Array) -> Array:
        """The numerators of some scores; what was accumulated is rescaled to the same running maximum."""
        before, finite_max = self.running_max, None
        if before is not None:
            self.running_max = np.maximum(before, scores.max(axis=-1, keepdims=True))
            finite_max = np.where(self.running_max == -np.inf, 0, self.running_max)
            if not np.array_equal(before, self.running_max):
                self._rescale(before, finite_max)
        out = scores
        if scores.dtype != self.tiles.dtype:  # their differences from the maximum need fewer digits than they do
            out = SCRATCH.get("numerators", scores.shape, self.tiles.dtype)
        numerator: Array = self.rule.numerator(scores, finite_max, out=out, **self.tiles.parameters)
        return numerator

    def _visible_numerator(self, scores: Array, visible: Sequence[VisibleCells]) -> Array:
        """The numerators of scores, 0 where cells are not visible."""
        hide(scores, visible)
        return self._numerator(scores)

    def _rescale(self, before: Array, after: Array) -> None:
        """Multiply what was accumulated with the running maximum `before` by its factor for the maximum `after`."""
        factor = self.rule.numerator(np.where(before == -np.inf, 0, before), after, out=None, **self.tiles.parameters)
        factor = np.where(before == -np.inf, 0, factor)
        if self.denominator is not None:
            self.denominator *= factor
            self.context *= factor
            if not self.values_are_finite:  # a weight of 0 contributes 0, also of an infinite value
                np.copyto(self.context, 0, where=factor == 0)
        self.sink_term = self.sink_term * factor

    def add(self, scores: Array, visible: Sequence[VisibleCells], value: Array) -> None:
        """Accumulate a tile, of whose scores the memory is used; cells that are not visible contribute 0."""
        numerator = self._visible_numerator(scores, visible)
        if self.attends is not None:
            self.attends |= (numerator != 0).any(axis=-1)
        denominator = numerator @ self.tiles.ones[: numerator.shape[-1]]
        product = self.context
        if self.denominator is not None:
            product = SCRATCH.get("product", self.context.shape, self.tiles.dtype)
        if self.values_are_finite:
            grouped_product(numerator, value, product, self.tiles.summation.keys)
        else:
            product[...] = weighted_sum(numerator, repeated_for(value, numerator))
        if self.denominator is None:
            self.denominator = denominator
        else:
            self.denominator += denominator
            self.context += product

    def is_below_limit(self) -> bool:
        """Whether further tiles are worth adding."""
        return True

    def result(self) -> Array:
        """Divide the context [… n e]; which queries attend to anything [… n]."""
        context, denominator = self.context, self.denominator
        if denominator is None:  # there was no tile
            context[...] = 0
            return np.zeros(self.rows, bool)
        attends = denominator[..., 0] != 0 if self.attends is None else self.attends
        if not self.rule.is_divided:
            return attends
        denominator = self._whole_denominator(denominator)
        if self.attends is not None:  # a row whose numerators cancel has weights 0
            attends = attends & (denominator[..., 0] != 0)
        if not attends.all():
            empty = denominator == 0
            denominator = np.where(empty, 1, denominator)
            context[empty[..., 0]] = 0
        np.divide(context, denominator, out=context)
        return attends

    def _whole_denominator(self, denominator: Array) -> Array:
        """With the sink, and what the normalizer adds."""
        if self.tiles.sink is not None:
            denominator = denominator + self.sink_term
        if self.rule.extra_denominator is not None:
            largest = np.zeros_like(denominator) if self.running_max is None else self.running_max
            denominator = denominator + self.rule.extra_denominator(largest)
        return denominator


class DirectExponentials(Accumulator):
    """Exponentials of scores as they are: faster than with a running maximum, and good as long as `is_safe`."""

    def _begin(self) -> None:
        """Nothing is subtracted; queries are multiplied in place of scores where they may be."""
        self._exponential = np.exp2 if self.tiles.has_base_2 else np.exp
        self._scale = self.tiles.exponent_scale
        if self.tiles.scales_query:
            self.score_factor, self._scale = self._scale, 1.0

    def _numerator(self, scores: Array) -> Array:
        """The exponentials, in the same memory."""
        if self._scale != 1:
            np.multiply(scores, self._scale, out=scores)
        return self._exponential(scores, out=scores)

    def _visible_numerator(self, scores: Array, visible: Sequence[VisibleCells]) -> Array:
        """Those of all scores, times 0 where cells are masked: faster than exponentials of −∞."""
        numerator = self._numerator(scores)
        for keys, cells in visible:
            part = numerator[..., keys]
            np.multiply(part, cells, out=part)
        return numerator

    def is_below_limit(self) -> bool:
        """Whether no sum so far is too large, infinite or NaN."""
        return self.denominator is None or bool(self.denominator.max() <= LARGEST_SUM)

    def is_safe(self, see_a_key: Callable[[], Array]) -> bool:
        """Whether all sums are in range, and the context, before it is divided, is finite.

        `see_a_key()` says which queries [… n] see any key at all: the others have a sum of 0.
        """
        if self.denominator is None:
            return True
        sums = self._whole_denominator(self.denominator)[..., 0]
        if not sums.min() >= SMALLEST_SUM:
            is_small = ~(sums >= SMALLEST_SUM)
            if (sums[is_small] != 0).any() or see_a_key()[is_small].any():
                return False
        return bool(sums.max() <= LARGEST_SUM) and bool(np.isfinite(self.context.sum()))
