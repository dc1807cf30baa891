"""Whether expected numbers follow from those expected before them, or lead to nothing: where an example goes wrong."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from attncli.analysis.check.comparison import Comparison
from attncli.analysis.check.report import QuantityCheck
from attncli.analysis.check.statistics import Arrays, statistics
from attncli.base.dtypes import Precision, as_floats
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import join_words
from attncli.engine.dense import evaluate
from attncli.plan.trace import Trace

DRAWS = 8  # of numbers within half a unit of the digits typed, to see how far what follows from them moves


def with_relations(comparison: Comparison, results: Sequence[QuantityCheck]) -> tuple[QuantityCheck, ...]:
    """The quantities; those that differ with whether they follow from what is expected before them, or lead to nothing.

    Both are unknown where a problem is computed in blocks, so that no steps are kept.
    """
    plan = comparison.trace.plan
    if any(node.name not in comparison.trace.by_name for node in plan.nodes):
        return tuple(results)
    related = []
    for at, result in enumerate(results):
        if result.agrees:
            related.append(result)
            continue
        unaffected = [other.name for other in results[at + 1 :] if _is_unaffected(comparison, result, other)]
        remark = (
            f"what is expected of {join_words(unaffected)} agrees with ours, and does not follow from these numbers"
        )
        remarks = (*result.remarks, remark) if unaffected else result.remarks
        related.append(replace(result, follows=_follows(comparison, results[:at], result), remarks=remarks))
    return tuple(related)


def _follows(comparison: Comparison, before: Sequence[QuantityCheck], result: QuantityCheck) -> bool | None:
    """Whether the numbers of a quantity follow from those expected before it.

    They do where they agree with what is computed from the expected numbers, those that have digits typed moved by up
    to half a unit of the last. None where no quantity before it is expected whole.
    """
    name = comparison.trace.plan.resolve(result.name)
    read = {step: other for other in before if (step := _replaceable_step(comparison, other, name)) is not None}
    if not read:
        return None
    if all(other.agrees for other in read.values()):
        return False
    numbers = comparison.quantities[result.name]
    given = {step: comparison.quantities[other.name].array for step, other in read.items()}
    computed = recompute(comparison.trace, given, name)
    spread, stream = np.zeros(computed.shape), np.random.default_rng(0)
    for _ in range(DRAWS):
        moved = {step: _moved(comparison, other, stream) for step, other in read.items()}
        with np.errstate(invalid="ignore"):  # ∞ − ∞
            spread = np.fmax(spread, abs(recompute(comparison.trace, moved, name) - computed))
    typed = np.where(np.isfinite(spread), 2 * spread, 0)
    typed = typed if numbers.half_units is None else typed + np.nan_to_num(numbers.half_units)
    found = statistics(Arrays(numbers.array, computed, numbers.is_given, typed), comparison.tolerance(result.name))
    return found.differ == 0


def _is_unaffected(comparison: Comparison, result: QuantityCheck, other: QuantityCheck) -> bool:
    """Whether a later quantity agrees with ours, and would not if it had been computed from the expected numbers."""
    name = comparison.trace.plan.resolve(other.name)
    step = _replaceable_step(comparison, result, name)
    if step is None or not other.agrees:
        return False
    computed = recompute(comparison.trace, {step: comparison.quantities[result.name].array}, name)
    numbers = comparison.quantities[other.name]
    arrays = Arrays(numbers.array, computed, numbers.is_given, numbers.half_units)
    return statistics(arrays, comparison.tolerance(other.name)).differ > 0


def _replaceable_step(comparison: Comparison, result: QuantityCheck, name: str) -> str | None:
    """The step of a quantity that is expected whole, where another one is computed from it; else None."""
    plan = comparison.trace.plan
    step = plan.resolve(result.name)
    is_read = step != name and step in plan.needed_for([name])
    is_inner = plan.by_name[step].tapped_from is not None  # nothing is computed from inner quantities
    return step if is_read and not is_inner and comparison.quantities[result.name].is_whole else None


def _moved(comparison: Comparison, result: QuantityCheck, stream: "np.random.Generator") -> Array:
    """Expected numbers moved by up to half a unit of the last digit typed, or by a unit of their type."""
    numbers = comparison.quantities[result.name]
    expected = numbers.array
    if result.computed.dtype.kind != "f":  # masks and positions are exact
        return expected
    if numbers.half_units is None:
        allowed = Precision(comparison.dtype_of(result.name)).units(expected)
    else:
        allowed = numbers.half_units
    return expected + np.nan_to_num(allowed) * stream.uniform(-1, 1, expected.shape)


def recompute(trace: Trace, given: Mapping[str, Array], name: str) -> Array:
    """The value of a step where steps before it have other values; those between them are computed anew."""
    plan = trace.plan
    values = {step.name: step.value for step in trace.steps}
    needed, changed = plan.needed_for([plan.by_name[name].tapped_from or name]), set(given)
    values |= {step: x.astype(values[step].dtype) for step, x in given.items()}
    for node in plan.nodes:
        if node.name not in needed or node.name in given or node.is_input or node.tapped_from is not None:
            continue
        if changed & set(node.inputs.values()):
            with np.errstate(all="ignore"):
                values[node.name] = evaluate(node, values, trace.precision, values.__setitem__)
            changed |= {node.name, *node.taps.values()}
    return as_floats(values[name])
