"""One quantity of a check as text: whether it agrees, how far it differs, its worst cell, and where the errors are."""

from collections.abc import Iterator

from attncli.analysis.check.error_patterns import ErrorPattern, find_pattern
from attncli.analysis.check.report import CheckReport, QuantityCheck
from attncli.base.lazy_numpy import Array, np
from attncli.plan.trace import Trace
from attncli.render.error_picture import MAX_LABEL_WIDTH, draw_errors
from attncli.render.formats.text_page import TextPage
from attncli.render.reports.cell_arithmetic import cell_arithmetic
from attncli.render.reports.error_words import FEW, NEARLY_ALL, cells_in_words, describe_cell, describe_pattern, plural

AGREES, DIFFERS = "bold green", "bold red"
USUAL_WIDTH = 80
INDENTATION = "    "
SIGNIFICANT = 3  # digits of errors and tolerances
MAX_UNITS = 1e6  # in the last place that say something: a larger error has nothing to do with rounding
MIN_DIGITS, MAX_DIGITS = 6, 17  # of the two numbers of the worst cell; 17 tell any numbers of eight bytes apart


def print_quantity(
    page: TextPage, report: CheckReport, result: QuantityCheck, decimals: int, adjective: str = ""
) -> None:
    """Print a line for a quantity that agrees; for one that differs its errors, its worst cell and a picture too.

    The `adjective` says whose the numbers are: `published`; without it they are expected.
    """
    trace = report.trace
    if result.agrees:
        mark = (f"✓ {result.name}", AGREES) if result.count else f"  {result.name}"
        page.print(mark, f": {_agreement(result)}")
    else:
        source = f" from {'that' if result.count == 1 else 'those'} {adjective}" if adjective else ""
        page.print(
            (f"✗ {result.name}", DIFFERS),
            f": {count_of_differences(result.differ, result.count)}{source}{_consequence(report, result)}",
        )
        page.print_lines(INDENTATION + line for line in _errors(result))
        page.print_lines(INDENTATION + line for line in _worst_cell(trace, result, adjective))
        page.print_lines((INDENTATION + "  " + line for line in _arithmetic(trace, result, decimals)), "cyan")
        pattern = find_pattern(result.differs, result.is_given, _query_positions(trace, result.name))
        page.print_lines(INDENTATION + line for line in _place(trace, result, pattern))
        _print_picture(page, trace, result, pattern)
    page.print_lines((INDENTATION + remark for remark in result.remarks), "dim")


def _agreement(result: QuantityCheck) -> str:
    """How many numbers agree, to how many digits, and what difference was allowed."""
    if not result.count:
        return "no number is compared"
    numbers = "1 number agrees" if result.count == 1 else f"{result.count} numbers agree"
    if result.max_abs == 0:
        return f"{numbers} exactly"
    digits = f" to {result.digits} {'digit' if result.digits == 1 else 'digits'}" if result.digits > 0 else ""
    return f"{numbers}{digits}; largest error {_short(result.max_abs)}, allowed {_short(result.tolerance)}"


def count_of_differences(differ: int, count: int) -> str:
    """`3 of 16 numbers differ`, `1 of 16 numbers differs`, `the number differs`."""
    numbers = "the number" if count == 1 else f"{differ} of {count} numbers"
    return f"{numbers} {'differs' if differ == 1 else 'differ'}"


def _consequence(report: CheckReport, result: QuantityCheck) -> str:
    """Whether numbers that differ follow from others that differ before them."""
    if result.follows is None or result.name == report.first_difference:
        return ""
    return ", as they must with those expected above" if result.follows else ", and not because of those above"


def _errors(result: QuantityCheck) -> Iterator[str]:
    """The largest errors, and how alike both arrays are."""
    if np.isinf(result.max_abs):
        yield "largest error infinite: NaN or an infinity stands on one side alone"
        return
    relative = f", relative {_short(result.max_rel)}" if result.max_rel else ""  # none where ours is 0
    units = f", {_short(result.max_ulp)} units in the last place of {result.ulp_dtype}"
    yield f"largest error {_short(result.max_abs)}{relative}{units if result.max_ulp < MAX_UNITS else ''}"
    likeness = {"correlation": result.correlation, "cosine": result.cosine}
    found = [f"{name} {number:.6f}" for name, number in likeness.items() if number is not None]
    if found and result.count > 1:
        yield ", ".join(found)


