"""Which variants have the same numbers of a result, but for rounding."""

from collections.abc import Iterable

from attncli.analysis.changes import changed
from attncli.analysis.compare.report import Comparison, VariantResult
from attncli.base.lazy_numpy import Array, np
from attncli.trace.positions import value_at, weight_rows_at

Positions = tuple[int, ...]


def equal_variants(comparison: Comparison, name: str) -> tuple[Positions, ...]:
    """The positions of the variants that compute a result, those with the same numbers together, in order.

    Each group begins with the variant that the others are the same as. Numbers are the same as `changed` has it.
    """
    arrays = (
        (position, [value_at(one.result.trace, one.result.trace[name], comparison.positions)])
        for position, one in enumerate(comparison.variants)
        if name in one.result.select
    )
    return _groups(arrays)


def equal_statistics(comparison: Comparison) -> tuple[Positions, ...]:
    """The positions of the variants that have statistics of their weights, those with the same ones together."""
    arrays = (
        (position, _statistics(comparison, one))
        for position, one in enumerate(comparison.variants)
        if one.statistics is not None
    )
    return _groups(arrays)


def _statistics(comparison: Comparison, one: VariantResult) -> list[Array]:
    """The statistics of a variant that tell rows of weights apart, at the positions of the comparison."""
    trace, statistics = one.result.trace, one.statistics
    assert statistics is not None  # the caller has looked
    index = weight_rows_at(trace, comparison.positions)
    return [array[index] for array in (statistics.entropy, statistics.largest, statistics.largest_key)]


def _groups(variants: Iterable[tuple[int, list[Array]]]) -> tuple[Positions, ...]:
    """The positions of variants with the same arrays, in groups."""
    groups: list[tuple[list[Array], list[int]]] = []
    for position, arrays in variants:
        for first, members in groups:
            if all(map(_is_same, first, arrays)):
                members.append(position)
                break
        else:
            groups.append((arrays, [position]))
    return tuple(tuple(members) for _, members in groups)


def _is_same(first: Array, second: Array) -> bool:
    """Whether two arrays have one shape and the same numbers; a number alone is a row."""
    return first.shape == second.shape and not changed(np.atleast_1d(first), np.atleast_1d(second)).any()
