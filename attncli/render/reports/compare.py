"""A comparison for readers: its sections, and what changed since an earlier result."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from attncli.analysis.compare import Comparison, equal_variants
from attncli.analysis.differences import Difference, FirstDifference
from attncli.analysis.rows import changed
from attncli.base.axes import format_lengths
from attncli.base.lazy_numpy import Array
from attncli.base.text import count_of
from attncli.numbers.formatting import decimal
from attncli.plan.trace import RunResult, value_at
from attncli.render.document import LEGEND, Answer, Document, Grid, Section
from attncli.render.objects import compare_object
from attncli.render.reports.variant_tables import (
    heading,
    result_sections,
    statistics_sections,
    summary_section,
    title,
    variant_labels,
    variant_lines,
)

MAX_VARIANTS = 8  # whose tables and statistics a reader can compare; of more there is a summary
MAX_OF_ONE_RESULT = 100  # variants that have tables where one result is selected
MAX_NUMBERS = 5000  # of all tables together
CHUNK_NUMBERS = 2**20  # that are compared at once: comparing takes some arrays of their size


@dataclass(frozen=True)
class DifferenceWriter:
    """Writes the differences of a comparison with the labels of its variants, and numbers with so many decimals."""

    comparison: Comparison
    labels: Sequence[str]
    decimals: int

    def sections(self) -> Iterator[Section]:
        """A section for each variant with which others are compared, in whose remarks the differences are."""
        pairs = [first.variants for first in self.comparison.first_differences]
        for baseline in dict.fromkeys(pair[0] for pair in pairs):
            lines = [line for pair in pairs if pair[0] == baseline for line in self._lines(pair)]
            yield Section(f"differences from {self.labels[baseline]}", remarks=tuple(lines))

    def _lines(self, pair: tuple[int, int]) -> Iterator[str]:
        """The lines of two variants: where they first differ, and below it how much each result differs."""
        (first,) = [found for found in self.comparison.first_differences if found.variants == pair]
        yield f"{self.labels[pair[1]]}: {self.first_difference(first)}"
        differences = [found for found in self.comparison.differences if found.variants == pair]
        same = [found for found in differences if self._is_same(found)]
        equal = [found.name for found in same if not found.max_abs]
        if equal and len(equal) < len(differences):
            yield f"  the same: {', '.join(equal)}"
        elif equal and first.step is not None:
            yield "  the results are the same"
        for found in differences:
            if found.name not in equal:
                yield f"  {found.name}: {self._rounding(found) if found in same else self.difference(found)}"

    def _rounding(self, found: Difference) -> str:
        """The difference of a result that rounding explains: `the same but for rounding, up to 1.1921e−07`."""
        assert found.max_abs is not None  # the results were compared
        return f"the same but for rounding, up to {self._number(found.max_abs)}"

    def first_difference(self, first: FirstDifference) -> str:
        """Where two variants first differ: `first difference at masked_scores[cat, sat]: 0.5 → −∞`."""
        if first.step is None:
            return f"the same in every step{' that was kept' if first.is_partial else ''}"
        cell = f"[{', '.join(first.labels)}]" if first.labels else ""
        text = f"first difference at {first.step}{cell}"
        if first.numbers is not None:
            text += f": {self._change(first.numbers)}"
        if first.only_in is not None:
            (lacking,) = set(first.variants) - {first.only_in}
            return f"{text}; {self.labels[lacking]} has no such step"
        return text if first.numbers is not None else f"{text}, whose shapes differ"

    def difference(self, found: Difference) -> str:
        """How much a result differs: `largest difference 0.1 at [cat, sat], 0.5 → 0.6; total variation 0.2`."""
        if found.reason or found.max_abs is None:
            return found.reason
        largest = f"largest difference {self._number(found.max_abs)} at [{', '.join(found.labels)}]"
        parts = [largest if found.numbers is None else f"{largest}, {self._change(found.numbers)}"]
        rows = count_of(found.row_count or 0, "row")
        if found.total_variation is not None:
            some = found.distribution_count != found.row_count
            of = f" in the {found.distribution_count} of {rows} that are distributions" if some else ""
            parts.append(f"total variation up to {self._number(found.total_variation)}{of}")
        divergences = [] if found.kl is None else [f"up to {self._number(found.kl)} nats"]
        divergences += [f"infinite in {found.infinite_kl_count} of {rows}"] if found.infinite_kl_count else []
        if divergences:
            parts.append(f"KL divergence {', '.join(divergences)}")
        if found.reordered_count is not None:
            changes = f"changes in {found.reordered_count} of {rows}" if found.reordered_count else "the same"
            parts.append(f"order of keys {changes}")
        return "; ".join(parts)

    @cached_property
    def _groups(self) -> Mapping[str, Sequence[Sequence[int]]]:
        """The variants that have the same numbers of each result."""
        return {name: equal_variants(self.comparison, name) for name in self.comparison.select}

    def _is_same(self, found: Difference) -> bool:
        """Whether two variants have the same numbers of a result."""
        return any(set(found.variants) <= set(members) for members in self._groups[found.name])

    def _change(self, numbers: tuple[float, float]) -> str:
        return " → ".join(map(self._number, numbers))

    def _number(self, number: float) -> str:
        return decimal(number, self.decimals)


def comparison_sections(comparison: Comparison, decimals: int) -> Iterator[Section]:
    """The variants, their results and statistics, and the differences; of many a summary in place of what is too long.

    Many variants have tables where one result of few numbers is selected.
    """
    labels, count = variant_labels(comparison), len(comparison.variants)
    yield Section(title(comparison), remarks=variant_lines(comparison, labels))
    traces = [(one.result.trace, one.result.select) for one in comparison.variants]
    values = (value_at(trace, trace[name], comparison.positions) for trace, select in traces for name in select)
    is_short, has_few_variants = sum(value.size for value in values) <= MAX_NUMBERS, count <= MAX_VARIANTS
    tables: list[Section] = []
    if is_short and (has_few_variants or (len(comparison.select) == 1 and count <= MAX_OF_ONE_RESULT)):
        tables += result_sections(comparison, labels)
    if is_short and has_few_variants:
        tables += statistics_sections(comparison, labels)
    yield from _with_legend(tables, labels)
    if not (is_short and has_few_variants):
        yield summary_section(comparison, labels)
    if has_few_variants:
        yield from DifferenceWriter(comparison, labels, decimals).sections()


def comparison_document(comparison: Comparison, decimals: int) -> Document:
    """The document of a comparison."""
    sections = comparison_sections(comparison, decimals)
    return Document(sections, decimals, heading(comparison), are_side_by_side=True)


def comparison_answer(comparison: Comparison, decimals: int) -> Answer:
    """The answer of `attn compare`."""
    return Answer(lambda: comparison_document(comparison, decimals), lambda: compare_object(comparison))


def _with_legend(tables: Sequence[Section], labels: Sequence[str]) -> Iterator[Section]:
    """The sections, the last one that has marks with what they mean."""
    last = max((at for at, section in enumerate(tables) if any(map(_has_marks, section.grids))), default=None)
    for at, section in enumerate(tables):
        legend = (f"{LEGEND}, from {labels[0]}",) if at == last else ()
        yield replace(section, remarks=(*section.remarks, *legend))


def _has_marks(grid: Grid) -> bool:
    return grid.changes is not None and bool((grid.changes != "").any())


def change_summary(before: RunResult, after: RunResult) -> str:
    """How many numbers of the selected results changed, by more than rounding, or of which results the shape.

    >>> from attncli import attention
    >>> before = attention([[1.0]], [[1.0], [1.0]], [[0.0], [1.0]])
    >>> change_summary(before, attention([[1.0]], [[1.0], [1.0]], [[0.0], [3.0]]))
    'changed: output 1 of 1'
    """
    changes = list(_changes(before, after))
    return f"changed: {', '.join(changes)}" if changes else "no number changed"


def _changes(before: RunResult, after: RunResult) -> Iterator[str]:
    """Each selected result that changed, and how many of its numbers, or its shape."""
    for name in after.select:
        value = after.trace[name].value
        old = before.trace[name].value if name in before.trace else None
        if old is None:
            yield f"{name} is new"
        elif old.shape != value.shape:
            yield f"{name} is {format_lengths(value.shape)} (was {format_lengths(old.shape)})"
        elif count := count_changes(old, value):
            yield f"{name} {count} of {value.size}"


def count_changes(before: Array, after: Array) -> int:
    """How many numbers of an array [… m] differ from those before, by more than rounding; both have one shape.

    >>> import numpy as np
    >>> count_changes(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, 2.5], [3.0, 4.0]]))
    1
    """
    columns = max(after.shape[-1] if after.ndim else 1, 1)
    old, new = before.reshape(-1, columns), after.reshape(-1, columns)
    step = max(1, CHUNK_NUMBERS // columns)
    return sum(int(changed(old[at : at + step], new[at : at + step]).sum()) for at in range(0, len(new), step))
