"""How many bugs each tolerance lets pass: `python -m tests.analysis.bugs.tolerances`."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from attncli.analysis.bugs import Bug, bugs
from attncli.analysis.check.check import check
from attncli.analysis.check.report import CheckOptions
from attncli.analysis.check.tolerance import StepwisePrecision, in_type
from attncli.analysis.slips.records import evaluate_names
from attncli.base.dtypes import Precision
from attncli.plan.build import plan_of
from attncli.problem.spec import ProblemSpec
from tests.analysis.bugs.cases import output_of, problem_of

DTYPE = "float16"  # that kernels return, where a problem does not name another


class Outputs(NamedTuple):
    """The output of a bug, the right one, the right one computed in its type step by step, and the problem."""

    wrong: np.ndarray
    right: np.ndarray
    rounded: np.ndarray
    problem: ProblemSpec


Accepts = Callable[[Outputs], bool]


def is_close(rtol: float, atol: float) -> Accepts:
    """Whether each number is within a tolerance of the right one."""
    return lambda outputs: np.allclose(outputs.wrong, outputs.right, rtol=rtol, atol=atol)


def correlates(outputs: Outputs) -> bool:
    """Whether the correlation of all numbers is 0.99 or more."""
    return bool(np.corrcoef(outputs.wrong.ravel(), outputs.right.ravel())[0, 1] >= 0.99)


def is_near_as_its_type(outputs: Outputs) -> bool:
    """Whether the largest error is at most twice that of the formula in the same type."""
    error, of_type = (abs(x - outputs.right).max() for x in (outputs.wrong, outputs.rounded))
    return bool(error <= 2 * of_type)


def agrees(outputs: Outputs) -> bool:
    """Whether `attn check` finds no difference."""
    numbers = outputs.wrong.astype(outputs.problem.precision.name)
    return check(outputs.problem, {"output": numbers}, CheckOptions(seconds=0)).agrees


TOLERANCES: Mapping[str, Accepts] = {
    "atol 0.5, rtol 0.15": is_close(0.15, 0.5),
    "correlation 0.99": correlates,
    "atol 1e-2, rtol 1e-2": is_close(1e-2, 1e-2),
    "atol 1e-3, rtol 1e-3": is_close(1e-3, 1e-3),
    "twice the largest error of the same type, as FlashAttention's tests": is_near_as_its_type,
    "`attn check`": agrees,
}


def outputs_of(bug: Bug) -> Outputs:
    """The outputs of a bug, whose inputs and output are in half precision, or in the type of its problem."""
    dtype = bug.problem.get("dtype", DTYPE)
    problem = problem_of(bug, dtype=dtype)
    right, rounded = (
        evaluate_names(plan_of(spec), spec, ["output"], precision)[plan_of(spec).resolve("output")]
        for spec, precision in (
            (in_type(problem.spec, "float64"), Precision()),
            (problem.spec, StepwisePrecision(dtype)),
        )
    )
    outputs = (np.asarray(x, dtype=np.float64) for x in (output_of(bug, problem), right, rounded))
    return Outputs(*outputs, problem.spec)


def passed() -> dict[str, list[Bug]]:
    """The bugs that each tolerance lets pass."""
    outputs = [(bug, outputs_of(bug)) for bug in bugs().values()]
    with np.errstate(invalid="ignore"):
        return {name: [bug for bug, one in outputs if accepts(one)] for name, accepts in TOLERANCES.items()}


if __name__ == "__main__":
    for tolerance, let_through in passed().items():
        print(f"{len(let_through):3}  {tolerance}")
