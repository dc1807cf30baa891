"""The report of a check: a verdict, explanations, quantities in order; a line each for several; and JUnit XML."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from html import escape
from itertools import takewhile

from attncli.base.lazy_numpy import import_object, np
from attncli.base.text import count_of, escape_control, join_words
from attncli.checks.objects import NOTHING_GIVEN, check_object, suite_object
from attncli.checks.quantity import (
    AGREES,
    DIFFERS,
    count_of_differences,
    describe_part,
    place_of_differences,
    quantity_blocks,
    short_number,
)
from attncli.checks.report import CheckOutcome, CheckReport, Explanation, PartExplanation, QuantityCheck
from attncli.render.aligned_numbers import align_numbers
from attncli.render.document import (
    Answer,
    Block,
    Document,
    Grid,
    Lines,
    Pairs,
    Section,
    Statement,
    section_with_comma,
    with_decimal_sign,
)
from attncli.render.formats import terminal
from attncli.render.sections import edits_text
from attncli.render.tables import grids
from attncli.render.target import TEXT_FILE
from attncli.render.view import DECIMALS

MAX_NAMED = 2  # explanations that the verdict names: the report has all
MAX_REPORTS = 4  # parts of a file to show whole
MAX_FILES = 5  # files without expected numbers to name
SUITE = "attn check"
COLUMNS = ("numbers", "that differ", "largest error", "allowed")
MAX_TABLES = 3  # quantities to show with numbers: these usually cause the differences of later ones
MAX_PASSED = 4  # mistakes to name
_PAGE = "attncli.checks.page:check_page"  # a reader of these reports


def check_document(report: CheckReport, decimals: int = DECIMALS, *, has_verdict: bool = True) -> Document:
    """The document of a report; its first line is the verdict, if it has one.

    Worked lines have at least so many decimals, and more if a number's error is smaller.
    """
    sections = report_sections(report, decimals, has_verdict=has_verdict)
    return with_decimal_sign(Document(sections, decimals), report.trace.problem)


def check_answer(outcomes: Sequence[CheckOutcome], left_out: Sequence[str], decimals: int, *, is_suite: bool) -> Answer:
    """The answer to a check: for a suite how many agree, and a line for each problem.

    For one file it is its report, or how many of its parts agree, with their reports; many parts have a line each, and
    the first that differs a report. `left_out` are files in folders without expected numbers.
    """
    is_long = len(outcomes) > MAX_REPORTS and not is_suite
    differing = [outcome for outcome in outcomes if not outcome.agrees][:1]

    def sections() -> Iterator[Section]:
        if is_suite or len(outcomes) > 1:
            lines = [line for outcome in outcomes for line in _line(outcome)] if is_suite or is_long else []
            shared = _shared(outcomes) if is_suite else ()
            yield Section("", blocks=(*_summary(outcomes), *shared, *lines, *_without_expected(outcomes, left_out)))
        for outcome in () if is_suite else differing if is_long else outcomes:
            own = _outcome_sections(outcome, decimals)
            has_comma = outcome.report is not None and outcome.report.trace.problem.decimal_comma
            yield from map(section_with_comma, own) if has_comma else own

    is_one = not is_suite and not any(outcome.part for outcome in outcomes)
    return Answer(
        lambda: Document(sections(), decimals),
        lambda: check_object(outcomes[0]) if is_one else suite_object(outcomes, left_out),
        page=lambda: import_object(_PAGE)(outcomes, left_out, decimals),
    )


def quiet_document(outcomes: Sequence[CheckOutcome]) -> Document:
    """The verdict of one problem in a line; of several how many agree, and a line for each that differs."""
    one, *others = outcomes
    if not others and one.report is not None:
        blocks: list[Block] = [verdict_line(one.report)]
    else:
        differing = [outcome for outcome in outcomes if not outcome.agrees]
        blocks = [*_summary(outcomes), *_shared(outcomes), *(line for outcome in differing for line in _line(outcome))]
        blocks = blocks or [*_without_expected(outcomes, ())]
    return Document([Section("", blocks=tuple(blocks))], 0)


def _outcome_sections(outcome: CheckOutcome, decimals: int) -> Iterator[Section]:
    """The report of a problem, under its name if it is a part of a file; empty if it can't be checked.

    Below the verdict are the edits, and the verdicts before and after.
    """
    if outcome.is_unanswered:
        yield Section("", blocks=(*_line(outcome),))
    if outcome.report is None:
        return
    first, *others = report_sections(outcome.report, decimals)
    yield replace(first, title=outcome.name if outcome.part else "")
    if outcome.before is not None:
        both = {"before": outcome.before.report, "after": outcome.report}
        lines = tuple(f"  {when}: {short_verdict(report)}" for when, report in both.items())
        yield Section("", blocks=(Statement(edits_text(outcome.before.cells, decimals)), Lines(lines)))
    yield from others


def report_sections(report: CheckReport, decimals: int, *, has_verdict: bool = True) -> Iterator[Section]:
    """The verdict with the slips that explain it, each quantity, and remarks on all of them."""
    quantities = (block for result in report.results for block in quantity_blocks(report, result, decimals))
    yield Section("", blocks=(*([verdict_line(report)] if has_verdict else []), *explanation_blocks(report)))
    if report.results:
        yield Section("", blocks=tuple(quantities))
    yield Section("", blocks=tuple(findings(report)))


def check_tables(report: CheckReport, decimals: int = DECIMALS) -> Document:
    """The document of a report with tables, for readers of HTML: a row for each quantity, and the wrong numbers.

    Its first line is the verdict. Text has a picture of the cells that differ in place of the tables.
    """
    return with_decimal_sign(Document(_sections_with_tables(report, decimals), decimals), report.trace.problem)


def _sections_with_tables(report: CheckReport, decimals: int) -> Iterator[Section]:
    yield Section("", blocks=(verdict_line(report), *explanation_blocks(report)))
    if report.results:
        yield Section("", grids=(overview(report),))
    differing = [result for result in report.results if not result.agrees]
    for result in differing[:MAX_TABLES]:
        yield Section("", grids=tuple(yours_and_correct(report, result, decimals)))
        yield Section("", blocks=tuple(quantity_blocks(report, result, decimals)))
    yield Section("", blocks=tuple(findings(report)))


def overview(report: CheckReport) -> Grid:
    """A row for each quantity: counts of its numbers and differences, the largest error, the permitted one."""
    signs = [
        [str(result.count), str(result.differ), short_number(result.max_abs), short_number(result.tolerance)]
        for result in report.results
    ]
    rows = tuple(f"{'✓' if result.agrees else '✗'} {result.name}" for result in report.results)
    return Grid(np.zeros((len(rows), len(COLUMNS))), rows, COLUMNS, signs=signs)


def yours_and_correct(report: CheckReport, result: QuantityCheck, decimals: int) -> Iterator[Grid]:
    """The slice with the worst cell, as given and as correct; both mark the cells that differ."""
    step, worst = report.trace[result.name], result.worst
    if worst is None or step.value.ndim < 2 or result.expected.shape != step.value.shape:
        return
    index = worst.position[:-2]
    (table,) = grids(report.trace, step, dict(zip(step.axes, index, strict=False)))
    given = result.is_given[index]
    marked = frozenset((row, column) for row, column in np.argwhere(result.differs[index]).tolist())
    for whose, numbers in (("yours", result.expected), ("correct", result.computed)):
        texts = align_numbers(np.where(given, numbers[index], 0), decimals)
        rows = zip(texts, given, strict=True)
        signs = [[text if has else "" for text, has in zip(*row, strict=True)] for row in rows]
        label = ", ".join(filter(None, (f"{result.name}, {whose}", table.slice_label)))
        is_partial = not given.all()
        yield replace(
            table,
            values=numbers[index],
            signs=signs if is_partial else None,
            slice_label=label,
            marked=marked,
            hidden=None,
            is_heatmap=False,
        )


def verdict_line(report: CheckReport) -> Statement:
    """The verdict as a sentence, in the style of its result."""
    style = (AGREES if report.agrees else DIFFERS) if report.has_verdict else ""
    return Statement(f"{verdict(report)}.", style=style)


def findings(report: CheckReport) -> Iterator[Block]:
    """The tolerances, and the slips that would go unnoticed."""
    yield Lines(tuple(_tolerances(report)), "dim")
    if report.passed is not None:
        yield Lines((passed_line(report.passed),))
    if report.unnoticed:
        yield Statement("These inputs, at this tolerance, would not reveal these mistakes:")
        yield Pairs(slip_lines(report.unnoticed))
    elif report.unnoticed is not None:
        which = "was tried" if report.untried else "applies to this problem"
        yield Lines((f"These inputs would reveal every mistake that {which}.",))


def passed_line(passed: Sequence[str]) -> str:
    """Which mistakes a tolerance lets pass that the derived one does not, in a sentence."""
    if not passed:
        return "This tolerance reveals every mistake that the derived one does."
    more = f" and {len(passed) - MAX_PASSED} more" if len(passed) > MAX_PASSED else ""
    return f"This tolerance misses {count_of(len(passed), 'mistake')}: {', '.join(passed[:MAX_PASSED])}{more}."


def _tolerances(report: CheckReport) -> Iterator[str]:
    """The tolerance, once for quantities with the same reason, and the type of the reference."""
    if report.searched:
        yield f"Mistakes are looked for in {report.searched}. Tolerance: {report.searched_reason}."
    names: dict[str, list[str]] = {}
    for result in report.results:
        if result.count:
            names.setdefault(result.tolerance_reason, []).append(result.name)
    for reason, quantities in names.items():
        of = "" if len(names) == 1 else f" of {join_words(quantities)}"
        yield f"Tolerance{of}: {reason}."
    why = f" ({report.reference_remark})" if report.reference_remark else ""
    yield f"Reference: {report.reference}{why}."


def explanation_blocks(report: CheckReport) -> Iterator[Block]:
    """The slips that explain the numbers, or a line that none does; empty if none was tried."""
    if report.explanations and not _is_other_step(report):  # the sentence about the cell
        yield Statement("Too few numbers to tell; candidates:" if report.is_undecided else "Explained by:")
        yield Pairs(slip_lines(report.explanations))
        yield Lines(tuple(_telling(report)))
    for part in report.parts:
        yield Statement(f"In {_place(report, part)}:")
        yield Pairs(slip_lines([part.explanation]))
    if report.parts:
        others = (
            "All other numbers agree." if report.parts[0].others_agree else "The others that differ are not explained."
        )
        yield Lines((others,))
    if report.nearest is not None:
        (result,) = [result for result in report.results if result.name == report.nearest.name]
        count = f"{report.nearest.count} of {count_of(result.differ, 'number')} of {result.name} that differ"
        yield Statement(f"Explains {count}:")
        yield Pairs(slip_lines([report.nearest.explanation]))
    if not report.explanations and not report.parts and report.tried_count:
        yield Lines(tuple(place_of_differences(report)))
    remarks = list(report.untried)
    if report.tried_count:
        singles, pairs = report.tried_count - report.pair_count, count_of(report.pair_count, "pair")
        text = f"Tried {count_of(singles, 'mistake')}{f' and {pairs} of them' if report.pair_count else ''}."
        if not report.explanations:
            tried = f"{singles} tried{f', and {pairs}' if report.pair_count else ''}"
            numbers = "all of these numbers" if report.parts or report.nearest else "these numbers"
            text = f"No known mistake explains {numbers} ({tried})."
        remarks.insert(0, text)
        if not report.explanations and report.has_late_steps_alone:
            remarks.append("Give scores and weights too, to find the first step that differs.")
    yield Lines(tuple(remarks), "dim")


def _telling(report: CheckReport) -> Iterator[str]:
    """Numbers that separate the explanations, or what else to give."""
    telling = report.telling
    if telling is None:
        if report.may_be_chance:
            yield "So few numbers can agree by chance; give more of them."
        return
    for names in telling.same:
        others = " Other inputs, such as numbers drawn at random, tell them apart." if telling.by_other_inputs else ""
        yield f"{join_words(names)} are the same on these inputs.{others}"
    if telling.name:
        numbers = join_words([f"{number:.4g} with {names}" for names, number in telling.numbers.items()])
        yield f"To tell them apart, give {telling.name} at {', '.join(telling.labels)}: {numbers}."


def _place(report: CheckReport, part: PartExplanation) -> str:
    """The location of a part of the numbers: `heads from 4 on`."""
    return describe_part(report.trace, report.trace[part.name], part.part)


def slip_lines(explanations: Iterable[Explanation]) -> list[tuple[str, str]]:
    """The names and the sentence of each explanation; variants of the same slips share a line.

    >>> rounded = [Explanation(("weights_rounded",), f"The weights are rounded to {n} decimals.") for n in (3, 2)]
    >>> slip_lines(rounded)
    [('weights_rounded', 'The weights are rounded to 3 or 2 decimals.')]
    """
    sentences: dict[str, list[str]] = {}
    for explanation in explanations:
        sentences.setdefault(_slip_names(explanation), []).append(explanation.sentence)
    return [(names, _join_variants(variants)) for names, variants in sentences.items()]


def _slip_names(explanation: Explanation) -> str:
    """`no_scale`, and of a pair of slips both: `no_scale + no_mask`."""
    return " + ".join(explanation.slips)


def _join_variants(sentences: Sequence[str]) -> str:
    """Sentences that differ in some words as one, `It has 1 head, 2 heads or 3 heads.`; others one after the other."""
    sentences = list(dict.fromkeys(sentences))
    words = [sentence.removesuffix(".").split() for sentence in sentences]
    shortest = min(map(len, words))
    first = _common_length(words)
    last = min(_common_length([own[::-1] for own in words]), shortest - first)
    if len(sentences) == 1 or first + last < shortest / 2:
        return " ".join(sentences)
    *variants, final = (" ".join(own[first : len(own) - last]) for own in words)
    joined = " or ".join(filter(None, [", ".join(variants), final]))
    return " ".join([*words[0][:first], joined, *words[0][len(words[0]) - last :]]).strip() + "."


def _common_length(words: Sequence[Sequence[str]]) -> int:
    """The number of words at the start that all lists share."""
    return sum(1 for _ in takewhile(lambda same: len(set(same)) == 1, zip(*words, strict=False)))


def verdict(report: CheckReport) -> str:
    """The result of a check in one line: how many numbers differ, the first step that does, its explanation.

    `3 of 28 numbers differ; the first step that differs is weights; explained by no_scale`
    """
    if not report.has_verdict:
        text = f"no expected numbers; {_unnoticed(report)}"
    elif not report.differing:
        text = _agreement(report)
    else:
        text = f"{_differences(report)}; the first step that differs is {report.first_difference}"
        how = "too few numbers to tell: " if report.is_undecided else "explained by "
        found = explained_by(report)
        if report.explanations:
            text += f"; {'' if _is_other_step(report) else how}{found}"
        elif report.half_type is not None:
            text += f"; within the error of arithmetic in {report.half_type}"
        if report.parts:
            text += f"; explained by {found}"
    return text[0].upper() + text[1:]


def short_verdict(report: CheckReport) -> str:
    """The verdict in a phrase: `3 of 28 numbers differ, first in weights (no_scale)`.

    If unnoticed slips were requested, it counts them.
    """
    if not report.has_verdict:
        text = "no expected numbers"
    elif not report.differing:
        text = _agreement(report)
    else:
        found = explained_by(report)
        text = f"{_differences(report)}, first in {report.first_difference}{f' ({found})' if found else ''}"
    return text if report.unnoticed is None else f"{text}; {_unnoticed(report)}"


def _agreement(report: CheckReport) -> str:
    if report.blank:
        return f"{report.count} of {count_of(report.count + report.blank_count, 'number')} agree{_blanks(report)}"
    text = f"all {report.count} numbers agree" if report.count != 1 else "the number agrees"
    return f"{text} {report.looser}" if report.looser else text


def _differences(report: CheckReport) -> str:
    """`3 of 16 numbers differ`; with blanks, of all requested numbers."""
    return count_of_differences(report.differ, report.count + report.blank_count) + _blanks(report)


def _blanks(report: CheckReport) -> str:
    """How many numbers are blank, after the given ones."""
    return f", {report.blank_count} {'is' if report.blank_count == 1 else 'are'} blank" if report.blank else ""


def _unnoticed(report: CheckReport) -> str:
    """The slips that would go unnoticed, in a phrase."""
    if report.unnoticed:
        return f"these inputs would not reveal {names_of_slips(report.unnoticed)}"
    return f"these inputs would reveal every mistake{' that was tried' if report.untried else ''}"


def explained_by(report: CheckReport) -> str:
    """The slips that explain the numbers, `a or b`, or a part's with its location, in a report and in lists."""
    for part in report.parts[:1]:
        return f"{_slip_names(part.explanation)} in {_place(report, part)}"
    if _is_other_step(report):
        return f"{'it comes' if report.differ == 1 else 'they come'} from {report.other_step}"
    return names_of_slips(report.explanations) if report.explanations else ""


