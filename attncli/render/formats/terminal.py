"""Sections as text for a terminal, a pipe or a file."""

from collections.abc import Callable, Iterable, Sequence

from attncli.render.curve import plot
from attncli.render.formats.text_page import TextPage
from attncli.render.grid import Grid
from attncli.render.section import Section
from attncli.render.sections import sections
from attncli.render.target import TextTarget
from attncli.render.view import View

PrintGrids = Callable[[TextPage, Sequence[Grid], int], None]  # prints the grids of a section with so many decimals


def print_tables(page: TextPage, grids: Sequence[Grid], decimals: int) -> None:
    """Print grids as tables, one under the other."""
    for grid in grids:
        page.print_grid(grid, decimals)


def render(view: View, target: TextTarget) -> list[str]:
    """The heading and the sections of a view."""
    print_grids = print_tables
    if view.heatmap:
        from attncli.render.heatmap.panels import print_heatmaps  # noqa: PLC0415 - only `--heatmap` needs it

        print_grids = print_heatmaps
    return [render_sections(sections(view), target, view.decimals, view.heading, print_grids)]


def render_sections(
    parts: Iterable[Section],
    target: TextTarget,
    decimals: int,
    heading: str = "",
    print_grids: PrintGrids = print_tables,
) -> str:
    """The sections as text, one under the other, and their grids as tables or heat maps."""
    page = TextPage(target)
    if heading:
        page.print((heading, "bold"))
    for section in parts:
        page.skip_line()
        print_section(page, section, decimals, print_grids)
    return page.text


def print_section(page: TextPage, section: Section, decimals: int, print_grids: PrintGrids = print_tables) -> None:
    """Print one section: title, symbol and formula, its purpose, its shapes, its grids, its arithmetic, its remarks."""
    page.print((section.heading, "bold"), f"  {section.formula}" if section.formula else "")
    if section.purpose:
        page.print((section.purpose, "italic"))
    if section.shapes:
        page.print((section.shapes, "dim"))
    print_grids(page, section.grids, decimals)
    for at, drawn in enumerate(section.plots):
        if at:
            page.skip_line()
        if drawn.title:
            page.print((drawn.title, "italic"))
        for line in plot(drawn.points, drawn.curves, page.page_width):
            page.print(line, is_wrapped=False)
    page.print_lines([f"  {line}" for line in section.arithmetic], "cyan")
    page.print_lines([f"  {remark}" for remark in section.remarks], "dim")
