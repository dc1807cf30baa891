"""The tables of a comparison: labels of variants, their results, statistics, and a summary of many."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath

from rich.cells import cell_len

from attncli.base.lazy_numpy import Array, np
from attncli.base.text import join_words
from attncli.comparisons.comparison import SEED, Comparison, equal_statistics, equal_variants, over_seeds, variant_means
from attncli.comparisons.differences import Difference
from attncli.io.assemble import NOTHING
from attncli.io.variants import CONVENTION, FILE
from attncli.plan.trace import Trace, add_dependent_axes
from attncli.problem.fields import PIPELINE_STAGES, WEIGHTS
from attncli.render.document import Grid, Section, change_marks, mark_grid
from attncli.render.rows import changed
from attncli.render.statistics import COLUMNS, TITLE, statistics_grid, statistics_remarks, statistics_row
from attncli.render.tables import selected_tables, slices_of_axes
from attncli.render.view import View

MAX_LABEL_WIDTH = 16  # with which a table of statistics fits 80 columns
GAP = "  "  # between a variant's number and name, and between a query's and a variant's label
NOUNS = {CONVENTION: "convention"}  # nouns for keys outside a problem
MAX_LISTED = 8  # variants that a title or a list names; above that a table names them
MEANING_OF_SEEDS = "±: the standard deviation of a sample (n − 1); each seed counts as the mean of its rows"
NO_MEAN = "NaN: in some variant no row is a distribution"
MEAN, TOTAL_VARIATION = "effective keys", "total variation"

Labels = Sequence[str]


def variant_labels(comparison: Comparison) -> tuple[str, ...]:
    """A short label for each variant: the value of the only varied key, its name, or a number from 1."""
    choices = [tuple(one.variant.name for one in comparison.variants)]
    if len(varied_keys(comparison)) == 1:
        values = value_labels(comparison)
        says_what = all(value[:1].isalpha() and value not in ("true", "false", *NOTHING) for value in values)
        choices.insert(0 if says_what else 1, values)  # the name of an operator is clear by itself, a number is not
        if varied_keys(comparison) == [FILE]:
            choices += [
                tuple(PurePath(value).name for value in values),
                tuple(PurePath(value).stem for value in values),
            ]
    for labels in choices:
        if max(map(cell_len, labels)) <= MAX_LABEL_WIDTH and len(set(labels)) == len(labels):
            return labels
    return _numbers(comparison)


def value_labels(comparison: Comparison) -> tuple[str, ...]:
    """The values of the varied keys of each variant, for a table with the keys in its corner: `softmax, 0.5`."""
    keys = varied_keys(comparison)
    return tuple(
        _joined(*(one.variant.keys.get(key, "") for key in keys)) or one.variant.name for one in comparison.variants
    )


def table_title(comparison: Comparison, labels: Labels, position: int) -> str:
    """The title of a variant's table: its label, with its name if the label is a number."""
    name = comparison.variants[position].variant.name
    return f"{labels[position]}{GAP}{name}" if labels == _numbers(comparison) else labels[position]


def row_labels(comparison: Comparison, labels: Labels) -> tuple[str, ...]:
    """The rows of a table of all variants: the values, named by the corner, after numeric labels."""
    values = value_labels(comparison)
    if labels != _numbers(comparison):
        return values
    return tuple(f"{label}{GAP}{value}" for label, value in zip(labels, values, strict=True))


def varied_keys(comparison: Comparison) -> Sequence[str]:
    """The keys on which variants differ."""
    keys = dict.fromkeys(key for one in comparison.variants for key in one.variant.keys)
    return [key for key in keys if key not in comparison.shared_keys]


def _numbers(comparison: Comparison) -> tuple[str, ...]:
    """The numbers of the variants, from 1."""
    return tuple(str(number) for number in range(1, len(comparison.variants) + 1))


