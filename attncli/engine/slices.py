"""Factors of float64 in slices, by which BLAS multiplies more exactly than float64 does: the highest slices exactly.

No type that BLAS multiplies is wider. Source: Ozaki, Ogita, Oishi & Rump 2012, Error-free transformations of matrix
multiplication by using fast routines of matrix multiplication and its applications.
"""

import math

from attncli.base.dataclasses import dataclass
from attncli.base.lazy_numpy import Array, np

SLICED_TYPE = "float64"
BITS = 53  # of a number of that type
LARGEST = 2.0**400  # products of numbers up to it, and what is added to numbers to round them, are finite


@dataclass(frozen=True, eq=False)
class Slices:
    """The rows of a factor [… n d] in slices: the product of two factors is that of `high` plus that of `others`.

    `high` [… n d] has so few bits that sums of products of two such are exact. What `others` [… n 2d] add is small, and
    so are the errors of their sums.
    """

    high: Array
    others: Array


def slice_left(x: Array) -> Slices:
    """The rows of a left factor [… n d] in slices: the high one; the same, and beside it the rest.

    >>> slices = slice_left(np.array([[1.0, 1 / 3]]))
    >>> (slices.others[..., :2] + slices.others[..., 2:]).tolist() == [[1.0, 1 / 3]]
    True
    """
    high = _high_slice(x)
    return Slices(high, np.concatenate([high, x - high], axis=-1))


def slice_right(x: Array) -> Slices:
    """The columns of a right factor, as the rows of [… m d], in slices: the high one; the rest, and beside it all.

    >>> left, right = slice_left(np.array([[3.0, 1 / 3]])), slice_right(np.array([[1.0, 3.0]]))
    >>> left.high @ right.high.mT + left.others @ right.others.mT
    array([[4.]])
    """
    high = _high_slice(x)
    return Slices(high, np.concatenate([x - high, x], axis=-1))


def can_be_sliced(x: Array) -> bool:
    """Whether numbers [… n d] are of that type, finite, and far from overflow.

    >>> can_be_sliced(np.array([[1.0]])), can_be_sliced(np.array([[np.inf]])), can_be_sliced(np.array([[1e300]]))
    (True, False, False)
    """
    if x.dtype != SLICED_TYPE or not x.size:
        return False
    return bool(x.min() > -LARGEST and x.max() < LARGEST)  # neither is so where a number is NaN


def _high_slice(x: Array) -> Array:
    """Each number of x [… n d] rounded to a multiple of a unit of its row.

    In units they are integers, d products of which add up to one of at most 53 bits.
    """
    bits = (BITS - math.ceil(math.log2(x.shape[-1]))) // 2
    exponents = np.frexp(np.abs(x).max(axis=-1, keepdims=True))[1]
    rounder = np.ldexp(1.5, exponents + (BITS - 1 - bits))  # its last digit is the unit, also after x is added
    high: Array = (x + rounder) - rounder
    return high
