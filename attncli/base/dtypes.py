"""Floating-point types: arrays are stored in one, and steps compute in a wider one."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from attncli.base.lazy_numpy import Array, np

BFLOAT16 = "bfloat16"  # not in NumPy: its values are held as float32
# The distance from 1 to the next number, and the smallest number above 0, of the types that NumPy lacks.
_EPSILONS = {BFLOAT16: 2.0**-7, "float8_e4m3fn": 2.0**-3, "float8_e5m2": 2.0**-2}
_SMALLEST = {BFLOAT16: 2.0**-133, "float8_e4m3fn": 2.0**-9, "float8_e5m2": 2.0**-16}
HALF = ("float16", BFLOAT16)
FLOAT8 = ("float8_e4m3fn", "float8_e5m2")
NARROW = (*FLOAT8, *HALF)  # too few digits for scores; products are summed in float32
HELD_AS_SINGLE = (BFLOAT16, *FLOAT8)  # not in NumPy either
NAMES = ("float16", BFLOAT16, "float32", "float64", "longdouble", *FLOAT8)
FEW = 2**12  # float16 numbers: below this NumPy is as fast as `to_single`
PART = 2**16  # float16 numbers per conversion: they stay in the caches between its operations
SIGN_AND_NUMBER = -0x70002000  # in float32: bit 31, and float16's bits of exponent and fraction, shifted by 13
EXPONENTS_APART = 2.0**112  # the ratio of the powers of 2 that the same exponent bits mean in both types
FEW_BITS, LEAST_TELLING = 4, 8  # bits of a typed number; how many numbers with more identify a type
INFINITE = 2.0**16  # infinities and NaN become at least this large; numbers stay below it
_FLOAT8_BITS = {"float8_e4m3fn": (3, -6), "float8_e5m2": (2, -14)}  # of the mantissa, and the least exponent


@dataclass(frozen=True)
class Precision:
    """A floating-point type, named in NAMES: it rounds arrays, and widens them.

    It doesn't change arrays of other types (masks, positions).

    >>> Precision("float16").round(np.array([1.0002, 3.0])).tolist()
    [1.0, 3.0]
    """

    name: str = "float64"
    adds_at_once: bool = False  # sums all terms of a product at once; its last digits don't matter

    @cached_property
    def accumulation_dtype(self) -> str:
        """The type in which blocks accumulate: float32 for the narrow types, else the type itself."""
        return "float32" if self.name in NARROW else self.name

    @cached_property
    def numpy_name(self) -> str:
        """The type of the arrays that hold the numbers."""
        return "float32" if self.name in HELD_AS_SINGLE else self.name

    @cached_property
    def widened_name(self) -> str:
        """The type in which a step computes: float64 for the narrower types, else the type itself."""
        return self.name if self.is_extended else "float64"

    @cached_property
    def is_extended(self) -> bool:
        """Whether it has more digits than Python's floats."""
        return self.name == "longdouble"

    @property
    def sums_in_parts(self) -> bool:
        """Whether steps sum the terms of a product in groups, because no wider type exists."""
        return self.widened_name == self.name and not self.adds_at_once

    @cached_property
    def _stored(self) -> Any:
        return np.dtype(self.numpy_name)

    @cached_property
    def _unrounded(self) -> Any:
        """The type of arrays that need no rounding; None if they are of a wider type, as for bfloat16."""
        return None if self.name in HELD_AS_SINGLE else self._stored

    @cached_property
    def _widened(self) -> Any:
        return np.dtype(self.widened_name)

    @property
    def has_wide_tables(self) -> bool:
        """Whether nodes from the score to the context read scores and weights before rounding.

        A narrow type has too few digits for a score: an error of 0.1 in a score of 400 changes its weight by a tenth.
        """
        return self.name in NARROW

    @property
    def epsilon(self) -> float:
        """The distance from 1 to the next number of this type."""
        return _EPSILONS[self.name] if self.name in _EPSILONS else float(np.finfo(self.name).eps)

    def scalar(self, x: float) -> Any:
        """The same number, typed so that results have all the digits of this type.

        >>> 1 / Precision("float16").scalar(3), (1 / Precision("longdouble").scalar(3)).dtype == np.longdouble
        (0.3333333333333333, True)
        """
        return np.longdouble(x) if self.is_extended else float(x)

    def units(self, x: Array) -> Array:
        """The unit in the last place of each number: its distance to the next one of this type; NaN for infinities.

        >>> Precision("float16").units(np.array([1.0, 3.0, 0.0])).tolist()
        [0.0009765625, 0.001953125, 5.960464477539063e-08]
        """
        wide = np.asarray(x, np.result_type(np.asarray(x).dtype, np.float64))
        exponents = np.frexp(wide)[1]  # |x| is in [½, 1) times 2 to this power
        units = np.ldexp(wide.dtype.type(self.epsilon), exponents - 1)
        return np.where(np.isfinite(wide), np.where(wide == 0, 0, units).clip(self.smallest), np.nan)

    @property
    def smallest(self) -> Any:
        """The smallest number above 0."""
        if self.name in _SMALLEST:
            return _SMALLEST[self.name]
        smallest = np.finfo(self.name).smallest_subnormal
        return smallest if self.is_extended else float(smallest)

    def round(self, x: Array) -> Array:
        """Round an array to the nearest numbers of this type, ties to even."""
        dtype = x.dtype
        if dtype is self._unrounded or dtype.kind != "f":
            return x
        if self.name == BFLOAT16:
            return to_bfloat16(x)
        if self.name in FLOAT8:
            return to_float8(x, self.name)
        return x.astype(self._stored, copy=False)

    def widen(self, x: Array) -> Array:
        """The same numbers in the type in which a step computes.

        A step then rounds only once, at its end.
        """
        if x.dtype.kind != "f" or x.dtype.itemsize > 4:
            return x
        return (to_single(x) if x.dtype.itemsize == 2 else x).astype(self._widened, copy=False)


