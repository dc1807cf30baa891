"""Would the tolerance have seen it: mistakes that a tolerance of the user's lets pass, and the derived one does not."""

import numpy as np
import pytest

from attncli.base.lazy_numpy import Array
from attncli.checks.check import check
from attncli.checks.document import passed_line
from attncli.checks.report import CheckOptions
from attncli.checks.slips.search import attempts, run_attempt
from attncli.engine.run import run
from attncli.kernels.calls import Interface
from attncli.kernels.cases import CaseMaker
from attncli.kernels.chosen_tolerance import find_passed
from attncli.kernels.domain import Domain
from attncli.kernels.process import KernelHere
from attncli.kernels.trial import Description, Trial, TrialOptions
from attncli.kernels.vectors import ROWS, make_vector
from attncli.problem.spec import ProblemSpec


def output_of(problem: ProblemSpec) -> Array:
    output: Array = run(problem, "output").output
    return output


def passed(problem: ProblemSpec, rtol: float | None, atol: float | None) -> tuple[str, ...] | None:
    """What passes where the right output is expected."""
    options = CheckOptions(rtol=rtol, atol=atol, finds_passed=rtol is not None)
    return check(problem, {"output": output_of(problem)}, options).passed


@pytest.fixture(scope="module")
def problem() -> ProblemSpec:
    return next(make_vector(row).problem_in("float64") for row in ROWS if row.name == "window")


def test_a_mistake_that_passes_changes_no_number_beyond_the_tolerance(problem: ProblemSpec) -> None:
    right, found = output_of(problem), passed(problem, 0.05, 0.05)
    assert found
    for name in found:
        wrongs = [run_attempt(x, ["output"])["output"] for x in attempts(problem, "float64") if x.slips == (name,)]
        assert not wrongs or any(np.allclose(wrong, right, rtol=0.1, atol=0.1) for wrong in wrongs), name


def test_a_wider_tolerance_lets_more_mistakes_pass(problem: ProblemSpec) -> None:
    found = [set(passed(problem, limit, limit) or ()) for limit in (1e-15, 1e-4, 1e-2, 10.0)]
    assert found[0] == set()
    assert found[0] < found[1] < found[2] < found[3]
    assert "no_scale" in found[3] - found[2]


def test_nothing_is_said_of_the_derived_tolerance(problem: ProblemSpec) -> None:
    assert passed(problem, None, None) is None


def trial_with(**limits: float) -> tuple[str, ...] | None:
    """What a tolerance of a trial lets pass on its chosen inputs."""
    options = TrialOptions(check=CheckOptions(**limits))
    trial = Trial(KernelHere({}), Interface(()), Description({}), options)
    return find_passed(trial, list(CaseMaker(Domain()).systematic()), ["output"])


def test_a_trial_says_what_its_tolerance_lets_pass() -> None:
    assert trial_with() is None
    assert trial_with(rtol=1e-15, atol=0) == ()
    loose = trial_with(rtol=1e-2, atol=1e-2)
    assert loose is not None
    assert "weights_in_half" in loose
    assert "no_scale" not in loose


def test_the_sentence_names_a_few() -> None:
    assert passed_line(()) == "This tolerance reveals every mistake that the derived one does."
    assert passed_line(["a"]) == "This tolerance misses 1 mistake: a."
    assert passed_line(list("abcdef")) == "This tolerance misses 6 mistakes: a, b, c, d and 2 more."
