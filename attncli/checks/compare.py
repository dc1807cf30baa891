"""The comparison of expected numbers with the reference, each quantity at its tolerance."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from attncli.base.dtypes import HALF, Precision, as_floats, coarsest
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import join_words
from attncli.checks.expected import ExpectedNumbers
from attncli.checks.report import CheckOptions, DigitsOfAgreement, QuantityCheck, WorstCell
from attncli.checks.tolerance import (
    Reference,
    RoundingError,
    Tolerance,
    chosen_tolerance,
    compute_reference,
    derived_tolerance,
    extreme_rows,
    has_every_step,
    rounding_error,
)
from attncli.engine.dense import evaluate, input_array
from attncli.plan.diagnostics import remark_on_values
from attncli.plan.trace import Trace
from attncli.problem.spec import ProblemSpec

DRAWS = 8  # draws within half a unit of the last digit, to see how far they move later numbers
CHUNK_CELLS = 2**20  # numbers compared at a time, so that large arrays need no copies of their size
SIMILAR = 2  # ratios to a measured tolerance, which varies by machine, count as equal up to this factor


@dataclass(frozen=True)
class Statistics:
    """How expected numbers differ from computed ones, by the fields of a QuantityCheck.

    `worst` is the index of the worst cell in the flattened array, `worst_allowed` the permitted difference there.
    """

    count: int
    differ: int
    digits: int
    by_digits: tuple[DigitsOfAgreement, ...]
    tolerance: float
    max_abs: float
    max_rel: float
    max_ulp: float
    correlation: float | None
    cosine: float | None
    worst: int | None
    worst_allowed: float
    differs: Array


def statistics(numbers: ExpectedNumbers, computed: Array, tolerance: Tolerance) -> Statistics:
    """The statistics of the cells with an expected number; computed numbers have the same axes.

    Errors are infinite if a number that is not finite differs. The relative error covers numbers other than 0.
    """
    differs = np.zeros(computed.shape, dtype=bool)
    columns = max(computed.shape[-1] if computed.ndim else 1, 1)
    sums = _Sums()
    largest = {"tolerance": 0.0, "max_abs": 0.0, "max_rel": 0.0, "max_ulp": 0.0}
    digits, worst = math.inf, _NO_CELL
    by_unit = {unit: _TypedTo() for unit in _typed_units(numbers)}
    for rows, part, reference in _chunks(numbers, computed, columns):
        allowed = tolerance.allowed(part.array, reference, part.half_units)
        differ = part.is_given & ~tolerance.agrees(part.array, reference, allowed)
        differs.reshape(-1, columns)[rows] = differ
        with np.errstate(all="ignore"):
            error = abs(part.array - reference)
            is_finite = part.is_given & np.isfinite(part.array) & np.isfinite(reference)
            error = np.where(is_finite, error, np.where(differ, np.inf, 0))
            size = np.maximum(abs(part.array), abs(reference))
            units = tolerance.number_type.units(np.where(is_finite, size, 0))
            relative = np.where(reference != 0, error / abs(reference), 0)
            ratio = np.where(differ, error / allowed, 0)
        found = {"tolerance": np.where(part.is_given, allowed, 0), "max_abs": error, "max_ulp": error / units}
        found["max_rel"] = np.where(np.isnan(relative), error, relative)
        largest = {name: max(old, float(np.max(found[name], initial=0))) for name, old in largest.items()}
        digits = min(digits, _digits(part, error, tolerance))
        for unit, typed_to in by_unit.items():
            typed_to.add(part, unit, error, allowed, tolerance)
        if differ.any():
            at = int(np.argmax(np.where(ratio * SIMILAR >= ratio.max(), error, -1)))
            cell = _Cell(rows.start * columns + at, *(float(x.flat[at]) for x in (ratio, error, allowed)))
            worst = cell if cell.is_worse_than(worst) else worst
        sums.add(part.array[is_finite], reference[is_finite])
    return Statistics(
        count=int(numbers.is_given.sum()),
        differ=int(differs.sum()),
        digits=0 if math.isinf(digits) else int(digits),
        by_digits=_merged(by_unit.values()),
        **largest,
        correlation=sums.correlation,
        cosine=sums.cosine,
        worst=worst.at,
        worst_allowed=worst.allowed,
        differs=differs,
    )


def _chunks(numbers: ExpectedNumbers, computed: Array, columns: int) -> Iterator[tuple[slice, ExpectedNumbers, Array]]:
    """Blocks of rows, as tables: their indices in the whole table, expected numbers and computed ones."""
    rows, step = computed.size // columns, max(CHUNK_CELLS // columns, 1)
    for first in range(0, rows, step):
        part = slice(first, min(first + step, rows))
        arrays = numbers.array, numbers.is_given, computed
        array, is_given, reference = (x.reshape(rows, columns)[part] for x in arrays)
        half_units = None if numbers.half_units is None else numbers.half_units.reshape(rows, columns)[part]
        yield part, ExpectedNumbers(array, is_given, half_units), as_floats(reference)


def _typed_units(numbers: ExpectedNumbers) -> Sequence[float]:
    """Half a unit of the last digit of numbers typed to different decimals; empty if all are alike."""
    if numbers.half_units is None or numbers.dtype is not None:
        return ()
    units = np.unique(numbers.half_units[numbers.is_given])
    found: list[float] = units[np.isfinite(units)].tolist()
    return found if 1 < len(found) == len(units) else ()


class _TypedTo:
    """The numbers of a quantity typed to the same decimals, collected from its blocks."""

    def __init__(self) -> None:
        self.count, self.digits, self.max_abs, self.tolerance = 0, math.inf, 0.0, 0.0

    def add(self, part: ExpectedNumbers, unit: float, error: Array, allowed: Array, tolerance: Tolerance) -> None:
        """Add the numbers of some rows; half a unit of their last digit is `unit`."""
        own = part.is_given & (part.half_units == unit)
        rows = own.any(axis=-1)
        if rows.any():
            of_rows = ExpectedNumbers(part.array[rows], part.is_given[rows], np.where(own, unit, 0)[rows])
            self.count += int(own.sum())
            self.digits = min(self.digits, _digits(of_rows, np.where(own, error, 0)[rows], tolerance))
            self.max_abs = max(self.max_abs, float(error[own].max()))
            self.tolerance = max(self.tolerance, float(allowed[own].max()))


def _merged(groups: Iterable[_TypedTo]) -> tuple[DigitsOfAgreement, ...]:
    """The groups by their digits, the most digits first; groups that agree to equally many are merged."""
    merged: dict[int, DigitsOfAgreement] = {}
    for group in groups:
        digits = 0 if math.isinf(group.digits) else int(group.digits)
        own = DigitsOfAgreement(group.count, digits, group.max_abs, group.tolerance)
        other = merged.get(digits, replace(own, count=0))
        worst = max(other.max_abs, own.max_abs), max(other.tolerance, own.tolerance)
        merged[digits] = DigitsOfAgreement(other.count + own.count, digits, *worst)
    return tuple(merged[digits] for digits in sorted(merged, reverse=True)) if len(merged) > 1 else ()


class _Cell(NamedTuple):
    """A cell that differs: its index in the flattened array, its error, the permitted error, and their ratio."""

    at: int | None
    ratio: float
    error: float
    allowed: float

    def is_worse_than(self, other: "_Cell") -> bool:
        """Whether the ratio is larger, or the error where the ratios are similar."""
        if self.ratio * SIMILAR >= other.ratio and other.ratio * SIMILAR >= self.ratio:
            return self.error > other.error
        return self.ratio > other.ratio


_NO_CELL = _Cell(None, 0.0, 0.0, 0.0)


def _digits(part: ExpectedNumbers, error: Array, tolerance: Tolerance) -> float:
    """To how many significant digits of their row's largest number all numbers of some rows agree.

    At most the digits of the type, or the typed digits. Infinity if no row has a number other than 0.
    """
    size = np.where(part.is_given & np.isfinite(part.array), abs(part.array), 0).max(axis=-1)
    rows = size > 0
    if not rows.any():
        return math.inf
    typed = np.zeros(1) if part.half_units is None else np.where(part.is_given, np.nan_to_num(part.half_units), 0)
    resolution = np.maximum(error, typed).max(axis=-1)[rows].astype(np.float64)
    size = size[rows].astype(np.float64)
    resolution = np.maximum(resolution, tolerance.number_type.epsilon / 2 * size)
    with np.errstate(divide="ignore", over="ignore"):
        digits = np.floor(np.log10(size)) + 1 - np.log10(2 * resolution)
    return float(max(np.floor(digits.min() + 1e-6), 0))  # half a unit has all its digits, also after rounding


class _Sums:
    """Sums for the correlation and the cosine of two arrays, collected from their blocks."""

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
        with np.errstate(over="ignore", invalid="ignore"):  # overflowing sums have no correlation
            if not self.count:
                self.shift = both.mean(axis=1)
            shifted = both - self.shift[:, None]
            self.count += expected.size
            self.total += shifted.sum(axis=1)
            self.sums += np.stack([shifted @ shifted.T, both @ both.T])

    @property
    def correlation(self) -> float | None:
        """The correlation; None if either is constant."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self._normalized(self.sums[0] - np.outer(self.total, self.total) / max(self.count, 1))

    @property
    def cosine(self) -> float | None:
        """The cosine; None if either is 0."""
        return self._normalized(self.sums[1])

    def _normalized(self, products: Array) -> float | None:
        """The product of two arrays by their norms; None if a norm is only the rounding error of the squares."""
        norms = np.diag(products)
        if not np.isfinite(products).all() or (norms <= 1e-28 * np.diag(self.sums[1])).any():
            return None
        return float(np.clip(products[0, 1] / math.sqrt(norms[0]) / math.sqrt(norms[1]), -1, 1))


