"""Slips that explain a part of the numbers: some batch items, heads or queries, if none explains all."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from attncli.base.lazy_numpy import Array, np
from attncli.checks.candidates import find_telling
from attncli.checks.compare import Checker
from attncli.checks.explanations import (
    agreement,
    axis_of,
    exact_problem,
    explanations,
    find_explanations,
    find_nearest,
    limits_of,
)
from attncli.checks.patterns import AxisPart, named_positions
from attncli.checks.report import NearestSlip, PartExplanation, QuantityCheck, Telling
from attncli.checks.slips.search import Attempt, SearchResult

ITEMS = ("b", "h")  # letters of axes along which to look for a part, even if numbers differ all along
LETTERS = (*ITEMS, "n")
MAX_PARTS = 3  # parts along an axis, each with its own slips
MIN_QUERIES = 4  # queries that a part has, unless fewer differ
MIN_RIGHT = 1 / 4  # share of the queries, so that they do not agree by accident


@dataclass(frozen=True)
class Explained:
    """The explanation of all numbers, or of a part of them."""

    whole: SearchResult
    parts: tuple[PartExplanation, ...] = ()
    telling: Telling | None = None  # for several explanations of all numbers
    nearest: NearestSlip | None = None  # if there are no such parts either


def explain_differences(checker: Checker, results: Sequence[QuantityCheck], *, is_read: bool = False) -> Explained:
    """The slips that explain the wrong numbers.

    It skips pairs of slips if one slip explains the numbers with every step rounded to a half type, or if some batch
    items, heads or queries agree and one slip explains the others. If all numbers have a plain reading (`is_read`),
    only a single slip that explains all of them adds information.
    """
    search = _PartSearch(checker, results)
    parts: list[PartExplanation] = []

    def is_explained_in_part() -> bool:
        if is_read:
            return True
        parts.extend(search.along_first([letter for letter in LETTERS if search.has_right_part(letter)]))
        return bool(parts) and parts[0].others_agree

    def is_explained() -> bool:
        if any(checker.loose_tolerance(name) for name in checker.quantities):
            loosely.extend(find_explanations(checker, results, lambda: True, rounds_every_step=True).explanations)
        return bool(loosely) or is_explained_in_part()

    loosely: list[Attempt] = []
    whole = find_explanations(checker, results, is_explained)
    whole = whole if whole.explanations else replace(whole, explanations=tuple(loosely))
    if is_read and not whole.explanations:
        return Explained(whole)
    if not whole.explanations and not parts:
        parts.extend(search.along_first([letter for letter in ITEMS if not search.has_right_part(letter)]))
    if not whole.explanations:
        return Explained(whole, tuple(parts), nearest=None if parts else find_nearest(checker, results))
    if len(whole.explanations) == 1:
        return Explained(whole)
    return Explained(whole, (), find_telling(checker, whole.explanations, exact_problem(checker), search.limits))


class _PartSearch:
    """The search for the explanation of a part; its time limit equals the one for all numbers."""

    def __init__(self, checker: Checker, results: Sequence[QuantityCheck]) -> None:
        self.checker, self.results, self.limits = checker, results, limits_of(checker)
        self.wrong = {letter: self._wrong_positions(letter) for letter in LETTERS}
        self.end: float | None = None

    def _wrong_positions(self, letter: str) -> Array:
        """For each position along an axis whether a number there differs; empty if no result has the axis."""
        wrong = np.zeros(0, dtype=bool)
        for result in self.results:
            axis = self._axis(result.name, letter)
            if axis is not None:
                others = tuple(at for at in range(result.differs.ndim) if at != axis)
                own = np.asarray(result.differs.any(axis=others))
                wrong = own if not wrong.size else np.asarray(wrong | own)
        return wrong

    def _axis(self, name: str, letter: str) -> int | None:
        return axis_of(self.checker, name, letter)

    def has_right_part(self, letter: str) -> bool:
        """Whether the numbers of some batch items, of some heads, or of enough queries agree."""
        wrong = self.wrong[letter]
        most = (1 - MIN_RIGHT) * len(wrong) if letter == "n" else len(wrong) - 1
        return bool(0 < wrong.sum() <= most)

    def along_first(self, letters: Sequence[str]) -> list[PartExplanation]:
        """The explanations of parts along the first of some axes that has any."""
        self.end = self.end or self.limits.clock() + self.limits.seconds
        return next((found for letter in letters if (found := list(self._along(letter)))), [])

    def _along(self, letter: str) -> Iterator[PartExplanation]:
        """The explanations of parts of one axis: all wrong positions together, otherwise a few parts one by one."""
        left = self.wrong[letter].copy()
        for count in range(MAX_PARTS if len(left) > 1 else 0):
            found = next(self._explained(letter, left, tries_all=not left.all()), None) if left.any() else None
            if found is None:
                return
            part, explained = found
            yield replace(part, others_agree=not count and not (left & ~explained).any())
            left &= ~explained

    def _explained(self, letter: str, left: Array, *, tries_all: bool) -> Iterator[tuple[PartExplanation, Array]]:
        """The explanation of a probe's numbers, and the remaining positions that it also explains."""
        (wrong,) = np.nonzero(left)
        probes = [wrong] if tries_all else []
        probes += [wrong[-1:], wrong[:1]] if len(wrong) > 1 else []
        for probe in probes:
            seconds = (self.end or 0) - self.limits.clock()
            if seconds <= 0:
                return
            checker, results = self._at(letter, probe)
            checker = replace(checker, options=replace(checker.options, seconds=seconds))
            for attempt in find_explanations(checker, results, lambda: True).explanations[:1]:
                explained = left & agreement(self.checker, attempt, letter)
                positions = named_positions(explained, np.ones_like(explained)) if explained.any() else None
                least = min(MIN_QUERIES, self.wrong[letter].sum()) if letter == "n" else 1
                if positions is not None and explained.sum() >= least:
                    name = next(iter(checker.quantities))
                    axis = AxisPart((self._axis(name, letter) or 0) - results[0].differs.ndim, positions, len(left))
                    yield PartExplanation(name, axis, explanations([attempt])[0]), explained

    def _at(self, letter: str, positions: Array) -> tuple[Checker, Sequence[QuantityCheck]]:
        """The check of the numbers at some positions along an axis alone."""
        quantities, results = {}, []
        for result in self.results:
            axis = self._axis(result.name, letter)
            if axis is not None:
                shape = [-1 if at == axis else 1 for at in range(result.differs.ndim)]
                is_there = np.isin(np.arange(len(self.wrong[letter])), positions).reshape(shape)
                numbers = self.checker.quantities[result.name]
                quantities[result.name] = replace(numbers, is_given=numbers.is_given & is_there)
                results.append(replace(result, differs=result.differs & is_there))
        return replace(self.checker, quantities=quantities), results
