"""Questions about all numbers of an array, answered fast for small arrays too, where NumPy's calls take the time.

Arrays that are not NumPy's own, such as those of many digits, answer them by their methods.
"""

from math import isfinite

from attncli.base.lazy_numpy import Array, np

SQUARED_NUMBERS = 8192  # so few are multiplied by one thread of BLAS
SQUARED_TYPES = "fd"  # NumPy's codes of float32 and float64, whose products are those of BLAS


def all_finite(numbers: Array) -> bool:
    """Whether no number of an array is NaN or infinite.

    >>> all_finite(np.array([[1.0, 1e300]])), all_finite(np.array([1.0, np.nan])), all_finite(np.array([-np.inf]))
    (True, False, False)
    """
    has_squares = (
        type(numbers) is np.ndarray and numbers.size <= SQUARED_NUMBERS and numbers.dtype.char in SQUARED_TYPES
    )
    if has_squares and isfinite(np.vdot(numbers, numbers)):  # a sum of squares is finite only where every number is
        return True
    return bool(np.isfinite(numbers).all())


def all_true(numbers: Array) -> bool:
    """Whether no number of an array is 0, or False.

    >>> all_true(np.array([0.5, np.nan])), all_true(np.array([0.5, 0.0])), all_true(np.zeros(0))
    (True, False, True)
    """
    if type(numbers) is not np.ndarray:
        return bool(numbers.all())
    return int(np.count_nonzero(numbers)) == numbers.size
