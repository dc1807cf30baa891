"""The cell of a table of weights that is worked out where nobody chose one."""

from collections.abc import Iterator

from attncli.base.lazy_numpy import Array, np
from attncli.render.view import DECIMALS


def default_cell(weights: Array, scores: Array | None = None) -> tuple[int, ...]:
    """The index of the weight [… n m] whose arithmetic teaches most; `scores`, where there are any, have its shape.

    It is the second largest weight of the first row, in reading order, that has one which, as a table shows it,

    - is neither 0 nor 1: the key is not hidden, and it is not the only visible one;
    - is smaller than the largest of the row, whose exponential is exp(0);
    - has a score that is not 0.

    Where no row has one the score may be 0; where there is none either it is the largest weight of all.
    """
    found = next(_second_largest(weights, scores), None) or next(_second_largest(weights, None), None)
    if found is not None:
        return found
    largest = int(np.argmax(np.where(np.isnan(weights), -np.inf, weights)))
    return tuple(map(int, np.unravel_index(largest, weights.shape)))


def _second_largest(weights: Array, scores: Array | None) -> Iterator[tuple[int, ...]]:
    """The index of the second largest weight of each row that has one, among those whose score is not 0."""
    for row in np.ndindex(weights.shape[:-1]):
        own = _as_shown(weights[row])
        counts = np.isfinite(own) & (own != 0) & (own != 1)
        counts &= own < own.max(initial=-np.inf, where=counts)
        if scores is not None:
            counts &= _as_shown(scores[row]) != 0
        if counts.any():
            yield (*row, int(np.argmax(np.where(counts, own, -np.inf))))


def _as_shown(numbers: Array) -> Array:
    """Numbers with the decimals of a table."""
    with np.errstate(over="ignore"):  # one of more than 300 digits is infinite here
        return np.round(numbers.astype(np.float64), DECIMALS)