def to_bfloat16(x: Array) -> Array:
    """Round to bfloat16, held as float32 with 8 significant bits.

    A wider type is first rounded to float32 toward odd: an inexact result gets its last bit set. So the second rounding
    never mistakes it for a tie.

    >>> to_bfloat16(np.array([1.00390625, 1.01171875])).tolist()
    [1.0, 1.015625]
    """
    single = x.astype(np.float32)
    if x.dtype.itemsize > 4:
        inexact = np.isfinite(single) & (single != x)
        toward_zero = np.where(inexact & (abs(single) > abs(x)), np.nextafter(single, np.float32(0)), single)
        single = (toward_zero.view(np.uint32) | inexact).view(np.float32)
    bits = single.view(np.uint32)
    rounded = bits + 0x7FFF + ((bits >> 16) & 1)
    high_bits = np.where(np.isnan(single), np.uint32(0x7FC00000), rounded & np.uint32(0xFFFF0000))
    return high_bits.astype(np.uint32).view(np.float32)


@cache
def float8_numbers(name: str) -> Array:
    """The numbers of an 8-bit type's 256 codes, in float32.

    float8_e4m3fn has no infinities, and one NaN of each sign; float8_e5m2 is the upper byte of float16.
    Source: Micikevicius et al. 2022 (FP8 Formats for Deep Learning), table 1.

    >>> float8_numbers("float8_e4m3fn")[[0x38, 0x7E, 0x01]].tolist()
    [1.0, 448.0, 0.001953125]
    """
    codes = np.arange(2**8)
    if name == "float8_e5m2":
        return np.asarray((codes.astype(np.uint16) << 8).view(np.float16).astype(np.float32))
    exponent, mantissa = codes >> 3 & 0b1111, codes & 0b111  # four bits with bias 7, and three bits
    significand = np.where(exponent == 0, mantissa, mantissa + 2**3)
    magnitude = np.ldexp(significand.astype(np.float64), np.maximum(exponent, 1) - 7 - 3)
    magnitude[codes & 0x7F == 0x7F] = np.nan
    return np.asarray(np.where(codes < 2**7, magnitude, -magnitude), np.float32)


