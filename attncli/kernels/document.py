"""The report of a trial: whether the function passes, how it was called, and the smallest input on which it fails."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from attncli.base.lazy_numpy import Array, np
from attncli.base.program import __version__
from attncli.base.text import count_of, escape_control, join_words
from attncli.checks.bugs import bugs
from attncli.checks.document import passed_line, slip_lines
from attncli.checks.quantity import AGREES, DIFFERS, quantity_blocks
from attncli.checks.report import CheckOutcome
from attncli.kernels.cases import BOUNDS, MEMORIES
from attncli.kernels.domain import Sizes
from attncli.kernels.report import LEAST_TELLING, LawResult, OtherFailure, Smallest, TrialReport
from attncli.kernels.trial import RECURRENT
from attncli.numbers.formatting import format_whole
from attncli.numbers.parsing import TypedNumber
from attncli.problem.fields import GRADIENT_PREFIX, option_name
from attncli.problem.spec import DEFAULTS, LABEL_KEYS, ProblemSpec
from attncli.render.document import Answer, Block, Document, Lines, Pairs, Section, Statement

TRY_FORMAT = "attn.try/1"
MAX_NAMED = 2  # mistakes that the verdict names
# Laws whose breaking makes a function one that is not batch-invariant.
BATCH_LAWS = ("same_bits_alone", "same_bits_at_any_place", "same_bits_next_to_others", "same_bits_padded")
MAX_LINES = 12  # of what the function printed
MAX_BUGS = 2  # public ones that are named
EMPTY_ROWS = "A query that sees no key is to give 0; --empty-rows nan says that NaN is right."
TELLING = "have more than one tile of keys and more than one head or batch item (--dim and --lengths say what it takes)"
MAX_NUMBERS = 40  # of an array that is shown whole
MAX_DIFFERENT = 3
ALWAYS = ("query", "key", "value")
GRAD_OUTPUT = "grad_output"
LABELS = (*LABEL_KEYS.values(), "layout")
_SIZES = {"batch": "batch item", "heads": "head", "queries": "query", "keys": "key"}


def trial_answer(
    report: TrialReport, seed: int, decimals: int, file: str | None = None, *, is_quiet: bool = False
) -> Answer:
    """The answer to a trial, its verdict alone where it `is_quiet`; `file` is where the smallest input was written."""
    return Answer(
        lambda: quiet_document(report) if is_quiet else trial_document(report, decimals, file),
        lambda: trial_object(report, seed),
    )


def quiet_document(report: TrialReport) -> Document:
    """The verdict in a line."""
    return Document([Section("", blocks=(verdict_line(report),))], 0)


def verdict_line(report: TrialReport) -> Statement:
    """The verdict as a sentence, in the style of its result."""
    return Statement(f"{trial_verdict(report)}.", style=DIFFERS if report.failed else AGREES if report.passes else "")


def trial_document(report: TrialReport, decimals: int, file: str | None = None) -> Document:
    """The document of a trial; its first line is the verdict."""
    return Document(_sections(report, decimals, file), decimals)


def trial_verdict(report: TrialReport) -> str:
    """Whether a function passes, and what explains where it fails, in a line without a full stop."""
    if report.laws:
        return _laws_verdict(report)
    inputs = count_of(report.count, "input")
    passes = f"{report.function} passes {'the' if report.count == 1 else 'all'} {inputs}"
    if report.passes:
        return passes
    if report.passes is None:
        why = (
            "it was interrupted"
            if report.is_interrupted
            else f"only {report.telling} of at least {LEAST_TELLING} {TELLING}"
        )
        return f"can't tell: {passes}, but {why}"
    verdict = f"{report.function} fails on {report.failed} of {inputs}"
    if report.explanations:
        names = list(dict.fromkeys(" with ".join(x.slips) for x in report.explanations))
        more = " or others" if len(names) > MAX_NAMED else ""
        return f"{verdict}; explained by {' or '.join(names[:MAX_NAMED])}{more}"
    assert report.smallest is not None
    return f"{verdict}: it {report.smallest.failure.sentence}"


def _laws_verdict(report: TrialReport) -> str:
    """How many laws the function keeps, and whether it is batch-invariant, where that was tried."""
    broken = [law.law for law in report.laws if law.holds is False]
    kept = f"{report.function} keeps {report.count - report.failed} of {count_of(report.count, 'law')}"
    if not report.count:
        return f"can't tell: no law of {report.function} could be tried"
    if not broken:
        return f"{report.function} keeps {'the' if report.count == 1 else 'all'} {count_of(report.count, 'law')}"
    is_variant = any(name in BATCH_LAWS for name in broken)
    return f"{kept}{'; it is not batch-invariant' if is_variant else ''}"


def _law_lines(laws: Sequence[LawResult]) -> Iterator[str]:
    """Each law that was tried, with what breaks it; then those that were not."""
    for law in laws:
        if law.holds is not None:
            yield f" {'✓' if law.holds else '✗'} {law.sentence}"
        if law.holds is False and law.sizes is not None:
            yield f"     with {_sizes_said(law.sizes)}, {law.dtype}: {law.detail}"
    by_reason: dict[str, list[str]] = {}
    for law in laws:
        if law.holds is None:
            by_reason.setdefault(law.detail, []).append(law.law)
    for reason, names in by_reason.items():
        yield f"   not tried: {', '.join(names)}: {reason}"


def _sections(report: TrialReport, decimals: int, file: str | None) -> Iterator[Section]:
    """The verdict with how the function was called; the smallest input; the other failures."""
    lines = [*report.called, f"takes {report.domain.told()}", f"compared {join_words(report.compared)}"]
    lines += [f"refuses {sentence}" for sentence in report.domain.borders]
    untried = [f"not tried: {sentence}" for sentence in report.untried]
    how = "interrupted" if report.is_interrupted else f"stopped after {count_of(report.failed, 'failure')}"
    stopped = [how] if report.is_stopped else []
    blocks: list[Block] = [
        verdict_line(report),
        Lines(tuple(f"  {line}" for line in (*lines, *untried, *stopped)), "dim"),
    ]
    if report.passed is not None:
        blocks.append(Lines((passed_line(report.passed),)))
    yield Section("", blocks=tuple(blocks))
    if report.laws:
        yield Section("", blocks=(Lines(tuple(_law_lines(report.laws))),))
    if report.smallest is not None:
        yield Section("", blocks=tuple(_smallest_blocks(report, report.smallest, decimals)))
        yield Section("", blocks=tuple(_after(report, report.smallest, file)))


def _smallest_blocks(report: TrialReport, smallest: Smallest, decimals: int) -> Iterator[Block]:
    """The smallest input, what the function gave, and the arithmetic of the right number."""
    case, failure = smallest.case, smallest.failure
    yield Statement(f"Fails already with {_sizes_said(case.sizes)} ({count_of(case.count, 'number')}):")
    yield Pairs([(name, text) for name, text in _arguments(smallest)])
    if report.explanations:
        yield Statement("Explained by:")
        yield Pairs(slip_lines(report.explanations))
        yield Lines(tuple(_public_bugs(report)), "dim")
    if report.right_with:
        conventions = ": attn list conventions" if "--as" in report.right_with[0] else ""
        yield Lines((f"Right with {' or '.join(report.right_with[:MAX_NAMED])}{conventions}",))
    if failure.report is None:
        yield Statement("✗ ", f"it {failure.sentence}", DIFFERS)
    else:
        for result in failure.report.results:
            yield from quantity_blocks(failure.report, result, decimals)
    if failure.kind == "not_finite" and smallest.has_empty_row and smallest.problem.empty_rows == "zeros":
        yield Lines((f"  {EMPTY_ROWS}",), "dim")
    if smallest.printed:
        yield Statement("It printed:")
        lines = [escape_control(line) for line in smallest.printed.splitlines()]
        left_out = [f"… {len(lines) - MAX_LINES} lines before"] if len(lines) > MAX_LINES else []
        yield Lines(tuple(f"  {line}" for line in (*left_out, *lines[-MAX_LINES:])), "dim", "code")


def _public_bugs(report: TrialReport) -> Iterator[str]:
    """Public projects that had the mistake, a few of them."""
    names = {name for explanation in report.explanations for name in explanation.slips}
    sources = [bug.source for bug in bugs().values() if bug.slip in names]
    if sources:
        more = f" and {len(sources) - MAX_BUGS} more" if len(sources) > MAX_BUGS else ""
        yield f"  as in {', '.join(sources[:MAX_BUGS])}{more}: attn list bugs"


def _after(report: TrialReport, smallest: Smallest, file: str | None) -> Iterator[Block]:
    """The failures for another cause, and the command to type next."""
    if report.others:
        yield Statement("Also:")
        yield Lines(tuple(f"  {_other_said(other)}" for other in report.others))
    if file is not None and smallest.failure.returned:
        yield Lines((f"Next: attn check {shlex.quote(file)}",))
    elif smallest.case.is_plain and smallest.case.count <= MAX_NUMBERS:
        yield Lines((f"By hand: {shlex.join(_command(smallest))}",), wrapped="never")


def _other_said(other: OtherFailure) -> str:
    return f"it {other.sentence}, on {count_of(other.count, 'input')}; the smallest has {_sizes_said(other.sizes)}"


def _sizes_said(sizes: Sizes) -> str:
    """The sizes of an input: `1 query, 17 keys, d = 1`; heads and batch items where there are several."""
    counts = [(getattr(sizes, name), noun) for name, noun in _SIZES.items()]
    several = [count_of(number, noun) for number, noun in counts[:2] if number > 1]
    groups = [count_of(sizes.kv_heads, "key head")] if sizes.kv_heads != sizes.heads else []
    others = [count_of(number, noun) for number, noun in counts[2:]]
    widths = f"d = {sizes.features}" + (
        f", e = {sizes.value_features}" if sizes.value_features != sizes.features else ""
    )
    return ", ".join((*several, *groups, *others, widths))


def _arguments(smallest: Smallest) -> Iterator[tuple[str, str]]:
    """The arrays as they are typed, and what is unusual of them: their type, their place in memory, a cache."""
    case = smallest.case
    for name, array in case.arguments.items():
        own = array[0, 0] if array.ndim == 4 and array.shape[:2] == (1, 1) else array
        yield name, _typed(own) if own.size <= MAX_NUMBERS else _outline(own)
    if case.past:
        yield "cache", f"the first {count_of(case.past, 'key')}"
    if case.memory:
        yield "memory", MEMORIES[case.memory]
    if case.dtype != "float64":
        yield "type", case.dtype


def _outline(array: Array) -> str:
    """A long array by its first and last number, or the one that all are.

    >>> _outline(np.zeros((65, 1))), _outline(np.arange(100.0))
    ('65 × 1, all 0', '100, from 0 to 99')
    """
    shape, first = " × ".join(map(str, array.shape)), array.flat[0]
    if (array == first).all():
        return f"{shape}, all {_number(first)}"
    different = [f"{_number(x)} at {_cell(array, at)}" for at, x in enumerate(array.flat) if x != most_common(array)]
    if len(different) <= MAX_DIFFERENT:
        return f"{shape}, all {_number(most_common(array))} but {join_words(different)}"
    return f"{shape}, from {_number(first)} to {_number(array.flat[-1])}"


def most_common(array: Array) -> Any:
    """The number that an array has most often."""
    numbers, counts = np.unique(array, return_counts=True)
    return numbers[counts.argmax()]


def _cell(array: Array, at: int) -> str:
    return f"[{', '.join(str(position) for position in np.unravel_index(at, array.shape))}]"


def _typed(array: Array) -> str:
    """An array of one or two axes as an option takes it, of more as JSON has it.

    >>> _typed(np.array([[1.0, 0.5], [2.0, 3.0]])), _typed(np.zeros((1, 2, 1)))
    ('1 0.5; 2 3', '[[[0], [0]]]')
    """
    array = array.astype(np.int64) if array.dtype.kind == "b" else array
    if array.ndim <= 2:
        return "; ".join(" ".join(_number(x) for x in row) for row in np.atleast_2d(array))
    return f"[{', '.join(_typed_list(row) for row in array)}]"


def _typed_list(array: Array) -> str:
    return _number(array) if not array.ndim else f"[{', '.join(_typed_list(row) for row in array)}]"


def _number(x: Any) -> str:
    return format_whole(float(x)) if np.isfinite(x) else str(x)


def _command(smallest: Smallest) -> list[str]:
    """The command that works the right numbers out."""
    words = ["attn", "compute"]
    has_gradients = any(name.startswith(GRADIENT_PREFIX) for name in smallest.failure.returned)
    upstream = [GRAD_OUTPUT] if has_gradients else []
    others = ("past_key", "past_value", "mask", "bias", "sink", "key_lengths", "key_mask", *BOUNDS, *RECURRENT)
    for name in (*ALWAYS, *others, *upstream):
        value = getattr(smallest.problem, name, None)
        if isinstance(value, np.ndarray):
            words += [option_name(name), _typed(value)]
    for name, value in _keys(smallest.problem).items():
        words += [option_name(name)] if value is True else [option_name(name), str(value)]
    return [*words, *(["--gradient"] if has_gradients else []), "--explain"]


def _keys(problem: ProblemSpec) -> Mapping[str, Any]:
    """The keys of a problem that are no arrays and off their defaults, as they are typed."""
    from attncli.io.problem_text import values_to_write  # noqa: PLC0415 - only a failure needs it

    found = {}
    for name, value in values_to_write(problem).items():
        is_usual = str(value) == str(DEFAULTS[name]) or (name == "dtype" and value == "float64")
        if not (isinstance(value, np.ndarray) or is_usual or name in LABELS):
            found[name] = ",".join(_number(x) for x in value) if isinstance(value, tuple) else value
    return found


def outcome_of(report: TrialReport) -> CheckOutcome | None:
    """The check of the smallest failing input, with the mistakes that explain it; None if it has no numbers."""
    found = None if report.smallest is None else report.smallest.failure.report
    own = None if found is None else replace(found, explanations=report.explanations)
    return None if own is None else CheckOutcome(report.function, "", own, None, 0.0)


def expected_of(smallest: Smallest) -> Mapping[str, Any]:
    """What the function gave, as a problem file expects it: every number with all of its digits."""
    return {name: _digits(_plain(smallest, name)) for name in smallest.failure.returned}


def _plain(smallest: Smallest, name: str) -> Array:
    """A result in the axes of the problem: without heads and batch items where there is one of each."""
    report = smallest.failure.report
    assert report is not None
    found: Array = next(result.expected for result in report.results if result.name == name)
    return found


def _digits(array: Array) -> Any:
    """Nested lists of numbers that know their digits: a short one would be read as rounded to what is typed."""
    if array.ndim:
        return [_digits(row) for row in array]
    number = float(array)
    if not np.isfinite(number):
        return number
    return TypedNumber(f"{number:.16f}" if number == 0 or 1e-3 <= abs(number) < 1e6 else f"{number:.16e}")


def trial_object(report: TrialReport, seed: int) -> dict[str, Any]:
    """The object of a trial."""
    return {
        "format": TRY_FORMAT,
        "version": __version__,
        "function": report.function,
        "passes": report.passes,
        "tried": report.count,
        "failed": report.failed,
        "telling": report.telling,
        "is_stopped": report.is_stopped,
        "right_with": list(report.right_with),
        "seed": seed,
        "dtypes": list(report.domain.dtypes),
        "domain": report.domain.told(),
        "refused": list(report.domain.borders),
        "arrays": report.library,
        "layout": report.layout,
        "called": list(report.called),
        "untried": list(report.untried),
        "compared": list(report.compared),
        "passed": None if report.passed is None else list(report.passed),
        "explained_by": [{**vars(x), "slips": list(x.slips)} for x in report.explanations],
        "smallest": None if report.smallest is None else _smallest_object(report.smallest),
        "laws": [{**vars(law), "sizes": law.sizes and vars(law.sizes)} for law in report.laws],
        "others": [{**vars(other), "sizes": vars(other.sizes)} for other in report.others],
    }


def _smallest_object(smallest: Smallest) -> dict[str, Any]:
    """The smallest input, what it gave, and what is right."""
    case, failure = smallest.case, smallest.failure
    results: Sequence[Any] = () if failure.report is None else failure.report.results
    return {
        "kind": failure.kind,
        "sentence": failure.sentence,
        "sizes": vars(case.sizes),
        "numbers": case.count,
        "dtype": case.dtype,
        "memory": MEMORIES[case.memory],
        "printed": smallest.printed,
        "arguments": case.arguments,
        "problem": {key: str(value) for key, value in _keys(smallest.problem).items()},
        "returned": {result.name: result.expected for result in results},
        "correct": {result.name: result.computed for result in results},
    }
