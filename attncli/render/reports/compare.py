"""A comparison for readers: as text with tables side by side, as Markdown, and as LaTeX."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from rich.cells import cell_len
from rich.text import Text

from attncli.analysis.compare.report import Comparison
from attncli.render.compare.labels import NAME_GAP, heading
from attncli.render.compare.sections import comparison_sections
from attncli.render.document import Grid, Section
from attncli.render.formats import latex, markdown
from attncli.render.formats.terminal import print_section
from attncli.render.formats.text_page import TextPage, side_by_side
from attncli.render.target import TEXT_FILE, TextTarget
from attncli.render.view import DECIMALS

COLUMN_GAP = 2  # so that two tables of four columns fit 80 columns


def render_comparison(
    comparison: Comparison, target: TextTarget = TEXT_FILE, decimals: int = DECIMALS
) -> Iterable[str]:
    """The comparison as text."""
    page = TextPage(target)
    text = heading(comparison)
    if text:
        page.print((text, "bold"))
    for position, section in enumerate(comparison_sections(comparison, decimals)):
        if text or position:
            page.skip_line()
        _print_section(page, section, decimals)
    return [page.text]


def render_markdown(comparison: Comparison, target: TextTarget = TEXT_FILE, decimals: int = DECIMALS) -> Iterable[str]:
    """The comparison in Markdown."""
    text = markdown.render_sections(comparison_sections(comparison, decimals), decimals, heading(comparison))
    return [target.encodable(text)]


def render_latex(comparison: Comparison, _target: TextTarget = TEXT_FILE, decimals: int = DECIMALS) -> Iterable[str]:
    """The comparison in LaTeX."""
    return [latex.render_sections(comparison_sections(comparison, decimals), decimals, heading(comparison))]


def _print_section(page: TextPage, section: Section, decimals: int) -> None:
    """Print a section: its tables side by side where there are several, its sentences where there is none."""
    if len(section.grids) == 1:
        print_section(page, section, decimals)
        return
    page.print((section.heading, "bold"))
    blocks = [_block(page.target, grid, decimals) for grid in section.grids]
    page.write(side_by_side(blocks, page.page_width))
    page.print_lines([f"  {remark}" for remark in section.remarks], "dim" if section.grids else "")


def _block(target: TextTarget, grid: Grid, decimals: int) -> Sequence[str]:
    """The lines of a table under its title; of one that is wider than the table the number alone."""
    table, title = TextPage(replace(target, column_gap=COLUMN_GAP)), TextPage(target)
    table.print_grid(replace(grid, slice_label=""), decimals)
    lines = table.text.rstrip("\n").split("\n")
    width = max(cell_len(Text.from_ansi(line).plain) for line in lines)
    name = grid.slice_label if cell_len(grid.slice_label) <= width else grid.slice_label.partition(NAME_GAP)[0]
    title.print((name, "italic"), is_wrapped=False)
    return [title.text.rstrip("\n"), *lines]
