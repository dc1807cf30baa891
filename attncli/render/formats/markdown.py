"""Markdown: documents for notes and web pages."""

import re
from collections.abc import Iterable, Iterator, Sequence
from textwrap import dedent

from attncli.base.option_texts import without_options
from attncli.base.text import escape_control
from attncli.render.aligned_numbers import joined_lines
from attncli.render.document import (
    Block,
    Document,
    Fitted,
    Grid,
    Lines,
    Pairs,
    Section,
    SideBySide,
    Statement,
    with_texts,
    without_label_marks,
)
from attncli.render.formats.formulas import Symbol, Text, read_line
from attncli.render.formats.latex_math import BREAKABLE_GAP, CHARACTER_COMMAND, latex_display, latex_formula
from attncli.render.formats.latex_tables import bmatrix, fits_matrix
from attncli.render.target import TEXT_PAGE, TextTarget

DIVIDER = " | "  # between the columns of a table


def render(document: Document, target: TextTarget) -> list[str]:
    """A document in Markdown, with headings for its sections, without options of the command line."""
    blocks = [f"# {escape(document.title)}"] if document.title else []
    blocks += [f"{'' if blocks else '# '}{escape(document.heading)}"] if document.heading else []
    for section in with_texts(document, without_options).sections:
        blocks += _section_blocks(section, document.decimals, 2, document.are_matrices)
    return [target.encodable("\n\n".join(blocks) + "\n")]


def _section_blocks(section: Section, decimals: int, level: int, are_matrices: bool) -> Iterator[str]:
    """The paragraphs and tables of a section, with a heading of a level from 1 to 6."""
    if section.heading:
        symbol = f"  {markdown_line(section.symbol)}" if section.symbol else ""
        yield f"{'#' * level} {escape(section.title)}{symbol}"
    if section.purpose:
        yield escape(section.purpose)
    if section.formula:
        yield markdown_line(section.formula) + (f" — {escape(section.shapes)}" if section.shapes else "")
    for table in section.tables:
        yield from _grid_blocks(section, table, decimals, are_matrices)
    if section.legend:
        yield escape(section.legend)
    if section.arithmetic:
        yield markdown_lines(section.arithmetic)
    yield from map(escape, section.remarks)
    for block in section.blocks:
        yield from _blocks(block, decimals, level + 1 if section.heading else level, are_matrices)


def _blocks(block: Block, decimals: int, level: int, are_matrices: bool) -> Iterator[str]:
    match block:
        case Section():
            yield from _section_blocks(block, decimals, level, are_matrices)
        case SideBySide():
            for section in block.sections:
                yield from _section_blocks(section, decimals, level, are_matrices)
        case Statement():
            yield _bold(escape(block.start), is_marked=True) + escape(block.rest)
        case Lines(kind="text"):
            yield from (escape(line.strip()) for line in block.lines if line.strip())
        case Lines(kind="room", lines=lines):
            yield "<br>" * len(lines)
        case Lines(kind="mathematics", lines=lines) if lines:
            yield markdown_lines(lines)
        case Lines(lines=lines) if lines:
            yield code(dedent("\n".join(lines)).split("\n"))
        case Pairs():
            yield "\n".join(f"- {_bold(escape(name), is_marked=True)}: {escape(text)}" for name, text in block.pairs)
        case Fitted():
            for fitted in block.blocks(TEXT_PAGE):
                yield from _blocks(fitted, decimals, level, are_matrices)


def _grid_blocks(section: Section, grid: Grid, decimals: int, are_matrices: bool) -> list[str]:
    """A grid as a table, under its slice's label if there are several, with the legend of its signs.

    If matrices are wanted, it is one without labels, if it fits a line and Markdown reads it correctly.
    """
    fits = are_matrices and fits_matrix(grid, decimals, is_asked_for=True)
    if fits and (matrix := _matrix(section, grid, decimals)) is not None:
        return [f"*{escape(grid.slice_label)}*", matrix] if grid.slice_label else [matrix]
    headings = [_bold(escape(label), column in grid.marked_columns) for column, label in enumerate(grid.columns)]
    lines = [_row(["", *headings]), _row(["---", *["--:"] * len(grid.columns)])]
    labels = (_bold(escape(label), row in grid.marked_rows) for row, label in enumerate(grid.rows))
    lines += map(_row, zip(labels, _lines(grid, decimals), strict=True))
    title = [f"*{escape(grid.slice_label)}*"] if grid.slice_label else []
    legend = [escape(grid.legend)] if grid.legend else []
    return [*title, "\n".join(lines), *legend]


