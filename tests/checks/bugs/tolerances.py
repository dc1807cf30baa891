"""How many bugs each tolerance lets pass: `python -m tests.checks.bugs.tolerances`."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from attncli.base.dtypes import Precision
from attncli.checks.bugs import Bug, bugs
from attncli.checks.check import check
from attncli.checks.report import CheckOptions
from attncli.checks.slips.records import evaluate_names
from attncli.checks.tolerance import StepwisePrecision, in_type
from attncli.plan.build import plan_of
from attncli.problem.spec import ProblemSpec
from tests.checks.bugs.cases import problem_of, results_of

DTYPE = "float16"  # that kernels return, where a problem does not name another


class Outputs(NamedTuple):
    """The results of a bug, also by their names, the right ones, these computed in its type step by step, the problem.

    Several results are one after the other.
    """

    by_name: Mapping[str, np.ndarray]
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
    return check(outputs.problem, outputs.by_name, CheckOptions(seconds=0)).agrees


TOLERANCES: Mapping[str, Accepts] = {
    "atol 0.5, rtol 0.15": is_close(0.15, 0.5),
    "correlation 0.99": correlates,
    "atol 1e-2, rtol 1e-2": is_close(1e-2, 1e-2),
    "atol 1e-3, rtol 1e-3": is_close(1e-3, 1e-3),
    "twice the largest error of the same type, as FlashAttention's tests": is_near_as_its_type,
    "`attn check`": agrees,
}


def outputs_of(bug: Bug) -> Outputs:
    """The outputs of a bug, whose inputs and results are in half precision, or in the type of its problem."""
    dtype = bug.problem.get("dtype", DTYPE)
    problem = problem_of(bug, dtype=dtype)
    results = results_of(bug, problem)
    right, rounded = (
        _in_a_row(evaluate_names(plan_of(spec), spec, results, precision), [*map(plan_of(spec).resolve, results)])
        for spec, precision in (
            (in_type(problem.spec, "float64"), Precision()),
            (problem.spec, StepwisePrecision(dtype)),
        )
    )
    return Outputs(results, _in_a_row(results, [*results]), right, rounded, problem.spec)


def _in_a_row(values: Mapping[str, np.ndarray], names: Sequence[str]) -> np.ndarray:
    """The numbers of several arrays, one after the other."""
    return np.concatenate([np.asarray(values[name], dtype=np.float64).ravel() for name in names])


def passed() -> dict[str, list[Bug]]:
    """The bugs that each tolerance lets pass."""
    outputs = [(bug, outputs_of(bug)) for bug in bugs().values()]
    with np.errstate(invalid="ignore"):
        return {name: [bug for bug, one in outputs if accepts(one)] for name, accepts in TOLERANCES.items()}


if __name__ == "__main__":
    for tolerance, let_through in passed().items():
        print(f"{len(let_through):3}  {tolerance}")
