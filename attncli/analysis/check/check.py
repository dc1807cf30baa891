"""A check: a problem computed, and each quantity of which numbers are expected compared with them."""

from collections.abc import Mapping
from typing import Any

from attncli.analysis.check.options import CheckOptions
from attncli.analysis.check.report import CheckReport, QuantityCheck, WorstCell
from attncli.base.axes import format_lengths
from attncli.base.dtypes import Precision
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.engine.run import run
from attncli.plan.build import plan_of
from attncli.problem.convert.arrays import to_array
from attncli.problem.spec import ProblemSpec
from attncli.trace.steps import Trace

DEFAULT = CheckOptions()


def check(problem: ProblemSpec, expected: Mapping[str, Any], options: CheckOptions = DEFAULT) -> CheckReport:
    """Compare what is expected of a problem with what is computed.

    `expected` has, by the names of results or steps, arrays or tensors, nested lists, or nested mappings from labels
    to numbers; numbers may be TypedNumbers. Raises UnknownNameError where a problem has no result of a name, AttnError
    where numbers do not fit the result.
    """
    plan = plan_of(problem)
    for name in expected:
        plan.resolve(name)
    order = {node.name: position for position, node in enumerate(plan.nodes)}
    names = sorted(expected, key=lambda name: order[plan.resolve(name)])
    trace = run(problem, names, options=options.run).trace
    results = tuple(_compare(trace, name, expected[name]) for name in names)
    return CheckReport(trace, results, problem.precision.name)


def _compare(trace: Trace, name: str, value: Any) -> QuantityCheck:
    """One quantity compared."""
    step = trace[name]
    computed: Array = step.value
    numbers = to_array(value, ("expected", name)).array
    if numbers.shape != computed.shape:
        sizes = map(format_lengths, (numbers.shape, computed.shape))
        raise AttnError("{} numbers are expected and {} computed".format(*sizes), where=("expected", name))
    epsilon = Precision(trace.problem.precision.name).epsilon
    error = abs(numbers - computed)
    allowed = 4 * epsilon * abs(computed).max(axis=-1, keepdims=True)
    differs = ~(error <= allowed) & (numbers != computed)
    worst = None
    if differs.any():
        position = tuple(map(int, np.unravel_index(np.argmax(np.where(differs, error, 0)), error.shape)))
        labels = tuple(trace.labels_of(step, axis - error.ndim)[at] for axis, at in enumerate(position))
        worst = WorstCell(position, labels, float(numbers[position]), float(computed[position]))
    return QuantityCheck(
        name=name,
        count=numbers.size,
        differ=int(differs.sum()),
        digits=0,
        tolerance=float(allowed.max()),
        tolerance_reason="four units in the last place of the largest number of its row",
        max_abs=float(error.max()),
        max_rel=float((error / np.maximum(abs(computed), 1e-300)).max()),
        max_ulp=float((error / np.maximum(np.spacing(abs(computed)), 1e-300)).max()),
        ulp_dtype=trace.problem.precision.name,
        correlation=None,
        cosine=None,
        worst=worst,
        expected=numbers,
        computed=computed,
        is_given=np.ones(computed.shape, dtype=bool),
        differs=differs,
    )
