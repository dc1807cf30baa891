"""Sections as text for a terminal, a pipe or a file, printed with Rich."""

import io
from collections.abc import Iterable

from rich.console import Console
from rich.text import Text

from attncli.base.text import escape_control
from attncli.render.formats.screen_table import screen_table
from attncli.render.formats.text_table import text_table
from attncli.render.sections import Section, sections
from attncli.render.target import TextTarget
from attncli.render.view import View

UNLIMITED_WIDTH = 1_000_000


def render(view: View, target: TextTarget) -> list[str]:
    """The heading and the sections of a view."""
    return [render_sections(sections(view), target, view.decimals, view.heading)]


def render_sections(parts: Iterable[Section], target: TextTarget, decimals: int, heading: str = "") -> str:
    """The sections as text, one under the other."""
    console = open_console(target)
    if heading:
        console.print(Text(heading, "bold"))
    for section in parts:
        console.print()
        print_section(console, section, target, decimals)
    return console_text(console)


def open_console(target: TextTarget) -> Console:
    """A console that prints to memory; it reads neither markup, emoji codes nor the environment's width."""
    return Console(
        file=io.StringIO(),
        width=target.width or UNLIMITED_WIDTH,
        force_terminal=target.has_styles,
        legacy_windows=False,
        markup=False,
        emoji=False,
        highlight=False,
    )


def console_text(console: Console) -> str:
    """The text that was printed to a console of `open_console`, without blanks at the ends of lines."""
    assert isinstance(console.file, io.StringIO)
    return "\n".join(line.rstrip() for line in console.file.getvalue().split("\n"))


def print_section(console: Console, section: Section, target: TextTarget, decimals: int) -> None:
    """Print one section: its title and formula, its shapes, its grids, its arithmetic, its remarks."""
    console.print(Text.assemble((section.title, "bold"), f"  {section.formula}" if section.formula else ""))
    if section.shapes:
        console.print(Text(section.shapes, "dim"))
    for grid in section.grids:
        if grid.slice_label:
            console.print(Text(escape_control(grid.slice_label), "italic"))
        if target.width is None and not target.has_styles:
            console.out(text_table(grid, decimals), highlight=False)
        else:
            console.print(screen_table(grid, target.width, decimals))
    for line in section.arithmetic:
        console.print(Text(f"  {escape_control(line)}", "cyan"))
    for remark in section.remarks:
        console.print(Text(f"  {remark}", "dim"))
