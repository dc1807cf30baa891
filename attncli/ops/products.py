"""Products of matrices, whose sums of many terms may be added in parts: shorter sums round less.

The error of a sum of n numbers, one after another, grows with n: partial sums grow, and each addition rounds one.
"""

import math
from collections.abc import Callable

from attncli.base.lazy_numpy import Array, all_finite, np

MatrixProduct = Callable[[Array, Array], Array]  # of matrices [… a b] and [… b c] to [… a c]
NewMemory = Callable[[tuple[int, ...]], Array]  # an array of a shape, uninitialized
SHORT_SUM = 16  # terms
LANES = 8  # sums, at least, in which products of a single row are added: each has so much fewer terms
MAX_PARTS_SIZE = 2**18  # numbers: of larger products each call takes long enough


def product(left: Array, right: Array) -> Array:
    """`left @ right`: the default of operators that are handed how to multiply matrices."""
    result: Array = left @ right
    return result


def product_without_zeros(left: Array, right: Array) -> Array:
    """`left @ right`, to which a column or row that is all 0 adds 0, even where the other is NaN or infinite.

    So the gradients of masked keys, which are 0, take nothing from what padding has.

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
    """`left @ right`, whose sums of b terms are added in parts of at most `terms`.

    Parts are multiplied in one call where all their products are no more than MAX_PARTS_SIZE numbers, and otherwise one
    after another; unless the result is a single number, they are added in the same order.

    `terms` is at least 1; `new_memory` returns memory of a shape, for the products of parts.

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
    """The sum of the products of whole parts, as many as `memory` [… part a c] has."""
    parts = memory.shape[-3]
    of_rows = left[..., : parts * terms].reshape(*left.shape[:-1], parts, terms).swapaxes(-3, -2)
    of_columns = right[..., : parts * terms, :].reshape(*right.shape[:-2], parts, terms, right.shape[-1])
    total: Array = np.add.reduce(np.matmul(of_rows, of_columns, out=memory), axis=-3, out=out)
    return total


def product_in_parts(left: Array, right: Array) -> Array:
    """`left @ right`, whose sums of b terms are added in parts of few terms, about as many as there are parts.

    Products of vectors, and of a single row with few terms, are NumPy's.

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
