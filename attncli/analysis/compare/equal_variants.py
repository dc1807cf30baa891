"""Which variants have the same numbers of a result, but for rounding."""

from collections.abc import Iterable

from attncli.analysis.changes import changed
from attncli.analysis.compare.report import Comparison
from attncli.base.lazy_numpy import Array, np
from attncli.plan.trace import value_at
from attncli.problem.results import WEIGHTS

Positions = tuple[int, ...]


def equal_variants(comparison: Comparison, name: str) -> tuple[Positions, ...]:
    """The positions of the variants that compute a result, those with the same numbers together, in order.

    Each group begins with the variant that the others are the same as. Numbers are the same as `changed` has it.
    """
    arrays = (
        (position, value_at(one.result.trace, one.result.trace[name], comparison.positions))
        for position, one in enumerate(comparison.variants)
        if name in one.result.select
    )
    return _groups(arrays)


def equal_statistics(comparison: Comparison) -> tuple[Positions, ...]:
    """The positions of the variants that have statistics of their weights, those with the same weights together."""
    arrays = (
        (position, _weights(comparison, position))
        for position, one in enumerate(comparison.variants)
        if one.statistics is not None
    )
    return _groups(arrays)


def _weights(comparison: Comparison, position: int) -> Array:
    """The weights of a variant that has them, selected or not."""
    trace = comparison.variants[position].result.trace
    return value_at(trace, trace[WEIGHTS], comparison.positions)


def _groups(variants: Iterable[tuple[int, Array]]) -> tuple[Positions, ...]:
    """The positions of variants with the same array, in groups."""
    groups: list[tuple[Array, list[int]]] = []
    for position, array in variants:
        for first, members in groups:
            if _is_same(first, array):
                members.append(position)
                break
        else:
            groups.append((array, [position]))
    return tuple(tuple(members) for _, members in groups)


def _is_same(first: Array, second: Array) -> bool:
    """Whether two arrays have one shape and the same numbers; a number alone is a row."""
    return first.shape == second.shape and not changed(np.atleast_1d(first), np.atleast_1d(second)).any()
