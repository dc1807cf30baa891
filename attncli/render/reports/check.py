"""The report of a check as text: each quantity, the first that differs, and what would explain it."""

from attncli.analysis.check.report import CheckReport
from attncli.render.formats.text_page import TextPage
from attncli.render.target import TextTarget


def render_check(report: CheckReport, target: TextTarget, *, decimals: int = 4) -> str:
    """The report as text for a target."""
    page = TextPage(target)
    for result in report.results:
        if result.agrees:
            page.print(f"{result.name} agrees: {result.count} numbers")
        else:
            page.print(f"{result.name} differs in {result.differ} of {result.count} numbers")
    if report.first_difference is not None:
        page.print(f"The first to differ is {report.first_difference}.")
    return page.text
