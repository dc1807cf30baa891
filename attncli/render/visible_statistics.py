"""The statistics of visible keys, after the masks, as a section, an object, and rows of a table."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from attncli.base.labels import BATCH, HEAD
from attncli.base.lazy_numpy import Array, np
from attncli.plan.trace import Trace
from attncli.render.document import Grid, Section
from attncli.render.masks import VISIBLE_STEP
from attncli.render.tables import leading_slices, with_changes
from attncli.render.view import View

TILE = 64  # queries and keys in a tile


@dataclass(frozen=True)
class VisibleKeys:
    """The keys that queries see: least, mean and most, and their share of all pairs.

    Tiles of 64 queries and 64 keys, smaller at the ends, are empty if no pair is visible, full if every pair is,
    otherwise mixed.
    """

    least: int
    mean: float
    most: int
    density: float
    empty: int
    full: int
    mixed: int


def count_visible_keys(visible: Array) -> VisibleKeys:
    """The counts of a table [n m] of which keys each query sees.

    >>> count_visible_keys(np.tri(65, dtype=bool))
    VisibleKeys(least=1, mean=33.0, most=65, density=0.5076923076923077, empty=1, full=2, mixed=1)
    """
    queries, keys = visible.shape
    columns = np.arange(0, keys, TILE)
    widths = np.minimum(columns + TILE, keys) - columns
    seen, empty, full = np.empty(queries, np.int64), 0, 0
    for first in range(0, queries, TILE):
        rows = visible[first : first + TILE]
        seen[first : first + TILE] = rows.sum(axis=-1)
        in_tiles = np.add.reduceat(rows.sum(axis=0), columns)
        empty += int((in_tiles == 0).sum())
        full += int((in_tiles == widths * len(rows)).sum())
    tiles = len(columns) * -(-queries // TILE)
    mean = float(seen.mean())
    return VisibleKeys(int(seen.min()), mean, int(seen.max()), mean / keys, empty, full, tiles - empty - full)


TITLE = "visible keys"
COLUMNS = ("least", "mean", "most", "density", "empty", "full", "mixed")
LEGEND = (
    "least, mean, most: keys that a query sees; density: the share of all pairs that are visible",
    f"tiles of {TILE} queries × {TILE} keys: empty: no pair is visible; full: every pair is; mixed: some are",
)


def has_visible_statistics(view: View) -> bool:
    """Whether the visible keys are among the selected results whose statistics are shown."""
    return view.statistics and _is_selected(view.result.trace, view.result.select)


def has_weight_statistics(view: View) -> bool:
    """Whether statistics of the weights are shown: unless only the visible keys are selected."""
    select = view.result.select
    return view.statistics and not (_is_selected(view.result.trace, select) and len(set(select)) == 1)


def _is_selected(trace: Trace, names: Sequence[str]) -> bool:
    return any(trace.plan.find(name) is not None and trace[name].name == VISIBLE_STEP for name in names)


def visible_section(view: View) -> Section:
    """A table with a row for each batch item and head whose masks differ."""
    return Section(TITLE, tuple(with_changes(view, VISIBLE_STEP, _grids)), remarks=LEGEND)


def _grids(view: View) -> Iterator[Grid]:
    """The table of a view."""
    counted = list(_counted(view))
    labels = tuple(label or "all queries" for _, label, _ in counted)
    values = np.array([_numbers(counts) for _, _, counts in counted]).reshape(-1, len(COLUMNS))
    yield Grid(values, labels, COLUMNS, "", "", aligns_columns=True)


def _counted(view: View) -> Iterator[tuple[tuple[int, ...], str, VisibleKeys]]:
    """The index on the axes before the queries, the label and the counts of each shown table."""
    trace = view.result.trace
    step = trace[VISIBLE_STEP]
    shape = len(trace.labels["n"]), step.value.shape[-1]  # one row may serve every query
    for index, label in leading_slices(trace, step, view.axis_positions):
        yield index, label, count_visible_keys(np.broadcast_to(step.value[index], shape))


def _numbers(counts: VisibleKeys) -> Sequence[float]:
    """The counts in the order of the columns."""
    return [getattr(counts, name) for name in COLUMNS]


def visible_object(view: View) -> dict[str, Any]:
    """The counts by name, lists of them for several tables, and the size of a tile."""
    counted = [_numbers(counts) for _, _, counts in _counted(view)]
    columns = {name: [row[at] for row in counted] for at, name in enumerate(COLUMNS)}
    return {name: rows[0] if len(rows) == 1 else rows for name, rows in columns.items()} | {"tile": TILE}


def visible_table(view: View) -> Iterator[Sequence[Any]]:
    """The header and the rows of one table; without such an axis the batch item or the head is 0."""
    axes = view.result.trace[VISIBLE_STEP].axes
    yield BATCH, HEAD, *COLUMNS
    for index, _, counts in _counted(view):
        at = dict(zip(axes, index, strict=False))
        yield at.get("b", 0), at.get("h", 0), *_numbers(counts)
