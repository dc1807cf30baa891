"""Slips of rounding: steps that are rounded before they are used, and computation in half precision."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from attncli.analysis.slips.records import (
    Computation,
    Variant,
    plan_slip,
    problem_slip,
)
from attncli.analysis.slips.softmax import softmax_node
from attncli.base.dtypes import HALF, Precision
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import count_of
from attncli.ops.normalizers import finite_max, safe_divide
from attncli.problem.spec import FIELDS

DECIMALS = (4, 3, 2, 1)
LARGE = 8  # the size of scores and of their exponentials
LARGEST_POWER = 80.0  # whose exponential float32 holds


@plan_slip("there are weights, in a type that holds so many decimals")
def weights_rounded(case: Computation) -> Iterator[Variant]:
    """The weights are rounded before the values are summed with them."""
    yield from _rounded(case, "weights", size=1)


@plan_slip("there are scores, in a type that holds so many decimals")
def scores_rounded(case: Computation) -> Iterator[Variant]:
    """The scores are rounded before the softmax."""
    yield from _rounded(case, "scores", size=LARGE)


@plan_slip("weights are a softmax, in a type that holds so many decimals")
def exponentials_rounded(case: Computation) -> Iterator[Variant]:
    """The exponentials of the scores are rounded before they are divided by their sum."""
    node = softmax_node(case)
    if node is not None:
        for decimals in _decimals(case, LARGE):
            count = count_of(decimals, "decimal")
            sentence = f"The exponentials of the scores are rounded to {count} before they are divided."
            yield Variant(case.with_function(node.name, _softmax_of_rounded, decimals=decimals), sentence)


@problem_slip("the numbers are of a wider type than float16 and bfloat16, and the inputs are none of these")
def inputs_rounded(case: Computation) -> Iterator[Variant]:
    """The inputs are rounded to half precision, as tensor cores take them, and what follows is not."""
    values = {name: getattr(case.problem, name) for name in FIELDS}
    arrays = {name: x for name, x in values.items() if isinstance(x, np.ndarray) and x.dtype.kind == "f"}
    for dtype in _half_types(case):
        with np.errstate(over="ignore"):
            rounded: dict[str, Any] = {name: Precision(dtype).round(x).astype(x.dtype) for name, x in arrays.items()}
        if any((rounded[name] != x).any() for name, x in arrays.items()):
            yield Variant(replace(case.problem, **rounded), f"Only the inputs are rounded to {dtype}.")


@problem_slip("the numbers are of a wider type than float16 and bfloat16")
def half_precision(case: Computation) -> Iterator[Variant]:
    """Every step is computed in half precision."""
    for dtype in _half_types(case):
        yield Variant(replace(case.problem, dtype=dtype), f"Every step is rounded to {dtype}.")


def _half_types(case: Computation) -> Sequence[str]:
    """The half types, where the numbers are of a wider one."""
    return () if case.dtype in HALF or case.problem.dtype in HALF else HALF


def _rounded(case: Computation, name: str, size: int) -> Iterator[Variant]:
    """The plan with a step, whose numbers have a size, rounded to so many decimals."""
    if name not in case.plan.by_name:
        return
    for decimals in _decimals(case, size):
        sentence = f"The {name} are rounded to {count_of(decimals, 'decimal')} before they are used."
        yield Variant(case.with_changed_value(name, _round, options={"decimals": decimals}), sentence)


def _decimals(case: Computation, size: int) -> list[int]:
    """The numbers of decimals to round to, without those to which the type rounds numbers of a size anyhow.

    None in half precision where the numbers are of a wider type: both errors together would explain much else.
    """
    if case.problem.precision.epsilon > Precision(case.dtype).epsilon:
        return []
    return [decimals for decimals in DECIMALS if 0.5 * 10.0**-decimals >= size * Precision(case.dtype).epsilon]


def _softmax_of_rounded(scores: Array, *, decimals: int, temperature: float = 1.0) -> Array:
    """Exponentials, of which no maximum is subtracted where they do not overflow, rounded and divided by their sum."""
    powers = scores / temperature
    exponentials = np.round(np.exp(powers - np.maximum(finite_max(powers) - LARGEST_POWER, 0)), decimals)
    return safe_divide(exponentials, exponentials.sum(axis=-1, keepdims=True))


def _round(x: Array, *, decimals: int) -> Array:
    return np.round(x, decimals)
