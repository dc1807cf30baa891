"""Sections as text for a terminal, a pipe or a file."""

from collections.abc import Iterable

from attncli.render.formats.text_page import TextPage
from attncli.render.section import Section
from attncli.render.sections import sections
from attncli.render.target import TextTarget
from attncli.render.view import View


def render(view: View, target: TextTarget) -> list[str]:
    """The heading and the sections of a view."""
    return [render_sections(sections(view), target, view.decimals, view.heading)]


def render_sections(parts: Iterable[Section], target: TextTarget, decimals: int, heading: str = "") -> str:
    """The sections as text, one under the other."""
    page = TextPage(target)
    if heading:
        page.print((heading, "bold"))
    for section in parts:
        page.skip_line()
        print_section(page, section, decimals)
    return page.text


def print_section(page: TextPage, section: Section, decimals: int) -> None:
    """Print one section: title, symbol and formula, its purpose, its shapes, its grids, its arithmetic, its remarks."""
    page.print((section.heading, "bold"), f"  {section.formula}" if section.formula else "")
    if section.purpose:
        page.print((section.purpose, "italic"))
    if section.shapes:
        page.print((section.shapes, "dim"))
    for grid in section.grids:
        page.print_grid(grid, decimals)
    page.print_lines([f"  {line}" for line in section.arithmetic], "cyan")
    page.print_lines([f"  {remark}" for remark in section.remarks], "dim")
