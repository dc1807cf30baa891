"""Tolerance: by how much an expected number may differ from ours, and why, in a sentence."""

import math

from attncli.analysis.check.expected import ExpectedNumbers
from attncli.analysis.check.options import CheckOptions
from attncli.analysis.check.rounding import RoundingError, largest_of_rows
from attncli.base.dataclasses import dataclass
from attncli.base.dtypes import Precision
from attncli.base.lazy_numpy import Array, np

UNITS = 4  # the floor: units in the last place of the largest number of a row
FACTOR = 2  # how much larger the error of another program may be than that of our own steps


@dataclass(frozen=True)
class Tolerance:
    """The largest difference that is allowed, by the type of the numbers.

    A row is allowed `error`, but no more than `error_of_row` times its largest number, and no less than UNITS units of
    the type for that number; half a unit of the last digit typed is added. A number that is ours rounded to the type
    always agrees.
    """

    precision: Precision
    reason: str
    error: float = 0.0
    error_of_row: float = math.inf
    relative: float | None = None  # of the expected number: given by the user, as the two that follow
    absolute: float = 0.0
    units: float = 0.0

    def allowed(self, expected: Array, computed: Array, half_units: Array | None) -> Array:
        """The difference that is allowed of each number of some rows [… columns]."""
        with np.errstate(all="ignore"):
            if self.relative is not None:
                by_size = self.absolute + self.relative * abs(expected)
                by_units = self.units * self.precision.units(expected) if self.units else np.zeros(1)
                allowed = np.fmax(by_size, by_units)
                return np.where(np.isfinite(expected), allowed, self.absolute)
            largest = largest_of_rows(computed)
            error = np.where(largest > 0, np.fmin(self.error, self.error_of_row * largest), self.error)
            allowed = np.maximum(error, UNITS * self.precision.units(largest))
            typed = 0 if half_units is None else np.nan_to_num(half_units)
            return np.broadcast_to(allowed + typed, expected.shape)

    def agrees(self, expected: Array, computed: Array, allowed: Array) -> Array:
        """Which numbers agree; NaN and infinities do with their like alone."""
        with np.errstate(all="ignore"):
            error = abs(expected - computed)
            same = (expected == computed) | (np.isnan(expected) & np.isnan(computed))
            is_ours_rounded = self.precision.round(computed) == expected
            agrees: Array = same | is_ours_rounded | (np.isfinite(error) & (error <= allowed))
            return agrees


def chosen_tolerance(options: CheckOptions, precision: Precision) -> Tolerance | None:
    """The tolerance that the user has chosen; None where none is."""
    parts = {"rtol": options.rtol, "atol": options.atol, "ulp": options.ulp}
    given = [f"{name} {value:g}" for name, value in parts.items() if value is not None]
    if not given:
        return None
    unit = f" of {precision.name}" if options.ulp is not None else ""
    reason = f"{', '.join(given)}{unit}, as given"
    return Tolerance(
        precision, reason, relative=options.rtol or 0.0, absolute=options.atol or 0.0, units=options.ulp or 0.0
    )


def derived_tolerance(
    expected: ExpectedNumbers, precision: Precision, rounding: RoundingError | None, name: str
) -> Tolerance:
    """The tolerance that follows from how numbers were given: their type and its rounding error, or their digits.

    `rounding` is None where only the digits count.
    """
    error = FACTOR * rounding.errors[name] if rounding is not None else 0.0
    error_of_row = FACTOR * rounding.relative[name] if rounding is not None else math.inf
    reason = f"twice the error of the formula computed step by step in {precision.name}"
    reason += f" ({rounding.remark})" if rounding is not None and rounding.remark else ""
    reason += f", and no less than {UNITS} units in the last place of the largest number of its row"
    digits = "half a unit of the last digit typed"
    if expected.half_units is None:
        return Tolerance(precision, reason, error, error_of_row)
    if rounding is None:
        return Tolerance(precision, digits)
    several = (
        f"{digits}; of numbers with every digit {reason}" if expected.has_every_digit else f"{digits}, and {reason}"
    )
    return Tolerance(precision, several, error, error_of_row)
