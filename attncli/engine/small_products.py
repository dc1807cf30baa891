"""Products in small parts, which BLAS multiplies as they are.

It copies the factors of a large product to the order in which it reads them, and clears the result, before it
multiplies. OpenBLAS on processors with AVX-512 does neither where a product has at most 10⁶ multiplications, unless the
left factor is stored row by row and the right one column by column (OpenBLAS, the files
kernel/x86_64/*_small_kernel_permit_skylakex.c). That takes up to a sixth less time.
"""

from functools import partial
from typing import Any

from attncli.base.dataclasses import dataclass
from attncli.base.lazy_numpy import Array, np
from attncli.engine.openblas import core_name
from attncli.engine.scratch import SCRATCH
from attncli.ops.products import sum_of_parts

MAX_MULTIPLICATIONS = 10**6
MIN_ROWS, MIN_COLUMNS = 4, 64  # of a part; parts with fewer take longer than the whole
PANEL = 16  # rows that are stored column by column: as many numbers of single precision as a register has
MIN_KEYS, MIN_PACKED_ROWS = 256, 128  # for fewer keys, or fewer rows and some twice, packing takes longer than it saves
FEW_ROWS = 2 * PANEL  # fewer, of which there are no panels, are multiplied as the columns of the right factor
MANY_ROWS = 4  # times as many as features: for fewer, copying keys takes longer than it saves
MAX_COPIED_FEATURES = 128  # of keys that are stored by feature: with more, copying takes longer than it saves
TYPES = "fd"  # float32 and float64, the types of BLAS
CORES = frozenset({"SkylakeX", "Cooperlake", "SapphireRapids"})  # whose OpenBLAS multiplies small matrices as they are


def are_fast(dtype: "np.dtype[Any]") -> bool:
    """Whether NumPy multiplies numbers of this type by an OpenBLAS that does so on this processor."""
    return dtype.char in TYPES and core_name() in CORES


