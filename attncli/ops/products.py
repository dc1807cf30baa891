"""Products of matrices, whose sums of many terms may be added in parts: shorter sums round less.

The error of a sum of n numbers, one after another, grows with n: partial sums grow, and each addition rounds one.
"""

from collections.abc import Callable
from math import isqrt

from attncli.base.lazy_numpy import Array

MatrixProduct = Callable[[Array, Array], Array]  # of matrices [… a b] and [… b c] to [… a c]
MIN_ROWS = 16  # products of fewer rows are sums of several lanes: short as they are
SHORT_SUM = 16  # terms


def product(left: Array, right: Array) -> Array:
    """`left @ right`: the default of operators that are handed how to multiply matrices."""
    result: Array = left @ right
    return result


def product_in_parts(left: Array, right: Array) -> Array:
    """`left @ right`, whose sums of b terms are added in parts of few of them, about as many as there are parts.

    Products of few rows and of vectors are NumPy's.

    Parameters
    ----------
    left : array [… a b]
        A sum of b terms for each row.
    right : array [… b c]
        And for each column; axes before the last two broadcast.

    Returns
    -------
    array [… a c]

    Raises
    ------
    ValueError
        Where `left` has not as many columns as `right` has rows.

    Examples
    --------
    >>> from attncli.base.lazy_numpy import np
    >>> product_in_parts(np.ones((16, 100)), np.full((100, 1), 0.5))[0]
    array([50.])
    """
    count = left.shape[-1]
    are_matrices = min(left.ndim, right.ndim) > 1
    if count <= SHORT_SUM or not are_matrices or left.shape[-2] < MIN_ROWS or right.shape[-2] != count:
        result: Array = left @ right
        return result
    terms = max(SHORT_SUM, isqrt(count))
    total: Array = left[..., :terms] @ right[..., :terms, :]
    for first in range(terms, count, terms):
        total += left[..., first : first + terms] @ right[..., first : first + terms, :]
    return total
