"""Products in small parts, which BLAS multiplies as they are.

It copies the factors of a large product to the order in which it reads them, and clears the result, before it
multiplies. OpenBLAS on processors with AVX-512 does neither where a product has at most 10⁶ multiplications, unless the
left factor is stored row by row and the right one column by column (OpenBLAS, the files
kernel/x86_64/*_small_kernel_permit_skylakex.c). That takes up to a sixth less time, and gives the same last digits.
"""

from functools import cache, partial

from attncli.base.dataclasses import dataclass
from attncli.base.lazy_numpy import Array, np
from attncli.engine.scratch import SCRATCH
from attncli.ops.products import sum_of_parts

MAX_MULTIPLICATIONS = 10**6
MIN_ROWS, MIN_COLUMNS = 4, 64  # of a part; parts with fewer take longer than the whole
PANEL = 16  # rows that are stored column by column: as many numbers of single precision as a register has
AVX512 = ("X86_V4", "AVX512_SKX")  # as NumPy calls it since 2.4, and before


@cache
def are_fast() -> bool:
    """Whether NumPy's BLAS is an OpenBLAS that multiplies small matrices as they are on this processor."""
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]["name"]
    loops = np.lib.introspect.opt_func_info(func_name="^exp$", signature="float32")["exp"].values()
    return "openblas" in blas and any(loop["current"] in AVX512 for loop in loops)


@dataclass(frozen=True, eq=False)
class PackedRows:
    """The rows of a left factor [… n d]: panels of 16 of them [… n/16 16 d], and the other ones [… r d].

    Panels are stored column by column, so that they are multiplied as they are by factors stored so too.
    """

    panels: Array
    others: Array


def pack(x: Array, factor: float, dtype: str, terms: int) -> PackedRows:
    """Rows x [… n d] times a factor, in a type; no panels where products with sums of `terms` terms aren't faster so.

    The memory is used again by the next call of the same thread.

    >>> packed = pack(np.ones((40, 2)), 0.5, "float64", terms=2)
    >>> packed.panels.shape[-3] * PANEL + packed.others.shape[-2]
    40
    """
    features = x.shape[-1]
    are_used = are_fast() and _columns_at_once(min(terms, features)) >= MIN_COLUMNS
    rows = x.shape[-2] // PANEL * PANEL if are_used else 0
    panels = SCRATCH.get("panels", (*x.shape[:-2], rows // PANEL, features, PANEL), dtype)
    others = SCRATCH.get("other rows", (*x.shape[:-2], x.shape[-2] - rows, features), dtype)
    np.multiply(split_rows(x[..., :rows, :], PANEL).mT, factor, out=panels, dtype=dtype)
    np.multiply(x[..., rows:, :], factor, out=others, dtype=dtype)
    return PackedRows(panels.mT, others)


def multiply_panels(panels: Array, right: Array, out: Array, terms: int) -> None:
    """Panels [… p 16 d] times `right` [… 1 d m] in `out` [… p 16 m]; at most `terms` terms are summed in a row."""
    width = _columns_at_once(min(terms, right.shape[-2]))
    for first in range(0, right.shape[-1], width):
        columns = slice(first, first + width)
        _sum_of_parts(panels, right[..., columns], terms, out[..., columns])


def multiply(left: Array, right: Array, out: Array, terms: int) -> Array:
    """`left` [… a b] times `right` [… b c] in `out` [… a c], a few rows at a time where that is faster.

    At most `terms` of the products of a number of `left` and one of `right` are summed in a row.

    >>> multiply(np.ones((3, 2)), np.array([[1.0], [2.0]]), np.empty((3, 1)), terms=2).ravel()
    array([3., 3., 3.])
    """
    count, rows = left.shape[-2], _rows_at_once(right.shape[-1], min(terms, right.shape[-2]))
    is_stored_by_row = right.strides[-1] == right.itemsize
    if not (is_stored_by_row and MIN_ROWS <= rows < count and are_fast()):
        return _sum_of_parts(left, right, terms, out)
    whole = count // rows * rows
    _sum_of_parts(
        split_rows(left[..., :whole, :], rows), right[..., None, :, :], terms, split_rows(out[..., :whole, :], rows)
    )
    if whole < count:
        _sum_of_parts(left[..., whole:, :], right, terms, out[..., whole:, :])
    return out


def split_rows(x: Array, rows: int) -> Array:
    """A view of x [… a b] as [… a/rows rows b].

    >>> split_rows(np.ones((6, 2)), 3).shape
    (2, 3, 2)
    """
    *leading, count, columns = x.shape
    return x.reshape(*leading, count // rows, rows, columns)


def _rows_at_once(columns: int, terms: int) -> int:
    """How many rows to multiply at a time by so many columns, a power of 2, where `terms` terms are summed."""
    most = MAX_MULTIPLICATIONS // max(columns * terms, 1)
    return 1 << most.bit_length() - 1 if most else 0


def _columns_at_once(terms: int) -> int:
    """How many columns to multiply a panel by at a time, where `terms` terms are summed."""
    return MAX_MULTIPLICATIONS // (PANEL * max(terms, 1)) // MIN_COLUMNS * MIN_COLUMNS


def _sum_of_parts(left: Array, right: Array, terms: int, out: Array) -> Array:
    """The product in `out`, as the sum of products of at most `terms` columns of `left` with rows of `right`."""
    return sum_of_parts(left, right, terms, out, partial(SCRATCH.get, "parts of a product", dtype=out.dtype.str))
