"""Plain text: a grid of any size as one table, for a pipe or a file."""

from collections.abc import Iterable, Iterator, Sequence

from attncli.base.dataclasses import dataclass
from attncli.render.aligned_characters import align_characters, number_widths, padded_lines
from attncli.render.formats.table_layout import lay_out
from attncli.render.grid import Grid
from attncli.render.target import TEXT_FILE, TextTarget
from attncli.render.text_width import text_width


@dataclass(frozen=True)
class _Rows:
    """The headings of the columns of a table, how wide each is, the labels of its rows, and the line of each."""

    headings: Sequence[str]
    widths: Sequence[int]
    labels: Sequence[str]
    lines: Iterable[str]  # the cells of a row, each after a gap


def text_table(grid: Grid, decimals: int, target: TextTarget = TEXT_FILE) -> Iterator[str]:
    """The lines of a table: the row labels on the left, under the grid's corner, and every column as wide as needed."""
    rows = (_plain_rows if grid.has_plain_numbers and target.has_unicode else _marked_rows)(grid, decimals, target)
    label_width = max(map(text_width, (grid.corner, *rows.labels)))
    gap = " " * target.column_gap
    headings = [
        f"{gap}{' ' * (width - text_width(heading))}{heading}"
        for heading, width in zip(rows.headings, rows.widths, strict=True)
    ]
    yield "".join([grid.corner.ljust(label_width), *headings])
    yield "─" * (label_width + sum(rows.widths) + len(gap) * len(headings))
    for label, line in zip(rows.labels, rows.lines, strict=True):
        yield f"{label}{' ' * (label_width - text_width(label))}{line}"


def _plain_rows(grid: Grid, decimals: int, target: TextTarget) -> _Rows:
    """The rows of a grid that has nothing but numbers: a table may have millions of them."""
    characters = align_characters(grid.values, decimals)
    headings = list(map(target.text, grid.columns))
    widths = list(map(max, map(text_width, headings), number_widths(characters)))
    return _Rows(
        headings, widths, list(map(target.text, grid.rows)), padded_lines(characters, widths, target.column_gap)
    )


def _marked_rows(grid: Grid, decimals: int, target: TextTarget) -> _Rows:
    """The rows of any grid, with its signs and marks."""
    layout, gap = lay_out(grid, decimals, target), " " * target.column_gap
    widths = [column.width for column in layout.columns]
    cells = [
        [" " * (width - column.number_width) + cell for cell in column.cells]
        if width > column.number_width
        else column.cells
        for column, width in zip(layout.columns, widths, strict=True)
    ]
    lines = (gap + gap.join(numbers) for numbers in zip(*cells, strict=True))
    return _Rows([column.heading for column in layout.columns], widths, layout.labels, lines)
