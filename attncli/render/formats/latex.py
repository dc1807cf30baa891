"""LaTeX: tables with booktabs rules, formulas and arithmetic, in plain ASCII, to be included in a document."""

from collections.abc import Iterable, Iterator, Sequence

from attncli.base.option_texts import without_options
from attncli.base.text import transliterate
from attncli.render.document import (
    LABEL_END,
    LABEL_START,
    Block,
    Document,
    Fitted,
    Grid,
    Lines,
    Pairs,
    Section,
    SideBySide,
    Statement,
    column_blocks,
    with_texts,
)
from attncli.render.formats.latex_math import (
    CHARACTER_COMMAND,
    CHARACTER_DEFINITION,
    latex_label,
    latex_line,
)
from attncli.render.target import TEXT_PAGE, TextTarget

PACKAGES = "% needs \\usepackage{amsmath,booktabs}"
# The width of a page's text, of a digit, of a decimal sign and between columns, in points at a size of 10 (Computer
# Modern, the class article), and the rows of a table that a page has room for.
PAGE_WIDTH, DIGIT_WIDTH, SIGN_WIDTH, COLUMN_GAP, PAGE_ROWS = 345.0, 5.0, 2.8, 12.0, 40
GAP = "\n\n\\smallskip\n\n"  # between tabulars, and above and below them: their rules leave no room


def render(document: Document, _target: TextTarget) -> list[str]:
    """A document as paragraphs and tabulars, for a document that loads amsmath and booktabs, and any engine.

    Labels in its worked lines are between LABEL_START and LABEL_END.
    """
    blocks = [f"\\section*{{{_text(document.heading)}}}"] if document.heading else []
    for section in with_texts(document, without_options).sections:
        blocks += _section_blocks(section, document.decimals)
    text = "\n\n".join(blocks) + "\n"
    definition = f"{CHARACTER_DEFINITION}\n" if CHARACTER_COMMAND in text else ""
    return [f"{PACKAGES}\n{definition}\n{text}"]


def _section_blocks(section: Section, decimals: int) -> Iterator[str]:
    """The paragraphs and tabulars of a section."""
    symbol = f" {latex_line(section.symbol)}" if section.symbol else ""
    formula = f"\\quad {latex_line(section.formula)}" if section.formula else ""
    if section.heading:
        rest = f"{symbol}{formula}" or "\\leavevmode"  # otherwise a table stands beside the heading
        yield f"\\paragraph{{{_text(section.title)}}}{rest}"
    if section.purpose:
        yield f"\\nopagebreak\\noindent {_text(section.purpose)}"
    if section.grids:
        yield f"\\nopagebreak{GAP}" + GAP.join(_tabulars(table, decimals) for table in section.tables)
    if section.arithmetic:
        yield _quote(map(latex_line, section.arithmetic))
    yield from (f"\\smallskip\\noindent {_text(remark)}" for remark in section.remarks)
    for block in section.blocks:
        yield from _blocks(block, decimals)


def _blocks(block: Block, decimals: int) -> Iterator[str]:
    match block:
        case Section():
            yield from _section_blocks(block, decimals)
        case SideBySide():
            for section in block.sections:
                yield from _section_blocks(section, decimals)
        case Statement():
            yield f"\\smallskip\\noindent \\textbf{{{_text(block.start)}}}{_text(block.rest)}"
        case Lines(kind="text"):
            yield from (f"\\smallskip\\noindent {_text(line.strip())}" for line in block.lines if line.strip())
        case Lines(kind="mathematics", lines=lines) if lines:
            yield _quote(latex_line(line.strip()) for line in lines)
        case Lines(kind="room", lines=lines):
            yield f"\\vspace{{{len(lines)}\\baselineskip}}"
        case Lines(lines=lines) if lines:
            yield _quote((_text(transliterate(line, "ascii")) for line in lines), "\\ttfamily\\scriptsize")
        case Pairs():
            items = (f"\\item[{_text(name)}] {_text(text)}" for name, text in block.pairs)
            yield "\n".join(["\\begin{description}", *items, "\\end{description}"])
        case Fitted():
            for fitted in block.blocks(TEXT_PAGE):
                yield from _blocks(fitted, decimals)


