"""A mask as signs: the cells that are visible in one colour, those that a rule hides hatched or with its sign."""

from collections.abc import Mapping, Sequence
from typing import Any

from attncli.base.lazy_numpy import np
from attncli.render.figure.colors import INK, RULE_HATCHES, VISIBLE_HATCH, VISIBLE_INK, Hatch
from attncli.render.figure.heat_map import draw_gaps, hatch_cells, pooling_steps, write_in_cell
from attncli.render.figure.layout import Box
from attncli.render.figure.legend import LegendEntry
from attncli.render.figure.size import Size
from attncli.render.grid import Grid
from attncli.render.mask_signs import VISIBLE

SIGN_SIZE, MIN_SIGN_CELL = 8.0, 0.16  # points, and the edge in inches of a cell that has room for a sign


def sign_entries(tables: Sequence[Grid], *, has_signs: bool) -> Sequence[LegendEntry]:
    """What the signs mean that the cells of some tables have, in the order of their rules."""
    meanings = {sign: meaning for table in tables for sign, meaning in table.meanings.items()}
    found = {sign for table in tables for row in table.signs or () for sign in row}
    return [
        LegendEntry(hatch, meanings[sign], *((sign, False) if has_signs else ("", True)), ink=_ink(sign))
        for sign, hatch in _hatches(meanings).items()
        if sign in found
    ]


def draw_signs(axes: Any, table: Grid, box: Box) -> None:
    """Draw a table of signs on axes of the size of a box."""
    rows, columns = table.values.shape
    axes.set_xlim(0, columns)
    axes.set_ylim(rows, 0)
    signs = np.array(table.signs)
    has_signs = signs_fit(box, rows, columns)
    for sign, hatch in _hatches(table.meanings).items():
        hatch_cells(axes, signs == sign, hatch, pooling_steps(table, box), has_lines=not has_signs)
    draw_gaps(axes, box, rows, columns)
    if has_signs:
        for row, column in np.ndindex(signs.shape):
            sign = str(signs[row, column])
            write_in_cell(axes, row, column, sign, SIGN_SIZE, _ink(sign))


def signs_fit(box: Box | Size, rows: int, columns: int) -> bool:
    """Whether the cells of a panel have room for signs."""
    return min(box.width / columns, box.height / rows) >= MIN_SIGN_CELL


def _hatches(meanings: Mapping[str, str]) -> Mapping[str, Hatch]:
    """How the cells of each sign are drawn."""
    rules = [sign for sign in meanings if sign != VISIBLE]
    hatches = {sign: RULE_HATCHES[at % len(RULE_HATCHES)] for at, sign in enumerate(rules)}
    return {VISIBLE: VISIBLE_HATCH, **hatches}


def _ink(sign: str) -> str:
    """The colour of a sign on its ground."""
    return VISIBLE_INK if sign == VISIBLE else INK
