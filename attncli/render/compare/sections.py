"""The content of a comparison as sections: the variants, results side by side, statistics, and differences."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from attncli.analysis.compare.report import Comparison
from attncli.render.compare.differences import DifferenceWriter
from attncli.render.compare.labels import title, variant_labels, variant_lines
from attncli.render.compare.results import result_sections
from attncli.render.compare.statistics import statistics_sections
from attncli.render.compare.summary import summary_section
from attncli.render.document import LEGEND, Grid, Section
from attncli.trace.positions import value_at

MAX_VARIANTS = 8  # whose tables and statistics a reader can compare; of more there is a summary
MAX_OF_ONE_RESULT = 100  # variants that have tables where one result is selected
MAX_NUMBERS = 5000  # of all tables together


def comparison_sections(comparison: Comparison, decimals: int) -> Iterator[Section]:
    """The variants, their results and statistics, and the differences; of many a summary in place of what is too long.

    Many variants have tables where one result of few numbers is selected.
    """
    labels = variant_labels(comparison)
    yield Section(title(comparison), remarks=variant_lines(comparison, labels))
    is_short = _count_numbers(comparison) <= MAX_NUMBERS
    has_few_variants = len(comparison.variants) <= MAX_VARIANTS
    tables: list[Section] = []
    is_one_result = len(comparison.select) == 1 and len(comparison.variants) <= MAX_OF_ONE_RESULT
    if is_short and (has_few_variants or is_one_result):
        tables += result_sections(comparison, labels)
    if is_short and has_few_variants:
        tables += statistics_sections(comparison, labels)
    yield from _with_legend(tables, labels)
    if not (is_short and has_few_variants):
        yield summary_section(comparison, labels)
    if has_few_variants:
        yield from DifferenceWriter(comparison, labels, decimals).sections()


def _count_numbers(comparison: Comparison) -> int:
    """How many numbers the selected results of all variants have."""
    traces = [(one.result.trace, one.result.select) for one in comparison.variants]
    return sum(value_at(trace, trace[name], comparison.positions).size for trace, select in traces for name in select)


def _with_legend(tables: Sequence[Section], labels: Sequence[str]) -> Iterator[Section]:
    """The sections, the last one that has marks with what they mean."""
    last = max((at for at, section in enumerate(tables) if any(map(_has_marks, section.grids))), default=None)
    for at, section in enumerate(tables):
        legend = (f"{LEGEND}, from {labels[0]}",) if at == last else ()
        yield replace(section, remarks=(*section.remarks, *legend))


def _has_marks(grid: Grid) -> bool:
    """Whether a number of a table is marked as changed."""
    return grid.changes is not None and bool((grid.changes != "").any())
