"""A worked example as a reader follows it: its parts, the commands that reproduce them, and the comparison."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from attncli.analysis.compare import Comparison
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import np
from attncli.base.text import escape_control
from attncli.render.formats.terminal import TextTarget, closed, open_console, print_section
from attncli.render.grid import Grid
from attncli.render.sections import Section, sections
from attncli.render.view import View


@dataclass(frozen=True)
class PartReport:
    """One part of a worked example, computed and compared."""

    title: str
    about: str
    command: str
    view: View
    comparisons: Sequence[Comparison]


@dataclass(frozen=True)
class ExampleReport:
    """A worked example, ready to be told."""

    title: str
    about: str
    source: str
    save: str  # the command that hands the file to the reader
    chapters: Sequence[PartReport]
    together: str | None = None

    @property
    def comparisons(self) -> list[Comparison]:
        """All comparisons, in order."""
        return [comparison for chapter in self.chapters for comparison in chapter.comparisons]

    @property
    def differs(self) -> bool:
        """Whether any number is not the published one."""
        return any(comparison.differences for comparison in self.comparisons)


def render(story: ExampleReport, screen: TextTarget) -> str:
    """The story from its title to its verdict."""
    console = open_console(screen)
    console.print(Text(escape_control(story.title), "bold"))
    _print_prose(console, story.about, screen)
    _print_prose(console, f"Source: {story.source}" if story.source else "", screen)
    _print_command(console, story.save)
    for chapter in story.chapters:
        _print_chapter(console, chapter, screen)
    if story.together:
        console.print()
        print_section(console, _side_by_side(story, story.together), screen, story.chapters[0].view.places)
    console.print()
    console.print(_end(story))
    return closed(console)


def _print_chapter(console: Console, chapter: PartReport, screen: TextTarget) -> None:
    """One part: what it is about, the command that reproduces it, its results, and how they compare."""
    console.print()
    if chapter.title:
        console.print(Text(f"── {escape_control(chapter.title)}", "bold"))
    _print_prose(console, chapter.about, screen)
    _print_command(console, chapter.command)
    for section in sections(chapter.view):
        console.print()
        print_section(console, section, screen, chapter.view.places)
    for comparison in chapter.comparisons:
        console.print(_verdict(comparison))


def _print_prose(console: Console, text: str, screen: TextTarget) -> None:
    """Text that flows into the width of a screen; elsewhere its lines stay as they were written."""
    lines = text.strip().split("\n")
    if text.strip():
        console.print(Text("\n".join(map(escape_control, [" ".join(lines)] if screen.width else lines))))


def _print_command(console: Console, command: str) -> None:
    """A command on one line, however long, so that it can be copied."""
    if command:
        console.print(Text(f"$ {escape_control(command)}", "cyan"), soft_wrap=True)


def _verdict(comparison: Comparison) -> Text:
    """One line: how many numbers were compared, to how many decimals, and with what outcome."""
    places = f"{comparison.decimals} decimal{'s' if comparison.decimals > 1 else ''}"
    digits = f"to {places}" if comparison.decimals else "exactly"
    if not comparison.differences:
        return Text(f"✓ {comparison.name}: {comparison.count} numbers as published, {digits}", "green")
    lines = [
        f"✗ {comparison.name}: {len(comparison.differences)} of {comparison.count} numbers differ from those published"
    ]
    for difference in comparison.differences[:5]:
        at = "".join(f"[{index}]" for index in difference.position)
        lines.append(f"    {comparison.name}{at}: published {difference.published!r}, computed {difference.computed!r}")
    return Text("\n".join(lines), "bold red")


def _end(story: ExampleReport) -> Text:
    """The last line: whether all numbers agree."""
    count = sum(comparison.count for comparison in story.comparisons)
    wrong = sum(len(comparison.differences) for comparison in story.comparisons)
    if wrong:
        return Text(f"{wrong} of {count} numbers differ from the published ones.", "bold red")
    return Text(f"All {count} published numbers agree, to every printed digit.", "bold green")


def _side_by_side(story: ExampleReport, name: str) -> Section:
    """One result of every part, a column each, for results of one feature."""
    results = [chapter.view.result for chapter in story.chapters]
    if len({result.query_tokens for result in results}) > 1:
        raise AttnError("the parts have different queries, so they can't stand side by side", where="together")
    values = np.concatenate([result.trace[name].value[..., :1] for result in results], axis=-1)
    grid = Grid(values, results[0].query_tokens, tuple(chapter.title for chapter in story.chapters))
    return Section(f"{name}, side by side", (grid,))
