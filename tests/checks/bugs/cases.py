"""The problem of a bug, and the results that have it: the numbers of the problem handed to a kernel written by hand."""

from typing import Any

import numpy as np

import attncli
from attncli.checks.bugs import Bug
from tests.checks.bugs.kernels import KERNELS, given


def problem_of(bug: Bug, **more: Any) -> attncli.Problem:
    """The problem of a bug, with more keys."""
    return attncli.Problem(**{**bug.problem, **more})


def results_of(bug: Bug, problem: attncli.Problem) -> dict[str, np.ndarray]:
    """What a kernel with the bug returns for the numbers of a problem, in the problem's type."""
    arrays = {name: getattr(problem, name) for name in bug.problem if name in problem_arrays(problem)}
    wide = {name: x.astype(np.float64) if x.dtype.kind == "f" else x for name, x in arrays.items()}
    with np.errstate(over="ignore"):
        found = KERNELS[bug.source](given({**bug.problem, **wide}))
        results = found if isinstance(found, dict) else {"output": found}
        return {name: x.astype(problem.spec.precision.numpy_name) for name, x in results.items()}


def problem_arrays(problem: attncli.Problem) -> set[str]:
    """The names of the keys whose values are arrays."""
    return {name for name, value in vars(problem.spec).items() if isinstance(value, np.ndarray)}
