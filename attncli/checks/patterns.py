"""Where numbers differ: in one row, column or head, past a position, on the diagonal, in a half of the features."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from attncli.base.lazy_numpy import Array, np

MAX_LISTED = 5  # positions along an axis to name one by one, and cells that may be on one side by chance
NEARLY_ALL = 0.95  # share of the positions along an axis: so many are not a subset
GAIN = 0.02  # gain in coverage that justifies a smaller region
MIN_COVERAGE = 0.4  # share of a region of many cells: with fewer differences they are scattered


@dataclass(frozen=True)
class AxisPart:
    """The positions along one axis that have differences, if others have none.

    `axis` is counted from the end. Positions in a range are consecutive, or every second one; others are few, and named
    one by one.
    """

    axis: int
    positions: Sequence[int]
    size: int


@dataclass(frozen=True)
class Band:
    """The cells whose distance from the diagonal (key position − query position − `offset`) is `low` to `high`.

    None means no limit. The `offset` is 0 for the diagonal from the first query and key, otherwise it belongs to the
    diagonal that ends at the last query and key.
    """

    low: int | None
    high: int | None
    offset: int = 0


@dataclass(frozen=True)
class ErrorPattern:
    """The smallest region with a name that contains all differences: a range of some axes, or a diagonal band.

    Without either it is everything. `coverage` is the share of the region's expected numbers that differ.
    """

    parts: tuple[AxisPart, ...]
    band: Band | None
    coverage: float

    @property
    def is_everything(self) -> bool:
        """Whether no smaller region contains all differences."""
        return not self.parts and self.band is None

    def in_slices(self, array: Array) -> Array:
        """The slices of an array at the positions on the axes before the last two."""
        for part in self.parts:
            if part.axis < -2:
                array = array.take(part.positions, axis=part.axis)
        return array


def find_pattern(differs: Array, is_given: Array, query_positions: Sequence[int] | None = None) -> ErrorPattern:
    """The pattern of the cells that differ among the given ones, both boolean and of the same shape [… r c].

    With `query_positions` the last two axes are queries, at these positions, and keys; only then is there a diagonal.
    At least one cell differs.

    >>> import numpy
    >>> upper = numpy.triu(numpy.ones((5, 5), dtype=bool), 1)
    >>> find_pattern(upper, numpy.ones_like(upper), range(5))
    ErrorPattern(parts=(), band=Band(low=1, high=None, offset=0), coverage=1.0)
    """
    parts = list(_parts(differs, is_given))
    leading = ErrorPattern(tuple(part for part in parts if part.axis < -2), None, 0.0)
    inner = tuple(part for part in parts if part.axis >= -2)
    counts = np.count_nonzero(tables(leading.in_slices(is_given)), axis=0)
    count = int(np.count_nonzero(differs))
    bands: list[Band] = []
    if query_positions is not None and count > MAX_LISTED and all(len(part.positions) > 1 for part in inner):
        bands += _bands(np.asarray(tables(differs).any(axis=0)), query_positions)
    best = replace(leading, coverage=count / int(counts.sum()))
    for own, band in _regions(inner, bands):
        coverage = count / _count_in(counts, own, band, query_positions)
        is_short = band is None and all(len(part.positions) <= MAX_LISTED for part in own)
        if coverage > best.coverage + GAIN and (is_short or coverage >= MIN_COVERAGE):
            best = ErrorPattern((*leading.parts, *own), band, coverage)
    return best


def _regions(inner: tuple[AxisPart, ...], bands: Sequence[Band]) -> Iterator[tuple[tuple[AxisPart, ...], Band | None]]:
    """Subsets of rows and columns with or without a band, from the simplest region to the smallest."""
    return product([(), *((part,) for part in inner), inner], (None, *bands))


def _count_in(
    counts: Array, inner: Sequence[AxisPart], band: Band | None, query_positions: Sequence[int] | None
) -> int:
    """The sum of a table's counts in some rows and columns, and in a band."""
    if band is not None and query_positions is not None:
        counts = np.where(_cells(band, query_positions, counts.shape[1]), counts, 0)
    own = {part.axis: part.positions for part in inner}
    return int(counts[np.ix_(*(own.get(axis, range(counts.shape[axis])) for axis in (-2, -1)))].sum())


def _parts(differs: Array, is_given: Array) -> Iterator[AxisPart]:
    """The positions on each axis that have differences, unless it is the whole axis, or they have no name."""
    for axis in range(-differs.ndim, 0):
        others = tuple(other for other in range(-differs.ndim, 0) if other != axis)
        positions = named_positions(*(np.asarray(array.any(axis=others)) for array in (differs, is_given)))
        if positions is not None:
            yield AxisPart(axis, positions, differs.shape[axis])


def named_positions(has_difference: Array, has_given: Array) -> Sequence[int] | None:
    """The fewest positions with a name that include all differences; None if that is all, or not simple."""
    size = len(has_difference)
    found = np.flatnonzero(has_difference)
    if len(found) == has_given.sum():
        return None
    first, last = int(found[0]), int(found[-1])
    if len(found) > 2:
        for positions in (range(first, last + 1), range(first, size, 2)):
            inside = np.zeros(size, dtype=bool)
            inside[positions] = True
            if np.array_equal(has_difference, has_given & inside):
                return positions if len(found) < NEARLY_ALL * has_given.sum() else None
    return tuple(map(int, found)) if len(found) <= MAX_LISTED else None


def tables(array: Array) -> Array:
    """The tables of the last two axes of an array, on one axis before them."""
    rows = array.shape[-2] if array.ndim > 1 else 1
    return array.reshape(-1, rows, array.shape[-1])


def _bands(table: Array, query_positions: Sequence[int]) -> Iterator[Band]:
    """The bands along the diagonals that contain all differences of a table, the smallest first."""
    positions = np.asarray(query_positions)
    rows = np.flatnonzero(table.any(axis=1))
    found = table[rows]
    first, last = found.argmax(axis=1), table.shape[1] - 1 - found[:, ::-1].argmax(axis=1)
    for offset in dict.fromkeys((0, table.shape[1] - 1 - int(positions.max(initial=0)))):
        nearest = positions[rows] + offset
        low, high = int((first - nearest).min()), int((last - nearest).max())
        if low == high and len(rows) > 1:
            yield Band(low, high, offset)
        if low >= 0:
            yield Band(min(low, 1), None, offset)
        if high <= 0:
            yield Band(None, max(high, -1), offset)


def _cells(band: Band, query_positions: Sequence[int], key_count: int) -> Array:
    """The cells [n m] of a band."""
    diagonal = np.asarray(query_positions)[:, None] + band.offset
    keys = np.arange(key_count)
    cells = np.ones((len(diagonal), key_count), dtype=bool)
    if band.low is not None:
        cells &= keys >= diagonal + band.low
    if band.high is not None:
        cells &= keys <= diagonal + band.high
    return cells