def heading(comparison: Comparison) -> str:
    """The pipeline of all variants, or its common stages: `scaled_dot → … → weighted_sum`, or ""."""
    headings = _headings(comparison)
    if len(headings) == 1:
        return headings.pop()
    pipelines = [one.result.trace.pipeline for one in comparison.variants]
    stages = [stage for stage in PIPELINE_STAGES if any(stage in pipeline for pipeline in pipelines)]
    choices = [{pipeline.get(stage) for pipeline in pipelines} for stage in stages]
    if all(len(names) > 1 for names in choices):
        return ""
    return " → ".join("…" if len(names) > 1 else str(*names) for names in choices)


def _headings(comparison: Comparison) -> set[str]:
    return {View(one.result).heading for one in comparison.variants}


def title(comparison: Comparison) -> str:
    """The number of variants, their varied keys, and the values of a single one: `2 variants of scale: 0.5, 1`."""
    keys, count = varied_keys(comparison), len(comparison.variants)
    of = f" of {join_words([NOUNS.get(key, key) for key in keys])}" if keys else ""
    values = f": {', '.join(value_labels(comparison))}" if len(keys) == 1 and count <= MAX_LISTED else ""
    return f"{count} variants{of}{values}"


def variant_lines(comparison: Comparison, labels: Labels) -> tuple[str, ...]:
    """The names of numbered variants, their common values, and remarks on each."""
    has_numbers = labels == _numbers(comparison)
    positions = (
        range(len(labels)) if len(labels) <= MAX_LISTED and (has_numbers or len(varied_keys(comparison)) != 1) else ()
    )
    lines = [table_title(comparison, labels, position) for position in positions]
    if comparison.shared_keys:
        lines.append(f"all: {', '.join(f'{key}={text}' for key, text in comparison.shared_keys.items())}")
    return (*lines, *_remarks(comparison, labels), *comparison.remarks)


def _remarks(comparison: Comparison, labels: Labels) -> Iterator[str]:
    """Remarks on some variants, each once, after the variants' names.

    They say what conventions changed, unless the heading does, and what conventions lack.
    """
    labels_of_remark: dict[str, list[str]] = {}
    is_in_heading = len(_headings(comparison)) == 1
    for label, one in zip(labels, comparison.variants, strict=True):
        use = one.result.trace.problem.convention
        changes = () if use is None or is_in_heading else use.changes
        for remark in (*changes, *one.variant.remarks):
            labels_of_remark.setdefault(remark, []).append(label)
    for remark, found in labels_of_remark.items():
        some = join_words(found) if len(found) <= MAX_LISTED else f"{len(found)} variants"
        yield f"{'all' if len(found) == len(labels) else some}: {remark}"


def result_sections(comparison: Comparison, labels: Labels, names: Sequence[str]) -> Iterator[Section]:
    """The sections of results: one for each batch item and head; one line for results shared by all."""
    for name in names:
        groups = equal_variants(comparison, name)
        count = len(comparison.variants)
        if len(groups) == 1 and len(groups[0]) == count:
            yield Section(f"{name}: the same in {'both' if count == 2 else f'all {count}'}")
        elif groups:
            yield from _result_sections(comparison, name, groups, labels)


def _result_sections(
    comparison: Comparison, name: str, groups: Sequence[Sequence[int]], labels: Labels
) -> Iterator[Section]:
    """A section for each slice of a result that differs, from the first variant of each group."""
    views = {first: View(comparison.variants[first].result, positions=comparison.positions) for first, *_ in groups}
    tables = {position: list(selected_tables(view, name)) for position, view in views.items()}
    slices = [tuple(grid.slice_label for grid in grids) for grids in tables.values()]
    if len(set(slices)) == 1:
        made = [
            Section(_joined(name, label), _together(comparison, labels, dict(zip(tables, grids, strict=True))))
            for label, grids in zip(slices[0], zip(*tables.values(), strict=True), strict=True)
        ]
    else:  # other numbers of heads or batch items share no tables
        named = (
            replace(grid, slice_label=_joined(labels[position], grid.slice_label))
            for position, grids in tables.items()
            for grid in grids
        )
        made = [Section(name, tuple(named))]
    return _with_remarks(made, _same_remarks(groups, labels))


