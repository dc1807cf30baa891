"""The report of a check as text: each quantity in order, what explains the differences, and the verdict at the end."""

from collections.abc import Iterator

from attncli.analysis.check.report import CheckReport
from attncli.base.text import join_words
from attncli.render.formats.text_page import TextPage
from attncli.render.reports.quantity import AGREES, DIFFERS, count_of_differences, print_quantity
from attncli.render.reports.slip_lines import slip_lines, slip_names
from attncli.render.target import TEXT_FILE, TextTarget
from attncli.render.view import DECIMALS

MAX_NAMED = 2  # explanations that the verdict names: the report has all


def render_check(report: CheckReport, target: TextTarget = TEXT_FILE, *, decimals: int = DECIMALS) -> str:
    """The report as text for a target; its last line is the verdict.

    Worked lines have at least so many decimals, and more where the error of a number is behind them.
    """
    page = TextPage(target)
    for result in report.results:
        print_quantity(page, report, result, decimals)
    page.skip_line()
    page.print_lines(_tolerances(report), "dim")
    print_explanations(page, report)
    _print_unnoticed(page, report)
    page.print((f"{verdict(report)}.", AGREES if report.agrees else DIFFERS))
    return page.text


def verdict(report: CheckReport) -> str:
    """The result of a check in one line: how many numbers differ, the first step that does, the slips that explain it.

    `3 of 28 numbers differ; the first step that differs is weights; explained by no_scale`
    """
    count, differ = (sum(getattr(result, name) for result in report.results) for name in ("count", "differ"))
    if report.agrees:
        return f"All {count} numbers agree" if count != 1 else "The number agrees"
    parts = [
        count_of_differences(differ, count),
        f"the first step that differs is {report.first_difference}",
    ]
    names = list(dict.fromkeys(map(slip_names, report.explanations)))
    if names:
        others = len(names) - MAX_NAMED
        more = [f"{others} other{'s' if others > 1 else ''}"] if others > 0 else []
        parts.append(f"explained by {' or '.join([*names[:MAX_NAMED], *more])}")
    text = "; ".join(parts)
    return text[0].upper() + text[1:]


def short_verdict(report: CheckReport) -> str:
    """The verdict in a part of a line: `3 of 28 numbers differ, first in weights (no_scale)`."""
    count, differ = (sum(getattr(result, name) for result in report.results) for name in ("count", "differ"))
    if report.agrees:
        return f"all {count} numbers agree" if count != 1 else "the number agrees"
    slip = f" ({slip_names(report.explanations[0])})" if report.explanations else ""
    return f"{count_of_differences(differ, count)}, first in {report.first_difference}{slip}"


def _tolerances(report: CheckReport) -> Iterator[str]:
    """What the numbers are held to, once for all quantities of the same reason, and how ours were computed."""
    names: dict[str, list[str]] = {}
    for result in report.results:
        if result.count:
            names.setdefault(result.tolerance_reason, []).append(result.name)
    for reason, quantities in names.items():
        of = "" if len(names) == 1 else f" of {join_words(quantities)}"
        yield f"The numbers{of} are held to {reason}."
    why = f" ({report.reference_remark})" if report.reference_remark else ""
    yield f"Ours are computed in {report.reference}{why}."


def print_explanations(page: TextPage, report: CheckReport) -> None:
    """Print the slips that explain the numbers that differ, or that none does; nothing where none was tried."""
    if report.explanations:
        page.print(("Explained by:", "bold"))
        page.print_pairs(slip_lines(report.explanations), "cyan")
        if report.may_be_chance:
            page.print("So few numbers may be explained by chance; more of them would tell.")
    if report.tried_count:
        singles, pairs = report.tried_count - report.pair_count, report.pair_count
        tried = f"{singles} slip{'s' if singles != 1 else ''}"
        tried += f" and {pairs} {'pairs of them' if pairs > 1 else 'pair of them'}" if pairs else ""
        result = "were tried" if report.explanations else "were tried, and none explains the numbers"
        page.print((f"{tried} {result}.", "dim"))
    page.print_lines(report.untried, "dim")


def _print_unnoticed(page: TextPage, report: CheckReport) -> None:
    """Print the slips that would not be noticed with these inputs, where they were looked for."""
    if report.unnoticed:
        page.print(("These slips would not be noticed with these inputs, at this tolerance:", "bold"))
        page.print_pairs(slip_lines(report.unnoticed), "cyan")
    elif report.unnoticed is not None:
        page.print("Every slip that applies to this problem would be noticed.")
