"""The texts in the cells of heat maps: numbers, with the marks of what changed or is worked out, and signs of masks."""

from collections.abc import Sequence

from attncli.base.lazy_numpy import np
from attncli.render.aligned_numbers import align_numbers
from attncli.render.grid import Grid
from attncli.render.heatmap.labels import column_labels, widest
from attncli.render.heatmap.palette import Palette
from attncli.render.target import TextTarget

HEADING_WIDTH = 8  # to which the labels of columns widen cells; the labels of rows may be longer

Texts = Sequence[Sequence[str]]  # of the cells of a table [rows columns]


def number_texts(grids: Sequence[Grid], decimals: int, palette: Palette, target: TextTarget) -> Sequence[Texts]:
    """The numbers of tables of one shape as texts of one width, with as many decimals.

    There is a blank on either side of a number, a bracket of one that is marked. Without colours one more blank has
    room for the character of the colour.
    """
    count = len(grids[0].rows)
    texts = align_numbers(np.concatenate([grid.values for grid in grids]), decimals)
    numbers = [_with_changes(grid, texts[at * count : (at + 1) * count], target) for at, grid in enumerate(grids)]
    margins = 2 if palette.colors else 3
    longest = max(len(text) for rows in numbers for row in rows for text in row)
    heading = max(widest(column_labels(grid, target)) for grid in grids)
    width = max(longest + margins, min(heading, HEADING_WIDTH) + 1)
    return [
        [
            [_in_cell(text, width, (row, column) in grid.marked) for column, text in enumerate(texts)]
            for row, texts in enumerate(rows)
        ]
        for grid, rows in zip(grids, numbers, strict=True)
    ]


def sign_texts(grid: Grid, target: TextTarget, width: int) -> Texts:
    """The signs of a mask as texts of a width."""
    assert grid.signs is not None
    return [[target.text(sign).ljust(width) for sign in row] for row in grid.signs]


def _with_changes(grid: Grid, numbers: Texts, target: TextTarget) -> Texts:
    """The numbers of a table as the target shows them, each with its mark where any changed."""
    texts = [[target.encodable(text.rstrip()) for text in row] for row in numbers]
    if grid.changes is None or not (grid.changes != "").any():
        return texts
    return [
        [text + target.encodable(grid.change_mark(row, column) or " ") for column, text in enumerate(cells)]
        for row, cells in enumerate(texts)
    ]


def _in_cell(text: str, width: int, is_marked: bool) -> str:
    """A number on the right of its cell, with brackets where it is marked."""
    return f"{'[' + text:>{width - 1}}]" if is_marked else f"{text:>{width - 1}} "
