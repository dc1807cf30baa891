"""LaTeX: tables with booktabs rules, to be included in a document."""

from collections.abc import Iterable

from attncli.base.text import escape_control
from attncli.render.grid import Grid
from attncli.render.sections import Section, sections
from attncli.render.target import TextTarget
from attncli.render.view import View

# Signs of numbers and of masks, as commands of math mode.
_MATH_COMMANDS = {
    "−": "-",
    "∞": r"\infty",
    "→": r"\to",
    "×": r"\times",
    "·": r"\cdot",
    "●": r"\bullet",
    "▷": r"\triangleright",
    "░": r"\circ",
    "□": r"\diamond",  # plain LaTeX has no square
}
_TEXT_COMMANDS = {
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{sign: f"${command}$" for sign, command in _MATH_COMMANDS.items()},
    "…": r"\ldots{}",
}


def render(view: View, _target: TextTarget) -> list[str]:
    """The heading and the sections of a view."""
    return [render_sections(sections(view), view.decimals, view.heading)]


def render_sections(parts: Iterable[Section], decimals: int, heading: str = "") -> str:
    """The sections as paragraphs and tabulars; the document needs booktabs, and a Unicode engine."""
    blocks = ["% needs \\usepackage{booktabs}"]
    if heading:
        blocks.append(f"\\section*{{{_escape(heading)}}}")
    for section in parts:
        formula = f" {_escape(section.formula)}" if section.formula else ""
        blocks.append(f"\\paragraph{{{_escape(section.title)}}}{formula}")
        blocks += [_tabular(grid, decimals) for grid in section.grids]
        if section.arithmetic:
            blocks.append("\\\\\n".join(_escape(line) for line in section.arithmetic))
        blocks += [_escape(remark) for remark in section.remarks]
    return "\n\n".join(blocks) + "\n"


def _tabular(grid: Grid, decimals: int) -> str:
    """A grid between rules."""
    title = [f"\\emph{{{_escape(grid.slice_label)}}}\\\\"] if grid.slice_label else []
    head = [f"\\begin{{tabular}}{{l{'r' * len(grid.columns)}}}", "\\toprule", _row(["", *map(_escape, grid.columns)])]
    body = [
        _row([_escape(label), *(f"${_mathematics(cell.strip())}$" for cell in cells)])
        for label, cells in zip(grid.rows, grid.cell_texts(decimals), strict=True)
    ]
    return "\n".join([*title, *head, "\\midrule", *body, "\\bottomrule", "\\end{tabular}"])


def _mathematics(text: str) -> str:
    """A number or a sign in math mode, without the dollars."""
    return "".join(_MATH_COMMANDS.get(c, c) for c in text)


def _row(cells: Iterable[str]) -> str:
    """One line of a tabular."""
    return " & ".join(cells) + r" \\"


def _escape(text: str) -> str:
    """Text that LaTeX does not read as commands."""
    return "".join(_TEXT_COMMANDS.get(c, c) for c in escape_control(text))
