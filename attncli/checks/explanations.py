"""The slips of a check: those that explain the wrong numbers, and those that would go unnoticed."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import NamedTuple

from attncli.base.dtypes import NARROW, Precision, as_floats, coarsest
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.checks.compare import Checker
from attncli.checks.expected import ExpectedNumbers
from attncli.checks.report import FEW_NUMBERS, Explanation, NearestSlip, QuantityCheck
from attncli.checks.slips.parts import Part, Priority, SearchLimits, cell_count
from attncli.checks.slips.records import SLIPS, Number, evaluate_names
from attncli.checks.slips.search import (
    Attempt,
    Evidence,
    SearchResult,
    explain,
    in_all_parts,
    own_attempt,
    run_attempt,
    single_attempts,
    unnoticed,
    with_slip,
)
from attncli.checks.tolerance import FACTOR, FLOAT64, Tolerance, in_type, measure, median
from attncli.plan.graph import GRADIENT
from attncli.problem.spec import ProblemSpec
from attncli.render.rows import largest_of_rows

# Rounding errors of formulas are below so many units of the largest number, and below this share of it.
LOOSE_UNITS, NARROW_LOOSE_UNITS, LOOSE_PART = 512, 64, 0.5
ROUGH_PART = 1 / 4  # share of half precision's typical error: smaller errors come from something else
MOST_CANDIDATES = 40  # integers of a slip to try if few numbers are expected
MIN_DIGITS = 6  # digits of the numbers besides the two that a slip and its number are fitted to
MUCH_MORE = 2  # times the remainder of the best explanation: one that leaves more is not named
ALONG = 0.9  # cosine of errors with the reference above which they are scaled, not rounded

Quantities = Mapping[str, ExpectedNumbers]
Values = Mapping[str, Array]


def limits_of(checker: Checker) -> SearchLimits:
    """How long a check tries slips."""
    return SearchLimits(seconds=checker.options.seconds)


def find_explanations(
    checker: Checker,
    results: Sequence[QuantityCheck],
    skips_pairs: Callable[[], bool] = lambda: False,
    *,
    rounds_every_step: bool = False,
    must_gain: bool = False,
) -> SearchResult:
    """The slips with which a computation gives the expected numbers, the simplest first.

    Among slips within the tolerance it names only those with the least remainder: each may be right, as in `ranked`. If
    no single slip explains the numbers, `skips_pairs` decides whether to skip pairs. They are also skipped if all wrong
    numbers are 0 or none is finite: many pairs can produce that. With `rounds_every_step`, the computation with a slip
    rounds its steps to the problem's half type. `must_gain` is as in `ranked`.
    """
    problem, limits = exact_problem(checker), limits_of(checker)
    accepts = partial(matches_expected, checker, rounds_every_step=rounds_every_step)
    priority = _priority(checker, results)
    says_nothing = not any(_says_something(result) for result in results)
    is_enough = _digits_to_spare(checker) >= MIN_DIGITS
    evidence = Evidence(partial(residuals, checker), partial(_expected, checker)) if is_enough else None
    return explain(
        problem,
        accepts,
        limits,
        dtype=_dtype(checker),
        priority=priority,
        on_demand=_on_demand(checker),
        evidence=evidence,
        skips_pairs=lambda: says_nothing or skips_pairs(),
        is_backward=_is_backward(checker, results),
        rank=partial(ranked, checker, must_gain=must_gain or rounds_every_step),
    )


def _says_something(result: QuantityCheck) -> bool:
    """Whether any wrong number is finite and not 0."""
    given = result.expected[result.differs]
    return bool((np.isfinite(given) & (given != 0)).any())


class Remainder(NamedTuple):
    """The difference between a computation and the expected numbers, in roundings of their row's largest number."""

    largest: float
    root_mean_square: float

    def is_more_than(self, factor: float, other: "Remainder") -> bool:
        """Whether either is more than so many times another's; values below one rounding count as one."""
        return any(own > factor * max(least, 1) for own, least in zip(self, other, strict=True))


