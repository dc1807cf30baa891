"""A comparison for readers: its sections, and the changes since an earlier result."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from attncli.base.axes import format_lengths
from attncli.base.lazy_numpy import import_object
from attncli.base.text import count_of, join_words
from attncli.comparisons.comparison import Comparison, equal_variants
from attncli.comparisons.differences import Difference, FirstDifference
from attncli.comparisons.objects import compare_object
from attncli.comparisons.tables import (
    heading,
    result_sections,
    seeds_section,
    statistics_sections,
    summary_section,
    title,
    variant_labels,
    variant_lines,
    varied_keys,
)
from attncli.numbers.formatting import decimal
from attncli.plan.trace import value_at
from attncli.render.document import LEGEND, Answer, Document, Grid, Section, with_decimal_sign
from attncli.render.formats import OutputFormat
from attncli.render.target import TextTarget
from attncli.render.view import ComparisonView

MAX_VARIANTS = 8  # variants whose tables and statistics a reader can compare; above that there is a summary
MAX_OF_ONE_RESULT = 100  # variants that have tables if one result is selected
MAX_NUMBERS = 5000  # numbers of all tables together
MAX_UNASKED = 200  # numbers of a result's tables, which fit a screen; larger ones are shown on request
MAX_ROWS = 20  # rows of the statistics, likewise
_PAGE = "attncli.comparisons.page:comparison_page"  # a reader of this report


@dataclass(frozen=True)
class DifferenceWriter:
    """Writes the differences of a comparison with the labels of its variants, and numbers with so many decimals."""

    comparison: Comparison
    labels: Sequence[str]
    decimals: int

    def sections(self) -> Iterator[Section]:
        """A section for each baseline variant, with the differences as remarks."""
        for heading_of_all, variants in self.differences():
            lines = [(f"{label}: {first}", *(f"  {line}" for line in others)) for label, first, *others in variants]
            yield Section(heading_of_all, remarks=tuple(line for own in lines for line in own))

    def differences(self) -> Iterator[tuple[str, Sequence[Sequence[str]]]]:
        """A title for each baseline variant, and the label and lines of text of each variant compared with it."""
        pairs = [first.variants for first in self.comparison.first_differences]
        for baseline in dict.fromkeys(pair[0] for pair in pairs):
            variants = [(self.labels[pair[1]], *self._lines(pair)) for pair in pairs if pair[0] == baseline]
            yield f"differences from {self.labels[baseline]}", variants

    @property
    def verdict(self) -> str:
        """The largest difference of the last result that differs, and where these variants first differ; in one line.

        `sparsemax differs from softmax: output by up to 0.1 at [cat, e1], 0.5 → 0.6; first difference at weights`
        """
        found = [each for each in self.comparison.differences if not self._is_same(each)]
        if not found:
            names = join_words(self.comparison.select)
            return f"All variants have the same {names}." if names else "There is no result to compare."
        name = next(name for name in reversed(self.comparison.select) if any(name == each.name for each in found))
        most = self._largest(name)
        assert most is not None  # some number of it differs
        baseline, other = map(self._name, most.variants)
        return f"{other} {self._differs} from {baseline}: {self._difference_and_first(most)}"

    def verdict_of(self, name: str) -> str:
        """The largest difference of one result, for a page: a short statement, then numbers after a semicolon.

        `temperature 4 differs most from 0.25; weights by up to 0.5 at [cat, sat], 0.9 → 0.4; first difference at …`
        """
        most = self._largest(name)
        if most is None:
            return f"All variants have the same {name}."
        baseline, other = most.variants
        keys = varied_keys(self.comparison)
        if len(keys) == 1 and not self.labels[other][:1].isalpha():
            noun = keys[0].rpartition(".")[2]
            variants = f"{noun} {self.labels[other]} {self._differs} from {self.labels[baseline]}"
        else:
            variants = f"{self._name(other)} {self._differs} from {self._name(baseline)}"
        return f"{variants}; {self._difference_and_first(most)}"

    def _largest(self, name: str) -> Difference | None:
        """The largest difference of a result; None if all variants have the same."""
        found = (each for each in self.comparison.differences if each.name == name and not self._is_same(each))
        return max(found, key=_size, default=None)

    @property
    def _differs(self) -> str:
        return "differs" if len(self.labels) == 2 else "differs most"

    def _difference_and_first(self, most: Difference) -> str:
        """The size and position of a difference, and where its variants first differ."""
        name = most.name
        (first,) = [each for each in self.comparison.first_differences if each.variants == most.variants]
        if most.max_abs is None:
            what = f"{name} can't be compared ({most.reason})"
        else:
            what = f"{name} by up to {self._number(most.max_abs)} at [{', '.join(most.labels)}]"
            what += "" if most.numbers is None else f", {self._change(most.numbers)}"
        return f"{what}; {self.first_difference(first)}"

    def _name(self, position: int) -> str:
        """The label of a variant if it is a word, otherwise its name."""
        label = self.labels[position]
        return label if label[:1].isalpha() else self.comparison.variants[position].variant.name

    def _lines(self, pair: tuple[int, int]) -> Iterator[str]:
        """The lines of two variants: where they first differ, and each result's difference."""
        (first,) = [found for found in self.comparison.first_differences if found.variants == pair]
        yield self.first_difference(first)
        differences = [found for found in self.comparison.differences if found.variants == pair]
        same = [found for found in differences if self._is_same(found)]
        equal = [found.name for found in same if not found.max_abs]
        if equal and len(equal) < len(differences):
            yield f"the same: {', '.join(equal)}"
        elif equal and first.step is not None:
            yield "the results are the same"
        for found in differences:
            if found.name not in equal:
                yield f"{found.name}: {self._rounding(found) if found in same else self.difference(found)}"

    def _rounding(self, found: Difference) -> str:
        """The difference of a result that is only rounding: `the same but for rounding, up to 1.1921e−07`."""
        assert found.max_abs is not None  # the results were compared
        return f"the same but for rounding, up to {self._number(found.max_abs)}"

    def first_difference(self, first: FirstDifference) -> str:
        """The position of the first difference: `first difference at masked_scores[cat, sat]: 0.5 → −∞`."""
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
        """The difference of a result: `largest difference 0.1 at [cat, sat], 0.5 → 0.6; total variation 0.2`."""
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
        """The variants with the same numbers of each result."""
        return {name: equal_variants(self.comparison, name) for name in self.comparison.select}

    def _is_same(self, found: Difference) -> bool:
        """Whether two variants have the same numbers of a result."""
        return any(set(found.variants) <= set(members) for members in self._groups[found.name])

    def _change(self, numbers: tuple[float, float]) -> str:
        return " → ".join(map(self._number, numbers))

    def _number(self, number: float) -> str:
        return decimal(number, self.decimals)


