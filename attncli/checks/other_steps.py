"""The step whose numbers are given in place of another's: a score as a weight, a product that is not divided yet."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from attncli.base.lazy_numpy import Array, np
from attncli.checks.compare import Checker
from attncli.checks.report import QuantityCheck
from attncli.checks.tolerance import has_every_step

RESOLUTION = 0.05  # of a number: those that were typed with fewer digits are near many others


def with_other_steps(checker: Checker, results: Sequence[QuantityCheck]) -> tuple[QuantityCheck, ...]:
    """The quantities, those of which numbers differ with the step that these are the numbers of."""
    if not has_every_step(checker.trace):
        return tuple(results)
    return tuple(replace(result, other_step=_other_step(checker, result)) for result in results)


def _other_step(checker: Checker, result: QuantityCheck) -> str | None:
    """The one step that has, in the same cells, the numbers that differ; None where none has, or several do."""
    numbers, tolerance = checker.quantities[result.name], checker.tolerance(result.name)
    differs, given = result.differs, result.expected[result.differs]
    says_something = (np.isfinite(given) & (given != 0)).any()
    if not result.differ or not says_something:
        return None
    found: dict[str, Array] = {}
    for name, values, is_alike in _same_shape(checker, result):
        allowed = tolerance.allowed(numbers.array, values, numbers.half_units)
        is_near = allowed <= RESOLUTION * abs(numbers.array)
        cells = differs if is_alike else result.is_given
        if (tolerance.agrees(numbers.array, values, allowed) & (is_near | (numbers.array == values)))[cells].all():
            found[name] = values
    first = next(iter(found), None)
    is_one = all(_are_same(found[first], values) for values in found.values()) if first else False
    return first if is_one else None


def _same_shape(checker: Checker, result: QuantityCheck) -> Iterator[tuple[str, Array, bool]]:
    """The numbers of the steps of the shape of a quantity, and the powers of e that softmax is defined by.

    Also whether they have its axes: of others all numbers are looked at.
    """
    trace = checker.trace
    own = trace[result.name]
    for step in trace.steps:
        if step.value.shape == own.value.shape and step.value.dtype.kind == "f":
            yield step.name, step.value, step.axes == own.axes
            if step.name == "exponentials":
                scores = trace[trace.plan[trace.plan.by_name[step.name].tapped_from or step.name].inputs["scores"]]
                with np.errstate(over="ignore"):
                    yield f"exp({scores.name})", np.exp(scores.value), step.axes == own.axes


def _are_same(first: Array, other: Array) -> bool:
    """Whether two steps have the same numbers, but for those that a mask hides in one of them."""
    is_finite = np.isfinite(first) & np.isfinite(other)
    return bool(np.allclose(first[is_finite], other[is_finite], rtol=1e-9, atol=0))
