"""Products of matrices, whose sums of many terms may be added in parts: shorter sums round less.

The error of a sum of n numbers, one after another, grows with n: partial sums grow, and each addition rounds one.
"""

from collections.abc import Callable
from math import isqrt

from attncli.base.lazy_numpy import Array, np

MatrixProduct = Callable[[Array, Array], Array]  # of matrices [… a b] and [… b c] to [… a c]
MIN_ROWS = 16  # products of fewer rows are sums of several lanes: short as they are
SHORT_SUM = 16  # terms


def product(left: Array, right: Array) -> Array:
    """`left @ right`: the default of operators that are handed how to multiply matrices."""
    result: Array = left @ right
    return result


def sum_of_parts(left: Array, right: Array, terms: int, out: Array | None = None, part: Array | None = None) -> Array:
    """`left @ right`, whose sums of b terms are added in parts of at most `terms`.

    Parameters
    ----------
    left : array [… a b]
        A sum of b terms for each row.
    right : array [… b c]
        And for each column; axes before the last two broadcast.
    terms : int
        At least 1.
    out : array [… a c], optional
        Memory for the result.
    part : array [… a c], optional
        Memory for the products of one part.

    Returns
    -------
    array [… a c]

    Examples
    --------
    >>> sum_of_parts(np.ones((1, 5)), np.full((5, 1), 0.5), terms=2)
    array([[2.5]])
    """
    total: Array = np.matmul(left[..., :terms], right[..., :terms, :], out=out)
    for first in range(terms, left.shape[-1], terms):
        part = np.matmul(left[..., first : first + terms], right[..., first : first + terms, :], out=part)
        np.add(total, part, out=total)
    return total


def product_in_parts(left: Array, right: Array) -> Array:
    """`left @ right`, whose sums of b terms are added in parts of few terms, about as many as there are parts.

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
    >>> product_in_parts(np.ones((16, 100)), np.full((100, 1), 0.5))[0]
    array([50.])
    """
    count = left.shape[-1]
    are_matrices = min(left.ndim, right.ndim) > 1
    if count <= SHORT_SUM or not are_matrices or left.shape[-2] < MIN_ROWS or right.shape[-2] != count:
        result: Array = left @ right
        return result
    return sum_of_parts(left, right, max(SHORT_SUM, isqrt(count)))