def _with_remarks(sections: Sequence[Section], remarks: Sequence[str]) -> Iterator[Section]:
    yield from sections[:-1]
    yield from (replace(last, remarks=tuple(remarks)) for last in sections[-1:])


def _same_remarks(groups: Sequence[Sequence[int]], labels: Labels) -> list[str]:
    """The variants with the same numbers, of which only the first is shown: `the same: 1, 2 and 4`."""
    return [f"the same: {join_words([labels[position] for position in group])}" for group in groups if len(group) > 1]


def _joined(*parts: str) -> str:
    return ", ".join(filter(None, parts))


def _together(comparison: Comparison, labels: Labels, grids: Mapping[int, Grid]) -> tuple[Grid, ...]:
    """One slice of several variants' result, by position; differences from the first one are marked.

    Tables of one row become the rows of one table.
    """
    first = next(iter(grids.values()))
    marked = [grid if grid is first else mark_grid(grid, first) for grid in grids.values()]
    if all(grid.values.shape[0] == 1 and grid.columns == first.columns and grid.signs is None for grid in marked):
        return (_stacked(marked, [labels[position] for position in grids]),)
    titles = (table_title(comparison, labels, position) for position in grids)
    return tuple(replace(grid, slice_label=title) for grid, title in zip(marked, titles, strict=True))


def _stacked(grids: Sequence[Grid], labels: Labels) -> Grid:
    """One-row tables as one table, with these row labels, and their own if they differ."""
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


def statistics_sections(comparison: Comparison, labels: Labels) -> Iterator[Section]:
    """A section for each batch item and head; variants with the same statistics appear once, as the first.

    Variants with other numbers of queries or heads have none.
    """
    groups = equal_statistics(comparison)
    shown = [first for first, *_ in groups]
    shapes = {_trace(comparison, position).plan[WEIGHTS].axes[:-1] for position in shown}
    if len(shapes) != 1:
        return
    trace = _trace(comparison, shown[0])
    positions = add_dependent_axes(trace, dict(comparison.positions))
    made = [
        Section(_joined(TITLE, label), (_statistics_grid(comparison, shown, labels, index),))
        for index, label in slices_of_axes(trace, trace.plan[WEIGHTS].axes[:-2], positions)
    ]
    remarks = statistics_remarks(grid for section in made for grid in section.grids)
    yield from _with_remarks(made, (*_same_remarks(groups, labels), *remarks))


def _trace(comparison: Comparison, position: int) -> Trace:
    return comparison.variants[position].result.trace


def _statistics_grid(comparison: Comparison, shown: Sequence[int], labels: Labels, index: tuple[int, ...]) -> Grid:
    """The table of one batch item and head, marked against the first variant; for a single variant a row is a query."""
    queries = _trace(comparison, shown[0]).numbered_labels["n"]
    widths = max(map(cell_len, queries), default=0), max(cell_len(labels[position]) for position in shown)
    rows = []
    for at, query in enumerate(queries):
        for number, position in enumerate(shown):
            label = f"{_padded('' if number else query, widths[0])}{GAP}{_padded(labels[position], widths[1])}"
            statistics = comparison.variants[position].statistics
            assert statistics is not None  # the groups contain variants with statistics
            keys = _trace(comparison, position).numbered_labels["m"]
            rows.append(statistics_row(label if len(shown) > 1 else query, statistics, (*index, at), keys))
    grid = statistics_grid(rows, "query  variant" if len(shown) > 1 else "query")
    if len(shown) == 1:
        return grid
    before = np.repeat(grid.values[:: len(shown)], len(shown), axis=0)
    weights = [_trace(comparison, position)[WEIGHTS].value[index] for position in shown]
    has_changed = np.stack([_changed_rows(weights[0], own) for own in weights], axis=-1)
    return replace(grid, changes=np.where(has_changed.reshape(-1, 1), change_marks(before, grid.values), ""))


