"""LaTeX: tables with booktabs rules, formulas and arithmetic, in plain ASCII, to be included in a document."""

from collections.abc import Iterable, Iterator

from attncli.base.option_texts import without_options
from attncli.base.text import transliterate
from attncli.render.color_map import ColorScale
from attncli.render.document import (
    LABEL_SEPARATOR,
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
)
from attncli.render.formats.latex_math import CHARACTER_COMMAND, CHARACTER_DEFINITION, latex_display, latex_line
from attncli.render.formats.latex_tables import (
    CAPTION_COMMAND,
    CAPTION_DEFINITION,
    GAP,
    TableStyle,
    bmatrix,
    fits_matrix,
    scale_of_tables,
    tabulars,
)
from attncli.render.formats.latex_tables import latex_text as _text
from attncli.render.target import TEXT_PAGE, TextTarget

PACKAGES = "% needs \\usepackage{amsmath,booktabs}"
COLORS = "% needs \\usepackage[table]{xcolor}"
MAX_DISPLAY = 72  # characters of a displayed formula: a longer one goes into the text, which can break


def render(document: Document, _target: TextTarget) -> list[str]:
    """A document as paragraphs and tabulars, for any engine and a document that loads amsmath and booktabs.

    Labels in its worked lines are between LABEL_START and LABEL_END. It names no options of the command line.
    """
    style = TableStyle(document.has_heatmaps, document.are_matrices, document.has_captions)
    headings = [f"\\section*{{{_text(document.title)}}}"] if document.title else []
    heading = f"\\noindent {_text(document.heading)}" if headings else f"\\section*{{{_text(document.heading)}}}"
    blocks = [*headings, *([heading] if document.heading else [])]
    for section in with_texts(document, without_options).sections:
        blocks += _section_blocks(section, document.decimals, style)
    text = "\n\n".join(blocks) + "\n"
    first = [PACKAGES, *([COLORS] if document.has_heatmaps else [])]
    commands = {CHARACTER_COMMAND: CHARACTER_DEFINITION, CAPTION_COMMAND: CAPTION_DEFINITION}
    definitions = [definition for command, definition in commands.items() if command in text]
    lines = "\n".join([*first, *definitions])
    return [f"{lines}\n\n{text}"]


def _section_blocks(section: Section, decimals: int, style: TableStyle) -> Iterator[str]:
    """The paragraphs, formulas and tables of a section."""
    symbol = latex_line(section.symbol) if section.symbol else ""
    displayed = latex_display(section.formula) if section.grids and len(section.formula) <= MAX_DISPLAY else None
    formula = f"\\quad {latex_line(section.formula)}" if section.formula and displayed is None else ""
    has_captions = style.has_captions and bool(section.grids) and not formula and not section.purpose
    if section.heading and not has_captions:
        rest = f" {symbol}{formula}" if symbol else formula or "\\leavevmode"  # else a table is next to it
        yield f"\\paragraph{{{_text(section.title)}}}{rest}"
    if section.purpose:
        yield f"\\nopagebreak\\noindent {_text(section.purpose)}"
    if displayed is not None:
        yield f"\\nopagebreak\n\\[\n{displayed}\n\\]"
    if section.grids:
        tables = list(section.tables)
        scale = scale_of_tables(tables) if style.has_colors else None
        between = "" if has_captions else f"\\nopagebreak{GAP}"
        yield between + GAP.join(_table(section, table, decimals, style, scale) for table in tables)
        if section.legend and scale is None:  # these numbers have no colours
            yield f"\\smallskip\\noindent {_text(section.legend)}"
    if section.arithmetic:
        yield _quote(map(latex_line, section.arithmetic))
    yield from (f"\\smallskip\\noindent {_text(remark)}" for remark in section.remarks)
    for block in section.blocks:
        yield from _blocks(block, decimals, style)


def _table(section: Section, grid: Grid, decimals: int, style: TableStyle, scale: ColorScale | None) -> str:
    """A table, as a matrix if it is one: then the section's symbol precedes it."""
    if scale is None and fits_matrix(grid, decimals, is_asked_for=style.are_matrices):
        name = latex_display(section.symbol) if section.symbol else None
        title = f"\\noindent\\emph{{{_text(grid.slice_label)}}}\n" if grid.slice_label and name else ""
        name = rf"\text{{{_text(_caption(section, grid))}}}" if name is None else name
        return f"{title}\\[\n{name} = {bmatrix(grid, decimals)}\n\\]"
    return tabulars(grid, decimals, scale, _text(_caption(section, grid)) if style.has_captions else "")


def _caption(section: Section, grid: Grid) -> str:
    """The subject of a table: `weights, head 0`."""
    return LABEL_SEPARATOR.join(filter(None, (section.title, grid.slice_label)))


def _blocks(block: Block, decimals: int, style: TableStyle) -> Iterator[str]:
    match block:
        case Section():
            yield from _section_blocks(block, decimals, style)
        case SideBySide():
            for section in block.sections:
                yield from _section_blocks(section, decimals, style)
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
                yield from _blocks(fitted, decimals, style)


def _quote(lines: Iterable[str], style: str = "") -> str:
    body = "\\\\\n".join(lines)
    return f"\\begin{{quote}}\\raggedright{style}\n{body}\n\\end{{quote}}"
