"""The document that readable formats write: sections of tables, plots, worked lines, remarks and other blocks."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from attncli.base.lazy_numpy import Array, np
from attncli.numbers.parsing import with_decimal_commas
from attncli.problem.spec import ProblemSpec
from attncli.render.aligned_numbers import MASKED_SIGN, align_characters, align_columns, align_numbers, masked_zeros
from attncli.render.color_map import weight_shades
from attncli.render.curve import Plot
from attncli.render.rows import changed
from attncli.render.target import TextTarget

Mark = tuple[int | None, int | None]  # a row and a column of a table; None for all

LABEL_SEPARATOR = ", "  # between the pieces of a slice's label
LABEL_START, LABEL_END = "\ue000", "\ue001"  # around labels in worked lines, for formats that parse mathematics
CHANGE_LABEL = "after − before"
MASKED_LEGEND = f"{MASKED_SIGN} masked"
RAISED, LOWERED, OTHER = "▲", "▼", "◆"  # marks of changed numbers
LEGEND = f"{RAISED} rose   {LOWERED} fell   {OTHER} changed otherwise"


def without_label_marks(text: str) -> str:
    """A text without LABEL_START and LABEL_END."""
    return text.replace(LABEL_START, "").replace(LABEL_END, "")


@dataclass(frozen=True)
class Grid:
    """A table of numbers [rows columns] with the labels of its rows and columns."""

    values: Array
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    corner: str = ""  # the letters of both axes: `n\m`
    slice_label: str = ""  # the slice of a larger quantity: `batch item 0, head 1`
    is_heatmap: bool = False  # whether a terminal shades the cells, darker for larger numbers
    signs: Sequence[Sequence[str]] | None = None  # text of the cells in place of their numbers
    aligns_columns: bool = False  # whether each column has its own decimals
    meanings: Mapping[str, str] = field(default_factory=dict)  # meaning of each sign
    hidden: Array | None = None  # cells [rows columns] that a mask hides; None if the numbers come before masks
    # The (row, column) positions that an explanation works out; None if the grid lacks the cell's axis.
    marked: frozenset[Mark] = frozenset()
    # The mark of each changed number [rows columns], empty for others; None if there is no comparison.
    changes: Array | None = None
    has_decimal_comma: bool = False
    is_abridged: bool = False  # whether a screen cuts a long axis to its ends and the marked rows
    before: "Grid | None" = None  # the table before a change, with the same rows and columns, shown next to this one

    @cached_property
    def shades(self) -> Array | None:
        """The shade of each cell, from 0 to 100, if a terminal shades the table; otherwise None."""
        return weight_shades(self.values) if self.is_heatmap else None

    @cached_property
    def marked_rows(self) -> frozenset[int]:
        """The positions of the rows whose labels are marked."""
        return frozenset(row for row, _ in self.marked if row is not None)

    @cached_property
    def marked_columns(self) -> frozenset[int]:
        """The positions of the columns whose headings are marked."""
        return frozenset(column for _, column in self.marked if column is not None)

    @property
    def has_plain_numbers(self) -> bool:
        """Whether its cells have only their numbers, with the same decimals in every column."""
        has_numbers = self.signs is None and not self.aligns_columns
        return has_numbers and not (self.marked or self.has_decimal_comma) and self.changes is None

    def is_marked(self, row: int, column: int) -> bool:
        """Whether a mark covers a cell, its row or its column."""
        return not self.marked.isdisjoint(((row, column), (row, None), (None, column)))

    @property
    def before_and_after(self) -> "tuple[Grid, ...]":
        """The table before a change and this one, labelled so; this one alone if nothing changed."""
        if self.before is None:
            return (self,)
        both = (("before", self.before), ("after", replace(self, before=None)))
        return tuple(
            replace(grid, slice_label=LABEL_SEPARATOR.join(filter(None, (self.slice_label, when))))
            for when, grid in both
        )

    @property
    def change(self) -> "Grid":
        """The change of each number, after − before; a table of signs, or without a comparison, as it is."""
        if self.signs is not None or (self.before is None and self.changes is None):
            return self
        if self.before is None:  # nothing changed
            return replace(self, values=np.zeros(self.values.shape), is_heatmap=False, changes=None)
        before, after = (grid.values.astype(np.float64) for grid in (self.before, self))
        with np.errstate(invalid="ignore", over="ignore"):
            change = np.where(after == before, 0.0, after - before)  # of infinities too
        label = LABEL_SEPARATOR.join(filter(None, (self.slice_label, CHANGE_LABEL)))
        masks = [grid.hidden for grid in (self.before, self) if grid.hidden is not None]
        hidden = masks[0] & masks[1] if len(masks) == 2 else None
        return replace(
            self, values=change, slice_label=label, is_heatmap=False, hidden=hidden, changes=None, before=None
        )

    @property
    def legend(self) -> str:
        """The meaning of the signs, and how many cells have each; empty if the cells have numbers."""
        cells = [sign for row in self.signs or () for sign in row]
        return "   ".join(f"{sign} {meaning}: {cells.count(sign)}" for sign, meaning in self.meanings.items())

    def cell_characters(self, decimals: int) -> Array:
        """The characters of each cell of a table of plain numbers, as `align_characters` has them."""
        return align_characters(self.values, decimals, self.hidden)

    @cached_property
    def masked(self) -> Array:
        """True [rows columns] where a cell has the sign of masked cells in place of a number."""
        if self.signs is not None:
            return np.array([[sign.strip() == MASKED_SIGN for sign in row] for row in self.signs])
        return masked_zeros(self.values, None if self.aligns_columns else self.hidden)

    @property
    def has_changes(self) -> bool:
        """Whether any number changed."""
        return self.changes is not None and bool((self.changes != "").any())

    def change_mark(self, row: int, column: int) -> str:
        """The mark of a cell whose number changed; empty for any other."""
        return "" if self.changes is None else str(self.changes[row, column])

    def cell_texts(self, decimals: int) -> Sequence[Sequence[str]]:
        """The text of each cell, with at most so many decimals."""
        if self.signs is not None:
            return self.signs
        if self.aligns_columns:
            texts = align_columns(self.values, decimals)
        else:
            texts = align_numbers(self.values, decimals, self.hidden)
        return [list(map(with_decimal_commas, row)) for row in texts] if self.has_decimal_comma else texts

    def select(self, rows: Sequence[int], columns: Sequence[int]) -> "Grid":
        """The grid of some of its rows and columns, by position."""
        return replace(
            self,
            values=self.values[np.ix_(rows, columns)],
            rows=tuple(self.rows[row] for row in rows),
            columns=tuple(self.columns[column] for column in columns),
            hidden=None if self.hidden is None else self.hidden[np.ix_(rows, columns)],
            signs=None if self.signs is None else [[self.signs[row][column] for column in columns] for row in rows],
            marked=self._select_marked(rows, columns),
            changes=None if self.changes is None else self.changes[np.ix_(rows, columns)],
            before=None if self.before is None else self.before.select(rows, columns),
        )

    @property
    def with_keys_down(self) -> "Grid":
        """A table of queries and keys with a row for each key; any other table as it is."""
        rows, _, columns = self.corner.partition("\\")
        if rows not in ("n", "q") or not columns.startswith("m"):
            return self
        return replace(
            self,
            values=self.values.T,
            rows=self.columns,
            columns=self.rows,
            corner=f"{columns}\\{rows}",
            hidden=None if self.hidden is None else self.hidden.T,
            signs=None if self.signs is None else [list(row) for row in zip(*self.signs, strict=True)],
            marked=frozenset((column, row) for row, column in self.marked),
            changes=None if self.changes is None else self.changes.T,
            before=None if self.before is None else self.before.with_keys_down,
        )

    def _select_marked(self, rows: Sequence[int], columns: Sequence[int]) -> frozenset[Mark]:
        """The marked positions among some rows and columns, counted within those."""
        new_row: dict[int | None, int | None] = {row: index for index, row in enumerate(rows)} if self.marked else {}
        new_column: dict[int | None, int | None] = {column: index for index, column in enumerate(columns)}
        new_row[None] = new_column[None] = None
        return frozenset(
            (new_row[row], new_column[column]) for row, column in self.marked if row in new_row and column in new_column
        )


@dataclass(frozen=True)
class Statement:
    """A line that begins with a text in a style."""

    start: str
    rest: str = ""
    style: str = "bold"


@dataclass(frozen=True)
class Lines:
    """Lines of text in a style.

    They wrap to the width of a screen, or, for a `page`, in a pipe and a file too. Empty lines that are `room` leave
    space for writing.
    """

    lines: tuple[str, ...]
    style: str = ""
    kind: Literal["text", "mathematics", "code", "room"] = "text"
    wrapped: Literal["screen", "page", "never"] = "screen"


@dataclass(frozen=True)
class Pairs:
    """Names, and a text next to each."""

    pairs: Sequence[tuple[str, str]]
    style: str = "cyan"


@dataclass(frozen=True)
class Fitted:
    """Blocks that depend on the target of a text: the width of its page, or whether it is a screen."""

    blocks: "Callable[[TextTarget], Iterable[Block]]"


@dataclass(frozen=True)
class Drawing:
    """A drawing in its own colours on a page of text; other formats leave it out."""

    draw: Callable[[Any], None]  # called with the TextPage


@dataclass(frozen=True)
class SideBySide:
    """Sections next to one another, if the text is wide enough."""

    sections: "tuple[Section, ...]"


@dataclass(frozen=True)
class Section:
    """One quantity: title, purpose, formula, shapes, its grids or plots, the arithmetic of some cells, and remarks.

    All other content is in the `blocks` at the end. Without a title it has no heading. Text has an empty line before a
    section, unless it `is_continuation`.
    """

    title: str
    grids: tuple[Grid, ...] = ()
    symbol: str = ""
    formula: str = ""
    shapes: str = ""
    purpose: str = ""  # its purpose, in one sentence
    plots: tuple[Plot, ...] = ()
    arithmetic: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    blocks: "tuple[Block, ...]" = ()
    rule: str = ""  # above the heading in text, which has no larger letters
    is_continuation: bool = False

    @property
    def heading(self) -> str:
        """The title and the symbol."""
        return "  ".join(part for part in (self.title, self.symbol) if part)

    @property
    def tables(self) -> Iterator[Grid]:
        """Its grids; a changed one before and after."""
        return (table for grid in self.grids for table in grid.before_and_after)

    @property
    def legend(self) -> str:
        """The meaning of the sign for masked cells; empty if its tables have none."""
        return MASKED_LEGEND if any(table.masked.any() for table in self.tables) else ""


Block = Statement | Lines | Pairs | Fitted | Drawing | SideBySide | Section
EMPTY_LINE = Lines(("",))


@dataclass(frozen=True)
class Document:
    """Sections under a heading, with a number of decimals for rounded numbers.

    `has_heatmaps` shows the tables in text as blocks of colour, `are_side_by_side` the tables of a section next to each
    other. `title` is for a picture, or for a document in LaTeX or Markdown. With `are_matrices`, these formats write
    tables as matrices if they fit a line; with `has_captions`, LaTeX has captions below them.
    """

    sections: Iterable[Section]
    decimals: int
    heading: str = ""
    title: str = ""
    has_heatmaps: bool = False
    are_side_by_side: bool = False
    are_matrices: bool = False
    has_captions: bool = False


def with_decimal_sign(document: Document, problem: ProblemSpec) -> Document:
    """The document with decimal commas in its numbers, if the problem asks for them."""
    if not problem.decimal_comma:
        return document
    return replace(document, sections=map(section_with_comma, document.sections))


def section_with_comma(section: Section) -> Section:
    """A section with decimal commas in its tables, formulas, arithmetic, remarks and other lines."""
    return replace(_with_texts(section, with_decimal_commas, _grid_with_comma), purpose=section.purpose)


def _with_texts(section: Section, change: Callable[[str], str], change_grid: Callable[[Grid], Grid]) -> Section:
    """A section with changed tables, formula, purpose, arithmetic, remarks and other lines; a line may vanish."""
    return replace(
        section,
        grids=tuple(map(change_grid, section.grids)),
        formula=change(section.formula),
        purpose=change(section.purpose),
        arithmetic=tuple(map(change, section.arithmetic)),
        remarks=tuple(filter(None, map(change, section.remarks))),
        blocks=tuple(_block_with_texts(block, change, change_grid) for block in section.blocks),
    )


def _block_with_texts(block: Block, change: Callable[[str], str], change_grid: Callable[[Grid], Grid]) -> Block:
    """A block with changed texts."""
    match block:
        case Statement(start, rest, style):
            block = Statement(start, change(rest), style)
        case Lines(lines):
            block = replace(block, lines=tuple(own for line in lines if (own := change(line)) or not line))
        case Pairs(pairs):
            block = replace(block, pairs=[(name, change(text)) for name, text in pairs])
        case Fitted(blocks):
            block = Fitted(lambda target: (_block_with_texts(one, change, change_grid) for one in blocks(target)))
        case SideBySide(sections):
            block = SideBySide(tuple(_with_texts(section, change, change_grid) for section in sections))
        case Section():
            block = _with_texts(block, change, change_grid)
    return block  # a drawing has no texts of its own


def with_texts(document: Document, change: Callable[[str], str]) -> Document:
    """The document with changed texts in every section; the numbers and labels of its tables stay."""
    return replace(
        document, sections=(_with_texts(section, change, lambda grid: grid) for section in document.sections)
    )


def _grid_with_comma(grid: Grid) -> Grid:
    """A table, and the table before a change, with decimal commas."""
    before = None if grid.before is None else _grid_with_comma(grid.before)
    signs = None if grid.signs is None else [list(map(with_decimal_commas, row)) for row in grid.signs]
    return replace(grid, has_decimal_comma=True, signs=signs, before=before)


def pairs_document(groups: Iterable[tuple[str, Sequence[tuple[str, str]]]]) -> Document:
    """The document of names with a text next to each, under the title of each group."""
    return Document([Section(title, blocks=(Pairs(pairs),)) for title, pairs in groups], 0)


@dataclass(frozen=True)
class Answer:
    """A command's answer: a document for readers and an object for programs, each made on demand.

    Some answers are also one table, whose `rows` begin with the header, and some have the object of a `page`.
    """

    document: Callable[[], Document]
    object: Callable[[], Mapping[str, Any]]
    rows: Callable[[], Iterator[Sequence[Any]]] | None = None
    page: Callable[[], Mapping[str, Any]] | None = None


def column_blocks(widths: Sequence[float], available: float | None) -> Iterator[range]:
    """The positions of columns in blocks of at most `available` width, or of one column; None for no limit.

    >>> list(column_blocks([4, 4, 12, 4], 10))
    [range(0, 2), range(2, 3), range(3, 4)]
    """
    start, used = 0, 0.0
    for position, width in enumerate(widths):
        if available is not None and position > start and used + width > available:
            yield range(start, position)
            start, used = position, 0
        used += width
    yield range(start, len(widths))


def change_marks(before: Array, after: Array) -> Array:
    """The mark of each number of an array [… n m] that differs from the one before; otherwise an empty text.

    `rows.changed` decides which numbers changed. A change from or to NaN or an infinity is neither a rise nor a fall.
    Both arrays have the same shape.

    >>> change_marks(np.array([[1.0, 2.0, 3.0]]), np.array([[1.0, 2.5, np.nan]])).tolist()
    [['', '▲', '◆']]
    """
    with np.errstate(invalid="ignore"):
        direction = np.where(after > before, RAISED, LOWERED)
    are_finite = np.isfinite(before) & np.isfinite(after)
    marks: Array = np.where(changed(before, after), np.where(are_finite, direction, OTHER), "")
    return marks


def mark_grids(grids: Iterable[Grid], before: Iterable[Grid], *, are_together: bool = False) -> Iterator[Grid]:
    """Each table, with marks on the numbers that changed since the corresponding table before.

    With `are_together`, each changed table also shows the one before.
    """
    tables_before = iter(before)
    for grid in grids:
        grid_before = next(tables_before, None)
        if grid_before is None:  # before, there were fewer heads or batch items
            yield grid
            continue
        marked = mark_grid(grid, grid_before)
        yield replace(marked, before=grid_before) if are_together and marked.has_changes else marked


def mark_grid(grid: Grid, before: Grid) -> Grid:
    """A table with marks on changed numbers or signs; unchanged if the shapes differ."""
    if grid.values.shape != before.values.shape:
        return grid
    if grid.signs is None or before.signs is None:
        return replace(grid, changes=change_marks(before.values, grid.values))
    return replace(grid, changes=np.where(np.array(grid.signs) != np.array(before.signs), OTHER, ""))