def _matrix(section: Section, grid: Grid, decimals: int) -> str | None:
    """A matrix on its own line, after the section's symbol; None if Markdown would misread it."""
    symbol = latex_display(section.symbol) if section.symbol else None
    numbers = markdown_formula(bmatrix(grid, decimals).replace("\\\\", r"\cr"))
    name = None if symbol is None else markdown_formula(symbol)
    return None if numbers is None else f"$$\n{f'{name} = ' if name else ''}{numbers}\n$$"


def _lines(grid: Grid, decimals: int) -> Iterable[str]:
    """The cells of each row of a grid, divided as columns are."""
    if grid.has_plain_numbers:
        return joined_lines(grid.cell_characters(decimals), DIVIDER)
    return (
        DIVIDER.join(
            _bold(text.strip(), grid.is_marked(row, column)) + grid.change_mark(row, column)
            for column, text in enumerate(texts)
        )
        for row, texts in enumerate(grid.cell_texts(decimals))
    )


def _bold(text: str, is_marked: bool) -> str:
    """A text, in bold if it is marked."""
    return f"**{text.strip()}**" if is_marked and text.strip() else text


def _row(cells: Iterable[str]) -> str:
    """One line of a table."""
    return f"| {DIVIDER.join(cells)} |"


ESCAPES = str.maketrans({character: f"\\{character}" for character in "\\`*_{}[]<>#|&~$"})
_WORDS = re.compile(r"\\text\{((?:[^{}\\]|\\_|\\#|\\ )*)\}")
_NUMBERED = re.compile(r"\\#([0-9]+)$")  # `the#2` is the second of two equal tokens
_INSTEAD = {
    BREAKABLE_GAP: r"\quad ",
    r"\operatorname*": r"\operatorname",
    r"\|": r"\Vert ",
    r"\{": r"\lbrace ",
    r"\}": r"\rbrace ",
    r"\ ": "~",
}
_MISREAD = re.compile(r"\\[^A-Za-z\s_]|[*`$\"]|\\text\{")


def escape(text: str) -> str:
    """A text that Markdown does not read as markup, HTML or mathematics, without the marks of labels."""
    return escape_control(without_label_marks(text)).translate(ESCAPES)


def markdown_line(line: str) -> str:
    r"""A formula or arithmetic as Markdown with mathematics; as code if Markdown would misread it.

    >>> print(markdown_line("Sᵢⱼ = Qᵢ·Kⱼ / √d, where j ≤ 3"))
    $S_{ij} = Q_{i}\cdot K_{j} / \sqrt{d}$, where $j \le 3$
    >>> print(markdown_line("Q(word_1) = 2"))
    $Q(\mathrm{word\_1}) = 2$
    """
    typeset = _typeset(line)
    return f"`{without_label_marks(line)}`" if typeset is None else typeset


def markdown_lines(lines: Sequence[str]) -> str:
    """Lines of arithmetic below each other, typeset; a block of code if Markdown would misread one."""
    typeset = [_typeset(line.strip()) for line in lines]
    whole = [line for line in typeset if line is not None]
    return "\\\n".join(whole) if len(whole) == len(lines) else code(lines)


def code(lines: Sequence[str]) -> str:
    """Lines as a block of code."""
    return "\n".join(["```", *(escape_control(without_label_marks(line)) for line in lines), "```"])


def markdown_formula(latex: str) -> str | None:
    """A formula in LaTeX that Markdown may have between dollars; None if it would be misread."""
    if CHARACTER_COMMAND in latex:
        return None
    text = re.sub("([<>]) ?", lambda sign: r"\lt " if sign[1] == "<" else r"\gt ", _WORDS.sub(_word, latex))
    for command, other in _INSTEAD.items():
        text = text.replace(command, other)
    return None if _MISREAD.search(text) else text


def _typeset(line: str) -> str | None:
    """A line with mathematics in it; None if it would be misread."""
    written = ""
    for part in read_line(line):
        if isinstance(part, Text):
            written += "".join(escape(symbol.text) for symbol in part.symbols)
            continue
        if written and len(part) == 1 and isinstance(part[0], Symbol) and part[0].kind == "number":  # such as `head 1`
            written += escape(part[0].text)
            continue
        formula = markdown_formula(latex_formula(part))
        if formula is None or written[-1:].isalnum():
            return None
        written += f"${formula.strip()}$"
    return written


def _word(found: re.Match[str]) -> str:
    """A word in upright letters; the number of a repeated token is its subscript."""
    word, *number = _NUMBERED.split(found[1])
    upright = rf"\mathrm{{{word.replace(' ', '~')}}}"
    return f"{upright}_{{{number[0]}}}" if number else upright
