"""Slips of rounding: steps that are rounded before they are used, and computation in half precision."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from attncli.analysis.slips.records import (
    Computation,
    Variant,
    plan_slip,
    problem_slip,
    with_changed_value,
    with_function,
)
from attncli.analysis.slips.softmax import softmax_node
from attncli.base.dtypes import HALF, Precision
from attncli.base.lazy_numpy import Array, np
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
            sentence = f"The exponentials of the scores are rounded to {_count(decimals)} before they are divided."
            yield Variant(with_function(case.plan, node.name, _softmax_of_rounded, decimals=decimals), sentence)


@problem_slip("the numbers are of a wider type than float16 and bfloat16, and the inputs are none of these")
def inputs_rounded(case: Computation) -> Iterator[Variant]:
    """The inputs are rounded to half precision, as tensor cores take them, and what follows is not."""
    arrays = {name: x for name in FIELDS if (x := getattr(case.problem, name)) is not None and _is_floating(x)}
    for dtype in HALF if case.dtype not in HALF and case.problem.dtype not in HALF else ():
        with np.errstate(over="ignore"):
            rounded: dict[str, Any] = {name: Precision(dtype).round(x).astype(x.dtype) for name, x in arrays.items()}
        if any((rounded[name] != x).any() for name, x in arrays.items()):
            yield Variant(replace(case.problem, **rounded), f"Only the inputs are rounded to {dtype}.")


@problem_slip("the numbers are of a wider type than float16 and bfloat16")
def half_precision(case: Computation) -> Iterator[Variant]:
    """Every step is computed in half precision."""
    if case.dtype in HALF or case.problem.dtype in HALF:
        return
    for dtype in HALF:
        yield Variant(replace(case.problem, dtype=dtype), f"Every step is rounded to {dtype}.")


def _is_floating(value: Any) -> bool:
    """Whether a value of a problem is an array of floating-point numbers."""
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"


def _rounded(case: Computation, name: str, size: int) -> Iterator[Variant]:
    """The plan with a step, whose numbers have a size, rounded to so many decimals."""
    if name not in case.plan.by_name:
        return
    for decimals in _decimals(case, size):
        sentence = f"The {name} are rounded to {_count(decimals)} before they are used."
        yield Variant(with_changed_value(case.plan, name, _round, options={"decimals": decimals}), sentence)


def _decimals(case: Computation, size: int) -> list[int]:
    """The numbers of decimals to round to, without those to which the type rounds numbers of a size anyhow.

    None in half precision where the numbers are of a wider type: both errors together would explain much else.
    """
    if case.problem.precision.epsilon > Precision(case.dtype).epsilon:
        return []
    return [decimals for decimals in DECIMALS if 0.5 * 10.0**-decimals >= size * Precision(case.dtype).epsilon]


def _count(decimals: int) -> str:
    """So many decimals, in words."""
    return f"{decimals} decimal{'' if decimals == 1 else 's'}"


def _softmax_of_rounded(scores: Array, *, decimals: int, temperature: float = 1.0) -> Array:
    """Exponentials, of which no maximum is subtracted where they do not overflow, rounded and divided by their sum."""
    powers = scores / temperature
    exponentials = np.round(np.exp(powers - np.maximum(finite_max(powers) - LARGEST_POWER, 0)), decimals)
    return safe_divide(exponentials, exponentials.sum(axis=-1, keepdims=True))


def _round(x: Array, *, decimals: int) -> Array:
    """The numbers rounded to so many decimals."""
    return np.round(x, decimals)
