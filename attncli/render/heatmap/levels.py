"""The numbers of tables as levels of a colour map: 0 to 1, minus infinity of a masked cell, NaN of a NaN."""

from collections.abc import Iterable, Sequence

from attncli.base.dataclasses import dataclass
from attncli.base.lazy_numpy import Array, np
from attncli.render.grid import Grid

MASKED = float("-inf")
VISIBLE_LEVEL = 0.5  # of the visible cells of a mask


@dataclass(frozen=True)
class Scale:
    """The numbers that have the first and the last colour; the least is above the largest where there are none."""

    least: float
    largest: float
    is_from_zero: bool  # whether the first colour is that of 0, as of weights

    @property
    def has_one_number(self) -> bool:
        """Whether every number is the same."""
        return self.least == self.largest

    @property
    def has_numbers(self) -> bool:
        """Whether any cell has a finite number that is not masked."""
        return self.least <= self.largest

    def levels(self, grid: Grid) -> Array:
        """The level of each cell of a table [rows columns]; those of a mask are visible or masked."""
        if grid.signs is not None:
            return np.where(grid.values != 0, VISIBLE_LEVEL, MASKED)
        halves = grid.values.astype(np.float64) / 2  # the difference of two numbers may be too large for a float
        width, constant = self.largest / 2 - self.least / 2, 0.0 if self.is_from_zero else 1.0
        fractions = (halves - self.least / 2) / width if width > 0 else np.where(np.isfinite(halves), constant, halves)
        fractions[np.isposinf(halves)] = 1
        return np.where(is_masked(grid), MASKED, fractions)


def scale_of(grids: Iterable[Grid]) -> Scale:
    """The scale of some tables, from 0 of weights, otherwise from the least number; masked cells do not count."""
    least, largest, are_weights = float("inf"), float("-inf"), True
    for grid in grids:
        numbers = grid.values[np.isfinite(grid.values) & ~is_masked(grid)]
        if numbers.size:
            least, largest = min(least, float(numbers.min())), max(largest, float(numbers.max()))
        are_weights = are_weights and grid.is_heatmap
    is_from_zero = are_weights and least >= 0
    return Scale(0.0 if is_from_zero else least, largest, is_from_zero)


def is_masked(grid: Grid) -> Array:
    """Which cells [rows columns] a mask hides, or are minus infinity."""
    infinite: Array = np.isneginf(grid.values)
    return infinite if grid.hidden is None else infinite | grid.hidden


def pool(levels: Array, block: Sequence[int]) -> Array:
    """The largest level of each block of rows and columns; a block with a NaN is NaN, one that is all masked masked.

    >>> pool(np.array([[0.1, 0.5, MASKED], [0.2, np.nan, MASKED]]), (1, 2)).tolist()
    [[0.5, -inf], [nan, -inf]]
    """
    for axis, size in enumerate(block):
        if size > 1:
            levels = np.maximum.reduceat(levels, range(0, levels.shape[axis], size), axis=axis)
    return levels
