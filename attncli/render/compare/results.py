"""The results of variants: a table for each, with what differs from the first one marked, and equal ones once."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from attncli.analysis.compare.equal_variants import equal_variants
from attncli.analysis.compare.report import Comparison
from attncli.base.lazy_numpy import np
from attncli.base.text import join_words
from attncli.render.compare.labels import table_title
from attncli.render.document import Grid, Section, mark_grid
from attncli.render.tables import selected_tables
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
    tables = {first: list(_grids(comparison, name, first)) for first, *_ in groups}
    slices = [tuple(grid.slice_label for grid in grids) for grids in tables.values()]
    if len(set(slices)) == 1:
        made = [
            Section(_joined(name, label), _together(comparison, labels, dict(zip(tables, grids, strict=True))))
            for label, grids in zip(slices[0], zip(*tables.values(), strict=True), strict=True)
        ]
    else:  # of other numbers of heads or batch items, which have no tables in common
        named = (
            replace(grid, slice_label=_joined(labels[position], grid.slice_label))
            for position, grids in tables.items()
            for grid in grids
        )
        made = [Section(name, tuple(named))]
    yield from made[:-1]
    yield from (replace(last, remarks=same_remarks(groups, labels)) for last in made[-1:])


def _grids(comparison: Comparison, name: str, position: int) -> Iterator[Grid]:
    """The tables of a result of one variant."""
    return selected_tables(View(comparison.variants[position].result, positions=comparison.positions), name)


def _joined(*parts: str) -> str:
    """The parts that are not empty, with commas."""
    return ", ".join(filter(None, parts))


def _together(comparison: Comparison, labels: Labels, grids: Mapping[int, Grid]) -> tuple[Grid, ...]:
    """One slice of a result of several variants, by their positions: what differs from the first one is marked.

    Tables of one row are the rows of one table.
    """
    first = next(iter(grids.values()))
    marked = [grid if grid is first else mark_grid(grid, first) for grid in grids.values()]
    if all(grid.values.shape[0] == 1 and grid.columns == first.columns and grid.signs is None for grid in marked):
        return (_stacked(marked, [labels[position] for position in grids]),)
    titles = (table_title(comparison, labels, position) for position in grids)
    return tuple(replace(grid, slice_label=title) for grid, title in zip(marked, titles, strict=True))


def _stacked(grids: Sequence[Grid], labels: Labels) -> Grid:
    """Tables of one row as one, whose rows have these labels, and their own where they differ."""
    first = grids[0]
    has_one_label = len({grid.rows for grid in grids}) == 1
    own = (_joined(label, *grid.rows) for label, grid in zip(labels, grids, strict=True))
    changes = [np.full(grid.values.shape, "") if grid.changes is None else grid.changes for grid in grids]
    return replace(
        first,
        values=np.concatenate([grid.values for grid in grids]),
        rows=tuple(labels) if has_one_label else tuple(own),
        corner=first.rows[0] if has_one_label else "variant",
        slice_label="",
        changes=np.concatenate(changes),
    )
