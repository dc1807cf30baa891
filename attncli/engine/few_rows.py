"""Products of a few rows at a time, where BLAS multiplies small matrices as they are.

It copies the factors of large ones to the order in which it reads them, and clears the result, before it multiplies.
OpenBLAS on processors with AVX-512 does without both where a product has at most 10⁶ multiplications, unless its right
factor is stored column by column (its files kernel/x86_64/sgemm_small_kernel_permit_skylakex.c and those beside it);
such products take a sixth less time, and have the same last digits.
"""

import math
from functools import cache, partial

from attncli.base.lazy_numpy import Array, np
from attncli.engine.scratch import SCRATCH
from attncli.ops.products import sum_of_parts

MAX_MULTIPLICATIONS, MIN_ROWS = 10**6, 4
AVX512 = ("X86_V4", "AVX512_SKX")  # as NumPy calls it since 2.4, and before


@cache
def are_fast() -> bool:
    """Whether NumPy's BLAS is an OpenBLAS that multiplies small matrices as they are on this processor."""
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]["name"]
    loops = np.lib.introspect.opt_func_info(func_name="^exp$", signature="float32")["exp"].values()
    return "openblas" in blas and any(loop["current"] in AVX512 for loop in loops)


def rows_at_once(columns: int, terms: int) -> int:
    """How many rows to multiply at a time, a power of 2, by a matrix of so many columns; 0 for all of them.

    `terms` are summed for each number of the result.
    """
    rows = MAX_MULTIPLICATIONS // max(columns * terms, 1)
    return 1 << (rows.bit_length() - 1) if rows >= MIN_ROWS and are_fast() else 0


def multiply(left: Array, right: Array, out: Array, terms: int) -> Array:
    """`left` [… a b] times `right` [… b c] in `out` [… a c], a few rows at a time where that is faster.

    At most `terms` of the products of a number of `left` and one of `right` are summed in a row.

    >>> multiply(np.ones((3, 2)), np.array([[1.0], [2.0]]), np.empty((3, 1)), terms=2).ravel()
    array([3., 3., 3.])
    """
    add_parts = partial(sum_of_parts, terms=terms, new_memory=partial(SCRATCH.get, "parts", dtype=out.dtype.name))
    count, columns = left.shape[-2], right.shape[-1]
    rows = rows_at_once(columns, min(terms, right.shape[-2]))
    if not 0 < rows < count or right.strides[-1] != right.itemsize:
        return add_parts(left, right, out=out)
    whole = count // rows * rows
    add_parts(_split(left[..., :whole, :], rows), right[..., None, :, :], out=_split(out[..., :whole, :], rows))
    if whole < count:
        add_parts(left[..., whole:, :], right, out=out[..., whole:, :])
    return out


def transpose(keys: Array, dtype: str, rows: int) -> Array:
    """Keys [… m d] as [… d m] in a type: in memory of their own where they are multiplied by a few of `rows` at a time.

    They are valid until the next call in the same thread.
    """
    columns = keys.mT
    if not 0 < rows_at_once(columns.shape[-1], columns.shape[-2]) < rows:
        return columns.astype(dtype, copy=False)
    stored = SCRATCH.get("transposed keys", columns.shape, dtype)
    np.copyto(stored, columns)
    return stored


def _split(x: Array, rows: int) -> Array:
    """A view of x [… a b] as [… a/rows rows b]."""
    *leading, count, columns = x.shape
    return x.reshape(*leading, count // rows, rows, columns)