@dataclass(frozen=True, eq=False)
class Panels:
    """The rows of a left factor [… n d] in panels of 16 of them [… p 16 d], which are stored column by column.

    Where n is no multiple of 16, the last panel has the last 16 rows, of which the one before has some too: all rows
    are multiplied in the same way, so that equal ones have equal products.
    """

    panels: Array
    rows: int

    def split_heads(self, groups: int) -> "Panels":
        """The same of query heads [… h p 16 d] as [… g h/g p 16 d]."""
        *leading, heads, count, rows, features = self.panels.shape
        panels = self.panels.reshape(*leading, groups, heads // groups, count, rows, features)
        return Panels(panels, self.rows)

    def multiply(self, right: Array, out: Array, terms: int) -> None:
        """The product with `right` [… d m] in `out` [… n m], in parts of about as many columns.

        At most `terms` terms are summed in a row.
        """
        if not (_is_stored_by_row(right) or _is_stored_by_row(right.mT)):
            right = right.mT.copy().mT  # as NumPy would for each part
        whole, columns = self.rows // PANEL, right.shape[-1]
        in_panels = whole * PANEL
        count = -(-columns // max(_columns_at_once(min(terms, right.shape[-2])), MIN_COLUMNS))
        for number in range(count):
            some = slice(columns * number // count, columns * (number + 1) // count)
            factor, part = right[..., some], out[..., some]
            into = split_rows(part[..., :in_panels, :], PANEL)
            _sum_of_parts(self.panels[..., :whole, :, :], factor[..., None, :, :], terms, into)
            if in_panels < self.rows:
                _sum_of_parts(self.panels[..., whole, :, :], factor, terms, part[..., -PANEL:, :])


def scale(x: Array, factor: float, dtype: str, *, keys: int, terms: int, memory: str) -> Array | Panels:
    """Rows x [… n d] times a factor, in a type: in panels, where products with so many keys are faster so.

    At most `terms` terms of these are summed in a row. The `memory` is used again by the next call of the same thread
    that names it.

    >>> scaled = scale(np.ones((3, 2)), 0.5, "float64", keys=1000, terms=2, memory="rows")  # too few for panels
    >>> scaled
    array([[0.5, 0.5],
           [0.5, 0.5],
           [0.5, 0.5]])
    """
    *leading, rows, features = x.shape
    whole = rows // PANEL
    are_many = keys >= MIN_KEYS and (rows >= MIN_PACKED_ROWS or (whole > 0 and rows % PANEL == 0))
    if not are_many or _columns_at_once(min(terms, features)) < MIN_COLUMNS or not are_fast(np.dtype(dtype)):
        return np.multiply(x, factor, out=SCRATCH.get(memory, x.shape, dtype), dtype=dtype)
    panels = SCRATCH.get(memory, (*leading, -(-rows // PANEL), features, PANEL), dtype)
    np.multiply(split_rows(x[..., : whole * PANEL, :], PANEL).mT, factor, out=panels[..., :whole, :, :], dtype=dtype)
    if rows % PANEL:
        np.multiply(x[..., -PANEL:, :].mT, factor, out=panels[..., whole, :, :], dtype=dtype)
    return Panels(panels.mT, rows)


def store_by_feature(keys: Array, rows: int, memory: str) -> Array:
    """Keys [… m d], whose transpose is a right factor, with the numbers of a feature side by side where that is faster.

    That is where there are few keys, and many `rows` of the left factor, so that products take long enough. The
    `memory` is used again by the next call of the same thread that names it.

    >>> store_by_feature(np.ones((3, 2)), rows=1, memory="keys").flags.c_contiguous  # not faster for one row: as it was
    True
    """
    count, features = keys.shape[-2:]
    if count >= MIN_KEYS or features > min(rows // MANY_ROWS, MAX_COPIED_FEATURES) or not are_fast(keys.dtype):
        return keys
    stored = SCRATCH.get(memory, keys.mT.shape, keys.dtype.str)
    stored[...] = keys.mT
    return stored.mT


def multiply(left: Array | Panels, right: Array, out: Array, terms: int) -> Array:
    """`left` [… a b] times `right` [… b c] in `out` [… a c], in parts where that is faster.

    At most `terms` of the products of a number of `left` and one of `right` are summed in a row.

    >>> multiply(np.ones((3, 2)), np.array([[1.0], [2.0]]), np.empty((3, 1)), terms=2).ravel()
    array([3., 3., 3.])
    """
    if isinstance(left, Panels):
        left.multiply(right, out, terms)
        return out
    if _are_few_by_many(left, right, out.dtype):
        return _multiply_turned(left, right, out, terms)
    count, most = left.shape[-2], _rows_at_once(right.shape[-1], min(terms, right.shape[-2]))
    if not (MIN_ROWS <= most < count and _is_stored_by_row(right) and are_fast(out.dtype)):
        return _sum_of_parts(left, right, terms, out)
    rows = _even_part(count, most)
    whole = count // rows * rows
    in_parts = split_rows(out[..., :whole, :], rows)
    _sum_of_parts(split_rows(left[..., :whole, :], rows), right[..., None, :, :], terms, in_parts)
    if whole < count:  # with some of the rows before: in parts of other lengths equal rows might differ
        _sum_of_parts(left[..., -rows:, :], right, terms, out[..., -rows:, :])
    return out


def _are_few_by_many(left: Array, right: Array, dtype: "np.dtype[Any]") -> bool:
    """Whether a few rows are multiplied by many columns that are stored one after another."""
    are_few, are_many = 1 < left.shape[-2] < FEW_ROWS, right.shape[-1] > MIN_KEYS
    return are_few and are_many and dtype.char in TYPES and _is_stored_by_row(right.mT)


def _multiply_turned(left: Array, right: Array, out: Array, terms: int) -> Array:
    """A few rows times many columns that are stored one after another: as these, in parts, times the rows.

    BLAS would copy all columns for the few rows, which takes several times as long as to multiply them.
    """
    shape = (*out.shape[:-2], out.shape[-1], out.shape[-2])
    turned = SCRATCH.get("turned product", shape, out.dtype.str)
    out[...] = multiply(right.mT, np.ascontiguousarray(left.mT), turned, terms).mT
    return out


def split_rows(x: Array, rows: int) -> Array:
    """A view of x [… a b] as [… a/rows rows b].

    >>> split_rows(np.ones((6, 2)), 3).shape
    (2, 3, 2)
    """
    *leading, count, columns = x.shape
    return x.reshape(*leading, count // rows, rows, columns)


def _is_stored_by_row(x: Array) -> bool:
    """Whether the numbers of a row of x [… a b] are side by side, and rows one after another: BLAS reads no others."""
    return bool(x.strides[-1] == x.itemsize and x.strides[-2] >= x.shape[-1] * x.itemsize)


def _rows_at_once(columns: int, terms: int) -> int:
    """How many rows to multiply by so many columns at a time, at most, where `terms` terms are summed."""
    return MAX_MULTIPLICATIONS // max(columns * terms, 1)


def _even_part(count: int, most: int) -> int:
    """The length, at most `most`, of parts of so many rows: one that leaves none over, if that takes few more parts."""
    fewest = -(-count // most)
    parts = next((parts for parts in range(fewest, 2 * fewest + 1) if count % parts == 0), fewest)
    return -(-count // parts)


def _columns_at_once(terms: int) -> int:
    """How many columns to multiply a panel by at a time, where `terms` terms are summed."""
    return MAX_MULTIPLICATIONS // (PANEL * max(terms, 1)) // MIN_COLUMNS * MIN_COLUMNS


def _sum_of_parts(left: Array, right: Array, terms: int, out: Array) -> Array:
    """The product in `out`, as the sum of products of at most `terms` columns of `left` with rows of `right`."""
    return sum_of_parts(left, right, terms, out, partial(SCRATCH.get, "parts of a product", dtype=out.dtype.str))