def _is_other_step(report: CheckReport) -> bool:
    """Whether the wrong numbers belong to another step, and nothing else explains them."""
    return [found.slips for found in report.explanations] == [("other_step",)]


def names_of_slips(explanations: Sequence[Explanation]) -> str:
    """The slips of some explanations: `no_scale or scale_by_d or 2 others`."""
    names = list(dict.fromkeys(map(_slip_names, explanations)))
    more = [count_of(len(names) - MAX_NAMED, "other")] if len(names) > MAX_NAMED else []
    return " or ".join([*names[:MAX_NAMED], *more])


def _line(outcome: CheckOutcome) -> Iterator[Statement]:
    """Whether the numbers of a problem agree, in a line; empty if it could not be checked."""
    if outcome.is_unanswered:
        yield Statement("✗", f" {outcome.name}: {NOTHING_GIVEN}", DIFFERS)
    if outcome.report is not None:
        sign, style = ("✓", AGREES) if outcome.agrees else ("✗", DIFFERS)
        before = "" if outcome.before is None else f"; before it was set: {short_verdict(outcome.before.report)}"
        text = f" {outcome.name}: {short_verdict(outcome.report)}{before}"
        yield Statement(sign, text, style) if outcome.has_verdict else Statement(" ", text, "")


def _summary(outcomes: Sequence[CheckOutcome]) -> Iterator[Statement]:
    """How many of the problems agree, differ, and can't be checked; empty if no number was compared."""
    compared = [outcome for outcome in outcomes if outcome.has_verdict]
    agree = sum(outcome.agrees for outcome in compared)
    failed = sum(outcome.error is not None for outcome in compared)
    differ = len(compared) - agree - failed
    parts = [f"{agree} of {len(compared)} agree"] if compared else []
    parts += [f"{differ} {'differs' if differ == 1 else 'differ'}"] if differ else []
    parts += [f"{failed} can't be checked"] if failed else []
    if parts:
        yield Statement(f"{', '.join(parts)}.", style=AGREES if agree == len(compared) else DIFFERS)