def _size(found: Difference) -> float:
    """The size of a difference, to find the largest: infinite if numbers can't be subtracted."""
    return math.inf if found.max_abs is None or math.isnan(found.max_abs) else found.max_abs


def comparison_sections(comparison: Comparison, view: ComparisonView) -> Iterator[Section]:
    """The verdict, the variants, the differences, then results and statistics; for many variants a summary instead.

    Results and statistics too long for a screen are replaced by the way to see them, unless the view shows all. Many
    variants have tables if one result with few numbers is selected.
    """
    labels, count = variant_labels(comparison), len(comparison.variants)
    writer = DifferenceWriter(comparison, labels, view.decimals)
    yield Section(writer.verdict)
    pipeline = filter(None, [heading(comparison)])
    yield Section(view.title or title(comparison), remarks=(*pipeline, *variant_lines(comparison, labels)))
    sizes = {name: sum(_numbers(comparison, name)) for name in comparison.select}
    is_short, has_few_variants = sum(sizes.values()) <= MAX_NUMBERS, count <= MAX_VARIANTS
    if has_few_variants:
        yield from writer.sections()
    has_tables = is_short and (has_few_variants or (len(comparison.select) == 1 and count <= MAX_OF_ONE_RESULT))
    names = [name for name, size in sizes.items() if has_tables and (view.shows_all or size <= MAX_UNASKED)]
    tables = list(result_sections(comparison, labels, names))
    lines: list[str] = []
    if has_tables and len(names) < len(sizes):
        lines += _left_out(comparison, [name for name in sizes if name not in names])
    if view.statistics is not False and is_short and (has_few_variants or view.statistics):
        found = list(statistics_sections(comparison, labels))
        rows = sum(len(grid.rows) for section in found for grid in section.grids)
        is_shown = view.shows_all or view.statistics or rows <= MAX_ROWS
        tables += found if is_shown else []
        lines += [] if is_shown else [f"statistics: {rows} rows: --stats shows them"]
    yield from _with_legend(tables, labels)
    if lines:
        yield Section("left out", remarks=(*lines, "-o FILE.md writes everything"))
    if not (is_short and has_few_variants):
        yield summary_section(comparison, labels)
    if view.statistics is not False:
        yield from seeds_section(comparison)


def _numbers(comparison: Comparison, name: str) -> Iterator[int]:
    """How many numbers of a result each variant shows."""
    for one in comparison.variants:
        if name in one.result.select:
            trace = one.result.trace
            yield value_at(trace, trace[name], comparison.positions).size


def _left_out(comparison: Comparison, names: Sequence[str]) -> Iterator[str]:
    """The sizes of the results whose tables are left out, and the option to show them."""
    for name in names:
        trace = next(one.result.trace for one in comparison.variants if name in one.result.select)
        lengths = format_lengths(value_at(trace, trace[name], comparison.positions).shape)
        yield f"{name}: {lengths} numbers of each variant: --select {name} shows them"
    if "h" not in comparison.positions and any("h" in trace[name].axes for name in names):
        yield "--head N compares one head"


def comparison_document(comparison: Comparison, view: ComparisonView) -> Document:
    """The document of a comparison."""
    document = Document(comparison_sections(comparison, view), view.decimals, are_side_by_side=True)
    return with_decimal_sign(document, comparison.variants[0].result.trace.problem)


def comparison_answer(comparison: Comparison, view: ComparisonView) -> Answer:
    """The answer of `attn compare`."""
    return Answer(
        lambda: comparison_document(comparison, view),
        lambda: compare_object(comparison),
        page=lambda: import_object(_PAGE)(comparison, view.decimals, view.title),
    )


def render_comparison(
    row: OutputFormat, comparison: Comparison, target: TextTarget, view: ComparisonView
) -> Iterable[str]:
    """A comparison as text of a format for a target, in chunks."""
    if row.long_table is not None:
        rows: Iterable[str] = import_object(row.long_table)(comparison, target)
        return rows
    return row.render_answer(comparison_answer(comparison, view), target)


def _with_legend(tables: Sequence[Section], labels: Sequence[str]) -> Iterator[Section]:
    """The sections, the last one with marks followed by their meaning."""
    last = max((at for at, section in enumerate(tables) if any(map(_has_marks, section.grids))), default=None)
    for at, section in enumerate(tables):
        legend = (f"{LEGEND}, from {labels[0]}",) if at == last else ()
        yield replace(section, remarks=(*section.remarks, *legend))


def _has_marks(grid: Grid) -> bool:
    return grid.changes is not None and bool((grid.changes != "").any())