def to_float8(x: Array, name: str) -> Array:
    """Round to an 8-bit type, held as float32: to the nearest number, ties to the even code.

    A number beyond the largest becomes the largest, as in ONNX's Cast (`saturate`, its default) and in CUDA's
    conversions. PyTorch and ml_dtypes turn it into NaN in float8_e4m3fn, and into infinity in float8_e5m2. Infinities
    stay, even if the type has none: they are scores of hidden keys.

    >>> to_float8(np.array([1.0625, 1.1875, -500.0, -np.inf]), "float8_e4m3fn").tolist()
    [1.0, 1.25, -448.0, -inf]
    """
    bits, least = _FLOAT8_BITS[name]
    numbers, size = float8_numbers(name), abs(x)
    largest = numbers[np.isfinite(numbers)].max()
    exponents = np.maximum(np.frexp(size)[1] - 1, least)
    step = np.ldexp(1.0, exponents - bits)  # between numbers of this exponent
    nearest = np.minimum(np.rint(size / step) * step, largest)
    return np.copysign(np.where(np.isfinite(x), nearest, size), x).astype(np.float32)


def to_single(x: Array) -> Array:
    """The same float16 numbers in float32, in C order; infinities and NaN too.

    Operations on the bits take a third of NumPy's time, which converts one number after another. Subnormal numbers
    become 0 if a library has made the processor flush them.

    >>> to_single(np.array([1.5, -65504, 6e-8, np.inf], np.float16))
    array([ 1.5000000e+00, -6.5504000e+04,  5.9604645e-08,            inf],
          dtype=float32)
    """
    if x.size <= FEW:
        return x.astype(np.float32, order="C")
    single = np.empty(x.shape, np.float32)
    halves, numbers = np.ascontiguousarray(x, np.float16).reshape(-1), single.reshape(-1)
    for first in range(0, x.size, PART):
        _convert(halves[first : first + PART], numbers[first : first + PART])
    return single


def _convert(halves: Array, numbers: Array) -> None:
    """Write float16 numbers into a float32 array.

    Shifted bits mean a smaller number in float32, by the same factor for all, also for 0 and subnormal numbers.
    """
    bits = numbers.view(np.int32)
    np.copyto(bits, halves.view(np.int16))  # with the sign in every bit above it
    np.left_shift(bits, 13, out=bits)
    np.bitwise_and(bits, SIGN_AND_NUMBER, out=bits)
    np.multiply(numbers, np.float32(EXPONENTS_APART), out=numbers)
    if not -INFINITE < numbers.min() <= numbers.max() < INFINITE:
        np.copyto(numbers, halves)


def half_type_of(x: Array) -> str | None:
    """The half type to which wider numbers were rounded; None if their bits identify none.

    All must be numbers of the type, and some must have more bits than a typed number such as 0.75.

    >>> half_type_of(to_bfloat16(np.linspace(0.1, 0.9, 20))), half_type_of(np.linspace(0, 4, 17))
    ('bfloat16', None)
    """
    finite = x[np.isfinite(x)]
    scaled = np.ldexp(np.frexp(finite)[0], FEW_BITS)
    if np.count_nonzero((scaled != np.round(scaled)) & (finite % 2.0**-FEW_BITS != 0)) < LEAST_TELLING:
        return None
    with np.errstate(over="ignore"):
        return next((name for name in (BFLOAT16, "float16") if (Precision(name).round(finite) == finite).all()), None)


def square_root(x: Any) -> Any:
    """The square root of a number: a `longdouble` keeps all its digits, others become a float.

    >>> square_root(9), square_root(np.longdouble(9)).dtype == np.longdouble
    (3.0, True)
    """
    return np.sqrt(x) if isinstance(x, np.longdouble) else math.sqrt(x)


def as_floats(x: Array) -> Array:
    """A floating-point array unchanged; booleans and integers as float64."""
    return x if x.dtype.kind == "f" else x.astype(np.float64)


def coarsest(names: Iterable[str]) -> str:
    """The type with the fewest digits.

    >>> coarsest(["float32", "float16", "bfloat16"])
    'bfloat16'
    """
    return max(names, key=lambda name: Precision(name).epsilon)


def common_dtype(names: Iterable[str]) -> str:
    """The type to which all of these promote; float64 for none.

    >>> common_dtype(["float16", "bfloat16"]), common_dtype([])
    ('float32', 'float64')
    """
    distinct = set(names)
    if len(distinct) > 1:
        distinct = {str(np.result_type(*("float32" if name in HELD_AS_SINGLE else name for name in distinct)))}
    name = distinct.pop() if distinct else "float64"
    return name if name in NAMES else "longdouble"  # NumPy calls it float128, or by another width
