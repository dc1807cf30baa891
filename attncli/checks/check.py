"""A check: compute a problem, and compare each quantity that has expected numbers."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from attncli.base.axes import AXIS_NOUNS
from attncli.base.dtypes import HALF, NARROW, Precision, as_floats, half_type_of
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import np
from attncli.checks.compare import Checker, with_relations
from attncli.checks.expected import CheckedPart, ExpectedNumbers, ExpectedStep, expected_numbers
from attncli.checks.explanations import explanations, find_explanations, find_passed, find_unnoticed
from attncli.checks.part_slips import explain_differences
from attncli.checks.readings import read_plainly, with_other_steps
from attncli.checks.report import CheckOptions, CheckReport, Explanation, QuantityCheck
from attncli.checks.slips.parts import cell_count, first_part
from attncli.checks.slips.search import DEFAULT_LIMITS, own_attempt, run_attempt
from attncli.checks.tolerance import LARGE_PART, compute_reference, median, with_half_units
from attncli.io.expected import Expected
from attncli.plan.build import plan_of
from attncli.plan.graph import Plan
from attncli.problem.build import problems_of_other_layouts
from attncli.problem.fields import EXPECTED, GRADIENT_PREFIX
from attncli.problem.layout import OWN_LAYOUTS, layout_text
from attncli.problem.spec import FIELDS, ProblemSpec

DEFAULT = CheckOptions()
NEAR = 0.1  # times the typical number: with another order of axes the distance is larger


def check(problem: ProblemSpec, expected: Mapping[str, Any], options: CheckOptions = DEFAULT) -> CheckReport:
    """Compare a problem's expected numbers with the computed ones.

    `expected` maps names of results or steps to arrays or tensors, nested lists, or nested mappings from labels to
    numbers; numbers may be TypedNumbers. Raises UnknownNameError if a problem has no result of a name, AttnError if
    numbers do not fit the result, or if no computed result has expected numbers. Without `grad_output`, gradients
    belong to the sum of the output.

    If nothing is expected and unnoticed slips are requested, the report has only the slips that the last result can't
    distinguish from the right computation on these inputs.
    """
    has_gradients = any(name.startswith(GRADIENT_PREFIX) for name in expected)
    problem = problem.with_gradient() if has_gradients else replace(problem, grad_output=None)
    searched = problem.default_selection[-1] if not expected and options.finds_unnoticed else ""
    if searched:  # slips are compared with the reference: only the type and cells of these numbers count
        expected = {searched: np.zeros(plan_of(problem)[searched].shape)}
    problem, quantities = with_types_of_bits(problem, read_expected(problem, expected, options))
    if not searched and not any(numbers.is_given.any() for numbers in quantities.values()):
        remarks = [remark for numbers in quantities.values() for remark in numbers.remarks]
        path = ("expected", *list(quantities)[:1])
        raise AttnError("has no number to compare", where=path, hint=next(iter(remarks), None))
    reference = compute_reference(problem, list(quantities), options)
    checker = Checker(problem, reference, quantities, options)
    results = () if searched else _results(checker)
    report = CheckReport(reference.trace, results, reference.name, reference_remark=reference.remark)
    looser = _looser(checker, report) if report.differ else None
    if looser is not None:
        report = looser
    elif options.tries_slips and not report.agrees:
        report = _explained(report, checker, expected)
    if options.finds_unnoticed:
        with np.errstate(all="ignore"):
            missed = find_unnoticed(checker)
        untried = tuple(dict.fromkeys((*report.untried, *missed.untried)))
        report = replace(report, unnoticed=explanations(missed.explanations), untried=untried)
    if options.finds_passed and not searched and cell_count(reference.trace.problem) <= DEFAULT_LIMITS.fit_cells:
        report = replace(report, passed=find_passed(checker))
    reason = checker.tolerance(searched).reason if searched else ""
    return replace(report, searched=searched, searched_reason=reason)


def _explained(report: CheckReport, checker: Checker, expected: Mapping[str, Any]) -> CheckReport:
    """The report with an explanation of the numbers that differ: a plain reading, another layout, or mistakes."""
    other = _other_layout(checker.problem, expected, checker.options)
    if other is not None:
        return replace(report, explanations=(other,), tried_count=1)
    rounded = _rounded_in_the_end(checker)
    if rounded is not None:
        return replace(report, explanations=(rounded,))
    with np.errstate(all="ignore"):  # readings may be infinite; a mistake may divide by 0
        plain = read_plainly(checker, report.results)
        report = replace(report, results=plain.results)
        if plain.explanation is not None and not plain.needs_search:
            return replace(report, explanations=(plain.explanation,))
        explained = explain_differences(checker, report.results, is_read=plain.explanation is not None)
    found = explained.whole
    mistakes = explanations(found.explanations)
    if plain.is_doubtful and all(mistake.parameters for mistake in mistakes):
        mistakes = ()
    if plain.explanation is not None and not mistakes:
        return replace(report, explanations=(plain.explanation,), tried_count=found.tried_count)
    return replace(
        report,
        explanations=mistakes,
        parts=explained.parts,
        telling=explained.telling,
        nearest=explained.nearest,
        tried_count=found.tried_count,
        pair_count=found.pair_count,
        untried=found.untried,
    )


def _results(checker: Checker) -> tuple[QuantityCheck, ...]:
    """The compared quantities, with their relations to one another and to other steps."""
    compared = [checker.compare(name) for name in checker.quantities]
    related = with_other_steps(checker, with_relations(checker, compared))
    return tuple(_if_transposed(result, checker.quantities[result.name]) for result in related)


def _if_transposed(result: QuantityCheck, numbers: ExpectedNumbers) -> QuantityCheck:
    """A quantity as it is; if its shape shows exchanged rows and columns, no number is right.

    Some may differ besides. Raises AttnError if most do: it has the wrong shape.
    """
    if numbers.transposed is None:
        return result
    if 2 * result.differ > result.count:
        raise numbers.transposed
    if result.differ:
        return replace(result, remarks=(*result.remarks, "its rows and columns are exchanged too"))
    return replace(result, differ=result.count, differs=numbers.is_given, worst=None)


def _looser(checker: Checker, report: CheckReport) -> CheckReport | None:
    """The report if numbers agree with a half type in every step, or one mistake otherwise explains them.

    None if they do not agree so. A mistake is the better reason: with it, numbers are right except for one rounding.
    """
    results = tuple(checker.compare_loosely(result) for result in report.results)
    if not all(result.agrees for result in results):
        return None
    if checker.options.tries_slips:
        with np.errstate(all="ignore"):
            found = find_explanations(checker, report.results, lambda: True, must_gain=True)
        if found.explanations:
            return replace(report, explanations=explanations(found.explanations), tried_count=found.tried_count)
    return replace(report, results=results)


def _rounded_in_the_end(checker: Checker) -> Explanation | None:
    """The mistake of numbers whose bits show one rounding to a half type, and are otherwise right; else None.

    A right kernel of that type also gives them. The rounding direction of a number near the middle does not matter, as
    in an attempt of a slip.
    """
    problem, numbers = checker.problem, checker.quantities
    types = {half_type_of(x.array[x.is_given]) if is_wide(x) else None for x in numbers.values()}
    dtype = types.pop() if len(types) == 1 else None
    if dtype is None or problem.precision.name in HALF:
        return None
    in_half = {name: with_half_units(replace(x, dtype=dtype)) for name, x in numbers.items()}
    of_kernel = f"The inputs and the output are rounded to {dtype}, as by a right kernel of that type."
    for spec, slip, sentence in (
        (problem, "output_in_half", f"The output alone is rounded to {dtype}."),
        (replace(problem, dtype=dtype), "half_precision", of_kernel),
    ):
        reference = compute_reference(spec, list(numbers), checker.options)
        own = Checker(spec, reference, in_half, checker.options)
        if all(own.compare(name).agrees for name in numbers):
            return Explanation((slip,), sentence)
    return None


def _other_layout(problem: ProblemSpec, expected: Mapping[str, Any], options: CheckOptions) -> Explanation | None:
    """The order of axes of queries, keys and values with which all numbers agree; None if the order was given."""
    quiet = replace(options, tries_slips=False, finds_unnoticed=False, finds_passed=False)
    for other in problems_of_other_layouts(problem):
        try:
            if plan_of(other).axis_length("m") < 2:  # if the value is the result, whatever the weights are
                continue
            if not _is_near(other, read_expected(other, expected, quiet)):
                continue
            report = check(other, expected, quiet)
        except AttnError:  # the expected numbers have another shape
            continue
        sizes = ((result.tolerance, np.max(abs(result.computed), initial=0)) for result in report.results)
        if report.agrees and all(tolerance <= LARGE_PART * size for tolerance, size in sizes):
            read, given = layout_text(OWN_LAYOUTS["h" not in str(other.layout)]), layout_text(str(other.layout))
            sentence = f"Queries, keys and values {given} are read as {read}; with layout {other.layout} all agrees."
            return Explanation(("layout_misread",), sentence)
    return None


def _is_near(problem: ProblemSpec, quantities: Mapping[str, ExpectedNumbers]) -> bool:
    """Whether the expected numbers of a part are near enough to compare all of it."""
    part, plan = first_part(problem, DEFAULT_LIMITS), plan_of(problem)
    own = own_attempt(problem, part=part, on_demand=[name for name in quantities if plan[name].is_on_demand])
    values = run_attempt(own, quantities)
    for name, numbers in quantities.items():
        letters = plan[name].letters
        is_given, expected = (part.take(x, letters) for x in (numbers.is_given, as_floats(numbers.array)))
        found = is_given & np.isfinite(expected) & np.isfinite(values[name])
        if median(abs(values[name][found] - expected[found])) > NEAR * median(abs(expected[found])):
            return False
    return True


def read_expected(
    problem: ProblemSpec, expected: Mapping[str, Any], options: CheckOptions
) -> Mapping[str, ExpectedNumbers]:
    """The expected numbers on the axes of their steps, by name in the order of the computation."""
    plan = plan_of(problem)
    order = {node.name: position for position, node in enumerate(plan.nodes)}
    part = part_of(plan, options)
    found = {
        name: expected_numbers(expected[name], ExpectedStep(problem, plan, name, part), ("expected", name))
        for name in sorted(expected, key=lambda name: order[plan.resolve(name)])
    }
    return {name: with_half_units(numbers) for name, numbers in found.items()}


def with_types_of_bits(
    problem: ProblemSpec, quantities: Mapping[str, ExpectedNumbers]
) -> tuple[ProblemSpec, Mapping[str, ExpectedNumbers]]:
    """A problem and expected numbers, in the half type that their bits show if a wider type stores them.

    Other programs have no bfloat16 arrays and write them as float32. A problem has the type if all its numbers do;
    expected numbers alone do not decide it: rounding them may be the mistake.
    """
    told = {name: half_type_of(x.array[x.is_given]) for name, x in quantities.items() if is_wide(x)}
    half, own = {name: dtype for name, dtype in told.items() if dtype is not None}, problem.precision.name
    dtype = next(iter(half.values()), "")
    if len(set(half.values())) != 1 or (own not in HALF and not _is_of_type(problem, dtype)):
        return problem, quantities
    remark = f"the numbers are {dtype} by their bits, stored in a wider type"
    of_type = {
        name: with_half_units(replace(numbers, dtype=dtype, remarks=(*numbers.remarks, remark)))
        for name, numbers in quantities.items()
        if name in half
    }
    return problem if own in HALF else replace(problem, dtype=dtype), {**quantities, **of_type}


def is_wide(numbers: ExpectedNumbers) -> bool:
    """Whether expected numbers have every digit of a type that is wider than the half types."""
    return numbers.half_units is None and numbers.dtype not in NARROW and numbers.array.dtype.kind == "f"


def _is_of_type(problem: ProblemSpec, dtype: str) -> bool:
    """Whether all given arrays of a problem are numbers of a half type, as the bits of at least one show."""
    arrays = [x for name in FIELDS if isinstance(x := getattr(problem, name), np.ndarray) and x.dtype.kind == "f"]
    return any(half_type_of(x) == dtype for x in arrays) and all(
        (Precision(dtype).round(x) == x)[np.isfinite(x)].all() for x in arrays
    )


def part_of(plan: Plan, options: CheckOptions) -> CheckedPart:
    """The head and the batch item to check, by the letters of their axes.

    Raises AttnError if the problem has none with that number.
    """
    part = dict[str, int]()
    for letter, position in (("h", options.head), ("b", options.batch)):
        if position is None:
            continue
        axis = next((axis for axis in plan.pair_axes if axis.letter == letter), None)
        count = 1 if axis is None else axis.length
        if not 0 <= position < count:
            noun = AXIS_NOUNS[letter]
            raise AttnError(f"there is no {noun} {position}", where=noun.split()[0], hint=f"expected 0 to {count - 1}")
        if axis is not None:
            part[letter] = position
    if "h" in part:
        part["g"] = part["h"] * plan.axis_length("g") // plan.axis_length("h")
    return part


def check_expected(problem: ProblemSpec, expected: Expected, options: CheckOptions, place: str) -> CheckReport:
    """Check a problem's expected numbers; blank numbers count as not right.

    Raises AttnError, which names the location of the numbers or of the problem.
    """
    by_name = expected.by_name
    try:
        report = check(problem, {name: expectation.value for name, expectation in by_name.items()}, options)
    except AttnError as error:
        key, name, *_ = (*error.path, "", "")
        if key == EXPECTED and name in by_name:
            raise by_name[name].locate(error) from None
        raise error.at(place) if place else error from None
    return replace(report, blank=expected.blank)
