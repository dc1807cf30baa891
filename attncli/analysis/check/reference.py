"""The reference: ours, computed in float64, in longdouble, or in many digits."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from attncli.analysis.check.options import CheckOptions
from attncli.analysis.check.rounding import EXTENDED, FLOAT64, in_type
from attncli.base.dtypes import Precision
from attncli.base.lazy_numpy import Array
from attncli.engine.run import run
from attncli.problem.spec import ProblemSpec
from attncli.trace.steps import Trace


@dataclass(frozen=True)
class Reference:
    """Our own computation: its trace, and in what it was computed, as the report names it."""

    trace: Trace
    name: str

    def value(self, name: str) -> Array:
        """The numbers of a result or step."""
        return self.trace[name].value


def compute_reference(problem: ProblemSpec, names: Sequence[str], options: CheckOptions) -> Reference:
    """Compute results or steps of a problem, whose numbers are rounded to its own type first.

    Raises AttnError where there is not enough memory.
    """
    is_extended = options.many_digits or problem.precision.name == EXTENDED
    dtype = EXTENDED if is_extended else FLOAT64
    problem = in_type(problem, dtype)
    trace = run(problem, names, options=options.run).trace
    return Reference(replace(trace, problem=problem), _name(dtype))


def _name(dtype: str) -> str:
    """The name of a type; where longdouble has no more digits than float64 it is that."""
    return FLOAT64 if Precision(dtype).epsilon == Precision(FLOAT64).epsilon else dtype
