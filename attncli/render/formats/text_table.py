"""Tables as plain text: row labels and columns, numbers aligned on the point, for a pipe or a file."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from attncli.render.aligned_numbers import number_widths, padded_lines
from attncli.render.document import Grid
from attncli.render.target import TEXT_FILE, TextTarget, text_width

MARK = "*"  # before the labels of marked rows and columns; a marked cell has brackets


def text_table(grid: Grid, decimals: int, target: TextTarget = TEXT_FILE) -> Iterator[str]:
    """The lines of a table: row labels on the left under the corner, and columns as wide as necessary."""
    lines: Iterable[str]
    if grid.has_plain_numbers and target.has_unicode:  # a table may have millions of them
        characters = grid.cell_characters(decimals)
        headings, labels = list(map(target.text, grid.columns)), list(map(target.text, grid.rows))
        widths = list(map(max, map(text_width, headings), number_widths(characters)))
        lines = padded_lines(characters, widths, target.column_gap)
    else:
        layout = lay_out(grid, decimals, target)
        headings, labels = [column.heading for column in layout.columns], list(layout.labels)
        widths = [column.width for column in layout.columns]
        gaps = (" " * (target.column_gap + column.width - column.number_width) for column in layout.columns)
        cells = [[gap + cell for cell in column.cells] for gap, column in zip(gaps, layout.columns, strict=True)]
        lines = map("".join, zip(*cells, strict=True))
    label_width = max(map(text_width, (grid.corner, *labels)))
    gap = " " * target.column_gap
    padded = [f"{gap}{' ' * (width - text_width(text))}{text}" for text, width in zip(headings, widths, strict=True)]
    if grid.corner or any(headings):  # one number has neither
        yield "".join([grid.corner.ljust(label_width), *padded])
        yield "─" * (label_width + sum(widths) + len(gap) * len(headings))
    for label, line in zip(labels, lines, strict=True):
        yield f"{label}{' ' * (label_width - text_width(label))}{line}"


@dataclass(frozen=True)
class Gap:
    """Replaces rows or columns that are left out."""

    count: int

    def __str__(self) -> str:
        return f"… {self.count} more"


Positions = Sequence[int | Gap]  # positions on an axis, and the gaps between them


def abbreviate(count: int, max_count: int, kept: Collection[int] = ()) -> Positions:
    """The positions 0 … count - 1; above `max_count` the first and last and those in `kept`, with the gaps.

    >>> abbreviate(9, 3, kept={5})
    [0, 1, Gap(count=3), 5, Gap(count=2), 8]
    """
    if count <= max_count:
        return range(count)
    last = max_count // 3
    shown = sorted({*range(max_count - last), *kept, *range(count - last, count)})
    positions = list[int | Gap]()
    for before, position in zip((-1, *shown), shown, strict=False):
        positions += [position] if position == before + 1 else [Gap(position - before - 1), position]
    return positions


@dataclass(frozen=True)
class Column:
    """A column of a table: its heading, and the text of its cells, all of the same width."""

    position: int | None  # in the grid; None for a gap
    heading: str
    cells: Sequence[str]
    number_width: int

    @property
    def width(self) -> int:
        """The width of its cells or of its heading."""
        return max(text_width(self.heading), self.number_width)


@dataclass(frozen=True)
class TableLayout:
    """The text of a table: the corner, the label of each row, and the columns."""

    corner: str
    labels: Sequence[str]
    columns: Sequence[Column]

    @property
    def label_width(self) -> int:
        """The width of the widest label."""
        return max(text_width(text) for text in (self.corner, *self.labels))


def lay_out(
    grid: Grid, decimals: int, target: TextTarget, rows: Positions | None = None, columns: Positions | None = None
) -> TableLayout:
    """The layout of all or some rows and columns of a grid; only the shown numbers are formatted."""
    rows = range(len(grid.rows)) if rows is None else rows
    columns = range(len(grid.columns)) if columns is None else columns
    shown = [[at for at in positions if not isinstance(at, Gap)] for positions in (rows, columns)]
    is_whole = tuple(map(len, shown)) == grid.values.shape
    texts = (grid if is_whole else grid.select(*shown)).cell_texts(decimals)
    if not target.has_unicode:
        texts = [[_encodable(cell, target) for cell in row] for row in texts]
    columns_of_texts = iter(zip(*texts, strict=True) if texts else [()] * len(shown[1]))
    gap_cells = [target.encodable("…")] * len(rows)
    return TableLayout(
        grid.corner,
        [
            target.text(str(row) if isinstance(row, Gap) else marked_label(grid.rows[row], row, grid.marked_rows, " "))
            for row in rows
        ],
        [
            Column(None, target.text(str(column)), gap_cells, len(gap_cells[0]) if rows else 0)
            if isinstance(column, Gap)
            else _column(grid, column, next(columns_of_texts), rows, target)
            for column in columns
        ],
    )


def marked_label(label: str, position: int, marked: Collection[int], margin: str = "") -> str:
    """The label of a row or column, with its mark if it is marked; others have a margin if any is."""
    return f"{MARK if position in marked else margin if marked else ''}{label}"


def _column(grid: Grid, column: int, texts: Sequence[str], rows: Positions, target: TextTarget) -> Column:
    """A column of a table, its cells right-aligned: a text without a point ends under the last digit.

    The mark of its change follows a number, and a bracket if it is marked; other cells have a space there.
    """
    heading = target.text(marked_label(grid.columns[column], column, grid.marked_columns))
    numbers = iter(texts)
    cells = [target.encodable("…") if isinstance(row, Gap) else next(numbers) for row in rows]
    width = max(map(len, cells), default=0)
    cells = [cell.rstrip().rjust(width) for cell in cells]
    if grid.changes is not None:
        marks = ["" if isinstance(row, Gap) else target.encodable(grid.change_mark(row, column)) for row in rows]
        mark_width = max(map(len, marks), default=0)
        cells = [cell + mark.ljust(mark_width) for cell, mark in zip(cells, marks, strict=True)]
        width += mark_width
    are_marked = [(row, column) in grid.marked for row in rows]
    if any(are_marked):
        cells = [
            f"[{text.rstrip()}]{' ' * (len(text) - len(text.rstrip()))}" if is_marked else f"{text} "
            for text, is_marked in zip(map(str.lstrip, cells), are_marked, strict=True)
        ]
        width = max(width + 1, *map(len, cells))
        cells = [cell.rjust(width) for cell in cells]
    return Column(column, heading, cells, width)


def _encodable(cell: str, target: TextTarget) -> str:
    """A cell in the target's encoding; a longer text gets less padding, so that points stay aligned."""
    text = target.encodable(cell.rstrip())
    return text + " " * (len(cell) - len(text))
