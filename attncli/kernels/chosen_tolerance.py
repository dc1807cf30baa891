"""Would the tolerance have seen it: the mistakes that a chosen tolerance lets pass on the inputs of a trial."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from attncli.base.dtypes import HALF
from attncli.checks.check import read_expected
from attncli.checks.compare import Checker
from attncli.checks.explanations import unnoticed_names
from attncli.checks.report import CheckOptions
from attncli.checks.tolerance import compute_reference
from attncli.kernels.cases import KernelCase
from attncli.kernels.trial import Trial
from attncli.problem.arrays import GivenArray
from attncli.problem.fields import GRADIENT_PREFIX

SECONDS = 20.0  # the most that mistakes are made on an input, which takes a fraction of one
INPUTS = 3  # on which mistakes are made
FEW_CELLS, MOST_CELLS = 20, 2**10  # scores of such an input


def find_passed(trial: Trial, cases: Sequence[KernelCase], names: Sequence[str]) -> tuple[str, ...] | None:
    """The mistakes that the tolerance of the user lets pass on all of a few inputs, and the derived one does not.

    None where the user has chosen no tolerance, or no input is as large as it takes to make mistakes.
    """
    options = replace(trial.options.check, seconds=SECONDS)
    if all(limit is None for limit in (options.rtol, options.atol, options.ulp)):
        return None
    chosen = [case for case in cases if FEW_CELLS <= _cells(case) <= MOST_CELLS and not case.memory]
    chosen.sort(key=lambda case: (case.dtype in HALF, -_cells(case)))
    passed, anyway = Counter[str](), Counter[str]()
    for case in chosen[:INPUTS]:
        checker = _checker(trial, case, names, options)
        passed.update(unnoticed_names(checker))
        anyway.update(unnoticed_names(replace(checker, options=replace(options, rtol=None, atol=None, ulp=None))))
    count = len(chosen[:INPUTS])
    return tuple(name for name in passed if passed[name] == count > anyway[name]) if chosen else None


def _cells(case: KernelCase) -> int:
    sizes = case.sizes
    return sizes.batch * sizes.heads * sizes.queries * sizes.keys


def _checker(trial: Trial, case: KernelCase, names: Sequence[str], options: CheckOptions) -> Checker:
    """The comparison of the right results of an input, in its type, with what mistakes make of them."""
    problem = trial.problem_of(case)
    if any(name.startswith(GRADIENT_PREFIX) for name in names):
        problem = problem.with_gradient()
    else:
        problem = replace(problem, grad_output=None)
    exact = compute_reference(problem, list(names), options)
    given = {name: GivenArray(exact.value(name), dtype=case.dtype) for name in names}
    return Checker(problem, exact, read_expected(problem, given, options), options)
