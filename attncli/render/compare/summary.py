"""Many variants as one table: a row for each, with the means of its statistics and its differences from the first."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from attncli.analysis.compare.report import Comparison, Difference, VariantResult
from attncli.base.lazy_numpy import np
from attncli.problem.results import WEIGHTS
from attncli.render.compare.labels import row_labels, varied_keys
from attncli.render.document import Grid, Section
from attncli.trace.positions import weight_rows_at

MEAN, TOTAL_VARIATION = "effective keys", "total variation"


def summary_section(comparison: Comparison, labels: Sequence[str]) -> Section:
    """The table of all variants, what its columns mean, at which steps the variants part, and what shows more."""
    corner = ", ".join(varied_keys(comparison))
    differences = {(found.variants[1], found.name): found for found in comparison.differences if found.variants[0] == 0}
    columns = [MEAN, TOTAL_VARIATION, *comparison.select]
    rows = [
        [_mean(comparison, one), *_differences(differences, position, comparison.select)]
        for position, one in enumerate(comparison.variants)
    ]
    values = np.array(rows, dtype=np.float64)
    shown = np.flatnonzero(~np.isnan(values[1:]).all(axis=0))  # the first one differs from itself by 0
    grid = Grid(
        values[:, shown],
        row_labels(comparison, labels),
        tuple(columns[at] for at in shown),
        corner=corner,
        aligns_columns=True,
    )
    return Section("summary", (grid,) if grid.columns else (), remarks=tuple(_remarks(comparison, grid)))


def _mean(comparison: Comparison, one: VariantResult) -> float:
    """The mean of the effective keys of the rows that have them; NaN without any."""
    if one.statistics is None:
        return np.nan
    effective = one.statistics.effective_keys[weight_rows_at(one.result.trace, comparison.positions)]
    found = effective[~np.isnan(effective)]
    return float(found.mean()) if found.size else np.nan


def _differences(
    differences: Mapping[tuple[int, str], Difference], position: int, names: Sequence[str]
) -> Iterator[float]:
    """The largest total variation of a row of weights, and the largest difference of each result, from the first."""
    weights = differences.get((position, WEIGHTS))
    of_weights = weights.total_variation if weights is not None else None
    of_results = [found.max_abs if (found := differences.get((position, name))) else None for name in names]
    for number in (of_weights, *of_results):
        if position == 0:
            yield 0.0
        else:
            yield np.nan if number is None else number


def _remarks(comparison: Comparison, grid: Grid) -> Iterator[str]:
    """What the columns mean, where the variants part from the first, and what shows all numbers."""
    first = comparison.variants[0].variant.name
    meanings = {MEAN: "the mean of all rows", TOTAL_VARIATION: f"the largest of a row, from {first}"}
    explained = [f"{column}: {meaning}" for column, meaning in meanings.items() if column in grid.columns]
    yield from ["; ".join(explained)] if explained else []
    compared = [name for name in comparison.select if name in grid.columns]
    yield f"{', '.join(compared)}: the largest difference from {first}" if compared else "no results can be compared"
    if np.isnan(grid.values).any():
        yield "NaN: the weights are no distribution, or the results can't be compared"
    steps = Counter(found.step or "none" for found in comparison.first_differences if found.variants[0] == 0)
    counts = ", ".join(f"{step} ({count})" for step, count in steps.most_common())
    yield f"first step that differs from {first}: {counts}"
    yield "fewer variants, or one result of few numbers (--select weights), have tables; --format csv has every number"
