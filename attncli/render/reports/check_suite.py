"""Several checks as text: a line for each problem, and how many of them agree."""

from collections.abc import Sequence

from attncli.analysis.check.outcome import BeforeEdits, CheckOutcome
from attncli.analysis.check.report import CheckReport
from attncli.base.text import join_words
from attncli.render.formats.text_page import TextPage
from attncli.render.reports.check import short_verdict
from attncli.render.reports.quantity import AGREES, DIFFERS
from attncli.render.sections import edits_text
from attncli.render.target import TextTarget

MAX_NAMED = 5  # files, of those in which nothing is expected


def render_line(outcome: CheckOutcome, target: TextTarget) -> str:
    """Whether the numbers of a problem agree, in a line; nothing for one that could not be checked."""
    page = TextPage(target)
    if outcome.report is not None:
        sign = ("✓", AGREES) if outcome.agrees else ("✗", DIFFERS)
        before = "" if outcome.before is None else f"; before it was set: {short_verdict(outcome.before.report)}"
        page.print(sign if outcome.has_verdict else " ", f" {outcome.name}: {short_verdict(outcome.report)}{before}")
    return page.text


def render_title(outcome: CheckOutcome, target: TextTarget) -> str:
    """The name of a problem, as the title of its report."""
    page = TextPage(target)
    page.print((outcome.name, "bold"))
    return page.text


def render_edits(before: BeforeEdits, report: CheckReport, target: TextTarget, decimals: int) -> str:
    """Which numbers of a problem were set, and what a check of it finds before and after."""
    page = TextPage(target)
    page.print((edits_text(before.cells, decimals), "bold"))
    page.print_lines([f"  before: {short_verdict(before.report)}", f"  after: {short_verdict(report)}"])
    page.skip_line()
    return page.text


def render_summary(outcomes: Sequence[CheckOutcome], left_out: Sequence[str], target: TextTarget) -> str:
    """How many of the problems agree, differ, and can't be checked, and the files of folders that expect nothing."""
    compared = [outcome for outcome in outcomes if outcome.has_verdict]
    agree = sum(outcome.agrees for outcome in compared)
    failed = sum(outcome.report is None for outcome in compared)
    differ = len(compared) - agree - failed
    parts = [f"{agree} of {len(compared)} agree"] if compared else []
    if differ:
        parts.append(f"{differ} {'differs' if differ == 1 else 'differ'}")
    if failed:
        parts.append(f"{failed} can't be checked")
    page = TextPage(target)
    if parts:
        page.print((f"{', '.join(parts)}.", AGREES if agree == len(compared) else DIFFERS))
    without = [*(outcome.name for outcome in outcomes if not outcome.has_verdict), *left_out]
    if without:
        named, others = without[:MAX_NAMED], without[MAX_NAMED:]
        counted = [f"{len(others)} other file{'s' if len(others) > 1 else ''}"] if others else []
        page.print((f"Nothing is expected in {join_words([*named, *counted])}.", "dim"))
    return page.text
