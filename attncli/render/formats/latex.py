"""LaTeX: tables with booktabs rules, to be included in a document."""

from collections.abc import Iterable

from attncli.base.text import escape_control
from attncli.render.grid import Grid
from attncli.render.sections import Section

# Signs of numbers and of pictures, as mathematics writes them.
_MATHS = {
    "−": "-",
    "∞": r"\infty",
    "→": r"\to",
    "×": r"\times",
    "·": r"\cdot",
    "●": r"\bullet",
    "▷": r"\triangleright",
    "░": r"\circ",
}
_SPECIAL = {
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{sign: f"${word}$" for sign, word in _MATHS.items()},
    "…": r"\ldots{}",
}


def render(parts: Iterable[Section], places: int, heading: str = "") -> str:
    """The sections as paragraphs and tabulars; the document needs booktabs, and a Unicode engine."""
    blocks = ["% needs \\usepackage{booktabs}"]
    if heading:
        blocks.append(f"\\section*{{{_escaped(heading)}}}")
    for section in parts:
        blocks.append(
            f"\\paragraph{{{_escaped(section.title)}}}" + (f" {_escaped(section.formula)}" if section.formula else "")
        )
        blocks += [_tabular(grid, places) for grid in section.grids]
        if section.arithmetic:
            blocks.append("\\\\\n".join(_escaped(line) for line in section.arithmetic))
        blocks += [_escaped(remark) for remark in section.remarks]
    return "\n\n".join(blocks) + "\n"


def _tabular(grid: Grid, places: int) -> str:
    """A grid between rules."""
    lines = [f"\\begin{{tabular}}{{l{'r' * len(grid.columns)}}}", "\\toprule"]
    lines.append(_row(["", *map(_escaped, grid.columns)]))
    lines.append("\\midrule")
    for label, cells in zip(grid.rows, grid.cells(places), strict=True):
        lines.append(
            _row(
                [
                    _escaped(label),
                    *(f"${_mathematics(cell.strip())}$" for cell in cells),
                ]
            )
        )
    title = [f"\\emph{{{_escaped(grid.slice)}}}\\\\"] if grid.slice else []
    return "\n".join([*title, *lines, "\\bottomrule", "\\end{tabular}"])


def _mathematics(text: str) -> str:
    """A number or a sign between dollars."""
    return "".join(_MATHS.get(letter, letter) for letter in text)


def _row(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def _escaped(text: str) -> str:
    """Text that LaTeX does not read as commands."""
    return "".join(_SPECIAL.get(letter, letter) for letter in escape_control(text))
