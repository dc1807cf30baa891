"""A worked example as text: its parts, the commands that reproduce them, and how published numbers compare."""

from collections.abc import Sequence
from dataclasses import dataclass

from attncli.analysis.compare import Comparison
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import np
from attncli.render.formats.terminal import print_section
from attncli.render.formats.text_page import TextPage
from attncli.render.grid import Grid, grids
from attncli.render.sections import Section, sections
from attncli.render.target import TextTarget
from attncli.render.view import View

MAX_DIFFERENCES = 5  # the number of differences that are printed for each result


@dataclass(frozen=True)
class PartReport:
    """One part of a worked example, computed and compared."""

    title: str
    about: str
    command: str  # `attn compute …`, which reproduces it
    view: View
    comparisons: Sequence[Comparison]


@dataclass(frozen=True)
class ExampleReport:
    """A worked example, computed and compared part by part."""

    title: str
    about: str
    source: str
    save_command: str  # that writes the example to a file
    parts: Sequence[PartReport]
    side_by_side: str | None = None  # the result of every part that is shown in one table at the end

    @property
    def comparisons(self) -> list[Comparison]:
        """The comparisons of all parts, in order."""
        return [comparison for part in self.parts for comparison in part.comparisons]

    @property
    def differs(self) -> bool:
        """Whether any number is not the published one."""
        return any(comparison.differences for comparison in self.comparisons)


def render(report: ExampleReport, target: TextTarget) -> str:
    """The report, from its title to whether all published numbers agree."""
    page = TextPage(target)
    page.print((report.title, "bold"))
    _print_paragraph(page, report.about)
    _print_paragraph(page, f"Source: {report.source}" if report.source else "")
    _print_command(page, report.save_command)
    for part in report.parts:
        _print_part(page, part)
    if report.side_by_side:
        page.skip_line()
        print_section(page, _side_by_side(report, report.side_by_side), report.parts[0].view.decimals)
    page.skip_line()
    page.print(_summary(report))
    return page.text


def _print_part(page: TextPage, part: PartReport) -> None:
    """One part: what it is about, the command that reproduces it, its results, and how they compare."""
    page.skip_line()
    if part.title:
        page.print((f"── {part.title}", "bold"))
    _print_paragraph(page, part.about)
    _print_command(page, part.command)
    for section in sections(part.view):
        page.skip_line()
        print_section(page, section, part.view.decimals)
    for comparison in part.comparisons:
        _print_comparison(page, comparison)


def _print_paragraph(page: TextPage, text: str) -> None:
    """Text that is wrapped to the width of a screen; elsewhere its lines stay as the author broke them."""
    if text.strip():
        lines = text.strip().split("\n")
        page.print_lines([" ".join(lines)] if page.target.width else lines)


def _print_command(page: TextPage, command: str) -> None:
    """A command on one line, however long, so that it can be copied."""
    if command:
        page.print((f"$ {command}", "cyan"), is_wrapped=False)


def _print_comparison(page: TextPage, comparison: Comparison) -> None:
    """How many numbers were compared, to how many decimals, and which of them differ."""
    decimals = f"{comparison.decimals} decimal{'s' if comparison.decimals > 1 else ''}"
    digits = f"to {decimals}" if comparison.decimals else "exactly"
    name, count, differences = comparison.name, comparison.count, comparison.differences
    if not differences:
        page.print((f"✓ {name}: {count} numbers as published, {digits}", "green"))
        return
    lines = [f"✗ {name}: {len(differences)} of {count} numbers differ from those published"]
    for difference in differences[:MAX_DIFFERENCES]:
        index = "".join(f"[{position}]" for position in difference.position)
        lines.append(f"    {name}{index}: published {difference.published!r}, computed {difference.computed!r}")
    page.print_lines(lines, "bold red")


def _summary(report: ExampleReport) -> tuple[str, str]:
    """The last line and its style: how many numbers differ, or that all agree."""
    count = sum(comparison.count for comparison in report.comparisons)
    difference_count = sum(len(comparison.differences) for comparison in report.comparisons)
    if difference_count:
        return f"{difference_count} of {count} numbers differ from the published ones.", "bold red"
    has_every_digit = all(comparison.has_every_digit for comparison in report.comparisons)
    digits = "to every printed digit" if has_every_digit else "to the digits that their type has"
    return f"All {count} published numbers agree, {digits}.", "bold green"


def _side_by_side(report: ExampleReport, name: str) -> Section:
    """One result of every part in one table, its columns under the title of the part.

    Raises AttnError where the parts have different rows.
    """
    tables = [
        (part.title, table)
        for part in report.parts
        for table in grids(part.view.result.trace, part.view.result.trace[name])
    ]
    rows = tables[0][1].rows
    if any(table.rows != rows for _, table in tables):
        raise AttnError("the parts have different queries, so they can't stand side by side", where="together")
    columns = tuple(_column_title(title, table, column) for title, table in tables for column in table.columns)
    values = np.concatenate([table.values for _, table in tables], axis=-1)
    return Section(f"{name}, side by side", (Grid(values, rows, columns),))


def _column_title(title: str, table: Grid, column: str) -> str:
    """The title of a part, with the head and the column where it has several: `causal, head 0, e1`."""
    parts = (title, table.slice_label, column if len(table.columns) > 1 else "")
    return ", ".join(part for part in parts if part)
