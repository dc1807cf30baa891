"""The statistics of rows of weights as a section, and as an object of names and arrays."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from attncli.analysis.rows import NO_KEY, RowStatistics, row_statistics
from attncli.base.dataclasses import dataclass
from attncli.base.lazy_numpy import Array, np
from attncli.plan.trace import Trace, add_dependent_axes, slices_at
from attncli.problem.results import WEIGHTS
from attncli.render.change_marks import mark_grids
from attncli.render.grid import Grid, leading_slices
from attncli.render.section import Section
from attncli.render.view import View

TITLE = "statistics"
# The columns of a table of statistics: the name in JSON, and the heading for readers, whose words `attn show` explains.
COLUMNS: Mapping[str, str] = {
    "support": "support",
    "entropy": "entropy",
    "effective_keys": "effective keys",
    "largest": "largest",
}
LEGEND = (
    "support: the keys with a weight; largest: the largest weight, and → the key that has it",
    "effective keys: exp(entropy), as many keys of equal weight have that entropy, in nats",
)
NO_DISTRIBUTION = "NaN: the weights are no distribution, one is negative or their sum is not 1"


def statistics_section(view: View) -> Section:
    """The statistics of what is shown of the weights of a view: a table for each batch item and head."""
    made = _grids(view)
    if view.before is not None and WEIGHTS in view.before.trace:
        made = mark_grids(made, _grids(replace(view, result=view.before)), are_beside=bool(view.edited_cells))
    found = tuple(made)
    return Section(TITLE, found, remarks=statistics_remarks(found))


def _grids(view: View) -> Iterator[Grid]:
    """The tables of the statistics of a view."""
    trace, step = view.result.trace, view.result.trace[WEIGHTS]
    statistics = statistics_of(trace)
    rows, columns = (trace.numbered_labels_of(step, axis) for axis in (-2, -1))
    for index, label in leading_slices(trace, step, add_dependent_axes(trace, dict(view.positions))):
        found = [statistics_row(query, statistics, (*index, at), columns) for at, query in enumerate(rows)]
        yield statistics_grid(found, "query", label)


def statistics_of(trace: Trace) -> RowStatistics:
    """The statistics of the weights of a trace."""
    return row_statistics(trace[WEIGHTS].value, trace.precision)


@dataclass(frozen=True)
class StatisticsRow:
    """A row of a table of statistics: its label, its numbers, and the key of its largest weight, if there is one."""

    label: str
    numbers: tuple[Any, ...]
    key: str | None


def statistics_row(label: str, statistics: RowStatistics, at: tuple[int, ...], keys: Sequence[str]) -> StatisticsRow:
    """The row of the query at a position on the axes [… n]; `keys` are the labels of the keys."""
    key = int(statistics.largest_key[at])
    numbers = tuple(getattr(statistics, name)[at] for name in COLUMNS)
    return StatisticsRow(label, numbers, None if key == NO_KEY else keys[key])


def statistics_grid(rows: Sequence[StatisticsRow], noun: str, slice_label: str = "") -> Grid:
    """The table of some rows, behind whose labels an arrow leads to the key; `noun` is what a row is."""
    labels = tuple(row.label if row.key is None else f"{row.label} → {row.key}" for row in rows)
    values = np.array([row.numbers for row in rows]).reshape(len(rows), len(COLUMNS))
    return Grid(values, labels, tuple(COLUMNS.values()), f"{noun} → key", slice_label, aligns_columns=True)


def statistics_remarks(grids: Iterable[Grid]) -> tuple[str, ...]:
    """What the columns of tables of statistics mean, and the numbers that they lack."""
    lacks_entropy = any(np.isnan(grid.values).any() for grid in grids)
    return (*LEGEND, NO_DISTRIBUTION) if lacks_entropy else LEGEND


def statistics_object(view: View) -> dict[str, Any]:
    """What is shown of the statistics, an array [… n] each; `largest_key` has labels, None in a row without weights."""
    trace, step = view.result.trace, view.result.trace[WEIGHTS]
    index = slices_at(trace, step, view.positions)[:-1]
    return object_of_statistics(statistics_of(trace), trace.numbered_labels_of(step, -1), index)


def object_of_statistics(
    statistics: RowStatistics, keys: Sequence[str], index: tuple[slice, ...] = ()
) -> dict[str, Any]:
    """The statistics at an index of the axes [… n], an array each; the positions of keys as their labels `keys`."""
    arrays: Iterator[tuple[str, Array]] = ((name, getattr(statistics, name)[index]) for name in COLUMNS)
    return {**dict(arrays), "largest_key": statistics.label_largest_keys(keys)[index].tolist()}
