"""The results of variants: a table for each, with what differs from the first one marked, and equal ones once."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from attncli.analysis.compare.equal_variants import equal_variants
from attncli.analysis.compare.report import Comparison
from attncli.base.lazy_numpy import np
from attncli.base.text import join_words
from attncli.render.change_marks import mark_grid
from attncli.render.compare.labels import table_title
from attncli.render.grid import Grid
from attncli.render.section import Section
from attncli.render.selected_tables import selected_tables
from attncli.render.view import View

Labels = Sequence[str]


def result_sections(comparison: Comparison, labels: Labels) -> Iterator[Section]:
    """The sections of each selected result: one for each batch item and head; one line for what all have in common."""
    for name in comparison.select:
        groups = equal_variants(comparison, name)
        if sum(map(len, groups)) == len(comparison.variants) and len(groups) == 1:
            count = len(comparison.variants)
            yield Section(f"{name}: the same in {'both' if count == 2 else f'all {count}'}")
        elif groups:
            yield from _sections(comparison, name, groups, labels)


def same_remarks(groups: Sequence[Sequence[int]], labels: Labels) -> tuple[str, ...]:
    """Which variants have the same numbers, of which the first one alone is shown: `the same: 1, 2 and 4`."""
    return tuple(
        f"the same: {join_words([labels[position] for position in group])}" for group in groups if len(group) > 1
    )


def _sections(comparison: Comparison, name: str, groups: Sequence[Sequence[int]], labels: Labels) -> Iterator[Section]:
    """A section for each slice of a result that differs; the remarks stand below the last one."""
    tables = {table_title(comparison, labels, first): list(_grids(comparison, name, first)) for first, *_ in groups}
    slices = [tuple(grid.slice_label for grid in grids) for grids in tables.values()]
    if len(set(slices)) == 1:
        made = [
            Section(_joined(name, label), _stacked(_marked(dict(zip(tables, grids, strict=True)))))
            for label, grids in zip(slices[0], zip(*tables.values(), strict=True), strict=True)
        ]
    else:  # of other numbers of heads or batch items, which have no tables in common
        named = [
            replace(grid, slice_label=_joined(grid.slice_label, label)) for label in tables for grid in tables[label]
        ]
        made = [Section(name, tuple(named))]
    yield from made[:-1]
    yield from (replace(last, remarks=same_remarks(groups, labels)) for last in made[-1:])


def _grids(comparison: Comparison, name: str, position: int) -> Iterator[Grid]:
    """The tables of a result of one variant."""
    return selected_tables(View(comparison.variants[position].result, positions=comparison.positions), name)


def _joined(*parts: str) -> str:
    """The parts that are not empty, with commas."""
    return ", ".join(filter(None, parts))


def _marked(grids: Mapping[str, Grid]) -> Iterator[Grid]:
    """One slice of a result of several variants, by their labels: what differs from the first one is marked."""
    first = next(iter(grids.values()))
    for label, grid in grids.items():
        yield replace(grid if grid is first else mark_grid(grid, first), slice_label=label)


def _stacked(grids: Iterable[Grid]) -> tuple[Grid, ...]:
    """The tables; those of one row are the rows of one table, which have the labels of the tables."""
    grids = tuple(grids)
    first = grids[0]
    if any(grid.values.shape[0] != 1 or grid.columns != first.columns or grid.signs is not None for grid in grids):
        return grids
    has_one_label = len({grid.rows for grid in grids}) == 1
    changes = [np.full(grid.values.shape, "") if grid.changes is None else grid.changes for grid in grids]
    return (
        replace(
            first,
            values=np.concatenate([grid.values for grid in grids]),
            rows=tuple(grid.slice_label if has_one_label else f"{grid.slice_label}, {grid.rows[0]}" for grid in grids),
            corner=first.rows[0] if has_one_label else "variant",
            slice_label="",
            changes=np.concatenate(changes),
        ),
    )
