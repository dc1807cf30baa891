"""The slips of a check: those that explain the numbers that differ, and those that would go unnoticed."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from attncli.analysis.check.compare import Checker
from attncli.analysis.check.expected import ExpectedNumbers
from attncli.analysis.check.report import FEW_NUMBERS, Explanation, QuantityCheck
from attncli.analysis.check.tolerance import FACTOR, FLOAT64, Tolerance, evaluate_names, in_type, measure, median
from attncli.analysis.slips import Attempt, Part, SearchLimits, SearchResult, Telling, explain, run_attempt, unnoticed
from attncli.base.dataclasses import dataclass
from attncli.base.dtypes import Precision, as_floats, coarsest
from attncli.base.lazy_numpy import Array, np
from attncli.problem.spec import ProblemSpec

# No rounding error of a formula is as large as so many units of the largest number, or as this part of it.
LOOSE_UNITS, LOOSE_PART = 512, 0.5
ROUGH_PART = 1 / 4  # of the typical error of half precision: smaller errors are not those of a computation in it
ALONG = 0.9  # the cosine of errors with our numbers from which these are scaled, not rounded


@dataclass(frozen=True)
class Judge:
    """Compares attempts with the expected numbers of a checker, or with ours, at its tolerances."""

    checker: Checker

    def accepts(self, attempt: Attempt) -> bool:
        """Whether an attempt gives all expected numbers of its part, within its own rounding error in their type."""
        quantities = self._part(self.checker.quantities, attempt.part)
        values = _to_floats(run_attempt(attempt, quantities))
        if values.keys() != quantities.keys():
            return False
        own = attempt.problem.precision.name
        dtypes = {name: coarsest([self.checker.dtype_of(name), own]) for name in quantities}
        loose = {name: self._loose(name, dtypes[name], values[name]) for name in quantities}
        if not _agree(quantities, values, loose):
            return False
        is_rough = Precision(own).epsilon > Precision().epsilon
        least = FEW_NUMBERS * len(attempt.slips) if is_rough else 1
        if any(self._has_error(name, dtypes[name]) for name in quantities) and not self._changes_what_differs(
            quantities, values, attempt.part, least
        ):
            return False
        if is_rough:  # half precision has its error around the exact numbers
            precision = Precision(own)
            if not all(_is_of_type(numbers, precision) for numbers in quantities.values()):
                return False
            if not self._has_rough_errors(quantities, values, attempt.part):
                return False
            attempt = replace(attempt, problem=replace(attempt.problem, dtype=FLOAT64))
            computed = evaluate_names(attempt.plan, attempt.problem, quantities, Precision())
            values = _to_floats({name: computed[attempt.plan.resolve(name)] for name in quantities})
        return all(
            self._is_explained(name, numbers, values[name], dtypes[name], attempt)
            for name, numbers in quantities.items()
        )

    def _changes_what_differs(
        self, quantities: Mapping[str, ExpectedNumbers], values: Mapping[str, Array], part: Part, least: int
    ) -> bool:
        """Whether an attempt changes so many of our numbers, and the expected ones differ in most of these.

        Where its own rounding error is large, as that of half precision or of rounded weights in a half type, a few
        wrong numbers among exact ones are within it, but were not made by it.
        """
        changed = both = 0
        for name, ours in self._part(self._ours(), part).items():
            numbers, tolerance = quantities[name], self.checker.tolerance(name)
            differ = [
                numbers.is_given & ~tolerance.agrees(x, ours.array, tolerance.allowed(x, ours.array, ours.half_units))
                for x in (values[name], numbers.array)
            ]
            changed += int(differ[0].sum())
            both += int((differ[0] & differ[1]).sum())
        return changed >= least and 2 * both >= changed

    def _has_rough_errors(
        self, quantities: Mapping[str, ExpectedNumbers], values: Mapping[str, Array], part: Part
    ) -> bool:
        """Whether the errors of the expected numbers may be those of half precision.

        They are not much smaller than those of an attempt, nor are the numbers all a little too large.
        """
        for name, ours in self._part(self._ours(), part).items():
            numbers, tolerance = quantities[name], self.checker.tolerance(name)
            found = numbers.is_given & np.isfinite(ours.array) & np.isfinite(values[name]) & np.isfinite(numbers.array)
            rough, errors = (x[found] - ours.array[found] for x in (values[name], numbers.array))
            if median(abs(errors)) < ROUGH_PART * median(abs(rough)):
                return False
            allowed = tolerance.allowed(numbers.array, ours.array, ours.half_units)
            wrong = ~tolerance.agrees(numbers.array, ours.array, allowed)[found]
            if wrong.sum() > FEW_NUMBERS and _is_along(errors[wrong], ours.array[found][wrong]):
                return False
        return True

    def _is_explained(self, name: str, numbers: ExpectedNumbers, computed: Array, dtype: str, attempt: Attempt) -> bool:
        """Whether the numbers of one quantity are those of an attempt, within its rounding error in a type.

        Half of them are also within twice its typical error: the largest one, where rounding takes a number from
        one decimal to the next, would explain much else.
        """
        if not self._has_error(name, dtype):
            return _agree({name: numbers}, {name: computed}, {name: self.checker.tolerance(name)})
        rounding = measure(attempt.problem, attempt.plan, [name], dtype)
        tolerance = self.checker.derived_tolerance(name, Precision(dtype), rounding)
        if not _agree({name: numbers}, {name: computed}, {name: tolerance}):
            return False
        if tolerance.relative is not None:  # the user has chosen it
            return True
        near = replace(tolerance, error=FACTOR * rounding.errors[name].typical)
        allowed = near.allowed(numbers.array, computed, numbers.half_units)
        agrees = near.agrees(numbers.array, computed, allowed)
        return bool(2 * (agrees & numbers.is_given).sum() >= numbers.is_given.sum())

    def _ours(self) -> Mapping[str, ExpectedNumbers]:
        """Our numbers in place of the expected ones."""
        return {
            name: replace(numbers, array=as_floats(self.checker.reference.value(name)))
            for name, numbers in self.checker.quantities.items()
        }

    def agrees_with_ours(self, attempt: Attempt) -> bool:
        """Whether an attempt gives our numbers, within the tolerance of each quantity, where one is expected."""
        quantities = self._part(self._ours(), attempt.part)
        values = _to_floats(run_attempt(attempt, quantities))
        tolerances = {name: self.checker.tolerance(name) for name in quantities}
        return values.keys() == quantities.keys() and _agree(quantities, values, tolerances)

    def _part(self, quantities: Mapping[str, ExpectedNumbers], part: Part) -> Mapping[str, ExpectedNumbers]:
        """The numbers of some queries, one batch item or one key head where they are tried alone."""
        parts = dict(quantities)
        for name in quantities:
            for axis, letter in enumerate(self.checker.trace.plan[name].letters):
                positions = part.positions(letter)
                if positions is not None:
                    parts[name] = parts[name].take(positions, axis)
        return parts

    def _loose(self, name: str, dtype: str, computed: Array) -> Tolerance:
        """A tolerance that no rounding error exceeds, found without computing it."""
        tolerance, precision = self.checker.tolerance(name), Precision(dtype)
        if not self._has_error(name, dtype):
            return tolerance
        with np.errstate(all="ignore"):
            largest = float(np.max(abs(computed), initial=0, where=np.isfinite(computed)))
        part = min(LOOSE_UNITS * precision.epsilon, LOOSE_PART)
        return Tolerance(precision, "", max(tolerance.error, part * largest))

    def _has_error(self, name: str, dtype: str) -> bool:
        """Whether the tolerance of a quantity depends on the computation."""
        return self.checker.needs_rounding_error(name) or dtype != self.checker.dtype_of(name)


def _is_of_type(numbers: ExpectedNumbers, precision: Precision) -> bool:
    """Whether numbers are those of a type, to the digits typed, as what ends in a step of the type is."""
    with np.errstate(all="ignore"):
        error = abs(precision.round(numbers.array) - numbers.array)
    return not (error > (0 if numbers.half_units is None else numbers.half_units)).any()


def _is_along(errors: Array, numbers: Array) -> bool:
    """Whether errors are nearly a multiple of the numbers: these are scaled, not rounded."""
    with np.errstate(all="ignore"):
        squares = float(errors @ errors) * float(numbers @ numbers)
    return float(errors @ numbers) ** 2 > ALONG**2 * squares


def _to_floats(values: Mapping[str, Array]) -> Mapping[str, Array]:
    """The values of steps, those of masks and counts as floating-point numbers."""
    return {name: as_floats(x) for name, x in values.items()}


def _agree(
    quantities: Mapping[str, ExpectedNumbers], values: Mapping[str, Array], tolerances: Mapping[str, Tolerance]
) -> bool:
    """Whether all expected numbers agree with those of an attempt."""
    for name, numbers in quantities.items():
        computed = values[name]
        if computed.shape != numbers.array.shape:
            return False
        allowed = tolerances[name].allowed(numbers.array, computed, numbers.half_units)
        if not (tolerances[name].agrees(numbers.array, computed, allowed) | ~numbers.is_given).all():
            return False
    return True


def find_explanations(checker: Checker, results: Sequence[QuantityCheck]) -> SearchResult:
    """The slips with which a computation gives the expected numbers, the simplest first."""
    judge = Judge(checker)
    return explain(
        _exact_problem(checker),
        judge.accepts,
        _limits(checker),
        dtype=_dtype(checker),
        telling=_telling(checker, results),
    )


def find_unnoticed(checker: Checker) -> SearchResult:
    """The slips with which a computation gives our numbers within the tolerance: these inputs can't tell them."""
    judge = Judge(checker)
    problem = _exact_problem(checker)
    return unnoticed(problem, judge.agrees_with_ours, _limits(checker), dtype=_dtype(checker))