def _shared(outcomes: Sequence[CheckOutcome]) -> Iterator[Statement]:
    """A reading that several files of a class share, once: the numbers are cut."""
    reports = [outcome.report for outcome in outcomes if outcome.report is not None]
    read = [found.sentence for report in reports if report.is_read_plainly for found in report.explanations]
    of_sheets = {
        x.reading.sentence for report in reports for x in report.results if x.reading and x.reading.is_of_sheet
    }
    for sentence in dict.fromkeys(read):
        if sentence in of_sheets and read.count(sentence) > 1:
            yield Statement(f"In {read.count(sentence)} of {len(outcomes)}: {sentence[0].lower()}{sentence[1:]}")


def summary_blocks(outcomes: Sequence[CheckOutcome], left_out: Sequence[str]) -> Iterator[Block]:
    """How many of the problems agree, and which have no expected numbers."""
    yield from _summary(outcomes)
    yield from _shared(outcomes)
    yield from _without_expected(outcomes, left_out)


def _without_expected(outcomes: Sequence[CheckOutcome], left_out: Sequence[str]) -> Iterator[Lines]:
    """The problems and the files of folders without expected numbers."""
    without = [*(outcome.name for outcome in outcomes if not outcome.has_verdict), *left_out]
    if without:
        others = [count_of(len(without) - MAX_FILES, "other file")] if len(without) > MAX_FILES else []
        yield Lines((f"No expected numbers in {join_words([*without[:MAX_FILES], *others])}.",), "dim")


