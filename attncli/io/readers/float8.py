"""The floating types of 8 bits in `.safetensors` files: the number that each of their 256 codes stands for."""

from collections.abc import Callable, Mapping
from functools import cache

from attncli.base.lazy_numpy import Array, np


@cache
def numbers_of(name: str) -> Array:
    """The number of each code of a type, [256] in float32.

    E4M3 has no infinities, and one NaN of each sign; E5M2 is the upper half of float16; E8M0 has powers of two.
    Source: Micikevicius et al. 2022 (FP8 Formats for Deep Learning), table 1; OCP Microscaling Formats 1.0, §5.4.1.

    >>> numbers_of("F8_E4M3")[[0x38, 0x7E, 0x01]].tolist(), numbers_of("F8_E8M0")[128].item()
    ([1.0, 448.0, 0.001953125], 2.0)
    """
    numbers: Array = _TABLES[name]().astype(np.float32)
    return numbers


def _e4m3() -> Array:
    """Four bits of exponent, with bias 7, and three of mantissa."""
    codes = np.arange(2**8)
    exponent, mantissa = codes >> 3 & 0b1111, codes & 0b111
    significand = np.where(exponent == 0, mantissa, mantissa + 2**3)
    magnitude = np.ldexp(significand.astype(np.float64), np.maximum(exponent, 1) - 7 - 3)
    magnitude[codes & 0x7F == 0x7F] = np.nan
    numbers: Array = np.where(codes < 2**7, magnitude, -magnitude)
    return numbers


def _e5m2() -> Array:
    """The first byte of a float16."""
    numbers: Array = (np.arange(2**8, dtype=np.uint16) << 8).view(np.float16)
    return numbers


def _e8m0() -> Array:
    """Powers of two, from 2⁻¹²⁷; the last code is NaN."""
    numbers = np.ldexp(1.0, np.arange(2**8) - 127)
    numbers[-1] = np.nan
    return numbers


_TABLES: Mapping[str, Callable[[], Array]] = {"F8_E4M3": _e4m3, "F8_E5M2": _e5m2, "F8_E8M0": _e8m0}
FLOAT8 = tuple(_TABLES)
