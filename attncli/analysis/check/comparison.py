"""The comparison of expected numbers with those of the reference, each quantity at its tolerance."""

from collections.abc import Mapping
from functools import cached_property

from attncli.analysis.check.expected import ExpectedNumbers
from attncli.analysis.check.options import CheckOptions
from attncli.analysis.check.reference import Reference
from attncli.analysis.check.report import QuantityCheck, WorstCell
from attncli.analysis.check.rounding import RoundingError, rounding_error
from attncli.analysis.check.statistics import Arrays, statistics
from attncli.analysis.check.tolerance import Tolerance, chosen_tolerance, derived_tolerance
from attncli.base.dataclasses import dataclass
from attncli.base.dtypes import Precision, coarsest
from attncli.base.lazy_numpy import np
from attncli.plan.trace import Trace
from attncli.problem.spec import ProblemSpec


@dataclass(frozen=True)
class Comparison:
    """The comparison of expected numbers with those of the reference; tolerances are found once."""

    problem: ProblemSpec
    reference: Reference
    quantities: Mapping[str, ExpectedNumbers]
    options: CheckOptions

    @property
    def trace(self) -> Trace:
        """The trace of the reference."""
        return self.reference.trace

    def dtype_of(self, name: str) -> str:
        """The type that the numbers of a quantity have: the coarser of that of the problem, and their own."""
        own = self.quantities[name].dtype
        return coarsest([self.problem.precision.name, *([own] if own else [])])

    def needs_rounding_error(self, name: str) -> bool:
        """Whether the tolerance of a quantity follows from the rounding error of its type.

        Half a unit of a typed digit of float64 is so much more that it does not count.
        """
        chosen = chosen_tolerance(self.options, Precision(self.dtype_of(name)))
        return chosen is None and (self.dtype_of(name) != "float64" or self.quantities[name].has_every_digit)

    @cached_property
    def _rounding_errors(self) -> Mapping[str, RoundingError]:
        """The rounding errors in the types of the quantities, by type."""
        names_by_dtype: dict[str, list[str]] = {}
        for name in self.quantities:
            if self.needs_rounding_error(name):
                names_by_dtype.setdefault(self.dtype_of(name), []).append(name)
        problem, plan = self.trace.problem, self.trace.plan
        return {dtype: rounding_error(problem, plan, names, dtype) for dtype, names in names_by_dtype.items()}

    def tolerance(self, name: str) -> Tolerance:
        """The tolerance of a quantity: that of the user, otherwise the derived one."""
        dtype = self.dtype_of(name)
        rounding = self._rounding_errors[dtype] if self.needs_rounding_error(name) else None
        return self.derived_tolerance(name, Precision(dtype), rounding)

    def derived_tolerance(self, name: str, precision: Precision, rounding: RoundingError | None) -> Tolerance:
        """The tolerance of a quantity for a type and a rounding error in it, unless the user has chosen one."""
        chosen = chosen_tolerance(self.options, precision)
        return chosen or derived_tolerance(self.quantities[name], precision, rounding, name)

    def compare(self, name: str) -> QuantityCheck:
        """One quantity compared."""
        numbers, step, tolerance = self.quantities[name], self.trace[name], self.tolerance(name)
        computed = self.reference.value(name)
        found = statistics(Arrays(numbers.array, computed, numbers.is_given, numbers.half_units), tolerance)
        worst = None
        if found.worst is not None:
            position = tuple(map(int, np.unravel_index(found.worst, computed.shape)))
            labels = [self.trace.numbered_labels_of(step, axis - computed.ndim)[at] for axis, at in enumerate(position)]
            both = float(numbers.array[position]), float(computed[position])
            worst = WorstCell(position, tuple(labels), *both, found.worst_allowed)
        return QuantityCheck(
            name=name,
            count=found.count,
            differ=found.differ,
            digits=found.digits,
            tolerance=found.tolerance,
            tolerance_reason=tolerance.reason,
            max_abs=found.max_abs,
            max_rel=found.max_rel,
            max_ulp=found.max_ulp,
            ulp_dtype=tolerance.precision.name,
            correlation=found.correlation,
            cosine=found.cosine,
            worst=worst,
            expected=numbers.array,
            computed=computed,
            is_given=numbers.is_given,
            differs=found.differs,
            remarks=numbers.remarks,
        )