def ranked(checker: Checker, attempts: Sequence[Attempt], *, must_gain: bool = False) -> list[Attempt]:
    """The attempts that leave no more than twice the remainder of the best.

    A mistake without a fitted number is preferred if it does as well. With `must_gain`, the largest error that an
    attempt leaves must also be less than half of the right computation's.
    """
    if len(attempts) < 2 and not must_gain:
        return list(attempts)
    remainders = [_remainder(checker, attempt) for attempt in attempts]
    if must_gain:
        right = _remainder(checker, own_attempt(exact_problem(checker), _dtype(checker), on_demand=_on_demand(checker)))
        least = right.largest / MUCH_MORE
        both = [x for x in zip(attempts, remainders, strict=True) if max(x[1].largest, 1) < least]
        attempts, remainders = [attempt for attempt, _ in both], [remainder for _, remainder in both]
    if not attempts:
        return []
    best = Remainder(*map(min, zip(*remainders, strict=True)))
    near = [x for x, own in zip(attempts, remainders, strict=True) if not own.is_more_than(MUCH_MORE, best)]
    without = [attempt for attempt in near if not attempt.is_fitted]
    return without or near


def _remainder(checker: Checker, attempt: Attempt) -> Remainder:
    """The remainder of an attempt's slips, made in the whole problem."""
    largest, squares, count = 0.0, 0.0, 0
    for same in in_all_parts(attempt, exact_problem(checker), limits_of(checker)):
        values = _computed(same, checker.quantities)
        for name, numbers in _in_part(checker, checker.quantities, same.part).items():
            if name not in values or values[name].shape != numbers.array.shape:
                return Remainder(math.inf, math.inf)
            in_roundings = _in_roundings(numbers, values[name], Precision(checker.dtype_of(name)))
            largest = max(largest, float(np.max(in_roundings, initial=0)))
            with np.errstate(over="ignore"):
                squares, count = squares + float((in_roundings**2).sum()), count + in_roundings.size
    return Remainder(largest, math.sqrt(squares / max(count, 1)))


def _in_roundings(numbers: ExpectedNumbers, computed: Array, precision: Precision) -> Array:
    """The distance of expected numbers from computed ones, in units of their possible rounding error."""
    own = precision if numbers.dtype is None else Precision(numbers.dtype)
    rounding = own.units(largest_of_rows(np.where(np.isfinite(computed), computed, 0))) / 2
    if numbers.half_units is not None:
        rounding = np.fmax(rounding, np.nan_to_num(numbers.half_units))
    with np.errstate(all="ignore"):
        same = (numbers.array == computed) | (np.isnan(numbers.array) & np.isnan(computed))
        errors = np.where(same, 0, abs(numbers.array - computed) / rounding)
    return np.nan_to_num(errors, nan=np.inf, posinf=np.inf)[numbers.is_given]


def explained_by_same(checker: Checker, mistake: Explanation) -> Explanation | None:
    """How one explanation's slip also explains the expected numbers: with its number, or another likely one."""
    on_demand, slip = _on_demand(checker), SLIPS[mistake.slips[0]]
    own = own_attempt(exact_problem(checker), _dtype(checker), on_demand=on_demand)
    numbers: list[Number] = list(mistake.parameters.values()) if slip.number is not None else []
    if slip.number is not None and slip.number.is_whole:  # such as the number of keys in a tail
        numbers += islice(slip.number.candidates(own.computation), MOST_CANDIDATES)
    variants = (variant for number in (*dict.fromkeys(numbers), None) for variant in with_slip(own, slip, number))
    found = next((attempt for attempt in variants if matches_expected(checker, attempt)), None)
    return None if found is None else explanations([found])[0]


