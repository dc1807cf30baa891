"""Numbers of float16 as float32, exactly, by operations on their bits: NumPy converts one number after another."""

from attncli.base.lazy_numpy import Array, np

FEW = 2**12  # numbers: to convert fewer takes no longer as NumPy does it
PART = 2**16  # numbers that are converted together: they stay in the caches between the operations
SIGN_AND_NUMBER = -0x70002000  # of float32: bit 31, and those of the exponent and the fraction of float16, moved by 13
EXPONENTS_APART = 2.0**112  # between the powers of 2 that the same exponent stands for in both types
INFINITE = 2.0**16  # infinities and NaN become at least this in absolute value, numbers stay below it


def to_single(x: Array) -> Array:
    """The same numbers of float16 in float32, in C order; infinities and NaN too.

    Subnormal numbers become 0 where a library has told the processor to take them for 0.

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
    """Write numbers of float16 to an array of float32.

    The exponent of 0 and of subnormal numbers is the same in both types, and these of float32 are smaller by the same
    factor as others.
    """
    bits = numbers.view(np.int32)
    np.copyto(bits, halves.view(np.int16))  # with the sign in every bit above it
    np.left_shift(bits, 13, out=bits)
    np.bitwise_and(bits, SIGN_AND_NUMBER, out=bits)
    np.multiply(numbers, np.float32(EXPONENTS_APART), out=numbers)
    if not -INFINITE < numbers.min() <= numbers.max() < INFINITE:
        np.copyto(numbers, halves)
