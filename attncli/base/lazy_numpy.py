"""Lazy imports: NumPy, with two fast tests of arrays, and objects that tables name.

Help and completion read the records of operators, whose functions need NumPy; they start faster without it.
"""

from importlib import import_module
from math import isfinite
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[Any]
else:

    class Array:
        """A NumPy array, `numpy.ndarray`; help shows this name before NumPy is loaded."""

    class _NumPy:
        """The module `numpy`: it is imported at the first look-up of an attribute, and keeps each one."""

        def __getattr__(self, name: str) -> Any:
            import numpy  # noqa: PLC0415 - NumPy is loaded here, at its first use

            value = getattr(numpy, name)
            setattr(self, name, value)
            return value

    np = _NumPy()

__all__ = ["Array", "all_finite", "all_true", "as_array", "import_object", "np"]


SQUARED_NUMBERS = 8192  # BLAS multiplies so few with one thread
SQUARED_TYPES = "fd"  # NumPy's codes of float32 and float64, which BLAS multiplies


def all_finite(numbers: Array) -> bool:
    """Whether no number of an array is NaN or infinite.

    For small arrays a sum of squares takes half the time of NumPy's `isfinite`; with `all_true` this saves a tenth of a
    small call. Other arrays, such as those of many digits, have methods of their own.

    >>> all_finite(np.array([[1.0, 1e300]])), all_finite(np.array([1.0, np.nan])), all_finite(np.array([-np.inf]))
    (True, False, False)
    """
    has_squares = (
        type(numbers) is np.ndarray and numbers.size <= SQUARED_NUMBERS and numbers.dtype.char in SQUARED_TYPES
    )
    if has_squares and isfinite(np.vdot(numbers, numbers)):  # a sum of squares is finite only if every number is
        return True
    return bool(np.isfinite(numbers).all())


def all_true(numbers: Array) -> bool:
    """Whether an array has neither 0 nor False.

    >>> all_true(np.array([0.5, np.nan])), all_true(np.array([0.5, 0.0])), all_true(np.zeros(0))
    (True, False, True)
    """
    if type(numbers) is not np.ndarray:
        return bool(numbers.all())
    return int(np.count_nonzero(numbers)) == numbers.size


def as_array(numbers: Any) -> Any:
    """Numbers as an array; an array of another kind, such as one of many digits, is returned unchanged.

    >>> as_array([1, 2])
    array([1, 2])
    """
    return numbers if hasattr(numbers, "shape") else np.asarray(numbers)


def import_object(reference: str) -> Any:
    """The object that `package.module:name` names; errors of the import pass through.

    >>> import_object("math:floor")(2.5)
    2
    """
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)
