"""The lines of heat maps: the labels of rows, and of each table its title, the labels of its columns and its cells."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rich.segment import Segment
from rich.style import Style

from attncli.base.dataclasses import dataclass
from attncli.render.grid import Grid
from attncli.render.heatmap.cell_texts import Texts
from attncli.render.heatmap.labels import column_labels, cut, on_right, row_labels, sparse_line
from attncli.render.heatmap.layout import Layout
from attncli.render.heatmap.levels import MASKED, Scale, pool
from attncli.render.heatmap.palette import Palette
from attncli.render.target import TextTarget

PLAIN, BOLD, DIM, ITALIC = Style(), Style(bold=True), Style(dim=True), Style(italic=True)

Line = list[Segment]


@dataclass(frozen=True)
class PanelWriter:
    """Writes tables of one shape in one layout."""

    layout: Layout
    scale: Scale
    palette: Palette
    target: TextTarget
    has_titles: bool

    def labels(self, grids: Sequence[Grid]) -> list[Line]:
        """The labels of the rows, before tables side by side; a line of several rows has that of the first.

        What is marked in any of the tables is marked.
        """
        grid = replace(grids[0], marked=frozenset().union(*(grid.marked for grid in grids)))
        if not self.layout.label_width:
            return []
        width, step = self.layout.label_width - 1, self.layout.cells.rows_of_line
        texts = [(grid.corner, DIM)] if self._has_lines_above else []
        for first, label in list(enumerate(row_labels(grid, self.target)))[::step]:
            is_marked = not grid.marked_rows.isdisjoint(range(first, first + step))
            texts.append((label, BOLD if is_marked else PLAIN))
        lines = [[Segment(cut(text, width, self.target), style), Segment(" ")] for text, style in texts]
        return [[Segment(" " * (width + 1))], *lines] if self.has_titles and self.layout.has_headings else lines

    @property
    def _has_lines_above(self) -> bool:
        """Whether a title or the labels of columns stand above the cells, where the letters of the axes have room."""
        return self.has_titles or self.layout.has_headings

    def panel(self, grid: Grid, title: str, texts: Texts | None) -> Iterator[Line]:
        """The lines of a table, all of one width; `texts` are those of its cells, if they have room."""
        width = self.layout.cells.count_columns(grid)
        if self.has_titles:
            yield [Segment(cut(self.target.text(title), width, self.target), ITALIC)]
        if self.layout.has_headings:
            yield self._heading(grid, width)
        levels = pool(self.scale.levels(grid), self.layout.cells.block).tolist()
        if texts is not None:
            draw = self.palette.cell if grid.signs is None else self.palette.sign
            for row, row_texts in zip(levels, texts, strict=True):
                yield [draw(level, text) for level, text in zip(row, row_texts, strict=True)]
        elif self.layout.cells.rows_per_line == 1:
            blank = " " * self.layout.cells.columns
            yield from ([self.palette.cell(level, blank) for level in row] for row in levels)
        else:
            empty = [MASKED] * len(levels[0])
            for top, bottom in zip(levels[::2], [*levels[1::2], empty], strict=False):
                yield [self.palette.halves(*pair) for pair in zip(top, bottom, strict=True)]

    def _heading(self, grid: Grid, width: int) -> Line:
        """The labels of the columns: over numbers of each, over blocks of every k-th."""
        labels, cells = column_labels(grid, self.target), self.layout.cells
        if cells.texts is None or grid.signs is not None:
            return [Segment(sparse_line(labels[:: cells.block[1]], cells.columns, width, self.target))]
        return [
            Segment(
                f"{on_right(label, cells.columns - 1, self.target)} ",
                BOLD if at in grid.marked_columns else PLAIN,
            )
            for at, label in enumerate(labels)
        ]
