"""Matrix products, whose long sums may be split: shorter sums round less.

The error of a running sum of n numbers grows with n: partial sums grow, and each addition rounds one.
"""

import math
from collections.abc import Callable

from attncli.base.lazy_numpy import Array, all_finite, np

MatrixProduct = Callable[[Array, Array], Array]  # of matrices [… a b] and [… b c] to [… a c]
NewMemory = Callable[[tuple[int, ...]], Array]  # an array of a shape, uninitialized
SHORT_SUM = 16  # terms
LANES = 8  # at least so many sums for products of a single row, each with so many times fewer terms
MAX_PARTS_SIZE = 2**18  # numbers: for larger products the overhead of a call is small


def product(left: Array, right: Array) -> Array:
    """`left @ right`: the default `matmul` of operators."""
    result: Array = left @ right
    return result


def product_without_zeros(left: Array, right: Array) -> Array:
    """`left @ right`, where a column or row of zeros adds 0, even if the other is NaN or infinite.

    So the zero gradients of masked keys ignore the numbers of padding.

    >>> product_without_zeros(np.array([[2.0, 0.0]]), np.array([[3.0], [np.nan]]))
    array([[6.]])
    """
    if all_finite(left) and all_finite(right):
        return product(left, right)
    used = (left != 0).any(axis=-2) & (right != 0).any(axis=-1)
    return product(np.where(used[..., None, :], left, 0), np.where(used[..., :, None], right, 0))


def sum_of_parts(
    left: Array, right: Array, terms: int, out: Array | None = None, new_memory: NewMemory | None = None
) -> Array:
    """`left @ right`, whose sums of b terms are split into sums of at most `terms`.

    One call multiplies all chunks if their products have at most MAX_PARTS_SIZE numbers, otherwise one call each. The
    order of addition is the same, unless the result is a single number.

    `terms` is at least 1; `new_memory` returns memory of a shape, for the products of chunks.

    >>> sum_of_parts(np.ones((1, 5)), np.full((5, 1), 0.5), terms=2)
    array([[2.5]])
    """
    count = left.shape[-1]
    if count <= terms or right.shape[-2] != count:
        total: Array = np.matmul(left, right, out=out)
        return total
    leading = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    shape, parts = (left.shape[-2], right.shape[-1]), count // terms
    dtype = np.result_type(left, right)
    new_memory = (lambda shape: np.empty(shape, dtype)) if new_memory is None else new_memory
    if parts * math.prod(leading) * math.prod(shape) <= MAX_PARTS_SIZE:
        total, summed = _sum_at_once(left, right, terms, out, new_memory((*leading, parts, *shape))), parts * terms
    else:
        total, summed = np.matmul(left[..., :terms], right[..., :terms, :], out=out), terms
    if summed < count:
        part = new_memory((*leading, *shape))
        for first in range(summed, count, terms):
            np.matmul(left[..., first : first + terms], right[..., first : first + terms, :], out=part)
            np.add(total, part, out=total)
    return total


def _sum_at_once(left: Array, right: Array, terms: int, out: Array | None, memory: Array) -> Array:
    """The sum of the products of whole chunks, as many as `memory` [… part a c] has."""
    parts = memory.shape[-3]
    of_rows = left[..., : parts * terms].reshape(*left.shape[:-1], parts, terms).swapaxes(-3, -2)
    of_columns = right[..., : parts * terms, :].reshape(*right.shape[:-2], parts, terms, right.shape[-1])
    total: Array = np.add.reduce(np.matmul(of_rows, of_columns, out=memory), axis=-3, out=out)
    return total


def product_in_parts(left: Array, right: Array) -> Array:
    """`left @ right`, whose long sums of b terms are split into about √b sums.

    NumPy multiplies vectors, and a single row with few terms.

    >>> product_in_parts(np.ones((16, 100)), np.full((100, 1), 0.5))[0]
    array([50.])
    """
    count = left.shape[-1]
    are_matrices = min(left.ndim, right.ndim) > 1
    terms_in_a_row = count if are_matrices and left.shape[-2] > 1 else count // LANES
    if terms_in_a_row <= SHORT_SUM or not are_matrices or right.shape[-2] != count:
        result: Array = left @ right
        return result
    return sum_of_parts(left, right, max(SHORT_SUM, math.isqrt(count)))