def explanations(attempts: Iterable[Attempt]) -> tuple[Explanation, ...]:
    """What a report says of attempts."""
    return tuple(Explanation(attempt.slips, attempt.sentence) for attempt in attempts)


def _exact_problem(checker: Checker) -> ProblemSpec:
    """The problem of the reference, in float64 where that is wider than its own type."""
    problem = checker.reference.trace.problem
    is_extended = Precision(checker.problem.precision.name).epsilon < Precision(FLOAT64).epsilon
    return problem if is_extended else in_type(problem, FLOAT64)


def _limits(checker: Checker) -> SearchLimits:
    """The limits of a search that the options set."""
    return SearchLimits(seconds=checker.options.seconds)


def _dtype(checker: Checker) -> str:
    """The type of the numbers that are checked."""
    return coarsest(map(checker.dtype_of, checker.quantities))


def _telling(checker: Checker, results: Sequence[QuantityCheck]) -> Telling:
    """The queries whose numbers differ, and the batch item and head of the worst, in the first quantity with any."""
    plan = checker.trace.plan
    for result in results:
        letters = plan[result.name].letters
        if result.worst is not None and "n" in letters:
            place = dict(zip(letters, result.worst.position, strict=True))
            others = tuple(axis for axis, letter in enumerate(letters) if letter != "n")
            rows: list[int] = np.flatnonzero(result.differs.any(axis=others)).tolist()
            return Telling(rows, place.get("b", 0), place.get("h", 0))
    return Telling()
