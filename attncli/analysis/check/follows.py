"""Whether expected numbers follow from those that are expected before them: where a wrong worked example goes wrong."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from attncli.analysis.check.comparison import Comparison
from attncli.analysis.check.report import QuantityCheck
from attncli.analysis.check.statistics import Arrays, statistics
from attncli.base.dtypes import Precision
from attncli.base.lazy_numpy import Array, np
from attncli.engine.evaluate import evaluate
from attncli.plan.graph import Plan
from attncli.trace.steps import Trace

DRAWS = 8  # of numbers within half a unit of the digits typed, to see how far what follows from them moves


def follows_from(comparison: Comparison, results: Sequence[QuantityCheck], result: QuantityCheck) -> QuantityCheck:
    """A quantity, with whether its numbers follow from those expected before it, where it differs and they do.

    They follow where they agree with what is computed from the expected numbers, those that have digits typed moved by
    up to half a unit of the last. Unknown where no quantity before it is expected whole, or the problem is computed in
    blocks, so that no steps are kept.
    """
    trace, plan = comparison.trace, comparison.trace.plan
    name = plan.resolve(result.name)
    needed = plan.needed_for([name]) - {name}
    before = {
        step: other
        for other in results[: results.index(result)]
        if (step := plan.resolve(other.name)) in needed
        and comparison.quantities[other.name].is_whole
        and plan.by_name[step].tapped_from is None  # nothing is computed from inner quantities
    }
    if result.agrees or not before or any(step not in trace.by_name for step in needed):
        return result
    if all(other.agrees for other in before.values()):
        return replace(result, follows=False)
    numbers, tolerance = comparison.quantities[result.name], comparison.tolerance(result.name)
    given = {step: comparison.quantities[other.name].array for step, other in before.items()}
    computed = recompute(trace, plan, given, name)
    computed = computed if computed.dtype.kind == "f" else computed.astype(np.float64)
    spread = np.zeros(computed.shape)
    stream = np.random.default_rng(0)
    for _ in range(DRAWS):
        moved = {step: _moved(comparison, other, stream) for step, other in before.items()}
        with np.errstate(invalid="ignore"):  # ∞ − ∞
            spread = np.fmax(spread, abs(recompute(trace, plan, moved, name) - computed))
    typed = np.where(np.isfinite(spread), 2 * spread, 0)
    typed = typed if numbers.half_units is None else typed + np.nan_to_num(numbers.half_units)
    found = statistics(Arrays(numbers.array, computed, numbers.is_given, typed), tolerance)
    return replace(result, follows=found.differ == 0)


def _moved(comparison: Comparison, result: QuantityCheck, stream: "np.random.Generator") -> Array:
    """Expected numbers moved by up to half a unit of the last digit typed, or by the error of their type."""
    numbers = comparison.quantities[result.name]
    expected = numbers.array
    if numbers.half_units is None:
        allowed = Precision(comparison.dtype_of(result.name)).units(expected)
    else:
        allowed = np.nan_to_num(numbers.half_units)
    return expected + np.nan_to_num(allowed) * stream.uniform(-1, 1, expected.shape)


def recompute(trace: Trace, plan: Plan, given: Mapping[str, Array], name: str) -> Array:
    """The value of a step where steps before it have other values; those between them are computed anew."""
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
    return values[name]