def _quote(lines: Iterable[str], style: str = "") -> str:
    body = "\\\\\n".join(lines)
    return f"\\begin{{quote}}\\raggedright{style}\n{body}\n\\end{{quote}}"


def _text(text: str) -> str:
    """Text, without the marks of labels."""
    return latex_label(text.replace(LABEL_START, "").replace(LABEL_END, ""))


def _tabulars(grid: Grid, decimals: int) -> str:
    """A grid between rules, under the label of its slice, and the legend of its signs.

    One that a page can't hold is in several tabulars: what runs over the margin would be lost.
    """
    texts = [[text.strip() for text in row] for row in grid.cell_texts(decimals)]
    table = [(grid.corner, *grid.columns), *((label, *row) for label, row in zip(grid.rows, texts, strict=True))]
    label_width, *widths = (max(map(_width, column)) + COLUMN_GAP for column in zip(*table, strict=True))
    # Labels are in several tabulars: they are written once.
    headings = [_label(heading, column in grid.marked_columns) for column, heading in enumerate(grid.columns)]
    labels = [_label(label, row in grid.marked_rows) for row, label in enumerate(grid.rows)]
    rows = list(zip(labels, _cells(grid, texts), strict=True))
    tabulars = []
    for first in range(0, max(len(rows), 1), PAGE_ROWS):
        for columns in column_blocks(widths, PAGE_WIDTH - label_width):
            block = slice(columns.start, columns.stop)
            body = [_row([label, *row[block]]) for label, row in rows[first : first + PAGE_ROWS]]
            lines = ["\\toprule", _row(["", *headings[block]]), "\\midrule", *body, "\\bottomrule"]
            begin = f"\\noindent\\begin{{tabular}}{{l{'r' * len(columns)}}}"
            tabulars.append("\n".join([begin, *lines, "\\end{tabular}"]))
    title = [f"\\noindent\\emph{{{_text(grid.slice_label)}}}\n\n\\nopagebreak"] if grid.slice_label else []
    legend = [f"\\noindent {_text(grid.legend)}"] if grid.legend else []
    return GAP.join([*title, *tabulars, *legend])


def _width(text: str) -> float:
    """The width of a label or a number in points, about, without the marks of labels."""
    signs = text.count(".") + text.count(",")
    marks = text.count(LABEL_START) + text.count(LABEL_END)
    return (len(text) - signs - marks) * DIGIT_WIDTH + signs * SIGN_WIDTH


def _cells(grid: Grid, texts: Sequence[Sequence[str]]) -> Iterator[Sequence[str]]:
    """The cells of each row, of which plain numbers have neither marks nor signs."""
    for row, line in enumerate(texts):
        if grid.has_plain_numbers:
            yield [_cell(text) for text in line]
        else:
            yield [
                _cell(text, is_marked=grid.is_marked(row, column)) + _text(grid.change_mark(row, column))
                for column, text in enumerate(line)
            ]


def _label(label: str, is_marked: bool) -> str:
    """The label of a row or column, in bold where it is marked."""
    return f"\\textbf{{{_text(label)}}}" if is_marked else _text(label)


def _cell(text: str, *, is_marked: bool = False) -> str:
    """A number or a sign in a table, in bold where it is marked.

    A plain number is written as it is, because tables may have millions of them.
    """
    is_plain = text.removeprefix("-").replace(".", "", 1).isdecimal()
    cell = f"${text}$" if is_plain else latex_line(text.replace("-", "−"))
    return f"{{\\boldmath {cell}}}" if is_marked else cell


def _row(cells: Iterable[str]) -> str:
    """One line of a tabular."""
    return " & ".join(cells) + r" \\"