def junit_xml(outcomes: Sequence[CheckOutcome]) -> Iterator[str]:
    """The lines of the file: a testcase for each problem, with a failure if it differs, an error if it can't run.

    A problem without expected numbers is skipped. The text of a failure is the report.
    """
    errors = sum(outcome.error is not None for outcome in outcomes)
    failures = sum(not outcome.agrees for outcome in outcomes) - errors
    skipped = sum(not outcome.has_verdict for outcome in outcomes)
    seconds = sum(outcome.seconds for outcome in outcomes)
    counts = f'tests="{len(outcomes)}" failures="{failures}" errors="{errors}" time="{seconds:.3f}"'
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield f"<testsuites {counts}>\n"
    yield f'  <testsuite name="{SUITE}" {counts} skipped="{skipped}">\n'
    for outcome in outcomes:
        yield from _test_case(outcome)
    yield "  </testsuite>\n</testsuites>\n"


def _test_case(outcome: CheckOutcome) -> Iterator[str]:
    attributes = f"classname={_quoted(outcome.file or SUITE)} name={_quoted(outcome.part or outcome.name)}"
    head = f'    <testcase {attributes} time="{outcome.seconds:.3f}"'
    if outcome.agrees and outcome.has_verdict:
        yield f"{head}/>\n"
        return
    yield f"{head}>\n"
    if outcome.error is not None:
        yield f'      <error type="AttnError" message={_quoted(outcome.error.typed)}/>\n'
    elif outcome.report is None:
        yield f'      <failure type="difference" message={_quoted(NOTHING_GIVEN)}/>\n'
    elif outcome.agrees:
        yield f"      <skipped message={_quoted(verdict(outcome.report))}/>\n"
    else:
        text = escape("".join(terminal.render(check_document(outcome.report), TEXT_FILE)), quote=False)
        yield f'      <failure type="difference" message={_quoted(verdict(outcome.report))}>{text}</failure>\n'
    yield "    </testcase>\n"


def _quoted(text: str) -> str:
    """A text as the value of an attribute, on one line; characters that XML lacks are escaped."""
    return f'"{escape(escape_control(text))}"'
