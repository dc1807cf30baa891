"""The cells that an explanation works out: a query and a key each, in one batch item and head or in all of them."""

from collections.abc import Iterator, Sequence
from itertools import product

from attncli.base.lazy_numpy import Array, np
from attncli.plan.trace import AxisPositions, add_dependent_axes
from attncli.render.view import DECIMALS, View


def worked_positions(view: View) -> Sequence[AxisPositions]:
    """The positions of each cell that is worked out, those of the view in its order, otherwise of one that teaches.

    Batch items and heads of which all are shown are worked out one after the other.
    """
    trace = view.result.trace
    lengths = dict(zip(trace["weights"].axes, trace["weights"].value.shape, strict=True))
    default = _default_positions(view)
    leading = [
        [(letter, at) for at in (range(lengths[letter]) if letter in view.expanded_axes else (default[letter],))]
        for letter in trace["weights"].axes[:-2]
    ]
    pairs = dict.fromkeys(pair for cell in view.cells for pair in _pairs(cell.query, cell.key, lengths))
    return [
        add_dependent_axes(trace, {**dict(at), "n": query, "m": key})
        for at in product(*leading)
        for query, key in pairs or [(default["n"], default["m"])]
    ]


def _pairs(query: int | None, key: int | None, lengths: AxisPositions) -> Iterator[tuple[int, int]]:
    """The positions of the queries and keys of a cell; None is every one."""
    queries = range(lengths["n"]) if query is None else (query,)
    return product(queries, range(lengths["m"]) if key is None else (key,))


def _default_positions(view: View) -> AxisPositions:
    """The positions of a weight that teaches something, among those at the positions of the view.

    It is the second largest weight of the first row that has two different weights, neither 0 nor 1, as a table shows
    them: the exponential of the largest score is exp(0), and the first row of a causal mask is 1. Without such a row
    it is the largest weight.
    """
    weights = view.result.trace["weights"]
    index = tuple(slice(at, at + 1) if (at := view.positions.get(x)) is not None else slice(None) for x in weights.axes)
    value = weights.value[index]
    found = next(_teaching_cells(value), None) or _largest(value)
    return {**dict(zip(weights.axes, found, strict=True)), **view.positions}


def _largest(weights: Array) -> tuple[int, ...]:
    """The index of the largest weight."""
    index = int(np.nanargmax(np.where(np.isnan(weights), -np.inf, weights)))
    return tuple(map(int, np.unravel_index(index, weights.shape)))


def _teaching_cells(weights: Array) -> Iterator[tuple[int, ...]]:
    """The index of the second largest weight of each row [… n m] that has two different ones, neither 0 nor 1."""
    for row in np.ndindex(weights.shape[:-1]):
        with np.errstate(over="ignore"):  # a number of so many digits is infinite here
            numbers = np.round(weights[row].astype(np.float64), DECIMALS)
        shown = numbers[np.isfinite(numbers) & (numbers != 0) & (numbers != 1)]
        others = shown[shown < shown.max(initial=-np.inf)]
        if others.size:
            yield (*row, int(np.argmax(numbers == others.max())))
