"""A worked example as text: its parts, the commands that reproduce them, and how expected numbers compare."""

from collections.abc import Iterator, Sequence

from attncli.analysis.check.report import CheckReport
from attncli.base.dataclasses import dataclass
from attncli.render.formats.text_page import TextPage
from attncli.render.reports.part import (
    USUAL_WIDTH,
    PartReport,
    is_brief,
    print_command,
    print_paragraph,
    print_part,
    print_tables,
)
from attncli.render.reports.together import curve_lines, together
from attncli.render.reports.verdict import EXPECTED, PUBLISHED, verdict
from attncli.render.target import TextTarget


@dataclass(frozen=True)
class ExampleReport:
    """A worked example, computed and compared part by part, or some of its parts."""

    title: str
    about: str
    paper: str
    source: str  # who published the expected numbers; empty where nobody did
    save_command: str  # that writes the example to a file
    parts: Sequence[PartReport]
    first_number: int | None = 1  # of the parts, where they are numbered
    together: Sequence[str] = ()  # the results of every part that are shown in one table at the end
    curve: str | None = None  # the result of every part that is plotted at the end

    @property
    def checks(self) -> list[CheckReport]:
        """The checks of all parts of which numbers are expected, in order."""
        return [part.check for part in self.parts if part.check is not None]

    @property
    def differs(self) -> bool:
        """Whether any number is not the expected one."""
        return not all(check.agrees for check in self.checks)

    @property
    def adjective(self) -> str:
        """What the expected numbers are: `published`, or only `expected`."""
        return PUBLISHED if self.source else EXPECTED


def render(report: ExampleReport, target: TextTarget) -> str:
    """The report, from its title to whether all expected numbers agree."""
    return "".join(pages(report, target))


def pages(report: ExampleReport, target: TextTarget) -> Iterator[str]:
    """The report in pieces, one for each part; the first has the title, the last what all parts are shown in."""
    elsewhere = [*report.together, *filter(None, [report.curve])]
    last = len(report.parts) - 1
    for position, part in enumerate(report.parts):
        page = TextPage(target)
        if position == 0:
            _print_head(page, report)
        number = "" if report.first_number is None else f"{report.first_number + position}."
        if position == 0 or not is_brief(part, elsewhere):
            page.skip_line()
        print_part(page, part, number, report.adjective, elsewhere)
        if position == last:
            _print_end(page, report)
        yield page.text


def _print_head(page: TextPage, report: ExampleReport) -> None:
    """The title, what to see, where it is from, and the command that saves the file."""
    page.print((report.title, "bold"))
    print_paragraph(page, report.about)
    print_paragraph(page, f"Paper: {report.paper}" if report.paper else "")
    print_paragraph(page, f"Source: {report.source}" if report.source else "")
    print_command(page, report.save_command)


def _print_end(page: TextPage, report: ExampleReport) -> None:
    """The results that all parts are shown in, and the verdict."""
    if report.together:
        page.skip_line()
        print_tables(page, list(together(report.parts, report.together)), report.parts[0].view)
    if report.curve:
        page.skip_line()
        for row in curve_lines(report.parts, report.curve, page.target.width or USUAL_WIDTH):
            page.print(row, is_wrapped=False)
    line = verdict(report.checks, report.adjective)
    if line is not None:
        page.skip_line()
        page.print(line)
