"""A worked example as text: its parts, the commands that reproduce them, and how published numbers compare."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from attncli.analysis.compare import Comparison
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import np
from attncli.base.text import escape_control
from attncli.render.formats.terminal import console_text, open_console, print_section
from attncli.render.grid import Grid
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
    console = open_console(target)
    console.print(Text(escape_control(report.title), "bold"))
    _print_paragraph(console, report.about, target)
    _print_paragraph(console, f"Source: {report.source}" if report.source else "", target)
    _print_command(console, report.save_command)
    for part in report.parts:
        _print_part(console, part, target)
    if report.side_by_side:
        console.print()
        print_section(console, _side_by_side(report, report.side_by_side), target, report.parts[0].view.decimals)
    console.print()
    console.print(_summary(report))
    return console_text(console)


def _print_part(console: Console, part: PartReport, target: TextTarget) -> None:
    """One part: what it is about, the command that reproduces it, its results, and how they compare."""
    console.print()
    if part.title:
        console.print(Text(f"── {escape_control(part.title)}", "bold"))
    _print_paragraph(console, part.about, target)
    _print_command(console, part.command)
    for section in sections(part.view):
        console.print()
        print_section(console, section, target, part.view.decimals)
    for comparison in part.comparisons:
        console.print(_format_comparison(comparison))


def _print_paragraph(console: Console, text: str, target: TextTarget) -> None:
    """Text that is wrapped to the width of a screen; elsewhere its lines stay as the author broke them."""
    lines = text.strip().split("\n")
    if text.strip():
        console.print(Text("\n".join(map(escape_control, [" ".join(lines)] if target.width else lines))))


def _print_command(console: Console, command: str) -> None:
    """A command on one line, however long, so that it can be copied."""
    if command:
        console.print(Text(f"$ {escape_control(command)}", "cyan"), soft_wrap=True)


def _format_comparison(comparison: Comparison) -> Text:
    """How many numbers were compared, to how many decimals, and which of them differ."""
    decimals = f"{comparison.decimals} decimal{'s' if comparison.decimals > 1 else ''}"
    digits = f"to {decimals}" if comparison.decimals else "exactly"
    name, count, differences = comparison.name, comparison.count, comparison.differences
    if not differences:
        return Text(f"✓ {name}: {count} numbers as published, {digits}", "green")
    lines = [f"✗ {name}: {len(differences)} of {count} numbers differ from those published"]
    for difference in differences[:MAX_DIFFERENCES]:
        index = "".join(f"[{position}]" for position in difference.position)
        lines.append(f"    {name}{index}: published {difference.published!r}, computed {difference.computed!r}")
    return Text("\n".join(lines), "bold red")


def _summary(report: ExampleReport) -> Text:
    """The last line: how many numbers differ, or that all agree."""
    count = sum(comparison.count for comparison in report.comparisons)
    difference_count = sum(len(comparison.differences) for comparison in report.comparisons)
    if difference_count:
        return Text(f"{difference_count} of {count} numbers differ from the published ones.", "bold red")
    return Text(f"All {count} published numbers agree, to every printed digit.", "bold green")


def _side_by_side(report: ExampleReport, name: str) -> Section:
    """The first feature of one result of every part, a column for each part.

    Raises AttnError where the parts have different queries.
    """
    results = [part.view.result for part in report.parts]
    if len({result.query_tokens for result in results}) > 1:
        raise AttnError("the parts have different queries, so they can't stand side by side", where="together")
    values = np.concatenate([result.trace[name].value[..., :1] for result in results], axis=-1)
    grid = Grid(values, results[0].query_tokens, tuple(part.title for part in report.parts))
    return Section(f"{name}, side by side", (grid,))
