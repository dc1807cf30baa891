"""Precision: the type that numbers are stored in, and the wider one that a stage computes in."""

from collections.abc import Iterable
from dataclasses import dataclass

from attncli.base.lazy_numpy import Array, np

BFLOAT16 = "bfloat16"  # NumPy has none: its values are held as float32
HALF = ("float16", BFLOAT16)
NAMES = ("float16", BFLOAT16, "float32", "float64", "longdouble")


@dataclass(frozen=True)
class Precision:
    """One of the names in NAMES, and what it means for an array of floating-point numbers.

    Other arrays (masks, positions) are left as they are.
    """

    name: str = "float64"

    @property
    def working(self) -> str:
        """The type that long sums are computed in where numbers are not rounded at every step."""
        return "float32" if self.name in HALF else self.name

    @property
    def numpy_name(self) -> str:
        """The type of the arrays that hold the numbers."""
        return "float32" if self.name == BFLOAT16 else self.name

    def stored(self, x: Array) -> Array:
        """The numbers rounded to this type: to the nearest, of two equally near ones to the even one."""
        if x.dtype.kind != "f":
            return x
        if self.name == BFLOAT16:
            return to_bfloat16(x)
        return x.astype(self.name, copy=False)

    def computing(self, x: Array) -> Array:
        """The same numbers in the type that a stage computes in: float32 for the half types, float64 for float32.

        A stage so rounds once, at its end, and not at every product and sum on the way.
        """
        if x.dtype.kind != "f" or x.dtype.itemsize > 4:
            return x
        return x.astype(np.float32 if self.name in HALF else np.float64)


def to_bfloat16(x: Array) -> Array:
    """Float32 numbers with the 8 leading bits of the significand that bfloat16 keeps.

    From a wider type it is rounded once: on the way to float32 what is cut off leaves its trace in the last bit.
    """
    single = x.astype(np.float32)
    if x.dtype.itemsize > 4:
        inexact = np.isfinite(single) & (single != x)
        toward_zero = np.where(inexact & (abs(single) > abs(x)), np.nextafter(single, np.float32(0)), single)
        single = (toward_zero.view(np.uint32) | inexact).view(np.float32)
    bits = single.view(np.uint32)
    rounded = bits + 0x7FFF + ((bits >> 16) & 1)
    kept = np.where(np.isnan(single), np.uint32(0x7FC00000), rounded & np.uint32(0xFFFF0000))
    return kept.astype(np.uint32).view(np.float32)


def common(names: Iterable[str]) -> str:
    """The type that holds the numbers of all of these; float64 where there are none."""
    found = set(names)
    if len(found) > 1:
        found = {str(np.result_type(*("float32" if name == BFLOAT16 else name for name in found)))}
    return _named(found.pop()) if found else "float64"


def _named(name: str) -> str:
    """NumPy's name of a type as ours: `float128` is this platform's `longdouble`."""
    return name if name in NAMES else "longdouble"
