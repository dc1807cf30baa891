"""Pieces: how functions of the catalogue take their work a piece at a time. A rule stands beside its function.

A score that is a product of two matrices says which; a normalizer says how the keys of a row gather; a mask says which
keys a block of queries may see. What has no rule takes whole rows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from attncli.base.lazy_numpy import Array

Function = Callable[..., Any]
Interval = tuple[float, float]  # from the first key to before the last


@dataclass(frozen=True, eq=False)
class Factorization:
    """A score that is `left(query) @ right(key).mT · scale(d)`; left and right take the score's parameters too."""

    left: Function
    right: Function
    scale: Callable[[int], float]


@dataclass(frozen=True, eq=False)
class OnlineNormalizer:
    """A normalizer whose weights are `parts / divisor`, which both gather key by key.

    `parts(scores, reference, out=…, **parameters)` are what the keys weigh, [… n m], measured against a reference
    [… n 1]: the row's largest score so far, at least `floor`. Parts against an old reference are worth
    `parts(old, new)` against a new one. The divisor is the sum of the parts and of what stands `beside` them.
    """

    parts: Function
    measured: bool = True  # against the largest score; otherwise there is no reference
    floor: float = -float("inf")
    beside: Callable[[Array], Array] | None = None
    divided: bool = True
    signed: bool = False  # parts may be negative, and cancel
    exponential: bool = False  # the reference may be 0 wherever no exponential overflows or vanishes


@dataclass(frozen=True, eq=False)
class KeyBounds:
    """Keys outside `some` are seen by no query of a block, those inside `every` by all of them."""

    some: Interval
    every: Interval


_FACTORS: dict[Function, Factorization] = {}
_MERGING: dict[Function, OnlineNormalizer] = {}
_REACHES: dict[Function, Callable[..., KeyBounds]] = {}


def factored(
    function: Function, left: Function, right: Function, scale: Callable[[int], float] = lambda features: 1.0
) -> None:
    """Attach to a score the two matrices whose product it is, and what it is scaled with for so many features."""
    _FACTORS[function] = Factorization(left, right, scale)


def merges(function: Function, rule: OnlineNormalizer) -> None:
    """Attach to a normalizer how the keys of a row gather."""
    _MERGING[function] = rule


def reaches(function: Function) -> Callable[[Callable[..., KeyBounds]], Callable[..., KeyBounds]]:
    """Attach to a mask what a block of queries may see; the rule takes what the mask takes."""

    def decorate(rule: Callable[..., KeyBounds]) -> Callable[..., KeyBounds]:
        _REACHES[function] = rule
        return rule

    return decorate


def factors_of(function: Function) -> Factorization | None:
    """The two matrices whose product a score is, if it is one."""
    return _FACTORS.get(function)


def merging_of(function: Function) -> OnlineNormalizer | None:
    """How the keys of a row gather in a normalizer, if they do."""
    return _MERGING.get(function)


def reach_of(function: Function) -> Callable[..., KeyBounds] | None:
    """What a mask says of a block of queries, if it says something."""
    return _REACHES.get(function)