def find_nearest(checker: Checker, results: Sequence[QuantityCheck]) -> NearestSlip | None:
    """The slip that explains most wrong numbers of the first result that differs, and makes no other worse.

    None if none explains most of them, if so few may be explained by chance, or the problem is large.
    """
    problem = exact_problem(checker)
    first = next((result for result in results if not result.agrees), None)
    if first is None or cell_count(problem) > limits_of(checker).fit_cells:
        return None
    numbers, tolerance = checker.quantities[first.name], checker.tolerance(first.name)
    nearest, most = None, max(first.differ // 2, FEW_NUMBERS - 1)
    for attempt in single_attempts(problem, _dtype(checker), _on_demand(checker)):
        try:
            value = _computed(attempt, [first.name]).get(first.name)
        except AttnError:  # an operator of another package may reject a slip's input
            continue
        if value is None or value.shape != numbers.array.shape or attempt.is_rounding:
            continue
        agrees = tolerance.agreeing(numbers, value)
        count = int((agrees & first.differs).sum())
        if count > most and (agrees | first.differs | ~numbers.is_given).all():
            nearest, most = NearestSlip(first.name, count, explanations([attempt])[0]), count
    return nearest


def _digits_to_spare(checker: Checker) -> float:
    """The total digits of the expected numbers except two: a slip and its number are fitted to two."""
    digits = []
    for name, numbers in checker.quantities.items():
        given = numbers.is_given & np.isfinite(numbers.array)
        sizes = abs(numbers.array[given].astype(np.float64))
        errors = np.full(sizes.shape, Precision(checker.dtype_of(name)).epsilon * np.max(sizes, initial=0))
        if numbers.half_units is not None:
            errors = np.fmax(errors, numbers.half_units[given])
        with np.errstate(divide="ignore", invalid="ignore"):
            digits.append(np.nan_to_num(np.log10(sizes / errors), neginf=0).clip(0))
    known = np.sort(np.concatenate(digits))
    return float(known[:-2].sum())


def find_unnoticed(checker: Checker) -> SearchResult:
    """The slips whose results equal the reference within the tolerance: these inputs can't reveal them."""
    accepts = partial(matches_reference, checker)
    problem, on_demand = exact_problem(checker), _on_demand(checker)
    return unnoticed(problem, accepts, limits_of(checker), dtype=_dtype(checker), on_demand=on_demand)


def find_passed(checker: Checker) -> tuple[str, ...]:
    """The names of the slips that the tolerance of the user lets pass on these inputs, and the derived one does not."""
    derived = replace(checker, options=replace(checker.options, rtol=None, atol=None, ulp=None))
    anyway = unnoticed_names(derived)
    return tuple(name for name in unnoticed_names(checker) if name not in anyway)


def unnoticed_names(checker: Checker) -> Sequence[str]:
    """The names of the slips that go unnoticed, each once."""
    with np.errstate(all="ignore"):
        found = find_unnoticed(checker).explanations
    return tuple(dict.fromkeys(name for attempt in found for name in attempt.slips))


def _on_demand(checker: Checker) -> tuple[str, ...]:
    """The checked names that are computed only on request: on demand, and gradients."""
    nodes = {name: checker.trace.plan[name] for name in checker.quantities}
    return tuple(name for name, node in nodes.items() if node.is_on_demand or node.stage == GRADIENT)


def _is_backward(checker: Checker, results: Sequence[QuantityCheck]) -> bool:
    """Whether gradients differ, while the forward pass is checked and agrees."""
    forward = [result for result in results if checker.trace.plan[result.name].stage != GRADIENT]
    return 0 < len(forward) < len(results) and all(result.agrees for result in forward)


def explanations(attempts: Iterable[Attempt]) -> tuple[Explanation, ...]:
    """The explanations of attempts, as a report has them."""
    return tuple(Explanation(attempt.slips, attempt.sentence, attempt.parameters) for attempt in attempts)


def exact_problem(checker: Checker) -> ProblemSpec:
    """The problem of the reference, in float64 if that is wider than its own type."""
    is_extended = Precision(checker.problem.precision.name).epsilon < Precision(FLOAT64).epsilon
    return checker.trace.problem if is_extended else in_type(checker.trace.problem, FLOAT64)


def _dtype(checker: Checker) -> str:
    return coarsest(map(checker.dtype_of, checker.quantities))


def _priority(checker: Checker, results: Sequence[QuantityCheck]) -> Priority:
    """The queries with wrong numbers, and the batch item and head with most, in the first such quantity."""
    for result in results:
        letters = checker.trace.plan[result.name].letters
        if "n" in letters and result.differs.any():
            counts = {
                letter: result.differs.sum(axis=tuple(at for at in range(len(letters)) if at != axis))
                for axis, letter in enumerate(letters)
            }
            rows: list[int] = np.flatnonzero(counts["n"]).tolist()
            item, head = (int(counts[letter].argmax()) if letter in counts else 0 for letter in ("b", "h"))
            return Priority(rows, item, head)
    return Priority()


def matches_expected(checker: Checker, attempt: Attempt, *, rounds_every_step: bool = False) -> bool:
    """Whether an attempt gives all expected numbers of its part, within its own rounding error in their type."""
    quantities, values = _expected_of(checker, attempt), _computed(attempt, checker.quantities)
    if values.keys() != quantities.keys():
        return False
    own = attempt.problem.precision
    dtypes = {name: coarsest([checker.dtype_of(name), own.name]) for name in quantities}
    if not _agree(quantities, values, {name: _loose(checker, name, dtypes[name], values[name]) for name in quantities}):
        return False
    is_rough = own.epsilon > Precision().epsilon
    if any(_has_own_error(checker, name, dtypes[name]) for name in quantities):
        least = FEW_NUMBERS * len(attempt.slips) if is_rough else 1
        least = 0 if attempt.is_confirmation else least  # a part without changes is no evidence against a slip
        if not _changes_what_differs(checker, values, attempt.part, least):
            return False
    if is_rough:  # half precision has its error around the exact numbers
        are_of_type = all(_is_of_type(numbers, own) for numbers in quantities.values())
        if not are_of_type or not _has_rough_errors(checker, values, attempt.part):
            return False
        attempt = replace(attempt, problem=replace(attempt.problem, dtype=FLOAT64))
        computed = evaluate_names(attempt.plan, attempt.problem, quantities, Precision())
        values = {name: as_floats(computed[attempt.plan.resolve(name)]) for name in quantities}
    return all(
        _is_explained(checker, name, numbers, values[name], dtypes[name], attempt, is_rough or rounds_every_step)
        for name, numbers in quantities.items()
    )


def _expected_of(checker: Checker, attempt: Attempt) -> Quantities:
    """The expected numbers of an attempt's part.

    If digits were rounded off, a number fitted to the others inherits their error, and so do its results.
    """
    quantities = _in_part(checker, checker.quantities, attempt.part)
    if not attempt.is_fitted:
        return quantities
    return {
        name: x if x.half_units is None else replace(x, half_units=2 * x.half_units) for name, x in quantities.items()
    }


def _expected(checker: Checker, part: Part) -> Values:
    """The expected numbers of a part, NaN for missing ones."""
    quantities = _in_part(checker, checker.quantities, part)
    return {name: np.where(x.is_given, as_floats(x.array), np.nan) for name, x in quantities.items()}


def residuals(checker: Checker, attempt: Attempt) -> Array | None:
    """The differences of an attempt from its part's expected numbers, relative to each quantity's largest.

    None if it does not compute one of them; infinite if only one of two numbers is finite.
    """
    quantities, values = _in_part(checker, checker.quantities, attempt.part), _computed(attempt, checker.quantities)
    parts = []
    for name, numbers in quantities.items():
        if name not in values or values[name].shape != numbers.array.shape:
            return None
        expected, computed = (x[numbers.is_given].astype(np.float64) for x in (numbers.array, values[name]))
        with np.errstate(invalid="ignore"):
            difference = np.where(expected == computed, 0, computed - expected)
        is_same_nan = np.isnan(expected) & np.isnan(computed)
        largest = float(np.max(abs(expected), initial=0, where=np.isfinite(expected))) or 1.0
        parts.append(np.where(is_same_nan, 0, np.where(np.isfinite(difference), difference / largest, np.inf)))
    return np.concatenate(parts) if parts else None


def axis_of(checker: Checker, name: str, letter: str) -> int | None:
    """The axis of a step that has all positions of a letter; None if it has none, or one for several heads.

    Weights of the two maps of a pair of heads, after subtraction, have half as many heads as their queries.
    """
    plan = checker.trace.plan
    node = plan[name]
    axis = node.letters.index(letter) if letter in node.letters else None
    return None if axis is None or node.shape[axis] != plan.axis_length(letter) else axis


def agreement(checker: Checker, attempt: Attempt, letter: str) -> Array:
    """Whether an attempt gives the expected numbers, within its rounding error, for each position along an axis."""
    agrees = np.ones(checker.trace.plan.axis_length(letter), dtype=bool)
    quantities = {name: x for name, x in checker.quantities.items() if axis_of(checker, name, letter) is not None}
    rounding = measure(attempt.problem, attempt.plan, list(quantities), _dtype(checker))
    for same in in_all_parts(attempt, exact_problem(checker), limits_of(checker)):
        values = _computed(same, quantities)
        positions = same.part.positions(letter)
        for name, numbers in _expected_of(replace(checker, quantities=quantities), same).items():
            own = checker.derived_tolerance(name, Precision(_dtype(checker)), rounding)
            agreeing = (tolerance.agreeing(numbers, values[name]) for tolerance in (own, checker.tolerance(name)))
            cells = np.logical_or(*agreeing) | ~numbers.is_given
            others = tuple(at for at in range(cells.ndim) if at != axis_of(checker, name, letter))
            agrees[slice(None) if positions is None else list(positions)] &= cells.all(axis=others)
    return agrees


def matches_reference(checker: Checker, attempt: Attempt) -> bool:
    """Whether an attempt equals the reference, within each quantity's tolerance, at the expected numbers."""
    quantities, values = _reference(checker, attempt.part), _computed(attempt, checker.quantities)
    tolerances = {name: checker.tolerance(name) for name in quantities}
    return values.keys() == quantities.keys() and _agree(quantities, values, tolerances)


def _computed(attempt: Attempt, names: Iterable[str]) -> Values:
    """The results of an attempt; masks and counts become floating-point numbers."""
    return {name: as_floats(x) for name, x in run_attempt(attempt, names).items()}


def _in_part(checker: Checker, quantities: Quantities, part: Part) -> Quantities:
    """The numbers of some queries, one batch item or one key head if they are tried alone."""
    parts = dict(quantities)
    for name in quantities:
        for axis, letter in enumerate(checker.trace.plan[name].letters):
            positions = part.positions(letter)
            if positions is not None:
                parts[name] = parts[name].take(positions, axis)
    return parts


def _reference(checker: Checker, part: Part) -> Quantities:
    """The reference's numbers in place of the expected ones."""
    quantities = checker.quantities.items()
    reference = {name: replace(x, array=as_floats(checker.reference.value(name))) for name, x in quantities}
    return _in_part(checker, reference, part)


def _agree(quantities: Quantities, values: Values, tolerances: Mapping[str, Tolerance]) -> bool:
    """Whether all expected numbers agree with an attempt's."""
    return all(
        values[name].shape == numbers.array.shape
        and bool((tolerances[name].agreeing(numbers, values[name]) | ~numbers.is_given).all())
        for name, numbers in quantities.items()
    )


def _changes_what_differs(checker: Checker, values: Values, part: Part, least: int) -> bool:
    """Whether an attempt changes enough numbers of the reference, and most of these differ in the expected ones.

    If its rounding error is large, as in half precision or with rounded weights, a few wrong numbers among exact ones
    are within it, but it did not cause them.
    """
    changed = both = 0
    quantities = _in_part(checker, checker.quantities, part)
    for name, reference in _reference(checker, part).items():
        numbers, tolerance = quantities[name], checker.tolerance(name)
        by_attempt, expected = (
            numbers.is_given & ~tolerance.agreeing(replace(reference, array=x), reference.array)
            for x in (values[name], numbers.array)
        )
        changed += int(by_attempt.sum())
        both += int((by_attempt & expected).sum())
    return changed >= least and 2 * both >= changed


def _has_rough_errors(checker: Checker, values: Values, part: Part) -> bool:
    """Whether the errors of the expected numbers may come from half precision.

    They are not much smaller than an attempt's, and the numbers are not all a little too large.
    """
    quantities = _in_part(checker, checker.quantities, part)
    for name, reference in _reference(checker, part).items():
        numbers, exact = quantities[name], reference.array
        found = numbers.is_given & np.isfinite(exact) & np.isfinite(values[name]) & np.isfinite(numbers.array)
        rough, errors = (x[found] - exact[found] for x in (values[name], numbers.array))
        if median(abs(errors)) < ROUGH_PART * median(abs(rough)):
            return False
        wrong = ~checker.tolerance(name).agreeing(numbers, exact)[found]
        if wrong.sum() > FEW_NUMBERS and _is_along(errors[wrong], exact[found][wrong]):
            return False
    return True


def _is_explained(
    checker: Checker,
    name: str,
    numbers: ExpectedNumbers,
    computed: Array,
    dtype: str,
    attempt: Attempt,
    rounds_every_step: bool,
) -> bool:
    """Whether the numbers of one quantity equal an attempt's, within its rounding error in a type.

    Half of them are also within twice its typical error: the largest error, with which rounding moves a number to the
    next decimal, would explain too much.
    """
    if not _has_own_error(checker, name, dtype):
        return _agree({name: numbers}, {name: computed}, {name: checker.tolerance(name)})
    if attempt.is_confirmation and _agree({name: numbers}, {name: computed}, {name: checker.tolerance(name)}):
        return True  # as near as right numbers must be; the first part's was measured
    rounding = measure(attempt.problem, attempt.plan, [name], dtype, rounds_every_step=rounds_every_step)
    tolerance = checker.derived_tolerance(name, Precision(dtype), rounding, rounds_every_step=rounds_every_step)
    if tolerance.allows_anything(computed):
        return False
    if not _agree({name: numbers}, {name: computed}, {name: tolerance}):
        return False
    if tolerance.relative is not None:  # the user's choice
        return True
    near = replace(tolerance, error=FACTOR * rounding.errors[name].typical)
    return bool(2 * (near.agreeing(numbers, computed) & numbers.is_given).sum() >= numbers.is_given.sum())


def _loose(checker: Checker, name: str, dtype: str, computed: Array) -> Tolerance:
    """A tolerance above every rounding error, found without computing it."""
    tolerance, precision = checker.tolerance(name), Precision(dtype)
    if not _has_own_error(checker, name, dtype):
        return tolerance
    with np.errstate(all="ignore"):
        largest = float(np.max(abs(computed), initial=0, where=np.isfinite(computed)))
    part = min((NARROW_LOOSE_UNITS if dtype in NARROW else LOOSE_UNITS) * precision.epsilon, LOOSE_PART)
    return Tolerance(precision, "", max(tolerance.error, part * largest))


def _has_own_error(checker: Checker, name: str, dtype: str) -> bool:
    """Whether the tolerance of a quantity depends on the computation."""
    return checker.needs_rounding_error(name) or dtype != checker.dtype_of(name)


def _is_of_type(numbers: ExpectedNumbers, precision: Precision) -> bool:
    """Whether numbers belong to a type, to the typed digits, as the results of a step in the type do."""
    with np.errstate(all="ignore"):
        error = abs(precision.round(numbers.array) - numbers.array)
    return not (error > (0 if numbers.half_units is None else numbers.half_units)).any()


def _is_along(errors: Array, numbers: Array) -> bool:
    """Whether errors are nearly a multiple of the numbers: these are scaled, not rounded."""
    with np.errstate(all="ignore"):
        squares = float(errors @ errors) * float(numbers @ numbers)
    return float(errors @ numbers) ** 2 > ALONG**2 * squares
