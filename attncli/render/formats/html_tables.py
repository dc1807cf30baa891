"""HTML: sections with shaded tables, for notebooks and pages.

Elements carry their styles: no style sheet, script, name or file can clash with another page's. Text has the page's
colours, so that dark themes work.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from attncli.base.text import html_text
from attncli.render.aligned_numbers import MASKED_SIGN
from attncli.render.color_map import MIN_SHADE
from attncli.render.document import (
    Block,
    Document,
    Grid,
    Lines,
    Pairs,
    Section,
    SideBySide,
    Statement,
    without_label_marks,
)
from attncli.render.formats.mathml import mathml_line
from attncli.render.formats.text_table import Gap, Positions, abbreviate

_TABLE = "border-collapse:collapse;margin:0.3em 0 0.8em 0"
_CAPTION = "caption-side:top;text-align:left;font-style:italic;padding:0.2em 0"
_LABEL = "font-family:monospace;white-space:pre;padding:0.2em 0.7em"
_CELL = "text-align:right;font-family:monospace;padding:0.2em 0.7em"
_GAP_CELL = f'<td style="{_CELL}">…</td>'
_MARKED = ";font-weight:bold;outline:2px solid currentColor;outline-offset:-2px"
_LINE = "margin:0.3em 0 0.3em 1em;line-height:1.6;overflow:auto hidden"  # for arithmetic
_SCROLLED = "overflow-x:auto"  # scrolls a table wider than the page
_HIDDEN = ";background:repeating-linear-gradient(135deg,transparent 0 4px,rgba(128,128,128,0.4) 4px 5px)"
_FAINT = "opacity:0.65"
_BLUE = "33,113,181"  # a shade of it covers the page's background, light or dark
_MAX_OPACITY = 0.55  # black text on white paper, and white on black, stay legible at this opacity


@dataclass(frozen=True)
class HtmlLimits:
    """How many rows and columns a table shows, and how many tables a section; the rest is counted."""

    rows: int = 30
    columns: int = 20
    tables: int = 8


NOTEBOOK = HtmlLimits()


def render(document: Document, notes: Sequence[str] = (), limits: HtmlLimits = NOTEBOOK) -> str:
    r"""A document as one element of HTML, above notes such as warnings; every text is escaped.

    >>> render(Document([Section("weights", remarks=("a < b",))], 4))
    '<div>\n<p><b>weights</b></p>\n<p style="white-space:pre-wrap">a &lt; b</p>\n</div>'
    """
    blocks = [f"<p><b>{_text(document.heading)}</b></p>"] if document.heading else []
    for section in document.sections:
        blocks += _section_blocks(section, document.decimals, limits)
    blocks += [f"<p>⚠ {_text(note)}</p>" for note in notes]
    return "\n".join(["<div>", *blocks, "</div>"])


def preformatted(text: str) -> str:
    r"""A text of several lines as one element of HTML, in a monospaced font.

    >>> preformatted("a < b\nc")
    '<pre>a &lt; b\nc</pre>'
    """
    return f"<pre>{_html_lines(text.splitlines())}</pre>"


def pairs_table(heading: str, pairs: Iterable[tuple[str, str]]) -> str:
    r"""A heading, and a table of names and texts, as one element of HTML.

    >>> pairs_table("Problem", [("scale", "< 1")]).count("&lt; 1")
    1
    """
    return f"<div>\n<p><b>{html_text(heading)}</b></p>\n{_pairs(pairs)}\n</div>"


def _pairs(pairs: Iterable[tuple[str, str]]) -> str:
    """A table of names and texts."""
    rows = (
        f'<tr><th scope="row" style="{_LABEL};text-align:left">{_text(name)}</th>'
        f'<td style="{_LABEL};text-align:left;white-space:pre-wrap">{_text(text)}</td></tr>'
        for name, text in pairs
    )
    return f'<table style="{_TABLE}"><tbody>{"".join(rows)}</tbody></table>'


def _text(text: str) -> str:
    """A text for HTML, without the marks of labels."""
    return html_text(without_label_marks(text))


def _mathematics(lines: Iterable[str]) -> str:
    """Formulas or lines of arithmetic, typeset, each on its own line; a long one continues below."""
    return "\n".join(f'<div style="{_LINE}">{mathml_line(line.strip())}</div>' for line in lines)


def _section_blocks(section: Section, decimals: int, limits: HtmlLimits) -> Iterator[str]:
    """The elements of a section: its title and formula, its purpose, its shapes, its tables, its arithmetic."""
    formula = f" &nbsp;{mathml_line(section.formula)}" if section.formula else ""
    if section.heading or formula:
        symbol = f" &nbsp;{mathml_line(section.symbol)}" if section.symbol else ""
        yield f"<p><b>{_text(section.title)}</b>{symbol}{formula}</p>"
    if section.purpose:
        yield f"<p><i>{_text(section.purpose)}</i></p>"
    if section.shapes:
        yield f'<p style="{_FAINT}"><code>{_text(section.shapes)}</code></p>'
    for grid in islice(section.grids, limits.tables):
        yield _table(grid, decimals, limits)
    left_out = section.grids[limits.tables :]
    if left_out:
        first, last = _text(left_out[0].slice_label), _text(left_out[-1].slice_label)
        yield f'<p style="{_FAINT}">… {len(left_out)} more tables: {first} to {last}</p>'
    if section.arithmetic:
        yield _mathematics(section.arithmetic)
    style = f"white-space:pre-wrap;{_FAINT}" if section.grids else "white-space:pre-wrap"
    for remark in section.remarks:
        yield f'<p style="{style}">{_text(remark)}</p>'
    for block in section.blocks:
        yield from _block(block, decimals, limits)


def _block(block: Block, decimals: int, limits: HtmlLimits) -> Iterator[str]:
    """The elements of a statement, pairs, lines, or writing space; drawings are left out."""
    match block:
        case Statement():
            yield f"<p><b>{_text(block.start)}</b>{_text(block.rest)}</p>"
        case Pairs():
            yield _pairs(block.pairs)
        case Lines(kind="room"):
            yield f'<div style="height:{1.5 * len(block.lines)}em"></div>'
        case Lines(kind="mathematics"):
            yield _mathematics(line for line in block.lines if line.strip())
        case Lines(kind="code"):
            yield f"<pre>{_html_lines(block.lines)}</pre>"
        case Lines():
            yield from (f"<p>{_text(line)}</p>" for line in block.lines if line.strip())
        case SideBySide():
            for section in block.sections:
                yield from _section_blocks(section, decimals, limits)
        case Section():
            yield from _section_blocks(block, decimals, limits)


def _html_lines(lines: Iterable[str]) -> str:
    """Lines of text, each escaped."""
    return "\n".join(map(html_text, lines))


def _table(grid: Grid, decimals: int, limits: HtmlLimits) -> str:
    """A grid as a table; the slice's label is the caption, and the legend of its signs is below."""
    rows = abbreviate(len(grid.rows), limits.rows, grid.marked_rows)
    columns = abbreviate(len(grid.columns), limits.columns, grid.marked_columns)
    shown_rows, shown_columns = ([at for at in axis if not isinstance(at, Gap)] for axis in (rows, columns))
    texts = iter(grid.select(shown_rows, shown_columns).cell_texts(decimals))
    headings = [_heading(at, grid.columns, grid.marked_columns, "col") for at in columns]
    corner = f'<th style="{_LABEL};text-align:left;{_FAINT}">{_text(grid.corner)}</th>'
    lines = [f'<div style="{_SCROLLED}"><table style="{_TABLE}">']
    if grid.slice_label:
        lines.append(f'<caption style="{_CAPTION}">{_text(grid.slice_label)}</caption>')
    lines += [f"<thead><tr>{corner}{''.join(headings)}</tr></thead>", "<tbody>"]
    for row in rows:
        cells = [_GAP_CELL] * len(columns) if isinstance(row, Gap) else _cells(grid, row, columns, next(texts))
        lines.append(f"<tr>{_heading(row, grid.rows, grid.marked_rows, 'row')}{''.join(cells)}</tr>")
    lines.append("</tbody></table></div>")
    if grid.legend:
        lines.append(f'<p style="{_FAINT}">{_text(grid.legend)}</p>')
    return "\n".join(lines)