@dataclass(frozen=True)
class Checker:
    """The comparison of expected numbers with the reference; it finds each tolerance once."""

    problem: ProblemSpec
    reference: Reference
    quantities: Mapping[str, ExpectedNumbers]
    options: CheckOptions

    @property
    def trace(self) -> Trace:
        """The trace of the reference."""
        return self.reference.trace

    def dtype_of(self, name: str) -> str:
        """The type that computes the numbers of a quantity: the coarser of the problem's and their own.

        It is the problem's if their own is a half type, to which only the result is rounded.
        """
        own = self.quantities[name].dtype
        return (
            self.problem.precision.name if own is None or own in HALF else coarsest([self.problem.precision.name, own])
        )

    def half_type_that_allows(self, name: str) -> str | None:
        """The half type in which a quantity would agree, if the problem were computed in it; None without one."""
        numbers = self.quantities[name]
        if numbers.dtype not in HALF or self.problem.precision.name in HALF:
            return None
        problem = replace(self.problem, dtype=numbers.dtype)
        reference = compute_reference(problem, [name], self.options)
        in_half = Checker(problem, reference, {name: numbers}, self.options)
        loose = in_half.loose_tolerance(name)
        exact = replace(numbers, half_units=None)
        allows = loose is not None and not statistics(exact, reference.value(name), loose).differ
        return numbers.dtype if allows else None

    def needs_rounding_error(self, name: str) -> bool:
        """Whether the tolerance of a quantity depends on the rounding error of its type.

        Half a unit of a typed digit exceeds float64's error so far that this does not count.
        """
        chosen = chosen_tolerance(self.options, Precision(self.dtype_of(name)))
        return chosen is None and (self.dtype_of(name) != "float64" or self.quantities[name].has_every_digit)

    @cached_property
    def _rounding_errors(self) -> Mapping[str, RoundingError]:
        """The rounding errors in the types of the quantities, by type."""
        return self._rounding_errors_of({name: self.dtype_of(name) for name in self.quantities})

    @cached_property
    def _loose_errors(self) -> Mapping[str, RoundingError]:
        """The rounding errors of half types with every step rounded, by type."""
        dtypes = {name: self.dtype_of(name) for name in self.quantities}
        in_half = {name: dtype for name, dtype in dtypes.items() if dtype in HALF}
        return self._rounding_errors_of(in_half, rounds_every_step=True)

    def _rounding_errors_of(
        self, dtypes: Mapping[str, str], *, rounds_every_step: bool = False
    ) -> Mapping[str, RoundingError]:
        names_by_dtype: dict[str, list[str]] = {}
        for name, dtype in dtypes.items():
            if self.needs_rounding_error(name):
                names_by_dtype.setdefault(dtype, []).append(name)
        problem, plan = self.trace.problem, self.trace.plan
        return {
            dtype: rounding_error(problem, plan, names, dtype, self._extreme_rows, rounds_every_step=rounds_every_step)
            for dtype, names in names_by_dtype.items()
        }

    @property
    def _extreme_rows(self) -> Sequence[int]:
        """The queries with the largest and the smallest numbers, among inputs and checked results."""
        problem, plan = self.trace.problem, self.trace.plan
        arrays = [(node, input_array(node, problem)) for node in plan.nodes if node.is_input]
        arrays += [(plan[name], self.reference.value(name)) for name in self.quantities]
        count = plan.axis_length("n")
        return extreme_rows(
            (array, node.letters)
            for node, array in arrays
            if "n" in node.letters and array.ndim == len(node.letters) and array.shape[node.letters.index("n")] == count
        )

    def tolerance(self, name: str) -> Tolerance:
        """The tolerance of a quantity: the user's, otherwise the derived one."""
        dtype = self.dtype_of(name)
        rounding = self._rounding_errors[dtype] if self.needs_rounding_error(name) else None
        return self.derived_tolerance(name, Precision(dtype), rounding)

    def loose_tolerance(self, name: str) -> Tolerance | None:
        """The tolerance for programs that round every step to the problem's half type; None in other types."""
        dtype = self.dtype_of(name)
        if dtype not in HALF or not self.needs_rounding_error(name):
            return None
        return self.derived_tolerance(name, Precision(dtype), self._loose_errors[dtype], rounds_every_step=True)

    def derived_tolerance(
        self, name: str, precision: Precision, rounding: RoundingError | None, *, rounds_every_step: bool = False
    ) -> Tolerance:
        """The tolerance of a quantity for a type and its rounding error, unless the user has chosen one."""
        own = self.quantities[name].dtype
        chosen = chosen_tolerance(self.options, Precision(coarsest([precision.name, *([own] if own else [])])))
        numbers = self.quantities[name]
        return chosen or derived_tolerance(numbers, precision, rounding, name, rounds_every_step=rounds_every_step)

    def count_differences(self, name: str, computed: Array, half_units: Array | None) -> int:
        """How many expected numbers of a quantity differ from other numbers than the reference."""
        numbers = replace(self.quantities[name], half_units=half_units)
        return statistics(numbers, computed, self.tolerance(name)).differ

    def compare(self, name: str) -> QuantityCheck:
        """One compared quantity."""
        numbers, step, tolerance = self.quantities[name], self.trace[name], self.tolerance(name)
        computed = self.reference.value(name)
        found = vars(statistics(numbers, computed, tolerance)).copy()
        at, allowed, worst = found.pop("worst"), found.pop("worst_allowed"), None
        if at is not None:
            position, labels = self.trace.labelled(step).cell(at)
            both = float(numbers.array[position]), float(computed[position])
            worst = WorstCell(position, labels, *both, allowed)
        on_values = remark_on_values(self.trace.plan, name) if worst is not None else ""
        allowed_by = self.half_type_that_allows(name) if worst is not None else None
        return QuantityCheck(
            name=name,
            **found,
            tolerance_reason=tolerance.reason,
            ulp_dtype=tolerance.number_type.name,
            worst=worst,
            expected=numbers.array,
            computed=computed,
            is_given=numbers.is_given,
            half_type=allowed_by,
            is_array=numbers.dtype is not None,
            remarks=(*numbers.remarks, *filter(None, [on_values])),
        )

    def compare_loosely(self, result: QuantityCheck) -> QuantityCheck:
        """A quantity that differs, compared with every step rounded to a half type, if it then agrees."""
        loose = None if result.agrees else self.loose_tolerance(result.name)
        if loose is None:
            return result
        found = statistics(replace(self.quantities[result.name], half_units=None), result.computed, loose)
        if found.differ or result.worst is None:
            return result
        times = abs(result.worst.expected - result.worst.computed) / result.worst.allowed
        dtype = self.dtype_of(result.name)
        looser = f"within what every step in {dtype} would give, but {times:.2g} times what one rounding gives"
        return replace(
            result,
            differ=0,
            differs=found.differs,
            tolerance=found.tolerance,
            tolerance_reason=loose.reason,
            worst=None,
            looser=looser,
        )


