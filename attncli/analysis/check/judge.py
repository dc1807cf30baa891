"""Judge: whether a computation with slips in it gives the expected numbers, or ours."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from attncli.analysis.check.comparison import Comparison
from attncli.analysis.check.expected import ExpectedNumbers
from attncli.analysis.check.rounding import FLOAT64, evaluate_names, in_type, measure
from attncli.analysis.check.tolerance import Tolerance
from attncli.analysis.slips.attempts import Attempt, run_attempt
from attncli.base.dtypes import Precision, coarsest
from attncli.base.lazy_numpy import Array, np

# No rounding error of a formula is as large as so many units of the largest number, or as this part of it.
LOOSE_UNITS, LOOSE_PART = 512, 0.5


@dataclass(frozen=True)
class Judge:
    """Compares attempts with the expected numbers of a comparison, or with ours, at its tolerances."""

    comparison: Comparison

    def accepts(self, attempt: Attempt, rows: Sequence[int] | None = None) -> bool:
        """Whether an attempt gives all expected numbers, within its own rounding error in their type.

        `rows` are the positions of the queries that it computes, among those of the comparison; None for all.
        """
        quantities = self._part(self.comparison.quantities, rows)
        values = run_attempt(attempt, quantities)
        if values.keys() != quantities.keys():
            return False
        own = attempt.problem.precision.name
        dtypes = {name: coarsest([self.comparison.dtype_of(name), own]) for name in quantities}
        loose = {name: self._loose(name, dtypes[name], values[name]) for name in quantities}
        if not _agree(quantities, values, loose):
            return False
        if (
            Precision(own).epsilon > Precision().epsilon
        ):  # what is computed in half precision has its error around the right numbers
            attempt = replace(attempt, problem=in_type(attempt.problem, FLOAT64))
            computed = evaluate_names(attempt.plan, attempt.problem, quantities, Precision())
            values = {name: computed[attempt.plan.resolve(name)] for name in quantities}
        tolerances = {name: self._tolerance(name, dtypes[name], attempt) for name in quantities}
        return _agree(quantities, values, tolerances)

    def agrees_with_ours(self, attempt: Attempt, rows: Sequence[int] | None = None) -> bool:
        """Whether an attempt gives our numbers, within the tolerance of each quantity, where one is expected."""
        ours = {
            name: replace(numbers, array=self.comparison.reference.value(name))
            for name, numbers in self.comparison.quantities.items()
        }
        quantities = self._part(ours, rows)
        values = run_attempt(attempt, quantities)
        tolerances = {name: self.comparison.tolerance(name) for name in quantities}
        return values.keys() == quantities.keys() and _agree(quantities, values, tolerances)

    def _part(
        self, quantities: Mapping[str, ExpectedNumbers], rows: Sequence[int] | None
    ) -> Mapping[str, ExpectedNumbers]:
        """The numbers of some queries alone where they are tried alone."""
        if rows is None:
            return quantities
        letters = {name: self.comparison.trace.plan[name].letters for name in quantities}
        return {
            name: numbers.take(rows, letters[name].index("n")) if "n" in letters[name] else numbers
            for name, numbers in quantities.items()
        }

    def _loose(self, name: str, dtype: str, computed: Array) -> Tolerance:
        """A tolerance that no rounding error exceeds, found without computing it."""
        tolerance, precision = self.comparison.tolerance(name), Precision(dtype)
        if not self._has_error(name, dtype):
            return tolerance
        with np.errstate(all="ignore"):
            largest = float(np.max(abs(computed), initial=0, where=np.isfinite(computed)))
        part = min(LOOSE_UNITS * precision.epsilon, LOOSE_PART)
        return Tolerance(precision, "", max(tolerance.error, part * largest))

    def _tolerance(self, name: str, dtype: str, attempt: Attempt) -> Tolerance:
        """The tolerance of a quantity, with the rounding error of an attempt in place of ours."""
        if not self._has_error(name, dtype):
            return self.comparison.tolerance(name)
        rounding = measure(attempt.problem, attempt.plan, [name], dtype)
        return self.comparison.derived_tolerance(name, Precision(dtype), rounding)

    def _has_error(self, name: str, dtype: str) -> bool:
        """Whether the tolerance of a quantity depends on the computation."""
        return self.comparison.needs_rounding_error(name) or dtype != self.comparison.dtype_of(name)


def _agree(
    quantities: Mapping[str, ExpectedNumbers], values: Mapping[str, Array], tolerances: Mapping[str, Tolerance]
) -> bool:
    """Whether all expected numbers agree with those of an attempt."""
    for name, numbers in quantities.items():
        computed = values[name] if values[name].dtype.kind == "f" else values[name].astype(np.float64)
        if computed.shape != numbers.array.shape:
            return False
        allowed = tolerances[name].allowed(numbers.array, computed, numbers.half_units)
        if not (tolerances[name].agrees(numbers.array, computed, allowed) | ~numbers.is_given).all():
            return False
    return True
