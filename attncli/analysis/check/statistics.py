"""Statistics of two arrays: how many numbers differ, how far, to how many digits they agree, and the worst cell."""

import math
from collections.abc import Iterator

from attncli.analysis.check.tolerance import Tolerance
from attncli.base.dataclasses import dataclass
from attncli.base.dtypes import as_floats
from attncli.base.lazy_numpy import Array, np

CHUNK_CELLS = 2**20  # numbers that are compared at a time, so that large arrays need no copies of their size
SIMILAR = 2  # ratios to a measured tolerance, which each machine rounds otherwise, are alike up to this factor


@dataclass(frozen=True)
class Arrays:
    """Expected and computed numbers of a quantity on the same axes, and where a number is expected."""

    expected: Array
    computed: Array
    is_given: Array
    half_units: Array | None = None

    def chunks(self) -> Iterator[tuple[slice, "Arrays"]]:
        """Some rows at a time, as tables, and which rows of the whole table they are."""
        columns = self.computed.shape[-1] if self.computed.ndim else 1
        rows = self.computed.size // max(columns, 1)
        tables = [None if x is None else x.reshape(rows, columns) for x in vars(self).values()]
        step = max(CHUNK_CELLS // max(columns, 1), 1)
        for first in range(0, rows, step):
            part = slice(first, min(first + step, rows))
            expected, computed, is_given, half_units = (None if x is None else x[part] for x in tables)
            assert expected is not None
            assert computed is not None
            assert is_given is not None
            yield part, Arrays(expected, as_floats(computed), is_given, half_units)


@dataclass(frozen=True)
class Statistics:
    """How expected numbers differ from computed ones.

    `worst` is the index of the worst cell in the flattened array, `worst_allowed` the difference that is allowed there.
    """

    count: int
    differ: int
    digits: int
    tolerance: float
    max_abs: float
    max_rel: float
    max_ulp: float
    correlation: float | None
    cosine: float | None
    worst: int | None
    worst_allowed: float
    differs: Array


def statistics(arrays: Arrays, tolerance: Tolerance) -> Statistics:
    """The statistics of the cells where a number is expected.

    Errors are infinite where a number that is not finite differs. The relative error is that of numbers other than 0.
    """
    differs = np.zeros(arrays.computed.shape, dtype=bool)
    table = differs.reshape(-1, arrays.computed.shape[-1] if arrays.computed.ndim else 1)
    sums = _Sums()
    largest = {"tolerance": 0.0, "abs": 0.0, "rel": 0.0, "ulp": 0.0}
    digits, worst, count = math.inf, _NO_CELL, 0
    for rows, part in arrays.chunks():
        allowed = tolerance.allowed(part.expected, part.computed, part.half_units)
        differ = part.is_given & ~tolerance.agrees(part.expected, part.computed, allowed)
        table[rows] = differ
        count += int(part.is_given.sum())
        with np.errstate(all="ignore"):
            error = abs(part.expected - part.computed)
            is_finite = part.is_given & np.isfinite(part.expected) & np.isfinite(part.computed)
            error = np.where(is_finite, error, np.where(differ, np.inf, 0))
            size = np.maximum(abs(part.expected), abs(part.computed))
            units = tolerance.precision.units(np.where(is_finite, size, 0))
            relative = np.where(part.computed != 0, error / abs(part.computed), 0)
            ratio = np.where(differ, error / allowed, 0)
        found = {"tolerance": np.where(part.is_given, allowed, 0), "abs": error, "ulp": error / units}
        found["rel"] = np.where(np.isnan(relative), error, relative)
        largest = {name: max(old, float(np.max(found[name], initial=0))) for name, old in largest.items()}
        digits = min(digits, _digits(part, error, tolerance))
        if differ.any():
            at = _worst(ratio, error)
            cell = _Cell(rows.start * table.shape[1] + at, *(float(x.flat[at]) for x in (ratio, error, allowed)))
            worst = cell if cell.is_worse_than(worst) else worst
        sums.add(part.expected[is_finite], part.computed[is_finite])
    return Statistics(
        count=count,
        differ=int(differs.sum()),
        digits=0 if math.isinf(digits) else int(digits),
        tolerance=largest["tolerance"],
        max_abs=largest["abs"],
        max_rel=largest["rel"],
        max_ulp=largest["ulp"],
        correlation=sums.correlation,
        cosine=sums.cosine,
        worst=worst.index,
        worst_allowed=worst.allowed,
        differs=differs,
    )


@dataclass(frozen=True)
class _Cell:
    """A cell that differs: its index in the flattened array, its error, what is allowed there, and their ratio."""

    index: int | None
    ratio: float
    error: float
    allowed: float

    def is_worse_than(self, other: "_Cell") -> bool:
        """Whether the ratio is larger, or the error where the ratios are similar."""
        if self.ratio * SIMILAR >= other.ratio and other.ratio * SIMILAR >= self.ratio:
            return self.error > other.error
        return self.ratio > other.ratio


_NO_CELL = _Cell(None, 0.0, 0.0, 0.0)


def _worst(ratio: Array, error: Array) -> int:
    """The flat index of the largest error of those whose ratio to what is allowed is similar to the largest ratio."""
    return int(np.argmax(np.where(ratio * SIMILAR >= ratio.max(), error, -1)))


def _digits(part: Arrays, error: Array, tolerance: Tolerance) -> float:
    """To how many significant digits of the largest number of their row all numbers of some rows agree.

    They are no more than the type has, or were typed. Infinity where no row has a number other than 0.
    """
    size = np.where(part.is_given & np.isfinite(part.expected), abs(part.expected), 0).max(axis=-1)
    rows = size > 0
    if not rows.any():
        return math.inf
    typed = np.zeros(1) if part.half_units is None else np.where(part.is_given, np.nan_to_num(part.half_units), 0)
    resolution = np.maximum(error, typed).max(axis=-1)[rows]
    size = size[rows].astype(np.float64)
    resolution = np.maximum(resolution.astype(np.float64), tolerance.precision.epsilon / 2 * size)
    with np.errstate(divide="ignore", over="ignore"):
        digits = np.floor(np.log10(size)) + 1 - np.log10(2 * resolution)
    return float(max(np.floor(digits.min() + 1e-6), 0))  # half a unit has all its digits, also after rounding


class _Sums:
    """Sums for the correlation and the cosine of two arrays, gathered from parts of them."""

    def __init__(self) -> None:
        self.count = 0
        self.shift = np.zeros(2)  # near both means, so that little cancels
        self.sums = np.zeros((2, 2, 2))  # of products of the shifted numbers, and of the numbers
        self.total = np.zeros(2)

    def add(self, expected: Array, computed: Array) -> None:
        """Add some numbers."""
        if not expected.size:
            return
        both = np.stack([expected.astype(np.float64), computed.astype(np.float64)])
        with np.errstate(over="ignore", invalid="ignore"):  # sums that overflow have no correlation
            if not self.count:
                self.shift = both.mean(axis=1)
            shifted = both - self.shift[:, None]
            self.count += expected.size
            self.total += shifted.sum(axis=1)
            self.sums += np.stack([shifted @ shifted.T, both @ both.T])

    @property
    def correlation(self) -> float | None:
        """The correlation; None where one of both does not vary."""
        if not self.count:
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            products = self.sums[0] - np.outer(self.total, self.total) / self.count
        return _normalized(products, self.sums[1])

    @property
    def cosine(self) -> float | None:
        """The cosine; None where one of both is 0."""
        return _normalized(self.sums[1], self.sums[1])


def _normalized(products: Array, squares: Array) -> float | None:
    """The product of two arrays by their norms; None where one of them is nothing but rounding beside its squares."""
    norms = np.diag(products)
    if not np.isfinite(products).all() or (norms <= 1e-28 * np.diag(squares)).any():
        return None
    return float(np.clip(products[0, 1] / math.sqrt(norms[0]) / math.sqrt(norms[1]), -1, 1))
