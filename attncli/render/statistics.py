"""The statistics and the largest keys of rows of weights: as a section, an object, and rows of a table."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from attncli.base.labels import BATCH, HEAD
from attncli.base.lazy_numpy import Array, np
from attncli.plan.trace import Trace, slices_at
from attncli.problem.fields import WEIGHTS
from attncli.render.document import Grid, Section
from attncli.render.rows import NO_KEY, RowStatistics, largest_keys, row_statistics
from attncli.render.tables import grids, leading_slices, with_changes
from attncli.render.view import View

TITLE, TOP_TITLE = "statistics", "largest keys"
# The columns of a statistics table: the name in JSON, and the heading for readers, which `attn show` explains.
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
ARROW_DECIMALS = 2
NO_DISTRIBUTION = "NaN: the weights are not a distribution, one is negative or their sum is not 1"


def statistics_section(view: View) -> Section:
    """The statistics of the shown weights of a view: a table for each batch item and head."""
    found = tuple(with_changes(view, WEIGHTS, _grids))
    return Section(TITLE, found, remarks=statistics_remarks(found))


def _grids(view: View) -> Iterator[Grid]:
    """The tables of the statistics of a view."""
    trace, step = view.result.trace, view.result.trace[WEIGHTS]
    statistics = statistics_of(trace)
    rows, columns = (trace.numbered_labels_of(step, axis) for axis in (-2, -1))
    for index, label in leading_slices(trace, step, view.axis_positions):
        found = [statistics_row(query, statistics, (*index, at), columns) for at, query in enumerate(rows)]
        yield statistics_grid(found, "query", label)


def statistics_of(trace: Trace) -> RowStatistics:
    """The statistics of the weights of a trace."""
    return row_statistics(trace[WEIGHTS].value, trace.precision)


@dataclass(frozen=True)
class StatisticsRow:
    """A row of a statistics table: its label, its numbers, and the key of its largest weight, if any."""

    label: str
    numbers: tuple[Any, ...]
    key: str | None


def statistics_row(label: str, statistics: RowStatistics, at: tuple[int, ...], keys: Sequence[str]) -> StatisticsRow:
    """The row of the query at a position on the axes [… n]; `keys` are the keys' labels."""
    key = int(statistics.largest_key[at])
    numbers = tuple(getattr(statistics, name)[at] for name in COLUMNS)
    return StatisticsRow(label, numbers, None if key == NO_KEY else keys[key])


def statistics_grid(rows: Sequence[StatisticsRow], noun: str, slice_label: str = "") -> Grid:
    """The table of some rows; an arrow after each label leads to its key. `noun` names a row."""
    labels = tuple(row.label if row.key is None else f"{row.label} → {row.key}" for row in rows)
    values = np.array([row.numbers for row in rows]).reshape(len(rows), len(COLUMNS))
    return Grid(values, labels, tuple(COLUMNS.values()), f"{noun} → key", slice_label, aligns_columns=True)


def statistics_remarks(grids: Iterable[Grid]) -> tuple[str, ...]:
    """The meaning of the columns of statistics tables, and the numbers that they lack."""
    lacks_entropy = any(np.isnan(grid.values).any() for grid in grids)
    return (*LEGEND, NO_DISTRIBUTION) if lacks_entropy else LEGEND


def statistics_object(view: View) -> dict[str, Any]:
    """The shown statistics, an array [… n] each; `largest_key` has labels, None in a row without weights."""
    trace, step = view.result.trace, view.result.trace[WEIGHTS]
    index = slices_at(trace, step, view.positions)[:-1]
    return object_of_statistics(statistics_of(trace), trace.numbered_labels_of(step, -1), index)


def statistics_table(view: View) -> Iterator[Sequence[Any]]:
    """The header and the rows of one table of the shown statistics; a cell is empty if no key has weight.

    Without such an axis the batch item or the head is 0; equal labels have their number.
    """
    trace, step = view.result.trace, view.result.trace[WEIGHTS]
    statistics = statistics_of(trace)
    keys = statistics.label_largest_keys(trace.numbered_labels_of(step, -1))
    yield BATCH, HEAD, "query", *COLUMNS, "largest_key"
    for item, head, index, query in rows_of_queries(view):
        numbers = (getattr(statistics, name)[index] for name in COLUMNS)
        yield item, head, query, *numbers, keys[index] or ""