def with_relations(checker: Checker, results: Sequence[QuantityCheck]) -> tuple[QuantityCheck, ...]:
    """The quantities; those that differ say whether they follow from earlier expected numbers, or have no consequences.

    Both are unknown if a problem is computed in blocks, which keep no steps.
    """
    if not has_every_step(checker.trace):
        return tuple(results)
    related = []
    for at, result in enumerate(results):
        if result.agrees:
            related.append(result)
            continue
        unaffected = [other.name for other in results[at + 1 :] if is_unaffected(checker, result, other)]
        which = join_words(unaffected)
        remark = f"the expected values of {which} agree with the reference, but do not follow from these numbers"
        remarks = (*result.remarks, remark) if unaffected else result.remarks
        related.append(replace(result, follows=_follows(checker, results[:at], result), remarks=remarks))
    return tuple(related)


def _follows(checker: Checker, before: Sequence[QuantityCheck], result: QuantityCheck) -> bool | None:
    """Whether the numbers of a quantity follow from earlier expected numbers.

    They do if they agree with the result of the expected numbers, after moving typed ones by up to half a unit of the
    last digit. None if no earlier quantity is expected whole.
    """
    name = checker.trace.plan.resolve(result.name)
    read = {step: other for other in before if (step := replaceable_step(checker, other, name)) is not None}
    if not read:
        return None
    if all(other.agrees for other in read.values()):
        return False
    numbers = checker.quantities[result.name]
    given = {step: checker.quantities[other.name].array for step, other in read.items()}
    computed = recompute(checker.trace, given, name)
    spread, stream = np.zeros(computed.shape), np.random.default_rng(0)
    for _ in range(DRAWS):
        moved = {step: _moved(checker, other, stream) for step, other in read.items()}
        with np.errstate(invalid="ignore"):  # ∞ − ∞
            spread = np.fmax(spread, abs(recompute(checker.trace, moved, name) - computed))
    half_units = np.where(np.isfinite(spread), 2 * spread, 0)
    half_units = half_units if numbers.half_units is None else half_units + np.nan_to_num(numbers.half_units)
    return not checker.count_differences(result.name, computed, half_units)


