"""The trace that a problem has when it is computed whole, whatever its size."""

from attncli.engine.run import run
from attncli.problem.spec import ProblemSpec
from attncli.trace.steps import Trace


def whole_trace(problem: ProblemSpec) -> Trace:
    """Every step, by the dense engine."""
    return run(problem, ("output",), every_step=True).trace