def _worst_cell(trace: Trace, result: QuantityCheck, adjective: str) -> Iterator[str]:
    """The worst cell and both of its numbers."""
    if result.worst is not None:
        expected, computed = _distinct(result.worst.expected, result.worst.computed)
        place = describe_cell(trace, trace[result.name], result.worst.position)
        at = "worst at" if result.differ > 1 else "at"
        allowed = f" ± {result.worst.allowed:.1g}" if np.isfinite(result.worst.expected) else ""
        yield f"{at} {place}: {adjective or 'expected'} {expected}{allowed}, computed {computed}"


def _arithmetic(trace: Trace, result: QuantityCheck, decimals: int) -> tuple[str, ...]:
    """The arithmetic of the worst cell with as many decimals as show its error, at least those given."""
    if result.worst is None:
        return ()
    error = abs(result.worst.expected - result.worst.computed)
    if np.isfinite(error) and error > 0:
        decimals = min(max(decimals, 1 - int(np.floor(np.log10(error)))), MAX_DIGITS - 1)
    return cell_arithmetic(trace, result.name, result.worst.position, decimals)


def _place(trace: Trace, result: QuantityCheck, pattern: ErrorPattern) -> Iterator[str]:
    """Where the numbers differ, in words; nothing for one number, whose cell stands above."""
    step = trace[result.name]
    if 1 < result.differ <= FEW and pattern.coverage < 1:
        yield f"where: {cells_in_words(trace, step, np.argwhere(result.differs).tolist())}"
    elif result.differ > 1:
        yield f"where: {describe_pattern(trace, step, pattern)}"


def _query_positions(trace: Trace, name: str) -> list[int] | None:
    """The positions of the queries of a table of queries and keys among the keys; None for any other quantity."""
    if trace[name].axes[-2:] != ("n", "m"):
        return None
    selected = trace.selected_queries
    rows = range(len(trace.labels["n"])) if selected is None else selected
    return [trace.problem.past_count + row for row in rows]


def _print_picture(page: TextPage, trace: Trace, result: QuantityCheck, pattern: ErrorPattern) -> None:
    """Print the picture of the errors in the heads that have any; nothing of one number, or where nearly all differ."""
    if result.differ == 1 or (pattern.is_everything and pattern.coverage >= NEARLY_ALL):
        return
    step = trace[result.name]
    width = (page.target.width or USUAL_WIDTH) - 2 * len(INDENTATION)
    differs, is_given = (_in_parts(array, pattern) for array in (result.differs, result.is_given))
    picture = draw_errors(differs, is_given, columns=max(width - MAX_LABEL_WIDTH - 1, 1))
    if len(set("".join(picture.lines))) == 1:
        return
    rows = trace.numbered_labels_of(step, -2) or (step.symbol,)
    axes = ", ".join(map(plural, step.axes[-2:-1])) + " down, " + plural(step.axes[-1]) + " across"
    page.print_lines([f"{INDENTATION}{axes}, {picture.scale}: {picture.legend}"], "dim")
    for line in picture.with_labels(rows, trace.numbered_labels_of(step, -1), width):
        page.print(f"{INDENTATION * 2}{line}", is_wrapped=False)


def _in_parts(array: Array, pattern: ErrorPattern) -> Array:
    """The slices of an array that have differences: those of the heads and batch items of a pattern."""
    for part in pattern.parts:
        if part.axis < -2:
            array = array.take(part.positions, axis=part.axis)
    return array


def _short(number: float) -> str:
    """An error or a tolerance with few digits: `0.0021`, `1.3e-07`."""
    return f"{number:.{SIGNIFICANT}g}"


def _distinct(expected: float, computed: float) -> tuple[str, str]:
    """Two numbers with as many digits as tell them apart, and two more."""
    apart = (digits for digits in range(1, MAX_DIGITS + 1) if f"{expected:.{digits}g}" != f"{computed:.{digits}g}")
    digits = min(max(next(apart, 0) + 2, MIN_DIGITS), MAX_DIGITS)
    return f"{expected:.{digits}g}", f"{computed:.{digits}g}"
