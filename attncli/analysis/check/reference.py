"""The reference: ours, computed in float64, in longdouble, or in many digits."""

from collections.abc import Sequence
from dataclasses import replace

from attncli.analysis.check.options import CheckOptions
from attncli.analysis.check.rounding import EXTENDED, FLOAT64, in_type
from attncli.base.dataclasses import dataclass
from attncli.base.dtypes import Precision
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array
from attncli.engine.many_digits import DIGITS, run_with_digits
from attncli.engine.run import run
from attncli.plan.trace import Trace
from attncli.problem.spec import ProblemSpec


@dataclass(frozen=True)
class Reference:
    """Our own computation: its trace, in what it was computed, as the report names it, and why not in more digits."""

    trace: Trace
    name: str
    remark: str = ""

    def value(self, name: str) -> Array:
        """The numbers of a result or step."""
        return self.trace[name].value


def compute_reference(problem: ProblemSpec, names: Sequence[str], options: CheckOptions) -> Reference:
    """Compute results or steps of a problem, whose numbers are rounded to its own type first.

    With `many_digits` they are computed in 50 digits, or, where that can't be done, in longdouble. Raises AttnError
    where there is not enough memory.
    """
    is_extended = options.many_digits or problem.precision.name == EXTENDED
    dtype = EXTENDED if is_extended else FLOAT64
    problem = in_type(problem, dtype)
    trace = replace(run(problem, names, options=options.run).trace, problem=problem)
    if not options.many_digits:
        return Reference(trace, _name(dtype))
    try:
        return Reference(_in_many_digits(trace), f"{DIGITS} digits")
    except AttnError as error:
        return Reference(trace, _name(dtype), f"{DIGITS} digits: {error}")


def _in_many_digits(trace: Trace) -> Trace:
    """The trace with every step computed in many digits and rounded once.

    Raises AttnError where the problem is too large for that, an operator can't be computed so, or mpmath is missing.
    """
    if any(node.name not in trace.by_name for node in trace.plan.nodes):
        raise AttnError("the problem is too large")
    values = run_with_digits(trace.plan, trace.problem, [step.name for step in trace.steps], dtype=EXTENDED)
    return replace(trace, values={name: values[name] for name in trace.by_name})


def _name(dtype: str) -> str:
    """The name of a type; where longdouble has no more digits than float64 it is that."""
    return FLOAT64 if Precision(dtype).epsilon == Precision(FLOAT64).epsilon else dtype
