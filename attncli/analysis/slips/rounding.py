"""Slips of rounding: steps that are rounded before they are used, and computation in half precision."""

from collections.abc import Iterator
from dataclasses import replace

from attncli.analysis.slips.plan_edit import with_changed_value
from attncli.analysis.slips.records import Computation, Variant, plan_slip, problem_slip
from attncli.base.dtypes import HALF, Precision
from attncli.base.lazy_numpy import Array, np

DECIMALS = (4, 3, 2, 1)


@plan_slip("there are weights, in a type that holds so many decimals")
def weights_rounded(case: Computation) -> Iterator[Variant]:
    """The weights are rounded before the values are summed with them."""
    yield from _rounded(case, "weights", size=1)


@plan_slip("there are scores, in a type that holds so many decimals")
def scores_rounded(case: Computation) -> Iterator[Variant]:
    """The scores are rounded before the softmax."""
    yield from _rounded(case, "scores", size=8)


@problem_slip("the numbers are of a wider type than float16 and bfloat16")
def half_precision(case: Computation) -> Iterator[Variant]:
    """Every step is computed in half precision."""
    if case.dtype in HALF or case.problem.dtype in HALF:
        return
    for dtype in HALF:
        yield Variant(replace(case.problem, dtype=dtype), f"Every step is rounded to {dtype}.")


def _rounded(case: Computation, name: str, size: int) -> Iterator[Variant]:
    """The plan with a step rounded to so many decimals, unless the type rounds numbers of that size as coarsely."""
    if name not in case.plan.by_name:
        return
    for decimals in DECIMALS:
        if 0.5 * 10.0**-decimals < size * Precision(case.dtype).epsilon:
            continue
        plural = "" if decimals == 1 else "s"
        sentence = f"The {name} are rounded to {decimals} decimal{plural} before they are used."
        yield Variant(with_changed_value(case.plan, name, _round, options={"decimals": decimals}), sentence)


def _round(x: Array, *, decimals: int) -> Array:
    """The numbers rounded to so many decimals."""
    return np.round(x, decimals)