def rows_of_queries(view: View) -> Iterator[tuple[int, int, tuple[int, ...], str]]:
    """The batch item, head, position on the axes [… n] and label of each shown row of weights."""
    trace, step = view.result.trace, view.result.trace[WEIGHTS]
    queries = trace.numbered_labels_of(step, -2)
    for index, _ in leading_slices(trace, step, view.axis_positions):
        at = dict(zip(step.axes, index, strict=False))
        for number, query in enumerate(queries):
            yield at.get("b", 0), at.get("h", 0), (*index, number), query


def largest_keys_section(view: View) -> Section:
    """The largest keys of each shown query, with their weights: a table for each batch item and head."""
    return Section(TOP_TITLE, tuple(with_changes(view, WEIGHTS, _grids_of_largest_keys)))


def _grids_of_largest_keys(view: View) -> Iterator[Grid]:
    """The tables of the largest keys: a row for each query and key, with the weight."""
    trace, step = view.result.trace, view.result.trace[WEIGHTS]
    for index, label in leading_slices(trace, step, view.axis_positions):
        found = [
            (f"{query} → {key}", weight)
            for at, query in enumerate(trace.numbered_labels_of(step, -2))
            for key, weight in largest_keys_of(view, (*index, at))
        ]
        values = np.array([weight for _, weight in found]).reshape(-1, 1)
        yield Grid(values, tuple(row for row, _ in found), ("weight",), "query → key", label)


def largest_keys_of(view: View, index: tuple[int, ...]) -> Sequence[tuple[str, Any]]:
    """The label and weight of each of the largest keys of the query at an index, without weights of 0."""
    trace, step = view.result.trace, view.result.trace[WEIGHTS]
    row, keys = step.value[index], trace.numbered_labels_of(step, -1)
    return [(keys[key], row[key]) for key in largest_keys(row, view.top).tolist() if row[key] != 0]


def largest_keys_object(view: View) -> list[Any]:
    """The shown largest keys: for each query their labels and weights, in lists of heads and batch items."""
    trace, step = view.result.trace, view.result.trace[WEIGHTS]
    shape, index = step.value.shape[:-1], slices_at(trace, step, view.positions)[:-1]
    cells = np.empty(shape, dtype=object)
    for at in np.ndindex(shape):
        largest = largest_keys_of(view, at)
        weights = np.array([weight for _, weight in largest], dtype=step.value.dtype)
        cells[at] = {"keys": [key for key, _ in largest], "weights": weights}
    found: list[Any] = cells[index].tolist()
    return found


def largest_keys_table(view: View) -> Iterator[Sequence[Any]]:
    """The header and the rows of one table of the shown largest keys, ranked from 1."""
    yield BATCH, HEAD, "query", "rank", "key", "weight"
    for item, head, index, query in rows_of_queries(view):
        for rank, (key, weight) in enumerate(largest_keys_of(view, index), 1):
            yield item, head, query, rank, key, weight


def object_of_statistics(
    statistics: RowStatistics, keys: Sequence[str], index: tuple[slice, ...] = ()
) -> dict[str, Any]:
    """The statistics at an index of the axes [… n], an array each; labels `keys` replace the keys' positions."""
    arrays: Iterator[tuple[str, Array]] = ((name, getattr(statistics, name)[index]) for name in COLUMNS)
    return {**dict(arrays), "largest_key": statistics.label_largest_keys(keys)[index].tolist()}


def arrows(trace: Trace, *, from_key: bool = False) -> Iterator[tuple[str, list[str]]]:
    """For each head and batch item its label, and for each query an arrow to the key of its largest weight.

    With `from_key` the arrow leads from the key to the query: `das → the 0.86`. Keys of equal weights are listed
    together; a query whose weights are all 0 has no arrow.
    """
    for grid in grids(trace, trace[WEIGHTS]):
        found = []
        for query, weights in zip(grid.rows, grid.values, strict=True):
            if np.isfinite(weights).all() and weights.any():
                largest = weights.max()
                keys = (key for key, weight in zip(grid.columns, weights, strict=True) if np.isclose(weight, largest))
                ends = (", ".join(keys), query) if from_key else (query, ", ".join(keys))
                found.append(f"{' → '.join(ends)} {largest:.{ARROW_DECIMALS}f}")
        yield grid.slice_label, found
