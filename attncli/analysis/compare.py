"""Comparison of computed numbers with expected ones, to all the digits that were printed."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from attncli.base.axes import format_lengths
from attncli.base.dtypes import Precision
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np

FLOAT64 = Precision()
EXACT = 1e-9  # whole numbers are compared up to the rounding of the arithmetic that led to them


@dataclass(frozen=True)
class Difference:
    """One number that is not the expected one."""

    position: tuple[int, ...]
    expected: float
    computed: float


@dataclass(frozen=True)
class Comparison:
    """How many numbers were compared, to how many decimals, and which of them differ."""

    name: str
    count: int
    decimals: int
    differences: Sequence[Difference]
    has_every_digit: bool = True  # whether the precision has as many decimals as were printed


def compare(name: str, expected: Array, computed: Array, precision: Precision = FLOAT64) -> Comparison:
    """Compare an array computed in a precision with an expected one of the same shape.

    Two numbers agree where they differ by no more than half a unit of the last decimal that any number of the
    expected array has, or by no more than neighbouring numbers of the precision: more digits than it has mean nothing.
    Raises AttnError where the shapes differ.
    """
    if expected.shape != computed.shape:
        sizes = map(format_lengths, (expected.shape, computed.shape))
        raise AttnError("{} numbers are expected and {} computed".format(*sizes), where=("expected", name))
    decimals = max((_decimals(float(number)) for number in expected.ravel()), default=0)
    printed = 0.5 * 10.0**-decimals * (1 + EXACT) if decimals else EXACT * np.maximum(1, abs(expected))
    allowed = np.maximum(printed, precision.epsilon * abs(expected))
    with np.errstate(invalid="ignore"):  # ∞ − ∞; equal infinities are the same all the same
        close = np.isfinite(expected) & (abs(expected - computed) <= allowed)
    same = close | (expected == computed) | (np.isnan(expected) & np.isnan(computed))
    differences = [
        Difference(tuple(map(int, at)), float(expected[tuple(at)]), float(computed[tuple(at)]))
        for at in np.argwhere(~same)
    ]
    coarsest = float(np.max(allowed, initial=0, where=np.isfinite(allowed)))
    has_every_digit = decimals == 0 or coarsest <= printed
    compared = decimals if has_every_digit else max(math.floor(-math.log10(2 * coarsest)), 0)
    return Comparison(name, expected.size, compared, differences, has_every_digit)


def _decimals(number: float) -> int:
    """How many decimals a number was printed with, trailing zeros apart."""
    mantissa, _, exponent = repr(number).partition("e")
    fraction = mantissa.partition(".")[2].rstrip("0")
    return max(len(fraction) - int(exponent or 0), 0)
