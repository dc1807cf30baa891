"""Shapes of an error that no slip explains: a factor, a factor of each row, growth with the position."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from attncli.base.lazy_numpy import Array, np
from attncli.checks.report import QuantityCheck
from attncli.plan.trace import Trace

NEAR_FACTOR, NEAR_LINE = 0.05, 1e-3  # share of the numbers that remains after a factor of all, or of each row or column
ROUNDING = 1e-12  # share of a row's size that an error may leave unexplained
DIFFERENT = 0.02  # distance from 1: a factor that matters
MIN_LENGTH = 3  # numbers in a row or column: fewer always have a factor
PARTS, GROWTH = 4, 4.0  # parts of the queries, and the ratio of the last part's error to the first's


@dataclass(frozen=True)
class ErrorShape:
    """One trait of an error: its name, a sentence, and its numbers by name."""

    name: str
    sentence: str
    parameters: Mapping[str, float] = field(default_factory=dict)


def shapes_of(trace: Trace, result: QuantityCheck) -> tuple[ErrorShape, ...]:
    """The traits of the error of a quantity that differs."""
    step, visible = trace[result.name], trace.by_name.get("visible")
    hidden = None
    if visible is not None and step.axes[-2:] == ("n", "m"):
        at = tuple(slice(None) if letter in visible.axes else None for letter in step.axes)
        hidden = ~np.broadcast_to(visible.value[at], step.value.shape)
    expected = np.where(result.is_given, result.expected, np.nan)
    has_queries = step.axes[-2:-1] == ("n",)
    shapes = error_shapes(expected, result.computed, result.differs, hidden=hidden, has_queries=has_queries)
    return tuple(shapes)


def error_shapes(
    expected: Array, computed: Array, differs: Array, *, hidden: Array | None = None, has_queries: bool = False
) -> Iterator[ErrorShape]:
    """The traits of an error in tables [… r c]; numbers that are not finite or not given are left out.

    `hidden` are the cells that a mask hides; `has_queries` means that the rows are queries in order.

    >>> import numpy
    >>> right = numpy.array([[1.0, 2.0, 4.0], [3.0, -1.0, 1.0]])
    >>> [shape.sentence for shape in error_shapes(right * [[2.0], [3.0]], right, right != 0)]
    ['Each row is the correct one times a factor of its own, from 2 to 3.']
    """
    if hidden is not None and differs.any() and not (differs & ~hidden).any():
        yield ErrorShape("hidden_cells", "All numbers that differ are of keys that the mask hides.")
    is_known = np.isfinite(expected) & np.isfinite(computed)
    wrong = (expected[differs], computed[differs])
    are_opposite = (np.sign(wrong[0]) == -np.sign(wrong[1])).all() and wrong[1].all()
    if differs.any() and are_opposite and np.allclose(-wrong[0], wrong[1], rtol=NEAR_LINE, atol=0):
        yield ErrorShape("signs", "Only signs differ.")
    if differs.sum() < 2:
        return
    if not (differs & is_known).any():
        return
    if not expected[is_known].any():
        yield ErrorShape("zeros", "All numbers are 0, as in an array that was never written.")
        return
    expected, computed = (np.where(is_known, x, 0).astype(np.float64) for x in (expected, computed))
    # In units in which no square overflows.
    _, exponent = np.frexp(max(np.max(abs(x)) for x in (expected, computed)))
    expected, computed = (np.ldexp(x, -exponent) for x in (expected, computed))
    factor = next(_factor(expected, computed), None)
    if factor is not None:
        yield factor
        return
    for word, axis in (("row", -1), ("column", -2)):
        if expected.ndim >= -axis and expected.shape[axis] >= MIN_LENGTH:
            yield from _factors_along(expected, computed, word, axis, exponent)
    by_query = np.moveaxis(differs, -2, 0).reshape(differs.shape[-2], -1).any(axis=1) if differs.ndim > 1 else differs
    if has_queries and expected.ndim > 1 and all(part.any() for part in np.array_split(by_query, PARTS)):
        yield from _growth(abs(expected - computed), exponent)


def _factor(expected: Array, computed: Array) -> Iterator[ErrorShape]:
    """One factor that nearly all numbers share."""
    size, right = float(np.sqrt((expected**2).sum())), float((computed**2).sum())
    if not right or not size:
        return
    factor = float((expected * computed).sum()) / right
    left = float(np.sqrt(((expected - factor * computed) ** 2).sum())) / size
    if left < NEAR_FACTOR and abs(factor - 1) > DIFFERENT:
        sentence = f"The numbers are {'' if left < NEAR_LINE else 'nearly '}{factor:.4g} times the correct ones"
        more = "." if left < NEAR_LINE else f"; {left:.1%} of their size is not explained by that."
        yield ErrorShape("factor", sentence + more, {"factor": factor, "unexplained": left})


def _factors_along(expected: Array, computed: Array, word: str, axis: int, exponent: int) -> Iterator[ErrorShape]:
    """A factor or an offset of each row or column; the tables are in units of 2 to the `exponent`."""
    right, size = (computed**2).sum(axis), np.sqrt((expected**2).sum(axis))
    used = ((computed != 0) & (expected != 0)).sum(axis) >= MIN_LENGTH
    if used.sum() < 2:
        return
    factors = (expected * computed).sum(axis) / np.where(right > 0, right, 1)
    left = np.sqrt(((expected - np.expand_dims(factors, axis) * computed) ** 2).sum(axis))
    errors = np.sqrt(((expected - computed) ** 2).sum(axis))
    is_explained = (left <= NEAR_LINE * size) & (left <= NEAR_FACTOR * errors + ROUNDING * size)
    if is_explained[used].all():
        low, high = float(factors[used].min()), float(factors[used].max())
        sentence = f"Each {word} is the correct one times a factor of its own, from {low:.4g} to {high:.4g}."
        yield ErrorShape(f"{word}_factors", sentence, {"low": low, "high": high})
        return
    added = expected - computed
    numbers = added.mean(axis)
    spread = np.abs(added - np.expand_dims(numbers, axis)).max(axis)
    largest = float(np.abs(numbers).max())
    if largest and (spread <= NEAR_LINE * largest).all():
        low, high = (float(np.ldexp(x, exponent)) for x in (numbers.min(), numbers.max()))
        sentence = f"To each {word} a number of its own is added, from {low:.4g} to {high:.4g}."
        yield ErrorShape(f"{word}_offsets", sentence, {"low": low, "high": high})


def _growth(errors: Array, exponent: int) -> Iterator[ErrorShape]:
    """An error that grows from each quarter of the queries to the next, in units of 2 to the `exponent`."""
    by_query = errors.mean(axis=tuple(axis for axis in range(errors.ndim) if axis != errors.ndim - 2))
    if len(by_query) < 2 * PARTS:
        return
    means = [float(part.mean()) for part in np.array_split(by_query, PARTS)]
    if means[0] > 0 and means == sorted(means) and means[-1] >= GROWTH * means[0]:
        first, last = (float(np.ldexp(x, exponent)) for x in (means[0], means[-1]))
        sentence = f"The error grows with the query: {first:.2g} in the first quarter of them, {last:.2g} in the last."
        yield ErrorShape("growth", sentence, {"first": first, "last": last})
