"""The number of a mistake, fitted to the wrong numbers: a search in one dimension."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from attncli.base.lazy_numpy import Array, np
from attncli.checks.slips.records import Computation, Variant, evaluate_names

STEP = 1e-5  # step of a number's logarithm for the numerical derivative
NEAR = 1.01  # factor of the right number next to which the search begins
APART = 3  # sizes to try first are a third apart
STARTS = 2  # candidates from which the search continues
MAX_STEPS, MAX_STEP = 24, 1.0
MAX_LOGARITHM = 100.0  # the largest logarithm of a mistake's number
SAME = 9  # decimals of a distance, relative to the right computation's, beyond which candidates are equal
PRECISE = 1e-13  # a change of the logarithm that moves no relevant digit
MUCH_NEARER = 0.1  # share of the right computation's distance below which a solution is worth a try
HALVINGS = 6  # halvings of a step that does not reduce the distance

Residuals = Callable[[float], Array | None]  # computed minus expected numbers for a fitted number; None without one


def nearest_whole(residuals: Residuals, candidates: Sequence[float], right: float) -> Iterator[float]:
    """The candidates nearer to the expected numbers than the right computation, the best one first.

    `right` is the size of the right computation's residuals.
    """
    sizes = [(size_of(residuals(number)), number) for number in candidates]
    # Among equals the first comes first, whatever their rounding.
    unit = right if math.isfinite(right) else 1.0
    nearer = sorted((round(size / unit, SAME), at) for at, (size, _) in enumerate(sizes) if size < right)
    yield from (sizes[at][1] for _, at in nearer[:STARTS])


def nearest_size(residuals: Residuals, candidates: Sequence[float], right: float) -> Iterator[float]:
    """The candidates nearest to the expected numbers, if nearby candidates have nearby results.

    It tries some, ever fewer the larger they are, then those between the best ones and their neighbours.
    """
    sizes: dict[float, float] = {}

    def size_at(at: int) -> float:
        if ordered[at] not in sizes:
            sizes[ordered[at]] = size_of(residuals(ordered[at]))
        return sizes[ordered[at]]

    ordered = sorted(candidates)
    some = _some(ordered)
    steps = [(max(at - 1, 0), at, min(at + 1, len(some) - 1)) for at in range(len(some))]
    lowest = [at for below, at, above in steps if size_at(some[at]) <= min(size_at(some[below]), size_at(some[above]))]
    for start in sorted(lowest, key=lambda at: size_at(some[at]))[:STARTS]:
        below, best, above = (some[at] for at in steps[start])
        while max(above - best, best - below) > 1:
            tried = sorted({below, (below + best) // 2, best, (best + above + 1) // 2, above})
            at = tried.index(min(tried, key=size_at))
            below, best, above = tried[max(at - 1, 0)], tried[at], tried[min(at + 1, len(tried) - 1)]
    yield from sorted((number for number, size in sizes.items() if size < right), key=sizes.__getitem__)[:STARTS]


def _some(ordered: Sequence[float]) -> Sequence[int]:
    """The positions of numbers a third larger than the ones before, or nearer to 0, and of the first and the last."""
    kept = [0] if ordered else []
    for at in range(1, len(ordered)):
        last, number = ordered[kept[-1]], ordered[at]
        if number - last >= max(abs(number), abs(last)) / APART or at == len(ordered) - 1:
            kept.append(at)
    return kept


def nearest_factor(residuals: Residuals, candidates: Sequence[float], right: float) -> Iterator[float]:
    """Positive numbers nearest to the expected ones: the best candidates, improved by Gauss-Newton steps."""
    errors = {number: residuals(number) for number in candidates}
    for number, error in list(errors.items()):
        if error is None:  # the right number itself: the wrong one may be near
            del errors[number]
            errors |= {near: residuals(near) for near in (number / NEAR, number * NEAR)}
    candidates = sorted(errors)
    sizes = [size_of(errors[number]) for number in candidates]
    lowest = [
        at
        for at, size in enumerate(sizes)
        if size <= right < math.inf and size <= min(sizes[max(at - 1, 0)], sizes[min(at + 1, len(sizes) - 1)])
    ]
    for at in sorted(lowest, key=lambda at: sizes[at])[:STARTS]:
        yield math.exp(_improved(lambda x: residuals(math.exp(x)), math.log(candidates[at])))


def nearest_solutions(
    case: Computation,
    expected: Mapping[str, Array],
    change: Callable[[Any], Iterator[Variant]],
    candidates: Iterable[Any],
) -> Iterator[Any]:
    """The candidate nearest to the expected numbers, if it is much nearer than the right computation.

    `change` makes changed computations of the same problem with a candidate.
    """
    found = [
        (distance(variant.changed, expected), at, candidate)
        for at, candidate in enumerate(candidates)
        for variant in change(candidate)
        if isinstance(variant.changed, Computation)
    ]
    if found:
        nearest, _, candidate = min(found)
        if nearest < MUCH_NEARER * distance(case, expected):
            yield candidate


def distance(case: Computation, expected: Mapping[str, Array]) -> float:
    """The Euclidean distance of computed from expected numbers, over the expected cells."""
    names = [name for name in expected if case.plan.find(name) is not None]
    values = evaluate_names(case.plan, case.problem, names, case.problem.precision)
    parts = []
    for name in names:
        computed, is_given = values[case.plan.resolve(name)], ~np.isnan(expected[name])
        if computed.shape != is_given.shape:
            return math.inf
        parts.append((computed[is_given] - expected[name][is_given]).astype(np.float64))
    return size_of(np.concatenate(parts)) if parts else math.inf


def _improved(residuals: Residuals, x: float) -> float:
    """A number with the smallest residuals, from one nearby; each step treats the error as linear."""
    error = residuals(x)
    for _ in range(MAX_STEPS):
        above, below = residuals(x + STEP), residuals(x - STEP)
        if error is None or above is None or below is None:
            return x
        with np.errstate(all="ignore"):
            slope = (above - below) / (2 * STEP)
            square = float(slope @ slope)
        if not (square > 0 and math.isfinite(square)):
            return x
        step, size = min(max(-float(slope @ error) / square, -MAX_STEP), MAX_STEP), size_of(error)
        for _ in range(HALVINGS):
            moved = residuals(x + step)
            if size_of(moved) < size:
                break
            step /= 2
        else:
            return x
        x, error = x + step, moved
        if abs(step) < PRECISE or abs(x) > MAX_LOGARITHM:
            break
    return x


def size_of(residuals: Array | None) -> float:
    """The Euclidean norm; infinity if it is empty or has a NaN."""
    if residuals is None:
        return math.inf
    with np.errstate(all="ignore"):
        size = float(np.sqrt(residuals @ residuals))
    return size if math.isfinite(size) else math.inf
