"""LaTeX: tables with booktabs rules, formulas and arithmetic, in plain ASCII, to be included in a document."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from attncli.base.text import escape_control
from attncli.render.formats.latex_math import latex_line
from attncli.render.formats.latex_text import CHARACTER_COMMAND, CHARACTER_DEFINITION, latex_label
from attncli.render.formats.latex_tokens import LABEL_END, LABEL_START
from attncli.render.grid import Grid, column_blocks
from attncli.render.sections import Section, sections
from attncli.render.target import TextTarget
from attncli.render.view import View
from attncli.trace.result import Result
from attncli.trace.steps import Trace

PACKAGES = "% needs \\usepackage{amsmath,booktabs}"
PAGE_WIDTH, PAGE_ROWS = 66, 40  # characters and rows of a table that the text of a page has room for, at 10 points
COLUMN_GAP = 3  # characters, about


def render(view: View, _target: TextTarget) -> list[str]:
    """The heading and the sections of a view."""
    result = Result(_with_marked_labels(view.result.trace), view.result.select)
    return [render_sections(sections(replace(view, result=result)), view.decimals, view.heading)]


def render_sections(parts: Iterable[Section], decimals: int, heading: str = "") -> str:
    """The sections as paragraphs and tabulars; the document needs amsmath and booktabs, and any engine.

    Labels in lines of arithmetic stand between LABEL_START and LABEL_END.
    """
    blocks = [f"\\section*{{{_text(heading)}}}"] if heading else []
    for section in parts:
        symbol = f" {latex_line(section.symbol)}" if section.symbol else ""
        formula = f"\\quad {latex_line(section.formula)}" if section.formula else ""
        blocks.append(f"\\paragraph{{{_text(section.title)}}}{symbol}{formula}")
        blocks += [_tabulars(grid, decimals) for grid in section.grids]
        if section.arithmetic:
            lines = "\\\\\n".join(map(latex_line, section.arithmetic))
            blocks.append(f"\\begin{{quote}}\\raggedright\n{lines}\n\\end{{quote}}")
        blocks += [f"\\noindent {_text(remark)}" for remark in section.remarks]
    text = "\n\n".join(blocks) + "\n"
    definition = f"{CHARACTER_DEFINITION}\n" if CHARACTER_COMMAND in text else ""
    return f"{PACKAGES}\n{definition}\n{text}"


def _with_marked_labels(trace: Trace) -> Trace:
    """The trace with its labels between marks, so that arithmetic with labels in it can be read."""
    labels = {
        letter: tuple(f"{LABEL_START}{escape_control(label)}{LABEL_END}" for label in labels)
        for letter, labels in trace.labels.items()
    }
    return replace(trace, labels=labels)


def _text(text: str) -> str:
    """Text, without the marks of labels."""
    return latex_label(text.replace(LABEL_START, "").replace(LABEL_END, ""))


def _tabulars(grid: Grid, decimals: int) -> str:
    """A grid between rules, under the label of its slice, and the legend of its signs.

    One that a page can't hold is in several tabulars: what runs over the margin would be lost.
    """
    cells = [[cell.strip() for cell in row] for row in grid.cell_texts(decimals)]
    label_width, *widths = (max(map(len, texts)) + COLUMN_GAP for texts in _columns(grid, cells))
    tabulars = [
        _tabular(grid, cells, range(first, min(first + PAGE_ROWS, len(cells))), columns)
        for first in range(0, max(len(cells), 1), PAGE_ROWS)
        for columns in column_blocks(widths, PAGE_WIDTH - label_width)
    ]
    title = [f"\\emph{{{_text(grid.slice_label)}}}\\nopagebreak\n"] if grid.slice_label else []
    legend = [f"\\noindent {_text(grid.legend)}"] if grid.legend else []
    return "\n\n".join(["\\nopagebreak\\smallskip", *title, *tabulars, *legend])


def _columns(grid: Grid, cells: Sequence[Sequence[str]]) -> Iterator[Sequence[str]]:
    """The text in each column, that of the labels first."""
    yield (grid.corner, *grid.rows)
    for position, heading in enumerate(grid.columns):
        yield (heading, *(row[position] for row in cells))


def _tabular(grid: Grid, cells: Sequence[Sequence[str]], rows: range, columns: range) -> str:
    """Some rows and columns of a grid between rules."""
    head = _row(["", *(_text(grid.columns[column]) for column in columns)])
    body = [_row([_text(grid.rows[row]), *(_cell(cells[row][column]) for column in columns)]) for row in rows]
    begin = f"\\noindent\\begin{{tabular}}{{l{'r' * len(columns)}}}"
    return "\n".join([begin, "\\toprule", head, "\\midrule", *body, "\\bottomrule", "\\end{tabular}"])


def _cell(text: str) -> str:
    """A number or a sign in a table; a plain number as it is, because tables may have millions of them."""
    is_plain = text.removeprefix("-").replace(".", "", 1).isdecimal()
    return f"${text}$" if is_plain else latex_line(text.replace("-", "−"))


def _row(cells: Iterable[str]) -> str:
    """One line of a tabular."""
    return " & ".join(cells) + r" \\"
