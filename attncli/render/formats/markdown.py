"""Markdown: sections with tables, for notes and web pages."""

from collections.abc import Iterable

from attncli.base.text import escape_control
from attncli.render.grid import Grid
from attncli.render.sections import Section


def render(parts: Iterable[Section], places: int, heading: str = "") -> str:
    """The sections, each under a heading of its own."""
    blocks = [f"# {_escaped(heading)}"] if heading else []
    for section in parts:
        blocks.append(f"## {_escaped(section.title)}")
        if section.formula:
            blocks.append(f"`{section.formula}`" + (f" — {_escaped(section.shapes)}" if section.shapes else ""))
        blocks += [block for grid in section.grids for block in _blocks(grid, places)]
        if section.arithmetic:
            blocks.append("\n".join(["```", *map(escape_control, section.arithmetic), "```"]))
        blocks += [_escaped(remark) for remark in section.remarks]
    return "\n\n".join(blocks) + "\n"


def _blocks(grid: Grid, places: int) -> list[str]:
    """A grid as a table, under the name of its part where it is one of several."""
    head = ["", *map(_escaped, grid.columns)]
    lines = [_row(head), _row(["---", *["--:"] * len(grid.columns)])]
    for label, cells in zip(grid.rows, grid.cells(places), strict=True):
        lines.append(_row([_escaped(label), *(cell.strip() for cell in cells)]))
    return [f"*{_escaped(grid.slice)}*"] * bool(grid.slice) + ["\n".join(lines)]


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _escaped(text: str) -> str:
    """Text that Markdown does not read as markup."""
    return "".join(f"\\{letter}" if letter in "\\`*_{}[]<>#|" else letter for letter in escape_control(text))
