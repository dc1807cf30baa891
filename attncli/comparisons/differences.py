"""The differences of two variants: each result's, and the first step that differs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from attncli.base.axes import COUNTED_FROM_0, format_lengths
from attncli.base.lazy_numpy import Array, np
from attncli.io.variants import Variant
from attncli.plan.trace import RunResult, Step, Trace, slices_at, value_at
from attncli.problem.fields import WEIGHTS
from attncli.render.rows import RowStatistics, changed, kl_divergence, reordered, total_variation


@dataclass(frozen=True)
class VariantResult:
    """A computed variant; `statistics` are of its weights, None if they were not computed or not kept.

    `result.select` has the selected names that the variant computes: others may compute more.
    """

    variant: Variant
    result: RunResult
    statistics: RowStatistics | None


@dataclass(frozen=True)
class Difference:
    """The difference of a result in two variants; `variants` has their positions, the baseline first.

    `max_abs` is the largest difference of two numbers, at `position` with `labels`, where they are `numbers`; it is NaN
    if only one of them is NaN. For weights, `row_count` is the number of rows, and `reordered_count` the number of rows
    in which the order of keys by weight changes. Over the rows that are distributions in both (`distribution_count`),
    `total_variation` and `kl` (the baseline's divergence from the other, where finite, in nats) are the largest of a
    row, and `infinite_kl_count` is the number of rows in which it is infinite. Other results have None. `reason` says
    why nothing can be compared: the shapes differ, or one of them lacks the result; then every number is None.
    """

    variants: tuple[int, int]
    name: str
    max_abs: float | None = None
    position: tuple[int, ...] | None = None
    labels: tuple[str, ...] = ()
    numbers: tuple[float, float] | None = None
    distribution_count: int | None = None
    total_variation: float | None = None
    kl: float | None = None
    infinite_kl_count: int | None = None
    reordered_count: int | None = None
    row_count: int | None = None
    reason: str = ""


@dataclass(frozen=True)
class FirstDifference:
    """The first step in which two variants differ, and a cell of it, with both numbers; `step` is None if none does.

    `only_in` is the position of the variant that has the step, if the other lacks it: its number then comes from the
    step with the same role, such as scores that are not masked. `numbers` are None if the shapes differ. `is_partial`
    is true for a large problem, which compares only kept steps.
    """

    variants: tuple[int, int]
    step: str | None
    only_in: int | None = None
    position: tuple[int, ...] | None = None
    labels: tuple[str, ...] = ()
    numbers: tuple[float, float] | None = None
    is_partial: bool = False


def difference(
    name: str, pair: tuple[int, int], first: VariantResult, second: VariantResult, positions: Mapping[str, int]
) -> Difference:
    """The difference of a result in two variants, `pair` in their comparison, at some positions on batch and heads."""
    lacking = [one.variant.name for one in (first, second) if name not in one.result.select]
    if lacking:
        return Difference(pair, name, reason=f"not computed by {' and '.join(lacking)}")
    trace, other = first.result.trace, second.result.trace
    step = trace[name]
    reason = _shape_difference(step, other[name])
    if reason:
        return Difference(pair, name, reason=reason)
    before, after = value_at(trace, step, positions), value_at(other, other[name], positions)
    if not before.size:
        return Difference(pair, name, reason="it has no numbers")
    distances = _distances(before, after)
    at = int(np.argmax(np.where(np.isnan(distances), np.inf, distances)))
    cell = _cell(trace, step, at, positions, (before, after))
    found = Difference(pair, name, max_abs=float(distances.flat[at]), **cell)
    if step.name != trace.plan.results.get(WEIGHTS):
        return found
    rows = _are_distributions(first, positions) & _are_distributions(second, positions)
    return replace(found, **_differences_of_rows(before, after, rows))


def _shape_difference(first: Step, second: Step) -> str:
    """Why the numbers of two steps can't be compared one by one; "" if they can.

    Their lengths differ, or one has heads where the other has batch items. Features may have other letters: the output
    has the values' (e) without `w_o`, and its own (o) with it.
    """
    if first.value.shape != second.value.shape:
        shapes = [format_lengths(step.value.shape) or "one number" for step in (first, second)]
        return f"the shapes differ: {' and '.join(shapes)}"
    axes = [[letter for letter in step.axes if letter in COUNTED_FROM_0] for step in (first, second)]
    if axes[0] != axes[1]:
        return f"the axes differ: [{' '.join(first.axes)}] and [{' '.join(second.axes)}]"
    return ""


def _cell(
    trace: Trace, step: Step, at: int, positions: Mapping[str, int], arrays: tuple[Array, Array]
) -> dict[str, Any]:
    """The position of a cell in the whole step, its labels, and its numbers, from its index in the selection."""
    cell, labels = trace.labelled(step, positions).cell(at)
    return {"position": cell, "labels": labels, "numbers": tuple(float(array.flat[at]) for array in arrays)}


def _distances(before: Array, after: Array) -> Array:
    """The difference of each two numbers; 0 for two NaN and for equal infinities, NaN if only one is NaN."""
    wide = np.result_type(before.dtype, after.dtype, np.float64)
    before, after = before.astype(wide), after.astype(wide)
    is_same = (before == after) | (np.isnan(before) & np.isnan(after))
    with np.errstate(invalid="ignore", over="ignore"):
        distances: Array = np.where(is_same, 0, abs(after - before))
    return distances


def _are_distributions(one: VariantResult, positions: Mapping[str, int]) -> Array:
    """The selected rows of the weights that are distributions."""
    assert one.statistics is not None  # the weights exist
    trace = one.result.trace
    return ~np.isnan(one.statistics.entropy[slices_at(trace, trace[WEIGHTS], positions)[:-1]])


def _differences_of_rows(before: Array, after: Array, are_distributions: Array) -> Mapping[str, Any]:
    """The fields of a Difference that compare rows of weights, some of which are distributions in both."""
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


def first_difference(
    pair: tuple[int, int], first: Trace, second: Trace, positions: Mapping[str, int]
) -> FirstDifference:
    """The first step in which the traces of two variants, `pair` in their comparison, differ by more than rounding.

    A step in only one of them is compared with the step of the same role in the other, for example scores that are not
    masked. Indices are skipped: the positions of queries show in the keys they see. The traces are compared at some
    positions on batch and heads.
    """
    is_partial = any(len(trace.steps) < len(trace.plan.nodes) for trace in (first, second))
    other_shape = None  # a step of one trace whose numbers can't be compared with those of its role
    for steps, only_in in _steps_in_order(first, second):
        found = FirstDifference(pair, steps[only_in or 0].name, None if only_in is None else pair[only_in])
        found = replace(found, is_partial=is_partial)
        if _shape_difference(*steps):
            if only_in is None:
                return other_shape or found
            other_shape = other_shape or found
            continue
        arrays = value_at(first, steps[0], positions), value_at(second, steps[1], positions)
        differs = changed(*arrays)
        if differs.any():
            return other_shape or replace(found, **_cell(first, steps[0], int(np.argmax(differs)), positions, arrays))
    return FirstDifference(pair, None, is_partial=is_partial)


def _steps_in_order(first: Trace, second: Trace) -> Iterator[tuple[tuple[Step, Step], int | None]]:
    """The steps to compare, in order: of the same name, or the same role, and the only trace (0, 1) with it."""
    traces = first, second
    in_role: tuple[dict[str, Step], dict[str, Step]] = {}, {}  # the last step of each role so far
    for name in _names_in_order(first, second):
        own = [trace.by_name.get(name) for trace in traces]
        for step, roles in zip(own, in_role, strict=True):
            if step is not None and step.node.role is not None:
                roles[step.node.role] = step
        if any(step is not None and step.value.dtype.kind == "i" for step in own):
            continue
        if own[0] is not None and own[1] is not None:
            yield (own[0], own[1]), None
            continue
        only_in = 0 if own[1] is None else 1
        step = own[only_in]
        assert step is not None
        counterpart = in_role[1 - only_in].get(step.node.role or "")
        if counterpart is not None:
            yield ((step, counterpart) if only_in == 0 else (counterpart, step)), only_in


def _names_in_order(first: Trace, second: Trace) -> Sequence[str]:
    """The names of the steps of both traces, without duplicates: the first's, the others before the next shared one."""
    names, others = [], list(second.by_name)
    for name in first.by_name:
        if name in second.by_name:
            names += [other for other in others[: others.index(name)] if other not in first.by_name]
        names.append(name)
    names += [other for other in others if other not in first.by_name]
    return list(dict.fromkeys(names))
