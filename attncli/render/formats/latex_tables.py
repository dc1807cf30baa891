r"""Tables in LaTeX: between rules, with colours on demand, or as a matrix in `\begin{bmatrix}`."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from attncli.base.lazy_numpy import Array, np
from attncli.render.color_map import WHITE, ColorScale, Rgb, color_scale, text_color
from attncli.render.document import Grid, column_blocks, without_label_marks
from attncli.render.formats.latex_math import latex_label, latex_line

# The width of a page's text, of a digit, of a decimal sign and between columns, in points at a size of 10 (Computer
# Modern, the class article), and the rows of a table that fit a page.
PAGE_WIDTH, DIGIT_WIDTH, SIGN_WIDTH, COLUMN_GAP, PAGE_ROWS = 345.0, 5.0, 2.8, 12.0, 40
MATRIX_GAP, MATRIX_MARGIN = 10.0, 60.0  # between the columns of a matrix, and for its brackets and symbol
MAX_MATRIX_COLUMNS, MAX_MATRIX_ROWS = 10, 20  # columns of a matrix in amsmath
GAP = "\n\n\\smallskip\n\n"  # around tabulars, whose rules leave no space
CAPTION_COMMAND = r"\tablecaption"
CAPTION_DEFINITION = (  # a caption outside a float, without a package
    rf"\providecommand{{{CAPTION_COMMAND}}}[1]"
    r"{\begingroup\expandafter\def\csname @captype\endcsname{table}\caption{#1}\endgroup}"
)
_COUNTED = re.compile(r"([a-z])[0-9]+")  # generic labels: x1, d1, e1
_HIDDEN: Rgb = (232, 232, 232)


@dataclass(frozen=True)
class TableStyle:
    """How to write tables: with colours, as matrices if they fit a line, with captions."""

    has_colors: bool = False
    are_matrices: bool = False
    has_captions: bool = False


def latex_text(text: str) -> str:
    """Text, without the marks of labels."""
    return latex_label(without_label_marks(text))


def fits_matrix(grid: Grid, decimals: int, *, is_asked_for: bool) -> bool:
    """Whether to write a table as a matrix: it fits, and its labels are counted features or the style asks for it.

    A table with marks, or with signs in place of numbers, is not a matrix.
    """
    plain = grid.signs is None and not grid.aligns_columns and grid.changes is None
    letters = {found[1] if (found := _COUNTED.fullmatch(label)) else "" for label in (*grid.columns, *_rows(grid))}
    says_nothing = not grid.marked and "" not in letters and letters.isdisjoint("nmkpqbhg")
    if not plain or not (is_asked_for or says_nothing) or not grid.values.size:
        return False
    rows, columns = grid.values.shape
    texts = grid.cell_texts(decimals)
    width = sum(max(map(_width, column)) + MATRIX_GAP for column in zip(*texts, strict=True))
    return columns <= MAX_MATRIX_COLUMNS and rows <= MAX_MATRIX_ROWS and width + MATRIX_MARGIN <= PAGE_WIDTH


def _rows(grid: Grid) -> Sequence[str]:
    """The labels of the rows; a vector has its symbol instead."""
    return grid.rows if grid.corner else ()


def bmatrix(grid: Grid, decimals: int) -> str:
    r"""The numbers of a table in brackets, one line per row: `\begin{bmatrix}`."""
    rows = (" & ".join(_number(text.strip()) for text in row) for row in grid.cell_texts(decimals))
    lines = " \\\\\n".join(rows)
    return f"\\begin{{bmatrix}}\n{lines}\n\\end{{bmatrix}}"


def _number(text: str) -> str:
    """A number in math mode."""
    return latex_line(text.replace("-", "−")).replace("$", "")


def tabulars(grid: Grid, decimals: int, scale: ColorScale | None = None, caption: str = "") -> str:
    """A grid between rules, under its slice's label or above its caption, with the legend of its signs.

    A grid larger than a page becomes several tabulars, because content beyond the margin would be lost. Numbers have
    the colours of a scale.
    """
    texts = [[text.strip() for text in row] for row in grid.cell_texts(decimals)]
    table = [(grid.corner, *grid.columns), *((label, *row) for label, row in zip(grid.rows, texts, strict=True))]
    label_width, *widths = (max(map(_width, column)) + COLUMN_GAP for column in zip(*table, strict=True))
    # Several tabulars repeat the labels: format them once.
    headings = [_label(heading, column in grid.marked_columns) for column, heading in enumerate(grid.columns)]
    labels = [_label(label, row in grid.marked_rows) for row, label in enumerate(grid.rows)]
    rows = list(zip(labels, _cells(grid, texts, scale), strict=True))
    written = []
    for first in range(0, max(len(rows), 1), PAGE_ROWS):
        for columns in column_blocks(widths, PAGE_WIDTH - label_width):
            block = slice(columns.start, columns.stop)
            body = [_row([label, *row[block]]) for label, row in rows[first : first + PAGE_ROWS]]
            lines = ["\\toprule", _row(["", *headings[block]]), "\\midrule", *body, "\\bottomrule"]
            begin = f"\\begin{{tabular}}{{l{'r' * len(columns)}}}"
            written.append("\n".join([begin, *lines, "\\end{tabular}"]))
    legend = [f"\\noindent {latex_text(grid.legend)}"] if grid.legend else []
    if caption:
        captioned = "\n\n\\smallskip\n\n".join(written) + f"\n{CAPTION_COMMAND}{{{caption}}}"
        return GAP.join([f"\\begin{{center}}\n{captioned}\n\\end{{center}}", *legend])
    title = [f"\\noindent\\emph{{{latex_text(grid.slice_label)}}}\n\n\\nopagebreak"] if grid.slice_label else []
    return GAP.join([*title, *(f"\\noindent{tabular}" for tabular in written), *legend])


def scale_of_tables(tables: Iterable[Grid]) -> ColorScale | None:
    """The colours for the numbers of some tables on light paper; None for signs, or without any number."""
    grids = [grid for grid in tables if grid.signs is None and not grid.aligns_columns]
    numbers = np.concatenate([np.empty(0), *(grid.values[np.isfinite(grid.values)] for grid in grids)])
    if not numbers.size:
        return None
    return color_scale(float(numbers.min()), float(numbers.max()), are_weights=grids[0].is_heatmap)


def _width(text: str) -> float:
    """The approximate width of a label or a number in points, without the marks of labels."""
    signs = text.count(".") + text.count(",")
    return (len(without_label_marks(text)) - signs) * DIGIT_WIDTH + signs * SIGN_WIDTH


def _cells(grid: Grid, texts: Sequence[Sequence[str]], scale: ColorScale | None) -> Iterator[Sequence[str]]:
    """The cells of each row; plain numbers have no marks, signs or colours."""
    has_colors = scale is not None and grid.signs is None and not grid.aligns_columns
    for row, line in enumerate(texts):
        if grid.has_plain_numbers and not has_colors:
            yield [_cell(text) for text in line]
            continue
        cells = [
            _cell(text, is_marked=grid.is_marked(row, column)) + latex_text(grid.change_mark(row, column))
            for column, text in enumerate(line)
        ]
        if scale is not None and has_colors:
            hidden = None if grid.hidden is None else grid.hidden[row]
            cells = list(_colored(cells, grid.values[row], hidden, scale))
        yield cells


def _colored(cells: Sequence[str], numbers: Array, hidden: Array | None, scale: ColorScale) -> Iterator[str]:
    """The cells of a row on the colours of their numbers; a masked cell is grey, without a number."""
    for at, (cell, number) in enumerate(zip(cells, numbers.astype(float).tolist(), strict=True)):
        if hidden is not None and hidden[at]:
            yield f"{_ground(_HIDDEN)}"
        elif np.isfinite(number):
            ground = scale.color((number - scale.least) / ((scale.largest - scale.least) or 1.0))
            ink = r"\color{white}" if text_color(ground) == WHITE else ""
            yield f"{_ground(ground)}{ink}{cell}"
        else:
            yield cell


def _ground(rgb: Rgb) -> str:
    """The command that colours a cell."""
    return rf"\cellcolor[HTML]{{{''.join(f'{part:02X}' for part in rgb)}}}"


def _label(label: str, is_marked: bool) -> str:
    """The label of a row or column, in bold if it is marked."""
    return f"\\textbf{{{latex_text(label)}}}" if is_marked else latex_text(label)


def _cell(text: str, *, is_marked: bool = False) -> str:
    """A number or a sign in a table, in bold if it is marked.

    A plain number is written unchanged, because tables may have millions of them.
    """
    is_plain = text.removeprefix("-").replace(".", "", 1).isdecimal()
    cell = f"${text}$" if is_plain else latex_line(text.replace("-", "−"))
    return f"{{\\boldmath {cell}}}" if is_marked else cell


def _row(cells: Iterable[str]) -> str:
    """One line of a tabular."""
    return " & ".join(cells) + r" \\"