def is_unaffected(checker: Checker, result: QuantityCheck, other: QuantityCheck) -> bool:
    """Whether a later quantity agrees with the reference, and would not if computed from the expected numbers."""
    name = checker.trace.plan.resolve(other.name)
    step = replaceable_step(checker, result, name)
    if step is None or not other.agrees:
        return False
    computed = recompute(checker.trace, {step: checker.quantities[result.name].array}, name)
    return checker.count_differences(other.name, computed, checker.quantities[other.name].half_units) > 0


def replaceable_step(checker: Checker, result: QuantityCheck, name: str) -> str | None:
    """The step of a quantity that is expected whole and has dependent steps; else None."""
    plan = checker.trace.plan
    step = plan.resolve(result.name)
    is_read = step != name and step in plan.needed_for([name])
    is_inner = plan.by_name[step].tapped_from is not None  # nothing is computed from inner quantities
    return step if is_read and not is_inner and checker.quantities[result.name].is_whole else None


def _moved(checker: Checker, result: QuantityCheck, stream: "np.random.Generator") -> Array:
    """Expected numbers moved by up to half of the last digit given, or by a unit of their type."""
    numbers = checker.quantities[result.name]
    expected, allowed = numbers.array, numbers.half_units
    if result.computed.dtype.kind != "f":  # masks and positions are exact
        return expected
    if allowed is None:
        allowed = Precision(checker.dtype_of(result.name)).units(expected)
    return expected + np.nan_to_num(allowed) * stream.uniform(-1, 1, expected.shape)


def recompute(trace: Trace, given: Mapping[str, Array], name: str) -> Array:
    """The value of a step if earlier steps have other values; steps between are recomputed."""
    plan = trace.plan
    values = {step.name: step.value for step in trace.steps}
    needed, changed = plan.needed_for([plan.by_name[name].tapped_from or name]), set(given)
    values |= {step: x.astype(values[step].dtype) for step, x in given.items()}
    for node in plan.nodes:
        if node.name not in needed or node.name in given or node.is_input or node.tapped_from is not None:
            continue
        if changed & set(node.inputs.values()):
            with np.errstate(all="ignore"):
                values[node.name] = evaluate(node, values, trace.precision, values.__setitem__)
            changed |= {node.name, *node.taps.values()}
    return as_floats(values[name])
