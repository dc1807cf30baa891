"""Where the largest numbers of each row are, without putting whole rows in order."""

from math import isqrt

from attncli.base.lazy_numpy import Array, np

GROUPS_PER_NUMBER = 4  # of a row: with so many hardly more cells than are asked for are not below the bound
MIN_SAVING = 4  # whole rows are ordered where their groups, or what is not below the bound, are not so many times fewer


def largest_cells(x: Array, k: int) -> Array:
    """The cells of the k largest numbers of each row, and of all that equal the k-th; those of −∞ are left out.

    The k-th largest of the maxima of groups of cells is a bound: so many cells at least are not below it. Few others
    are, and only these few are put in order.

    Parameters
    ----------
    x : array [… n m]
        Of floating-point numbers, without NaN.
    k : int
        At least 1, at most m.

    Returns
    -------
    array of int
        In order; a cell is counted through all rows, as `x.flat` does.

    Examples
    --------
    >>> largest_cells(np.array([[3.0, 1.0, 3.0, 2.0], [0.0, -np.inf, 1.0, -1.0]]), k=1).tolist()
    [0, 2, 6]
    """
    length = x.shape[-1]
    rows = x.reshape(-1, length)
    groups = max(GROUPS_PER_NUMBER * k, isqrt(length))
    if groups * MIN_SAVING > length:
        return _cells_from(rows, _kth_largest(rows, k))
    cells = _cells_from(rows, _kth_largest(_group_maxima(rows, groups), k))
    row = cells // length
    counts = np.bincount(row, minlength=len(rows))
    width = counts.max(initial=k)
    if width * MIN_SAVING > length:
        return _cells_from(rows, _kth_largest(rows, k))
    numbers = rows.take(cells)
    candidates = np.full((len(rows), width), -np.inf, x.dtype)
    candidates[row, np.arange(cells.size) - (counts.cumsum() - counts)[row]] = numbers
    largest: Array = cells[numbers >= _kth_largest(candidates, k).take(row)]
    return largest


def _cells_from(rows: Array, least: Array) -> Array:
    """The cells of rows [n m] that are not below a number of each row [n 1], nor −∞."""
    return np.flatnonzero(rows >= np.maximum(least, np.finfo(rows.dtype).min))


def _kth_largest(rows: Array, k: int) -> Array:
    """The k-th largest number of each row, [n m] to [n 1]."""
    before = rows.shape[-1] - k
    return np.partition(rows, before, axis=-1)[:, before, None]


def _group_maxima(rows: Array, groups: int) -> Array:
    """The largest number of each of so many groups of the cells of each row, [n m] to [n groups]."""
    maxima = rows[:, :groups].copy()
    for start in range(groups, rows.shape[-1], groups):
        part = rows[:, start : start + groups]
        some = maxima[:, : part.shape[-1]]
        np.maximum(some, part, out=some)
    return maxima
