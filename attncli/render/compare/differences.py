"""The differences between variants in sentences: the step at which two of them part, how much each result differs."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from attncli.analysis.compare.equal_variants import equal_variants
from attncli.analysis.compare.report import Comparison, Difference, FirstDifference
from attncli.base.dataclasses import dataclass
from attncli.base.numerals import decimal
from attncli.render.document import Section


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
        """The lines of two variants: where they part, and below it how much each result differs."""
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
        """Where two variants part: `they part at masked_scores[cat, sat]: 0.5 → −∞`."""
        kept = " that was kept" if first.is_partial else ""
        if first.step is None:
            return f"the same in every step{kept}"
        cell = f"[{', '.join(first.labels)}]" if first.labels else ""
        text = f"they part at {first.step}{cell}"
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
        if found.total_variation is not None:
            some = found.distribution_count != found.row_count
            of = f" in the {found.distribution_count} of {_rows(found)} that are distributions" if some else ""
            parts.append(f"total variation up to {self._number(found.total_variation)}{of}")
        divergences = [] if found.kl is None else [f"up to {self._number(found.kl)} nats"]
        divergences += [f"infinite in {found.infinite_kl_count} of {_rows(found)}"] if found.infinite_kl_count else []
        if divergences:
            parts.append(f"KL divergence {', '.join(divergences)}")
        if found.reordered_count is not None:
            changes = f"changes in {found.reordered_count} of {_rows(found)}"
            parts.append(f"order of keys {changes if found.reordered_count else 'the same'}")
        return "; ".join(parts)

    @cached_property
    def _groups(self) -> Mapping[str, Sequence[Sequence[int]]]:
        """The variants that have the same numbers of each result."""
        return {name: equal_variants(self.comparison, name) for name in self.comparison.select}

    def _is_same(self, found: Difference) -> bool:
        """Whether two variants have the same numbers of a result."""
        return any(set(found.variants) <= set(members) for members in self._groups[found.name])

    def _change(self, numbers: tuple[float, float]) -> str:
        """A number of the first variant and that of the other in its place."""
        return " → ".join(map(self._number, numbers))

    def _number(self, number: float) -> str:
        """A number as text."""
        return decimal(number, self.decimals)


def _rows(found: Difference) -> str:
    """How many rows the weights have."""
    return f"{found.row_count} row{'' if found.row_count == 1 else 's'}"
