"""The statistics of the weights of variants: for each query a row for each variant, marked against the first one."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from rich.cells import cell_len

from attncli.analysis.changes import changed
from attncli.analysis.compare.equal_variants import equal_statistics
from attncli.analysis.compare.report import Comparison
from attncli.base.lazy_numpy import Array, np
from attncli.problem.results import WEIGHTS
from attncli.render.compare.results import same_remarks
from attncli.render.document import Grid, Section, change_marks
from attncli.render.statistics import TITLE, StatisticsRow, statistics_grid, statistics_remarks, statistics_row
from attncli.render.tables import slices_of_axes
from attncli.trace.positions import add_dependent_axes

GAP = "  "  # between the label of a query and that of a variant


def statistics_sections(comparison: Comparison, labels: Sequence[str]) -> Iterator[Section]:
    """A section for each batch item and head; of variants with the same statistics the first one alone is in it.

    Of variants of other numbers of queries or heads there is none.
    """
    groups = equal_statistics(comparison)
    shown = [first for first, *_ in groups]
    shapes = {comparison.variants[position].result.trace.plan[WEIGHTS].axes[:-1] for position in shown}
    if len(shapes) != 1:
        return
    trace = comparison.variants[shown[0]].result.trace
    axes = trace.plan[WEIGHTS].axes[:-2]
    positions = add_dependent_axes(trace, dict(comparison.positions))
    made = [
        Section(", ".join(filter(None, (TITLE, label))), (_grid(comparison, shown, labels, index),))
        for index, label in slices_of_axes(trace, axes, positions)
    ]
    remarks = statistics_remarks(grid for section in made for grid in section.grids)
    yield from made[:-1]
    yield from (replace(last, remarks=(*same_remarks(groups, labels), *remarks)) for last in made[-1:])


def _grid(comparison: Comparison, shown: Sequence[int], labels: Sequence[str], index: tuple[int, ...]) -> Grid:
    """The table of one batch item and head; with one variant a row is that of a query."""
    queries = comparison.variants[shown[0]].result.trace.numbered_labels["n"]
    widths = max(map(cell_len, queries), default=0), max(cell_len(labels[position]) for position in shown)
    rows = []
    for at, query in enumerate(queries):
        for number, position in enumerate(shown):
            lead = _padded("" if number else query, widths[0])
            label = f"{lead}{GAP}{_padded(labels[position], widths[1])}" if len(shown) > 1 else query
            rows.append(_row(comparison, position, label, (*index, at)))
    grid = statistics_grid(rows, "query  variant" if len(shown) > 1 else "query")
    if len(shown) == 1:
        return grid
    before = np.repeat(grid.values[:: len(shown)], len(shown), axis=0)
    has_changed = np.stack([_changed_rows(comparison, shown[0], position, index) for position in shown], axis=-1)
    return replace(grid, changes=np.where(has_changed.reshape(-1, 1), change_marks(before, grid.values), ""))


def _changed_rows(comparison: Comparison, first: int, position: int, index: tuple[int, ...]) -> Array:
    """Which rows of weights [n] of a variant differ from those of the first, by more than rounding in their type."""
    before, after = (_weights_at(comparison, one, index) for one in (first, position))
    if before.shape != after.shape:
        return np.ones(len(after), bool)
    return np.asarray(changed(before, after).any(axis=-1))


def _weights_at(comparison: Comparison, position: int, index: tuple[int, ...]) -> Array:
    """The weights [n m] of one batch item and head of a variant."""
    trace = comparison.variants[position].result.trace
    weights: Array = trace[WEIGHTS].value[index]
    return weights


def _row(comparison: Comparison, position: int, label: str, at: tuple[int, ...]) -> StatisticsRow:
    """The row of a variant and a query."""
    one = comparison.variants[position]
    assert one.statistics is not None  # the groups have those that have some
    return statistics_row(label, one.statistics, at, one.result.trace.numbered_labels["m"])


def _padded(text: str, width: int) -> str:
    """A text with blanks up to a width."""
    return text + " " * (width - cell_len(text))
