"""Documents as text for a terminal, a pipe or a file, and as a picture of a terminal."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from attncli.base.text import escape_control
from attncli.render.curve import ROWS, plot
from attncli.render.document import Block, Document, Drawing, Fitted, Grid, Lines, Pairs, Section, SideBySide, Statement
from attncli.render.formats.text_page import TextPage, grid_lines, line_width, side_by_side
from attncli.render.target import TextTarget

PICTURED = TextTarget(width=80, has_styles=True, is_light=True, color_system="truecolor")  # the terminal of a picture
COLUMN_GAP = 2  # between tables side by side, so that two of four columns fit 80 columns
NAME_GAP = "  "  # in a table's title, after its number

PrintGrids = Callable[[TextPage, Sequence[Grid], int], None]  # prints the grids of a section with so many decimals

LINES_AROUND_PLOT = 9  # on a screen: the heading, empty lines, the title, names of axes, ticks, the legend, the prompt
MIN_ROWS, MAX_ROWS = 8, 40  # for a plot as high as the screen


def render(document: Document, target: TextTarget) -> Iterator[str]:
    """A document as text, one chunk for each section; the first begins with the heading."""
    print_grids = print_tables
    if document.has_heatmaps:
        from attncli.render.heatmap import print_heatmaps  # noqa: PLC0415 - only `--heatmap` needs it

        print_grids = print_heatmaps
    page = TextPage(target)
    if document.heading:
        page.print((document.heading, "bold"))
    for number, section in enumerate(document.sections):
        if (number or document.heading) and not section.is_continuation:
            page.skip_line()
        if document.are_side_by_side and len(section.grids) != 1:
            page.print((section.heading, "bold"))
            page.write(
                side_by_side([_block(page.target, grid, document.decimals) for grid in section.grids], page.page_width)
            )
            _print_legend(page, section.grids)
            page.print_lines([f"  {remark}" for remark in section.remarks], "dim" if section.grids else "")
        else:
            print_section(page, section, document.decimals, print_grids)
        yield page.text
        page = TextPage(target)
    if page.text:
        yield page.text


def render_picture(document: Document, _target: TextTarget) -> Iterator[str]:
    """A picture of a document as a terminal shows it, under its title: an SVG."""
    from attncli.render.formats.rich_printer import picture  # noqa: PLC0415 - only a picture needs it

    yield picture("".join(render(document, PICTURED)), escape_control(document.title))


def print_tables(page: TextPage, grids: Sequence[Grid], decimals: int) -> None:
    """Print grids as tables, one under the other, with an empty line before each that has a title."""
    for grid in grids:
        if grid.slice_label:
            page.skip_line()
        page.print_grid(grid, decimals)
    _print_legend(page, grids)


def _print_legend(page: TextPage, grids: Sequence[Grid]) -> None:
    """Print the meaning of the sign for masked cells, once for all tables of a section."""
    if legend := Section("", tuple(grids)).legend:
        page.print((f"  {legend}", "dim"))


def _plot_rows(page: TextPage, section: Section) -> int:
    """The rows of a plot: a single plot is as high as the screen."""
    height = page.target.height
    if height is None or len(section.plots) > 1:
        return ROWS
    return min(max(height - LINES_AROUND_PLOT, MIN_ROWS), MAX_ROWS)


def print_section(page: TextPage, section: Section, decimals: int, print_grids: PrintGrids = print_tables) -> None:
    """Print one section: heading, formula, purpose, shapes, grids, plots, arithmetic, remarks and other blocks."""
    if section.heading:
        page.print((section.rule + section.heading, "bold"), f"  {section.formula}" if section.formula else "")
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
        for line in plot(drawn, page.page_width, _plot_rows(page, section), has_unicode=page.target.has_unicode):
            page.print(line, is_wrapped=False)
    page.print_lines([f"  {line}" for line in section.arithmetic], "cyan")
    page.print_lines([f"  {remark}" for remark in section.remarks], "dim")
    for block in section.blocks:
        _print_block(page, block, decimals)


def _print_block(page: TextPage, block: Block, decimals: int) -> None:
    match block:
        case Section():
            print_section(page, block, decimals)
        case Statement():
            page.print((block.start, block.style), block.rest)
        case Lines(wrapped="never"):
            for line in block.lines:
                page.print((line, block.style), is_wrapped=False)
        case Lines(wrapped="page"):
            narrow = TextPage(replace(page.target, width=page.page_width))
            narrow.print_lines(block.lines, block.style)
            page.write(narrow.text.splitlines())
        case Lines():
            page.print_lines(block.lines, block.style)
        case Pairs():
            page.print_pairs(block.pairs, block.style)
        case Drawing():
            block.draw(page)
        case Fitted():
            for fitted in block.blocks(page.target):
                _print_block(page, fitted, decimals)
        case SideBySide():
            blocks = [_section_lines(section, decimals, page.target) for section in block.sections]
            page.write(side_by_side(blocks, page.page_width))


def _section_lines(section: Section, decimals: int, target: TextTarget) -> Sequence[str]:
    page = TextPage(target)
    print_section(page, section, decimals)
    return page.text.rstrip("\n").split("\n")


def _block(target: TextTarget, grid: Grid, decimals: int) -> Sequence[str]:
    """The lines of a table under its title; a title wider than the table is shortened to its number."""
    lines = grid_lines(replace(grid, slice_label=""), decimals, replace(target, column_gap=COLUMN_GAP))
    title, name = TextPage(target), grid.slice_label
    if line_width(name) > max(map(line_width, lines)):
        name = name.partition(NAME_GAP)[0]
    title.print((name, "italic"), is_wrapped=False)
    return [title.text.rstrip("\n"), *lines]
