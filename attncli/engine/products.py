"""The products of tiles: the lengths of their sums, rows of heads that share keys, and reusable memory of threads.

The error of a running sum of n numbers grows with n: partial sums grow, and each addition rounds one.
"""

import math
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from attncli.base.dtypes import Precision
from attncli.base.lazy_numpy import Array, np
from attncli.ops.products import sum_of_parts
from attncli.ops.structural import repeat_kv

KEYS, KEYS_OF_VECTOR = 128, 512  # keys per sum, at most; a vector times a matrix is summed in several lanes
WIDE_SCORES_FROM = 200.0  # a relative error of 1e-7 in a larger score is 2e-5 in its weight
SAMPLED_ROWS, MIN_ROWS_OF_HEAD = 256, 16  # in all heads; their lengths estimate the size of scores
FEW_ROWS, MANY_COLUMNS = 32, 256  # fewer rows times more columns are multiplied as columns times rows
BLAS_TYPES = "fd"  # float32 and float64


@dataclass(frozen=True)
class Summation:
    """The most features and keys that are summed in one product, and the type in which scores are computed."""

    features: int
    keys: int
    score_dtype: str


def choose_summation(score_limit: float | None, features: int, rows: int, keys: int, dtype: str) -> Summation:
    """The summation for tiles of `rows` queries and `keys` keys, with scores up to about `score_limit`, or unknown.

    `rows` counts all heads that share a key head, as these are multiplied together. Large scores get the wider type, if
    there is one.

    >>> choose_summation(3.0, features=64, rows=64, keys=300, dtype="float32")
    Summation(features=64, keys=100, score_dtype='float32')
    """
    if rows == 1:
        return Summation(features, min(keys, KEYS_OF_VECTOR), dtype)
    is_wide = score_limit is not None and score_limit > WIDE_SCORES_FROM
    parts = -(-keys // KEYS)  # equally long
    return Summation(features, -(-keys // parts), Precision(dtype).widened_name if is_wide else dtype)


def typical_score_limit(queries: Array, keys: Array, scale: float) -> float:
    """A bound of typical scores of queries [… n d] and keys [… m d]: the product of their lengths, times the scale.

    Lengths are root mean squares over all heads and some of the rows.

    >>> typical_score_limit(np.array([[3.0, 4.0]]), np.array([[0.0, 2.0]]), scale=0.5)
    5.0
    """
    return abs(scale) * _typical_length(queries) * _typical_length(keys)


def _typical_length(x: Array) -> float:
    """The root mean square of the Euclidean lengths of rows of x [… n d]."""
    count = max(SAMPLED_ROWS // max(math.prod(x.shape[:-2]), 1), MIN_ROWS_OF_HEAD)
    rows = x[..., :: -(-x.shape[-2] // count), :]
    return math.sqrt(np.vecdot(rows, rows).sum() / (rows.size / rows.shape[-1])) if rows.size else 0.0


class _Scratch(threading.local):
    """Buffers of one thread, by name and type, which grow: the system would clear fresh memory for each tile."""

    def __init__(self) -> None:
        self.buffers: dict[tuple[str, str], Array] = {}
        self.are_in_use = False

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Mark the buffers as in use while a block is computed; a nested block gets its own buffers.

        Blocks are nested if a user's operator computes attention itself.
        """
        before = self.buffers, self.are_in_use
        if self.are_in_use:
            self.buffers = {}
        self.are_in_use = True
        try:
            yield
        finally:
            self.buffers, self.are_in_use = before

    def get(self, name: str, shape: tuple[int, ...], dtype: str) -> Array:
        """A buffer of a shape, uninitialized."""
        size, buffer = math.prod(shape), self.buffers.get((name, dtype))
        if buffer is None or buffer.size < size:
            buffer = self.buffers[name, dtype] = np.empty(size, dtype=dtype)
        return buffer[:size].reshape(shape)


SCRATCH = _Scratch()


def multiply(left: Array, right: Array, out: Array, terms: int) -> Array:
    """`left` [… a b] times `right` [… b c] in `out` [… a c]; at most `terms` terms are summed in a row.

    For a few rows BLAS would copy many contiguous columns, which takes several times as long as the product: they are
    multiplied as rows instead.

    >>> multiply(np.ones((3, 2)), np.array([[1.0], [2.0]]), np.empty((3, 1)), terms=2).ravel()
    array([3., 3., 3.])
    """
    if _are_few_by_many(left, right, out):
        shape = (*out.shape[:-2], out.shape[-1], out.shape[-2])
        columns = SCRATCH.get("transposed product", shape, out.dtype.str)
        out[...] = multiply(right.mT, np.ascontiguousarray(left.mT), columns, terms).mT
        return out
    memory = partial(SCRATCH.get, "parts of a product", dtype=out.dtype.str)
    return sum_of_parts(left, right, terms, out, memory)


def _are_few_by_many(left: Array, right: Array, out: Array) -> bool:
    """Whether a few rows are multiplied by many contiguous columns."""
    *_, row_stride, stride = right.mT.strides
    are_stored_by_column = stride == right.itemsize and row_stride >= right.shape[-2] * stride
    is_few_by_many = 1 < left.shape[-2] < FEW_ROWS and right.shape[-1] > MANY_COLUMNS
    return is_few_by_many and are_stored_by_column and out.dtype.char in BLAS_TYPES


def grouped_product(left: Array, right: Array, out: Array, terms: int) -> Array:
    """`left` [… h n a] times `right` [… g a b] in `out` [… h n b]: the rows of h/g heads times one matrix.

    At most `terms` terms are summed in a row. The matrix is not copied for each head.

    >>> left, right = np.ones((4, 1, 2)), np.array([[[1.0], [2.0]], [[3.0], [4.0]]])
    >>> grouped_product(left, right, np.empty((4, 1, 1)), terms=2).ravel()
    array([3., 3., 7., 7.])
    """
    if not _is_shared(right, out):
        return multiply(left, right, out, terms)
    *leading, heads, rows, columns = out.shape
    groups, share = right.shape[-3], heads // right.shape[-3]
    if left.flags.c_contiguous and out.flags.c_contiguous:  # one product with the rows of all heads that share keys
        shape = (*leading, groups, share * rows)
    else:
        shape, right = (*leading, groups, share, rows), right[..., None, :, :]
    multiply(left.reshape(*shape, left.shape[-1]), right, out.reshape(*shape, columns), terms)
    return out


def repeated_for(x: Array, queries: Array) -> Array:
    """Keys or values [… g m c], repeated for each head of `queries` [… h n d] if heads share them."""
    return repeat_kv(x, heads=queries.shape[-3]) if _is_shared(x, queries) else x


def _is_shared(x: Array, queries: Array) -> bool:
    """Whether several heads of `queries` share one of `x`."""
    return queries.ndim > 2 and x.ndim > 2 and x.shape[-3] < queries.shape[-3]
