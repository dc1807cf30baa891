"""Tables as plain text: row labels and columns, numbers padded point under point, for a pipe or a file."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from attncli.base.dataclasses import dataclass
from attncli.render.aligned_numbers import align_characters, number_widths, padded_lines
from attncli.render.document import Grid
from attncli.render.target import TEXT_FILE, TextTarget, text_width

MARK = "*"  # before the labels of marked rows and columns; the text of a marked cell stands in brackets


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


@dataclass(frozen=True)
class Gap:
    """What stands in place of rows or columns that are left out."""

    count: int

    def __str__(self) -> str:
        return f"… {self.count} more"


Positions = Sequence[int | Gap]  # positions on an axis, and the gaps between them


@dataclass(frozen=True)
class Column:
    """A column of a table: its heading, and the text of its cells, all of one width."""

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
    """The layout of a grid, of all its rows and columns or of some; only the numbers that are shown are formatted."""
    rows = range(len(grid.rows)) if rows is None else rows
    columns = range(len(grid.columns)) if columns is None else columns
    positions = _without_gaps(rows), _without_gaps(columns)
    is_whole = tuple(map(len, positions)) == grid.values.shape
    texts = (grid if is_whole else grid.select(*positions)).cell_texts(decimals)
    return TableLayout(
        grid.corner,
        [
            target.text(f"{_row_margin(row, grid.marked_rows)}{_label(row, grid.rows, grid.marked_rows)}")
            for row in rows
        ],
        list(_columns(grid, texts, target, rows, columns)),
    )


def _columns(
    grid: Grid, texts: Sequence[Sequence[str]], target: TextTarget, rows: Positions, columns: Positions
) -> Iterator[Column]:
    """The columns of a table, from the texts of the cells without gaps."""
    gap_cell = target.encodable("…")
    gaps = [index for index, row in enumerate(rows) if isinstance(row, Gap)]
    index = 0
    for column in columns:
        heading = target.text(_label(column, grid.columns, grid.marked_columns))
        if isinstance(column, Gap):
            yield _column(None, heading, [gap_cell] * len(rows))
            continue
        cells = [row[index] for row in texts]
        index += 1
        if not target.has_unicode:
            cells = [_encodable_cell(cell, target) for cell in cells]
        for at in gaps:
            cells.insert(at, gap_cell)
        made = _column(column, heading, cells)
        if grid.changes is not None:
            marks = ["" if isinstance(row, Gap) else grid.change_mark(row, column) for row in rows]
            made = _with_change_marks(made, list(map(target.encodable, marks)))
        if column in grid.marked_columns:
            made = _with_brackets(made, [(row, column) in grid.marked for row in rows])
        yield made


def abbreviate(count: int, max_count: int, kept: Collection[int] = ()) -> Positions:
    """The positions 0 … count - 1; of more than `max_count` the first and last and those in `kept`, with the gaps.

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


def _without_gaps(positions: Positions) -> list[int]:
    """The positions without the gaps."""
    return [position for position in positions if not isinstance(position, Gap)]


def _column(position: int | None, heading: str, cells: Sequence[str]) -> Column:
    """A column, its cells on the right: what has no point stands under the last digit."""
    width = max(map(len, cells), default=0)
    return Column(position, heading, [cell.rstrip().rjust(width) for cell in cells], width)


def _row_margin(row: int | Gap, marked: Collection[int]) -> str:
    """A blank before a row's label where others have a mark, so that all begin in one column."""
    return " " if marked and row not in marked else ""


def _label(position: int | Gap, labels: Sequence[str], marked: Collection[int]) -> str:
    """The label of a row or column, or of a gap."""
    if isinstance(position, Gap):
        return str(position)
    return f"{MARK}{labels[position]}" if position in marked else labels[position]


def _with_change_marks(column: Column, marks: Sequence[str]) -> Column:
    """A column with the mark of a change behind each number that has one, for which the other cells have a blank."""
    width = max(map(len, marks), default=0)
    cells = [cell + mark.ljust(width) for cell, mark in zip(column.cells, marks, strict=True)]
    return replace(column, cells=cells, number_width=column.number_width + width)


def _with_brackets(column: Column, are_marked: Sequence[bool]) -> Column:
    """A column with its marked cells in brackets, for the second of which the other cells have a blank."""
    if not any(are_marked):  # the column is marked as a whole
        return column
    cells = [
        f"[{text.rstrip()}]{' ' * (len(text) - len(text.rstrip()))}" if is_marked else f"{text} "
        for text, is_marked in zip(map(str.lstrip, column.cells), are_marked, strict=True)
    ]
    width = max(column.number_width + 1, *map(len, cells))
    return replace(column, cells=[cell.rjust(width) for cell in cells], number_width=width)


def _encodable_cell(cell: str, target: TextTarget) -> str:
    """A cell in the target's encoding; where its text gets longer it is padded less, so that points stay aligned."""
    text = target.encodable(cell.rstrip())
    return text + " " * (len(cell) - len(text))
