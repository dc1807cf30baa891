"""How much a result of two variants differs: where most, and of weights the distance of their rows."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from attncli.analysis.compare.cells import cell_of_index, labels_of_cell, shape_difference
from attncli.analysis.compare.report import Difference, VariantResult
from attncli.analysis.compare.row_differences import kl_divergence, reordered, total_variation
from attncli.base.lazy_numpy import Array, np
from attncli.plan.trace import slices_at, value_at
from attncli.problem.results import WEIGHTS


def difference(
    name: str, pair: tuple[int, int], first: VariantResult, second: VariantResult, positions: Mapping[str, int]
) -> Difference:
    """The difference of a result of two variants, `pair` in their comparison, at some positions on batch and heads."""
    lacking = [one.variant.name for one in (first, second) if name not in one.result.select]
    if lacking:
        return Difference(pair, name, reason=f"not computed by {' and '.join(lacking)}")
    trace, other = first.result.trace, second.result.trace
    step = trace[name]
    reason = shape_difference(step, other[name])
    if reason:
        return Difference(pair, name, reason=reason)
    before, after = value_at(trace, step, positions), value_at(other, other[name], positions)
    if not before.size:
        return Difference(pair, name, reason="it has no numbers")
    distances = absolute_differences(before, after)
    index = np.unravel_index(int(np.argmax(np.where(np.isnan(distances), np.inf, distances))), distances.shape)
    cell = cell_of_index(trace, step, index, positions)
    found = Difference(
        pair,
        name,
        max_abs=float(distances[index]),
        position=cell,
        labels=labels_of_cell(trace, step, cell),
        numbers=(float(before[index]), float(after[index])),
    )
    if step.name != trace.plan.results.get(WEIGHTS):
        return found
    differences = _differences_of_rows(before, after, _are_distributions(first, second, positions))
    return replace(found, **differences)


def absolute_differences(before: Array, after: Array) -> Array:
    """The difference of each two numbers; 0 of two NaN and of equal infinities, NaN where one of them alone is NaN.

    >>> absolute_differences(np.array([1.0, np.inf, np.nan]), np.array([0.5, np.inf, 1.0])).tolist()
    [0.5, 0.0, nan]
    """
    wide = np.result_type(before.dtype, after.dtype, np.float64)
    before, after = before.astype(wide), after.astype(wide)
    is_same = (before == after) | (np.isnan(before) & np.isnan(after))
    with np.errstate(invalid="ignore", over="ignore"):
        distances: Array = np.where(is_same, 0, abs(after - before))
    return distances


def _are_distributions(first: VariantResult, second: VariantResult, positions: Mapping[str, int]) -> Array:
    """Which rows of the weights are distributions in both variants."""
    rows = []
    for one in (first, second):
        assert one.statistics is not None  # the weights are there
        trace = one.result.trace
        rows.append(~np.isnan(one.statistics.entropy[slices_at(trace, trace[WEIGHTS], positions)[:-1]]))
    both: Array = rows[0] & rows[1]
    return both


def _differences_of_rows(before: Array, after: Array, are_distributions: Array) -> Mapping[str, Any]:
    """The fields of a Difference that compare rows of weights, of which some are distributions in both."""
    order = reordered(before, after)
    counts = {"row_count": order.size, "reordered_count": order.sum(), "distribution_count": are_distributions.sum()}
    found: dict[str, Any] = {name: int(count) for name, count in counts.items()}
    if are_distributions.any():
        p, q = before[are_distributions], after[are_distributions]
        divergences = kl_divergence(p, q)
        finite = divergences[np.isfinite(divergences)]
        found["total_variation"] = float(total_variation(p, q).max())
        found["kl"] = float(finite.max()) if finite.size else None
        found["infinite_kl_count"] = int(divergences.size - finite.size)
    return found
