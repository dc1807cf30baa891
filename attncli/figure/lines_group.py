"""A group of weights as lines between words: the queries on the left, the keys on the right, a panel for each head."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from attncli.base.lazy_numpy import Array, np
from attncli.base.text import escape_control, shorten
from attncli.figure.drawing import HEADING_SIZE, Canvas, Fonts
from attncli.figure.layout import GroupLayout, GroupSize
from attncli.figure.table_group import MAX_LABEL
from attncli.render.document import Grid
from attncli.render.figure_style import FONT_SIZE, Size

SIDES = ("queries", "keys")
NEGATIVE_NOTE = "dashed: below 0"
SPAN, LEAST_SPAN = 1.1, 0.3  # inches between the words of a panel: preferred, and at least
PITCH = 0.17  # inches from one word to the next
WORD_GAP = 0.06  # inches between a word and its lines
MIN_SIZE = 3.0  # points of a word
LEAST_WEIGHT = 0.004  # least visible weight
LEAST_WIDTH, WIDTH_SHARE = 0.2, 0.16  # points of a line near 0, and a weight of 1's share of the word size


@dataclass(frozen=True)
class LinesGroup:
    """Weights of the same queries and keys as lines, one panel for each table; `heads` has each one's number."""

    title: str
    tables: tuple[Grid, ...]
    heads: tuple[int, ...]
    per_slice: int
    keeps_rows: bool = False  # as many panels as a slice has

    @property
    def count(self) -> int:
        """The number of panels in the group."""
        return len(self.tables)

    @cached_property
    def words(self) -> tuple[Sequence[str], Sequence[str]]:
        """The queries and the keys, each on one line."""
        queries, keys = (
            [shorten(escape_control(text), MAX_LABEL) for text in labels]
            for labels in (self.tables[0].rows, self.tables[0].columns)
        )
        return queries, keys

    @cached_property
    def columns(self) -> tuple[Sequence[str], Sequence[str]]:
        """The words on either side, under their heading."""
        queries, keys = ([side, *words] for side, words in zip(SIDES, self.words, strict=True))
        return queries, keys

    @cached_property
    def note(self) -> str:
        """The meaning of dashed lines, if there are any."""
        return NEGATIVE_NOTE if any((_weights(table) < 0).any() for table in self.tables) else ""

    @property
    def texts(self) -> Iterator[str]:
        """Every text to draw."""
        yield from (self.title, self.note, *self.columns[0], *self.columns[1])
        yield from (table.slice_label for table in self.tables)

    def number_width(self, fonts: Fonts) -> float:
        """The width of a cell: lines have none."""
        return 0.0

    def measure(self, fonts: Fonts, number_width: float, largest: Size) -> GroupSize:
        """The group's measures for the layout."""
        rows = max(map(len, self.columns))
        width = sum(fonts.widest(words) + WORD_GAP for words in self.columns) + SPAN
        return GroupSize(
            count=self.count,
            cells=(rows, 1),
            panel=Size(width, rows * PITCH),
            title=fonts.width(self.title, HEADING_SIZE),
            row_labels=0.0,
            column_labels=0.0,
            panel_title=fonts.widest(table.slice_label for table in self.tables),
            per_slice=self.per_slice,
            keeps_rows=self.keeps_rows,
            legend_lines=1 if self.note else 0,
            legend=fonts.width(self.note),
        )

    def pooling(self, layout: GroupLayout) -> tuple[int, int]:
        """The rows and columns of cells per pixel: lines have no cells."""
        return 1, 1

    def number_size(self, fonts: Fonts, layout: GroupLayout) -> float | None:
        """The size of the numbers in cells: lines have none."""
        return None

    def draw(self, canvas: Canvas, layout: GroupLayout, points: float | None) -> None:
        """Draw the group at its layout's position."""
        canvas.text(*layout.heading, self.title, HEADING_SIZE)
        widths = [canvas.fonts.widest(words) for words in self.columns]
        room = max(layout.panels[0].width - LEAST_SPAN - 2 * WORD_GAP, LEAST_SPAN)
        size = max(min(layout.label_sizes[0], FONT_SIZE * room / max(sum(widths), 0.1)), MIN_SIZE)
        ends = widths[0] * size / FONT_SIZE, layout.panels[0].width - widths[1] * size / FONT_SIZE
        for table, head, box in zip(self.tables, self.heads, layout.panels, strict=True):
            axes, color = canvas.axes(box), canvas.style.line(head)
            axes.set_xlim(0, box.width)
            axes.set_ylim(box.height, 0)
            axes.set_xticks([])
            axes.set_yticks([])
            if table.slice_label:
                axes.set_title(table.slice_label, color=color, pad=3, **canvas.label_style(layout.title_size))
            pitch = box.height / max(map(len, self.columns))
            heights = [_heights(len(words), box.height, pitch) for words in self.words]
            style = {"va": "center", "color": canvas.theme.ink, **canvas.label_style(size)}
            sides = zip(SIDES, self.words, heights, ends, ("right", "left"), strict=True)
            for name, words, at, end, side in sides:
                axes.text(end, pitch / 2, name, ha=side, **{**style, "color": canvas.theme.faint})
                for word, height in zip(words, at, strict=True):
                    axes.text(end, height, word, ha=side, **style)
            lines = _Lines(heights[0], heights[1], (ends[0] + WORD_GAP, ends[1] - WORD_GAP), pitch * 72 * WIDTH_SHARE)
            lines.draw(axes, _weights(table), color)
        if self.note:
            canvas.text(*layout.legend, self.note, color=canvas.theme.faint)


def _weights(table: Grid) -> Array:
    """The weights of a table [rows columns], 0 for masked cells and NaN."""
    weights: Array = np.nan_to_num(table.values.astype(np.float64), nan=0.0, posinf=0.0, neginf=0.0)
    return weights if table.hidden is None else np.where(table.hidden, 0.0, weights)


def _heights(count: int, height: float, pitch: float) -> Array:
    """The heights of words from above, at equal distances, centred below the first line."""
    heights: Array = (height + pitch) / 2 + (np.arange(count) - (count - 1) / 2) * pitch
    return heights


@dataclass(frozen=True)
class _Lines:
    """The ends of lines: the heights of queries and keys, the two edges, and the width of a weight of 1."""

    queries: Array
    keys: Array
    ends: tuple[float, float]
    width: float

    def draw(self, axes: Any, weights: Array, color: str) -> None:
        """Draw a line for each visible weight, the largest ones last."""
        from matplotlib.collections import LineCollection  # noqa: PLC0415 - an extra
        from matplotlib.colors import to_rgb  # noqa: PLC0415

        shares = np.abs(weights) / max(float(np.abs(weights).max(initial=0.0)), 1.0)
        order = np.argsort(shares, axis=None, kind="stable")
        cells = [np.unravel_index(at, weights.shape) for at in order if shares.flat[at] >= LEAST_WEIGHT]
        strengths = [float(shares[cell]) for cell in cells]
        left, right = self.ends
        lines = LineCollection(
            [((left, float(self.queries[query])), (right, float(self.keys[key]))) for query, key in cells],
            colors=[(*to_rgb(color), strength) for strength in strengths],
            linewidths=[LEAST_WIDTH + (self.width - LEAST_WIDTH) * strength for strength in strengths],
            linestyles=["-" if weights[cell] >= 0 else "--" for cell in cells],
            capstyle="butt",
        )
        if cells:
            axes.add_collection(lines, autolim=False)
