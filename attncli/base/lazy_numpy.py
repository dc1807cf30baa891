"""What is loaded at its first use: NumPy, with two fast questions about arrays, and objects that tables name.

Help and completion read the records of operators, whose functions compute with NumPy; they start faster without it.
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
        """An array of NumPy, `numpy.ndarray`; help shows this name where NumPy is not loaded yet."""

    class _NumPy:
        """The module `numpy`: an attribute is looked up once and then kept."""

        def __getattr__(self, name: str) -> Any:
            import numpy  # noqa: PLC0415 - NumPy is loaded here, at its first use

            value = getattr(numpy, name)
            setattr(self, name, value)
            return value

    np = _NumPy()

__all__ = ["Array", "all_finite", "all_true", "as_array", "import_object", "np"]


SQUARED_NUMBERS = 8192  # so few are multiplied by one thread of BLAS
SQUARED_TYPES = "fd"  # NumPy's codes of float32 and float64, whose products are those of BLAS


def all_finite(numbers: Array) -> bool:
    """Whether no number of an array is NaN or infinite.

    Small arrays are squared, which takes half the time of NumPy's `isfinite`: with `all_true` a tenth of a small call.
    Arrays that are not NumPy's own, such as those of many digits, answer by their methods.

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


def as_array(numbers: Any) -> Any:
    """Numbers as an array; one that is not NumPy's own, such as that of many digits, stays as it is.

    >>> as_array([1, 2])
    array([1, 2])
    """
    return numbers if hasattr(numbers, "shape") else np.asarray(numbers)


def import_object(reference: str) -> Any:
    """The object that `package.module:name` refers to; raises what importing the module raises.

    >>> import_object("math:floor")(2.5)
    2
    """
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)