def _changed_rows(before: Array, after: Array) -> Array:
    """The rows of weights [n m] that differ by more than rounding in their type; all if the shapes do."""
    if before.shape != after.shape:
        return np.ones(len(after), bool)
    return np.asarray(changed(before, after).any(axis=-1))


def _padded(text: str, width: int) -> str:
    return text + " " * (width - cell_len(text))


def summary_section(comparison: Comparison, labels: Labels) -> Section:
    """A table with a row for each variant: the mean of its effective keys, and its differences from the first.

    Remarks give the meaning of the columns, the steps at which the variants first differ, and the way to see more.
    """
    differences = {(found.variants[1], found.name): found for found in comparison.differences if found.variants[0] == 0}
    columns = [MEAN, TOTAL_VARIATION, *comparison.select]
    rows = [
        [
            variant_means(comparison, position)["effective_keys"],
            *_largest_differences(differences, position, comparison.select),
        ]
        for position in range(len(comparison.variants))
    ]
    values = np.array(rows, dtype=np.float64)
    shown = np.flatnonzero(~np.isnan(values[1:]).all(axis=0))  # the first one differs from itself by 0
    corner, found = ", ".join(varied_keys(comparison)), tuple(columns[at] for at in shown)
    grid = Grid(values[:, shown], row_labels(comparison, labels), found, corner=corner, aligns_columns=True)
    return Section("summary", (grid,) if found else (), remarks=tuple(_summary_remarks(comparison, grid)))


def _largest_differences(
    differences: Mapping[tuple[int, str], Difference], position: int, names: Sequence[str]
) -> list[float]:
    """The largest total variation of a row of weights, and each result's largest difference, from the first."""
    if position == 0:
        return [0.0] * (1 + len(names))
    found = [differences.get((position, name)) for name in (WEIGHTS, *names)]
    numbers = [None if one is None else one.max_abs if at else one.total_variation for at, one in enumerate(found)]
    return [np.nan if number is None else number for number in numbers]


def _summary_remarks(comparison: Comparison, grid: Grid) -> Iterator[str]:
    """The meaning of the columns, where the variants first differ from the first, and how to see all numbers."""
    first = comparison.variants[0].variant.name
    meanings = {MEAN: "the mean of all rows", TOTAL_VARIATION: f"the largest of a row, from {first}"}
    explained = [f"{column}: {meaning}" for column, meaning in meanings.items() if column in grid.columns]
    yield from ["; ".join(explained)] if explained else []
    compared = [name for name in comparison.select if name in grid.columns]
    yield f"{', '.join(compared)}: the largest difference from {first}" if compared else "no results can be compared"
    if np.isnan(grid.values).any():
        yield "NaN: the weights are not a distribution, or the results can't be compared"
    steps = Counter(found.step or "none" for found in comparison.first_differences if found.variants[0] == 0)
    counts = ", ".join(f"{step} ({count})" for step, count in steps.most_common())
    yield f"first step that differs from {first}: {counts}"
    yield "fewer variants, or one result of few numbers (--select weights), have tables; --format csv has every number"


def seeds_section(comparison: Comparison) -> Iterator[Section]:
    """The mean and the standard deviation of each statistic over the seeds, for each value of the other keys."""
    found = over_seeds(comparison)
    if not found:
        return
    others = [key for key in varied_keys(comparison) if key != SEED]
    labels = [_joined(*(one.keys[key] for key in others)) for one in found]
    width, gap = max(map(cell_len, labels)), GAP if others else ""
    rows = [f"{_padded(text, width)}{gap}{name}" for label in labels for text, name in ((label, "mean"), ("", "±"))]
    values = np.array(
        [[each[name] for name in COLUMNS] for one in found for each in (one.mean, one.standard_deviation)]
    )
    counts = {len(one.variants) for one in found}
    title = f"over {counts.pop()} seeds" if len(counts) == 1 else "over the seeds"
    grid = Grid(values, tuple(rows), tuple(COLUMNS.values()), corner=", ".join(others), aligns_columns=True)
    yield Section(title, (grid,), remarks=(MEANING_OF_SEEDS, *([NO_MEAN] if np.isnan(values).any() else [])))
