"""One part of a worked example as text: its command, its tables, and lines of NumPy beside the worked arithmetic."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace

from rich.cells import cell_len

from attncli.analysis.check.report import CheckReport
from attncli.base.dataclasses import dataclass
from attncli.render.document import Section
from attncli.render.formats.terminal import print_section
from attncli.render.formats.text_page import TextPage, side_by_side
from attncli.render.reports.check import print_explanations
from attncli.render.reports.quantity import print_quantity
from attncli.render.reports.row_tables import join_row_tables
from attncli.render.sections import sections
from attncli.render.statistics import arrows
from attncli.render.view import View
from attncli.trace.steps import Step, Trace

USUAL_WIDTH = 80  # of text in a pipe or a file


@dataclass(frozen=True)
class PartReport:
    """One part of a worked example, computed and compared."""

    title: str
    about: str
    command: str  # `attn compute …`, which shows the same tables
    view: View
    check: CheckReport | None = None  # of its numbers with those expected; None where none are
    worked: View | None = None  # the view of the cell whose arithmetic is shown
    worked_command: str = ""  # which shows the same arithmetic
    numpy: Mapping[str, str] = field(default_factory=dict)  # lines of NumPy, by the name of the result
    arrows_from_key: bool | None = None  # whether arrows of the largest weights lead to the query; None for no arrows


def is_brief(part: PartReport, elsewhere: Collection[str]) -> bool:
    """Whether a part shows nothing but the results that are shown elsewhere, and is a line and its command."""
    shows_more = part.view.explain or part.numpy or part.worked is not None or part.arrows_from_key is not None
    return not shows_more and set(part.view.names) <= set(elsewhere)


def print_part(page: TextPage, part: PartReport, number: str, adjective: str, elsewhere: Collection[str] = ()) -> None:
    """Print one part: what it is about, the command that reproduces it, its results, and which numbers differ.

    `number` stands before its title; the results named in `elsewhere` are not shown here.
    """
    if is_brief(part, elsewhere):
        _print_title(page, number, ": ".join(filter(None, (part.title, part.about.strip()))))
    else:
        _print_title(page, number, part.title)
        print_paragraph(page, part.about)
    print_command(page, part.command)
    shown = [section for section in sections(part.view) if part.view.explain or section.title not in elsewhere]
    print_tables(page, shown, part.view)
    if part.arrows_from_key is not None:
        _print_arrows(page, part.view.result.trace, from_key=part.arrows_from_key)
    print_command(page, part.worked_command)
    _print_steps(page, part)
    if part.check is not None:
        for result in part.check.differing:
            print_quantity(page, part.check, result, part.view.decimals, adjective)
        print_explanations(page, part.check)


def print_paragraph(page: TextPage, text: str) -> None:
    """Text that is wrapped to the width of a screen; elsewhere its lines stay as the author broke them."""
    if text.strip():
        lines = text.strip().split("\n")
        page.print_lines([" ".join(lines)] if page.target.width else lines)


def print_command(page: TextPage, command: str) -> None:
    """A command on one line, however long, so that it can be copied."""
    if command:
        page.print((f"$ {command}", "cyan"), is_wrapped=False)


def print_tables(page: TextPage, shown: Sequence[Section], view: View) -> None:
    """Tables side by side where they fit; the steps of an explanation one below the other."""
    if view.explain:
        for section in shown:
            page.skip_line()
            print_section(page, section, view.decimals)
        return
    blocks = []
    tables = (table for section in shown for table in _by_slice(section))
    for section in join_row_tables(tables, view.decimals):
        block = TextPage(page.target)
        if section.heading:
            print_section(block, section, view.decimals)
        else:
            for grid in section.grids:
                block.print_grid(grid, view.decimals)
        blocks.append(block.text.rstrip("\n").split("\n"))
    if blocks:
        page.write(side_by_side(blocks, _width(page)))


def _by_slice(section: Section) -> Iterator[Section]:
    """A section for each table of a section, with its slice in the title: `weights, head 1`; remarks with the last."""
    if len(section.grids) < 2:
        yield section
        return
    for grid in section.grids:
        title = f"{section.title}, {grid.slice_label}"
        remarks = section.remarks if grid is section.grids[-1] else ()
        yield replace(section, title=title, grids=(replace(grid, slice_label=""),), remarks=remarks)


def _print_title(page: TextPage, number: str, title: str) -> None:
    """The number and the title of a part, where it has one."""
    text = " ".join(filter(None, (number, title)))
    if text:
        page.print((f"── {text}", "bold"))


def _print_arrows(page: TextPage, trace: Trace, *, from_key: bool) -> None:
    """The arrows of the largest weights, a paragraph for each head."""
    page.skip_line()
    page.print(("The largest weight of each query:", "dim"))
    for label, found in arrows(trace, from_key=from_key):
        if found:
            lead = f"{label}: " if label else ""
            page.print_lines(join_pieces([f"{lead}{found[0]}", *found[1:]], _width(page)), "bold")


def _print_steps(page: TextPage, part: PartReport) -> None:
    """The lines of NumPy of each result, or without any its formula, and below them the arithmetic of the cell."""
    trace = part.view.result.trace
    worked = {} if part.worked is None else {section.title: section for section in sections(part.worked)}
    for name in dict.fromkeys([*part.numpy, *part.view.result.select]):
        section = worked.pop(_computed_step(trace, name).name, None)
        for line in part.numpy.get(name, "").splitlines():
            page.print((f"{'...' if line.startswith(' ') else '>>>'} {line}", "green"), is_wrapped=False)
        if section is None:
            continue
        if not part.numpy:
            page.print((section.heading, "bold"), f"  {section.formula}")
        arithmetic = TextPage(replace(page.target, width=_width(page)))
        arithmetic.print_lines([f"  {line}" for line in section.arithmetic], "cyan")
        page.write(arithmetic.text.splitlines())


def _computed_step(trace: Trace, name: str) -> Step:
    """The step that computes a result, which the steps after it may return unchanged."""
    step = trace[name]
    while step.is_identity:
        step = trace[step.inputs["x"]]
    return step


def join_pieces(pieces: Sequence[str], width: int, gap: str = "   ") -> list[str]:
    """Pieces of text in lines of at most that width, with a gap between two of them; no piece is broken.

    >>> join_pieces(["one", "two", "three"], 8, " ")
    ['one two', 'three']
    """
    lines = list(pieces[:1])
    for piece in pieces[1:]:
        if cell_len(joined := f"{lines[-1]}{gap}{piece}") <= width:
            lines[-1] = joined
        else:
            lines.append(piece)
    return lines


def _width(page: TextPage) -> int:
    """The width that text is wrapped to."""
    return page.target.width or USUAL_WIDTH
