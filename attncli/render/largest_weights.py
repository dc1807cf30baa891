"""The key of the largest weight of each query: `sat → cat 0.60`."""

from collections.abc import Iterator

from attncli.base.lazy_numpy import np
from attncli.plan.trace import Trace
from attncli.render.grid import Grid, grids

ARROW_DECIMALS = 2


def arrows(trace: Trace, *, from_key: bool = False) -> Iterator[tuple[str, list[str]]]:
    """For each head and batch item its label, and for each query an arrow to the key of its largest weight.

    With `from_key` the arrow leads from the key to the query: `das → the 0.86`. Keys of equal weights stand beside one
    another; a query whose weights are all 0 has no arrow.
    """
    for grid in grids(trace, trace["weights"]):
        yield grid.slice_label, list(_arrows(grid, from_key=from_key))


def _arrows(grid: Grid, *, from_key: bool) -> Iterator[str]:
    """The arrow of each row."""
    for query, weights in zip(grid.rows, grid.values, strict=True):
        if not np.isfinite(weights).all() or not weights.any():
            continue
        largest = weights.max()
        keys = ", ".join(key for key, weight in zip(grid.columns, weights, strict=True) if np.isclose(weight, largest))
        ends = (keys, query) if from_key else (query, keys)
        yield f"{' → '.join(ends)} {largest:.{ARROW_DECIMALS}f}"
