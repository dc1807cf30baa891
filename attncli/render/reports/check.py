"""The report of a check as text: each quantity in order, what explains the differences, and the verdict at the end."""

from collections.abc import Iterator, Sequence

from attncli.analysis.check.report import CheckReport, Explanation
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
    if report.results:
        page.skip_line()
    page.print_lines(_tolerances(report), "dim")
    print_explanations(page, report)
    _print_unnoticed(page, report)
    style = (AGREES if report.agrees else DIFFERS) if report.has_verdict else ""
    page.print((f"{verdict(report)}.", style))
    return page.text


def verdict(report: CheckReport) -> str:
    """The result of a check in one line: how many numbers differ, the first step that does, the slips that explain it.

    `3 of 28 numbers differ; the first step that differs is weights; explained by no_scale`
    """
    if not report.has_verdict:
        text = f"nothing is expected; {_unnoticed(report)}"
    elif report.agrees:
        text = _agreement(report)
    else:
        parts = [
            count_of_differences(report.differ, report.count),
            f"the first step that differs is {report.first_difference}",
        ]
        if report.explanations:
            parts.append(f"explained by {_names(report.explanations)}")
        text = "; ".join(parts)
    return text[0].upper() + text[1:]


def short_verdict(report: CheckReport) -> str:
    """The verdict in a part of a line: `3 of 28 numbers differ, first in weights (no_scale)`.

    Where slips were looked for that would not be noticed, they are counted.
    """
    if not report.has_verdict:
        text = "nothing is expected"
    elif report.agrees:
        text = _agreement(report)
    else:
        slip = f" ({slip_names(report.explanations[0])})" if report.explanations else ""
        text = f"{count_of_differences(report.differ, report.count)}, first in {report.first_difference}{slip}"
    return text if report.unnoticed is None else f"{text}; {_unnoticed(report)}"


def _agreement(report: CheckReport) -> str:
    """How many numbers agree, where all do."""
    return f"all {report.count} numbers agree" if report.count != 1 else "the number agrees"


def _unnoticed(report: CheckReport) -> str:
    """Which slips would not be noticed, in a part of a line."""
    if report.unnoticed:
        return f"{_names(report.unnoticed)} would not be noticed"
    return f"every slip {'that was tried ' if report.untried else ''}would be noticed"


def _names(explanations: Sequence[Explanation]) -> str:
    """The slips of some explanations: `no_scale or scale_by_d or 2 others`."""
    names = list(dict.fromkeys(map(slip_names, explanations)))
    others = len(names) - MAX_NAMED
    more = [f"{others} other{'s' if others > 1 else ''}"] if others > 0 else []
    return " or ".join([*names[:MAX_NAMED], *more])


def _tolerances(report: CheckReport) -> Iterator[str]:
    """What the numbers are held to, once for all quantities of the same reason, and how ours were computed."""
    if report.searched:
        yield f"Slips are looked for in {report.searched}, held to {report.searched_reason}."
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
        which = "was tried" if report.untried else "applies to this problem"
        page.print(f"Every slip that {which} would be noticed.")
