"""The marks of numbers that changed: ▲ where one rose, ▼ where it fell, ◆ of any other change."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from attncli.analysis.rows import changed
from attncli.base.lazy_numpy import Array, np
from attncli.render.grid import Grid

RAISED, LOWERED, OTHER = "▲", "▼", "◆"
LEGEND = f"{RAISED} rose   {LOWERED} fell   {OTHER} changed otherwise"


def change_marks(before: Array, after: Array) -> Array:
    """The mark of each number of an array [… n m] that differs from that before; of the others an empty text.

    What changed is as `attncli.analysis.changes.changed` has it. A change from or to NaN or an infinity is neither a
    rise nor a fall. Both arrays have one shape.

    >>> change_marks(np.array([[1.0, 2.0, 3.0]]), np.array([[1.0, 2.5, np.nan]])).tolist()
    [['', '▲', '◆']]
    """
    with np.errstate(invalid="ignore"):
        direction = np.where(after > before, RAISED, LOWERED)
    are_finite = np.isfinite(before) & np.isfinite(after)
    marks: Array = np.where(changed(before, after), np.where(are_finite, direction, OTHER), "")
    return marks


def mark_grids(grids: Iterable[Grid], before: Iterable[Grid], *, are_beside: bool = False) -> Iterator[Grid]:
    """Each table, with what changed since the table before in its place marked.

    Where they `are_beside` each other the table before is shown with each in which anything changed.
    """
    tables_before = iter(before)
    for grid in grids:
        grid_before = next(tables_before, None)
        if grid_before is None:  # there were fewer heads or batch items
            yield grid
            continue
        marked = mark_grid(grid, grid_before)
        has_changed = marked.changes is not None and bool((marked.changes != "").any())
        yield replace(marked, before=grid_before) if are_beside and has_changed else marked


def mark_grid(grid: Grid, before: Grid) -> Grid:
    """A table with what changed since a table before marked, numbers or signs; as it is where the shapes differ."""
    if grid.values.shape != before.values.shape:
        return grid
    if grid.signs is None or before.signs is None:
        return replace(grid, changes=change_marks(before.values, grid.values))
    return replace(grid, changes=np.where(np.array(grid.signs) != np.array(before.signs), OTHER, ""))
