"""What the colours and signs of heat maps mean, and what of the tables is pooled or left out."""

from collections.abc import Iterator, Sequence

from rich.segment import Segment

from attncli.base.axes import AXIS_NOUNS
from attncli.base.lazy_numpy import np
from attncli.render.aligned_numbers import align_numbers
from attncli.render.grid import Grid
from attncli.render.heatmap.layout import Layout
from attncli.render.heatmap.levels import VISIBLE_LEVEL, Scale, is_masked
from attncli.render.heatmap.palette import NAN_SIGN, Palette

# The option that shows one of several tables, by what its axis counts.
OPTIONS = {AXIS_NOUNS["h"]: "--head", AXIS_NOUNS["b"]: "--batch"}
BAR_WIDTH, MIN_BAR_WIDTH = 16, 2


def color_bar(scale: Scale, palette: Palette, decimals: int, width: int) -> list[Segment]:
    """The colours between the numbers that have the first and the last one, in lines of a width."""
    least, largest = _ends(scale, decimals)
    room = max(min(width - len(f"{least}  {largest}"), BAR_WIDTH), MIN_BAR_WIDTH)
    return [Segment(f"{least} "), *palette.bar(room), Segment(f" {largest}")]


def scale_note(scale: Scale, decimals: int, count: int) -> str:
    """What the ends of the scale are, and whether several tables share it; of a single number that."""
    if scale.has_one_number:
        return f"every number is {_ends(scale, decimals)[0]}"
    ends = "0 to the largest" if scale.is_from_zero else "the least to the largest"
    return f"from {ends} of the {count} tables" if count > 1 else f"from {ends} number"


def notes(tables: Sequence[Grid], layout: Layout, palette: Palette, decimals: int) -> Iterator[str]:
    """What signs mean, how numbers are rounded, for how many a block stands, and how to see what is left out."""
    is_mask = tables[0].signs is not None
    if is_mask:
        yield _meanings(tables, layout, palette)
    elif any(is_masked(grid).any() for grid in tables):
        is_hidden = any(grid.hidden is not None and grid.hidden.any() for grid in tables)
        yield f"{palette.masked_sign} {'masked' if is_hidden else '−∞'}"
    if any(np.isnan(grid.values).any() for grid in tables):
        yield f"{NAN_SIGN if layout.cells.texts is None else 'NaN'} not a number"
    if any((np.isposinf(grid.values) & ~is_masked(grid)).any() for grid in tables):
        yield "∞ has the last colour"
    if layout.cells.decimals is not None and layout.cells.decimals < decimals:
        yield f"rounded to {layout.cells.decimals} decimals"
    option = next((option for noun, option in OPTIONS.items() if noun in tables[0].slice_label), None)
    rows, columns = layout.cells.block
    if rows * columns > 1:
        larger = f"; {option} N shows one table larger" if option and len(tables) > 1 else ""
        shown = "is visible where one of" if is_mask else "shows the largest of"
        yield f"a block {shown} {rows} × {columns} cells{' is' if is_mask else ''}{larger}"
    if layout.shown < len(tables):
        yield f"{len(tables) - layout.shown} more tables are left out: {option} N shows one, a file has all"


def _ends(scale: Scale, decimals: int) -> Sequence[str]:
    """The least and the largest number of a scale."""
    return [row[0].strip() for row in align_numbers(np.array([[scale.least], [scale.largest]]), decimals)]


def _meanings(tables: Sequence[Grid], layout: Layout, palette: Palette) -> str:
    """What the signs of masks mean, of a single one with their counts; where cells have no signs, how they look."""
    if layout.cells.texts is None:
        look = "colour" if palette.colors else palette.cell(VISIBLE_LEVEL, " ").text
        return f"{look}: visible   {palette.masked_sign}: hidden"
    if len(tables) == 1:
        return tables[0].legend
    return "   ".join(f"{sign} {meaning}" for sign, meaning in tables[0].meanings.items())