def _heading(at: int | Gap, labels: Sequence[str], marked: frozenset[int], scope: str) -> str:
    """The heading of a row or column, in its own script's direction; or the count of those left out."""
    if isinstance(at, Gap):
        return f'<th scope="{scope}" style="{_LABEL};{_FAINT};font-weight:normal">{at}</th>'
    underline = ";text-decoration:underline" if at in marked else ""
    align = "right" if scope == "col" else "left"
    return f'<th scope="{scope}" style="{_LABEL};text-align:{align}{underline}"><bdi>{_text(labels[at])}</bdi></th>'


def _cells(grid: Grid, row: int, columns: Positions, texts: Sequence[str]) -> Sequence[str]:
    """The cells of a row: the shown texts, with weights shaded, changes marked, masked cells hatched."""
    cells = []
    shades = None if grid.shades is None else grid.shades[row]
    numbers = iter(texts)
    for column in columns:
        if isinstance(column, Gap):
            cells.append(_GAP_CELL)
            continue
        percent, style = (0 if shades is None else int(shades[column])), _CELL
        if percent >= MIN_SHADE:  # more opaque for larger weights
            style += f";background-color:rgba({_BLUE},{percent * _MAX_OPACITY / 100:.2f})"
        style += _MARKED if (row, column) in grid.marked else ""
        text = next(numbers).strip()
        if grid.signs is None and grid.hidden is not None and grid.hidden[row, column]:
            text, style = "" if text == MASKED_SIGN else text, style + _HIDDEN
        text = _text(text + grid.change_mark(row, column))
        cells.append(f'<td style="{style}">{text}</td>')
    return cells
