"""The search for slips: attempts with slips, and which of them explain numbers or would go unnoticed."""

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import chain, islice

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array
from attncli.base.text import join_words
from attncli.checks.slips.fit import nearest_factor, nearest_size, nearest_whole, size_of
from attncli.checks.slips.parts import (
    ALL,
    NO_PRIORITY,
    Part,
    Priority,
    SearchLimits,
    all_parts,
    cell_count,
    first_part,
    problem_part,
)
from attncli.checks.slips.records import DIGITS, SLIPS, Computation, Number, Slip, text_of
from attncli.engine.dense import DenseEngine, input_array
from attncli.plan.build import build_plan
from attncli.plan.graph import GRADIENT, Node, Plan
from attncli.problem.spec import ProblemSpec


class KnownValues:
    """The values of the right computation; an attempt starts from them and computes only changed steps."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}  # for each known computation
        self._arrays: list[Array] = []  # keeps the arrays in `_numbers` alive, so that no other array gets their ids
        self._values: dict[int, Array] = {}

    def numbers(self, problem: ProblemSpec, plan: Plan) -> Mapping[str, int]:
        """A number for each node; nodes with the same number, in any plan, have the same value."""
        numbers: dict[str, int] = {}

        def number_of(node: Node) -> int:
            if node.name not in numbers:
                numbers[node.name] = self._numbers.setdefault(key_of(node), len(self._numbers))
            return numbers[node.name]

        def key_of(node: Node) -> Hashable:
            if node.tapped_from is not None:
                outer = plan.by_name[node.tapped_from]
                return next(name for name, tapped in outer.taps.items() if tapped == node.name), number_of(outer)
            inputs = tuple((argument, number_of(plan.by_name[name])) for argument, name in sorted(node.inputs.items()))
            return node.function, inputs, repr(node.options), self._source(problem, node), problem.precision.name

        for node in plan.nodes:
            number_of(node)
        return numbers

    def _source(self, problem: ProblemSpec, node: Node) -> int | None:
        """A number for an input's array; None for a computed node."""
        if not node.is_input:
            return None
        array = input_array(node, problem)
        self._arrays.append(array)
        return id(array)

    def keep(self, numbers: Mapping[str, int], values: Mapping[str, Array]) -> None:
        """Keep the values of nodes."""
        self._values.update({numbers[name]: value for name, value in values.items()})

    def of(self, numbers: Mapping[str, int]) -> dict[str, Array]:
        """The known values of nodes."""
        return {name: self._values[number] for name, number in numbers.items() if number in self._values}


@dataclass(frozen=True)
class Attempt:
    """A computation with slips, in the order in which they were made; without slips it is the right one.

    An engine runs `problem` and `plan`; `sentences` describe the mistake of each slip. `dtype` is the type of the
    checked numbers; `problem` may be computed in another. `part` selects the computed queries, batch items and heads.
    `numbers` has each slip's number, None without one.
    """

    slips: tuple[str, ...]
    sentences: tuple[str, ...]
    problem: ProblemSpec
    plan: Plan
    dtype: str = "float64"
    part: Part = ALL
    known: KnownValues = field(default_factory=KnownValues, compare=False, repr=False)
    numbers: tuple[Number | None, ...] = ()
    remark: str = ""  # the name of a well-known number
    is_confirmation: bool = False  # whether another part is explained already
    on_demand: tuple[str, ...] = ()  # checked names that are computed on request: gradients, and on demand
    bound: str = ""  # other numbers that fit as well, if its number is not determined

    @property
    def computation(self) -> Computation:
        """Its problem and plan, as slips change them."""
        return Computation(self.problem, self.plan, self.dtype)

    @property
    def parameters(self) -> Mapping[str, Number]:
        """The fitted numbers, by name; none if others fit as well."""
        if self.bound:
            return {}
        pairs = zip((SLIPS[name].number for name in self.slips), self.numbers, strict=True)
        return {number.name: found for number, found in pairs if number is not None and found is not None}

    @property
    def is_fitted(self) -> bool:
        """Whether one of its numbers was searched among all numbers, not among a few."""
        fitted = (SLIPS[name].number for name in self.slips)
        return any(
            number is not None and not number.is_whole and found not in number.usual
            for number, found in zip(fitted, self.numbers, strict=True)
        )

    @property
    def is_rounding(self) -> bool:
        """Whether one of its slips rounds numbers."""
        return any(SLIPS[name].is_rounding for name in self.slips)

    @property
    def sentence(self) -> str:
        """The description of the mistake."""
        sentence, remarks = " ".join(self.sentences), ", ".join(filter(None, (self.remark, self.bound)))
        return f"{sentence.removesuffix('.')} ({remarks})." if remarks else sentence

    @cached_property
    def node_numbers(self) -> Mapping[str, int]:
        """The number of each node's computation: equal numbers mean equal values."""
        return self.known.numbers(self.problem, self.plan)

    @property
    def result_numbers(self) -> Mapping[str, int]:
        """The number of each result's computation, including checked gradients."""
        plan = self.plan
        forward = {result: name for result, name in plan.results.items() if plan.by_name[name].stage != GRADIENT}
        checked = {name: found for name in self.on_demand if (found := plan.find(name)) is not None}
        return {result: self.node_numbers[name] for result, name in (forward | checked).items()}

    def known_values(self) -> dict[str, Array]:
        """The known values of its nodes."""
        return self.known.of(self.node_numbers)

    def compute_known_values(self) -> None:
        """Compute all steps of the attempt, as a start for attempts derived from it."""
        engine = DenseEngine(self.plan, self.problem, self.problem.precision)
        engine.run(self.plan.nodes)
        self.known.keep(self.node_numbers, engine.values)


def own_attempt(
    problem: ProblemSpec, dtype: str | None = None, part: Part = ALL, on_demand: Sequence[str] = ()
) -> Attempt:
    """The right computation of a part of a problem, without slips; `dtype` is the checked type, if another."""
    own = problem_part(problem, part)
    plan, dtype = _plan(own, on_demand), dtype or problem.precision.name
    return Attempt((), (), own, plan, dtype, part, on_demand=tuple(on_demand))


def _plan(problem: ProblemSpec, on_demand: Iterable[str]) -> Plan:
    """The plan of a problem, with its results on demand."""
    plan = build_plan(problem)
    return plan.for_results(name for name in on_demand if plan.find(name) is not None)


def attempts(problem: ProblemSpec, dtype: str | None = None) -> Iterator[Attempt]:
    """Every possible variant of every slip in a problem, one at a time, in the order of the slips.

    A slip that changes no step is impossible: no scale if d = 1, another alignment of the mask if there are as many
    queries as keys.

    >>> from attncli.problem.build import build
    >>> problem = build({"query": [[1, 0]], "key": [[1, 0], [0, 1]]})
    >>> next(attempts(problem)).sentence
    'The scores are not scaled: the products of queries and keys are not divided by √d.'
    """
    own = own_attempt(problem, dtype)
    for slip in SLIPS.values():
        yield from with_slip(own, slip)


def single_attempts(
    problem: ProblemSpec, dtype: str, on_demand: tuple[str, ...], *, has_examples: bool = False
) -> Iterator[Attempt]:
    """Every possible variant of every slip in a whole problem, except those that fail to compute.

    Slips whose number is found by a search are left out, unless it `has_examples` of them.
    """
    search = _Search(problem, lambda _: False, DEFAULT_LIMITS, dtype, NO_PRIORITY, on_demand)
    made = chain(search.singles(), search.examples() if has_examples else ())
    yield from (attempt for attempt in made if attempt.part == ALL)


def with_slip(attempt: Attempt, slip: Slip, number: Number | None = None) -> Iterator[Attempt]:
    """The attempt with one more slip, in each of its variants; empty if it is impossible.

    A slip with a number gets this one, otherwise each usual one. Slips that change the problem come before those that
    change the plan.
    """
    if "n" in slip.needs_all and attempt.problem.only is not None:
        return
    case = attempt.computation
    if slip.number is not None and number is None:
        for usual in slip.number.usual:
            yield from with_slip(attempt, slip, usual)
        return
    for variant in slip.change(case) if number is None else slip.change(case, number):
        if isinstance(variant.changed, Computation):
            changed = replace(attempt, plan=variant.changed.plan)
        else:
            changed = replace(attempt, problem=variant.changed, plan=_plan(variant.changed, attempt.on_demand))
        sentence = variant.sentence or slip.sentence
        slips, sentences = (*attempt.slips, slip.name), (*attempt.sentences, sentence)
        changed = replace(changed, slips=slips, sentences=sentences, numbers=(*attempt.numbers, number))
        if changed.result_numbers != attempt.result_numbers:
            yield changed


def in_part(attempt: Attempt, problem: ProblemSpec, part: Part) -> Attempt:
    """The slips of an attempt, made in a part of a problem as far as possible."""
    own = own_attempt(problem, attempt.dtype, part, attempt.on_demand)
    for name, sentence, number in zip(attempt.slips, attempt.sentences, attempt.numbers, strict=True):
        variants = with_slip(own, SLIPS[name], number)
        made = (changed for changed in variants if changed.sentences[-1] == sentence)
        own = next(made, own)
    return own


def in_all_parts(attempt: Attempt, problem: ProblemSpec, limits: SearchLimits) -> Iterator[Attempt]:
    """The slips of an attempt, made in the parts that together are the problem."""
    for part in all_parts(problem, limits, needs_of([attempt])):
        yield in_part(attempt, problem, part)


def run_attempt(attempt: Attempt, names: Iterable[str]) -> Mapping[str, Array]:
    """The values of results and steps in an attempt; uncomputed ones are missing."""
    plan = attempt.plan
    nodes = {name: found for name in names if (found := plan.find(name)) is not None}
    needed = plan.needed_for(plan.by_name[node].tapped_from or node for node in nodes.values())
    precision = attempt.problem.precision
    if attempt.dtype != precision.name:  # a narrower type rounds more than any sum
        precision = replace(precision, adds_at_once=True)
    engine = DenseEngine(plan, attempt.problem, precision)
    engine.values.update({n: value for n, value in attempt.known_values().items() if n in needed})
    to_compute = [node for node in plan.nodes if node.name in needed and node.name not in engine.values]
    last_reader = {source: node.name for node in to_compute for source in node.inputs.values()}
    for node in to_compute:
        engine.run([node])
        for source in node.inputs.values():  # unused values are dropped: they may be large
            if last_reader[source] == node.name and source not in nodes.values():
                engine.values.pop(source, None)
    return {name: engine.values[node] for name, node in nodes.items()}


# Whether the expected numbers, or the reference, agree with an attempt at all or some queries, batch items and heads.
Judge = Callable[[Attempt], bool]


@dataclass(frozen=True)
class Evidence:
    """The expected numbers, for fitting slips with a number.

    `measure(attempt)` is computed minus expected numbers, for all numbers of its part, each relative to its like; None
    if it does not compute them. `expected(part)` has the numbers by result name, NaN where nothing is expected.
    """

    measure: Callable[[Attempt], Array | None]
    expected: Callable[[Part], Mapping[str, Array]]


DEFAULT_LIMITS = SearchLimits()
FAR = 8.0  # factor on a number: if the product also explains the expected numbers, the number is not determined
MOST_OTHERS = 40  # integers near the found one, which may fit as well
FACTORS = ("scale_factor", "output_factor")  # slips to fit together with another one
FEW_FACTORS = (0.25, 0.6, 1.6, 4.0)  # to try first
MOST_STARTS = 3  # pairs with a factor to look for
NEAR_KNOWN = 0.02  # relative distance from the found number within which a well-known number is tried


@dataclass(frozen=True)
class SearchResult:
    """The attempts found, the simplest first, how many were made, and which were not and why."""

    explanations: tuple[Attempt, ...]
    tried_count: int
    pair_count: int = 0  # pairs of slips among the tried ones
    untried: tuple[str, ...] = ()


def explain(
    problem: ProblemSpec,
    accepts: Judge,
    limits: SearchLimits = DEFAULT_LIMITS,
    *,
    dtype: str | None = None,
    priority: Priority = NO_PRIORITY,
    on_demand: tuple[str, ...] = (),
    evidence: Evidence | None = None,
    skips_pairs: Callable[[], bool] = lambda: False,
    is_backward: bool = False,
    rank: Callable[[Sequence[Attempt]], list[Attempt]] = list,
) -> SearchResult:
    """The slips that explain numbers: single ones, those with a number, or pairs; the first variant of each.

    `accepts(attempt)` says whether the numbers equal an attempt's. Without `evidence`, slips with a number are tried
    with usual numbers alone. `dtype` is the type of the numbers, if the problem is computed in a wider one; `priority`
    says where numbers differ; `on_demand` names compared results that are computed only on request. A large problem is
    tried on a part, and an explanation of it on the whole. If nothing alone explains the numbers, `skips_pairs` decides
    whether to skip pairs; if the mistake `is_backward`, slips of the forward pass are skipped. Rounding is named only
    if nothing else explains the numbers. `rank` drops explanations that others far surpass.
    """
    search = _Search(problem, accepts, limits, dtype, priority, on_demand, is_backward=is_backward)

    def explaining(attempts: Iterable[Attempt]) -> list[Attempt]:
        return search.first_of_each(search.accepted(attempts))

    alone = rank(explaining(search.singles(is_general=False)))
    if all(attempt.is_rounding for attempt in alone):
        alone = rank(alone + explaining(search.singles(is_general=True)))
    if evidence is not None and all(attempt.is_rounding for attempt in alone):
        alone = rank(alone + explaining(search.fitted(evidence)))
    found = [attempt for attempt in alone if not attempt.is_rounding] or alone
    singles = search.tried_count
    if not found and not skips_pairs():
        found = rank(explaining(search.pairs()))
        if not found and evidence is not None:
            found = rank(explaining(search.with_factors(evidence)))
    found = [search.with_bound(attempt) for attempt in found]
    return SearchResult(tuple(found), search.tried_count, search.tried_count - singles, tuple(search.untried))


def unnoticed(
    problem: ProblemSpec,
    agrees: Judge,
    limits: SearchLimits = DEFAULT_LIMITS,
    *,
    dtype: str | None = None,
    on_demand: tuple[str, ...] = (),
) -> SearchResult:
    """Every possible variant of every slip in a problem that changes no compared number.

    `agrees(attempt)` says whether an attempt agrees with the right computation.
    """
    search = _Search(problem, agrees, limits, dtype, NO_PRIORITY, on_demand)
    found = [attempt for attempt in list(search.accepted(search.singles())) if search.is_confirmed(attempt)]
    found += search.first_of_each(search.accepted(search.examples()))
    return SearchResult(tuple(found), search.tried_count, untried=tuple(search.untried))


Needs = frozenset[str]  # letters of axes that are needed whole: n, h or b


def needs_of(attempts: Iterable[Attempt]) -> Needs:
    """The needs of any of some attempts."""
    needs = Needs()
    for attempt in attempts:
        needs |= _needs_of(*map(SLIPS.__getitem__, attempt.slips))
        needs |= _needs_of_gradients(attempt.plan, attempt.on_demand)
    return needs


def _needs_of_gradients(plan: Plan, names: Iterable[str]) -> Needs:
    """The needs of gradients: all queries, and all heads and batch items unless they have such an axis."""
    letters = [set(plan[name].letters) for name in names if plan.find(name) and plan[name].stage == GRADIENT]
    needs = {
        "n": bool(letters),
        "h": any(not own & {"h", "g"} for own in letters),
        "b": any("b" not in own for own in letters),
    }
    return Needs(letter for letter, is_needed in needs.items() if is_needed)


def _needs_of(*slips: Slip) -> Needs:
    return Needs("".join(slip.needs_all for slip in slips))


class _Search:
    """One search: tried and skipped attempts."""

    def __init__(
        self,
        problem: ProblemSpec,
        accepts: Judge,
        limits: SearchLimits,
        dtype: str | None,
        priority: Priority,
        on_demand: tuple[str, ...],
        *,
        is_backward: bool = False,
    ) -> None:
        self.slips = [slip for slip in SLIPS.values() if slip.is_backward or not is_backward]
        self.problem, self.accepts, self.limits, self.priority = problem, accepts, limits, priority
        self.on_demand = on_demand
        self.least = _needs_of_gradients(build_plan(problem), on_demand) if on_demand else Needs()
        self.end = limits.clock() + limits.seconds
        self.dtype = dtype or problem.precision.name
        self.starts: dict[tuple[Needs, int], Attempt] = {}
        self.refuting: dict[Needs, list[Part]] = {}  # parts of the whole that refuted an attempt
        self.only_alone: list[str] = []  # slips too slow to try in pairs
        self.tried_count = 0
        self.untried: list[str] = []

    def singles(self, *, is_general: bool | None = None) -> Iterator[Attempt]:
        """Each variant of each slip, of those that are general alone, or of the others.

        Slips that need all queries come last, as they take longest in a large problem.
        """
        too_large = []
        slips = [slip for slip in self.slips if is_general in (None, slip.is_general)]
        for slip in sorted(slips, key=lambda slip: self._takes_long(_needs_of(slip))):
            start = self._start(_needs_of(slip))
            if start is not None:
                made = list(self._made(start, slip))
                if made and self._takes_long(_needs_of(slip)):
                    self.only_alone.append(slip.name)
                yield from made
            elif self._can_be_made(slip):
                too_large.append(slip.name)
        if too_large:
            why = "of which there are too many" if self.problem.only is None else "which are not all computed"
            self.untried.append(f"{', '.join(too_large)}: not tried, because they need all queries, {why}")

    def pairs(self) -> Iterator[Attempt]:
        """Each variant of two slips together; changes of the problem come before changes of plans."""
        paired = [slip for slip in self.slips if slip.is_paired]
        slips = sorted(paired, key=lambda slip: not slip.changes_problem)
        if self.only_alone:
            names = ", ".join(self.only_alone)
            self.untried.append(f"pairs with {names}: not tried, because they compute all queries, which takes long")
        for at, slip in enumerate(slips):
            firsts: dict[Needs, list[Attempt]] = {}
            for second in slips[at + 1 :]:
                needs = _needs_of(slip, second)
                if needs not in firsts:
                    start = None if self._takes_long(needs) else self._start(needs, self.limits.fit_cells)
                    firsts[needs] = [] if start is None else list(self._made(start, slip))
                for first in firsts[needs]:
                    yield from self._made(first, second)

    def examples(self) -> Iterator[Attempt]:
        """For each slip without usual numbers, an attempt with a likely number."""
        for slip in self.slips:
            start = None if slip.number is None or slip.number.usual else self._start(_needs_of(slip))
            if start is not None and slip.number is not None:
                candidates = slip.number.candidates(start.computation)
                made = self._made(start, slip, candidates[len(candidates) // 4]) if candidates else iter(())
                yield from (replace(attempt, sentences=(slip.sentence,)) for attempt in made)

    def fitted(self, evidence: Evidence) -> Iterator[Attempt]:
        """The slips with a number, each with the numbers nearest to the expected results."""
        for slip in self.slips:
            start = None if slip.number is None else self._start(_needs_of(slip), self.limits.fit_cells)
            if start is not None and self.limits.clock() <= self.end:
                yield from self._fitted(start, slip, evidence)

    def _fitted(self, start: Attempt, slip: Slip, evidence: Evidence) -> Iterator[Attempt]:
        """Each variant of a slip with the nearest numbers; a well-known number first."""
        number = slip.number
        assert number is not None
        case = start.computation
        if number.solve is not None:
            for solution in number.solve(case, evidence.expected(start.part)):
                yield from self._made(start, slip, solution)
            return
        candidates, right = number.candidates(case), size_of(evidence.measure(start))
        nearest = nearest_size if number.is_size else nearest_whole if number.is_whole else nearest_factor
        variants = cache(lambda value: tuple(self._made(start, slip, value)))
        for variant in range(len(variants(candidates[0])) if candidates else 0):

            def made(value: float, variant: int = variant) -> Attempt | None:
                return next(islice(variants(value), variant, None), None)

            def residuals(value: float, make: Callable[[float], Attempt | None] = made) -> Array | None:
                attempt = make(value)
                return None if attempt is None else evidence.measure(attempt)

            for found in nearest(residuals, candidates, right):
                if number.changes_nothing(found):
                    continue
                for name, value in number.known(self.whole).items():
                    attempt = made(value) if abs(found / value - 1) < NEAR_KNOWN else None
                    if attempt is not None and self._is_accepted(attempt):
                        text = text_of(value)
                        yield replace(attempt, remark="" if text == name else f"{text} is {name}")
                for value in (found,) if number.is_whole else (*_rounder(found), found):
                    attempt = made(value)
                    if attempt is not None:
                        yield attempt

    def with_factors(self, evidence: Evidence) -> Iterator[Attempt]:
        """Pairs of a slip and a factor of the scores or the output: those that a few factors bring nearest."""
        starts: list[tuple[float, int, Attempt, Slip]] = []
        for first in self._firsts():
            for slip in map(SLIPS.__getitem__, FACTORS):
                made = [attempt for factor in FEW_FACTORS for attempt in self._made(first, slip, factor)]
                size = min(map(size_of, map(evidence.measure, made)), default=math.inf)
                starts.append((size, len(starts), first, slip))
            if self.limits.clock() > self.end:
                break
        for _, _, first, slip in sorted(starts, key=lambda start: start[:2])[:MOST_STARTS]:
            yield from self._fitted(first, slip, evidence)

    def _firsts(self) -> Iterator[Attempt]:
        """The slips that are paired, each alone, in a part in which a number is looked for."""
        for slip in self.slips:
            start = self._start(_needs_of(slip), self.limits.fit_cells) if slip.is_paired else None
            if start is not None and not self._takes_long(_needs_of(slip)) and not slip.is_rounding:
                yield from self._made(start, slip)

    @cached_property
    def whole(self) -> Computation:
        """The right computation of the whole problem, of whose lengths and arrays people know numbers."""
        return own_attempt(self.problem, self.dtype, on_demand=self.on_demand).computation

    def _start(self, needs: Needs, cells: int | None = None) -> Attempt | None:
        """The right computation to make slips in; None if they need all of too many queries.

        It has at most so many scores, by default a part's, if a part can be that small.
        """
        if "n" in needs and self.problem.only is not None:
            return None
        needs |= self.least
        key = needs, min(cells or self.limits.part_cells, self.limits.part_cells)
        if key not in self.starts:
            limits = replace(self.limits, part_cells=key[1])
            part = first_part(self.problem, limits, self.priority, needs)
            own = own_attempt(self.problem, self.dtype, part, self.on_demand)
            if "n" in needs and cell_count(own.problem) > self.limits.whole_cells:
                return None
            own.compute_known_values()
            self.starts[key] = own
        return self.starts[key]

    def _takes_long(self, needs: Needs) -> bool:
        """Whether slips are tried on more than a part of the queries."""
        return "n" in needs and cell_count(self.problem) > self.limits.part_cells

    def _can_be_made(self, slip: Slip) -> bool:
        """Whether an untried slip would be possible with all queries."""
        whole = own_attempt(replace(self.problem, only=None), self.dtype, on_demand=self.on_demand)
        return next(self._made(whole, slip), None) is not None

    def accepted(self, attempts: Iterable[Attempt]) -> Iterator[Attempt]:
        """The accepted attempts, as long as there is time."""
        for attempt in attempts:
            if self.limits.clock() > self.end:
                self.untried.append(f"{_names(attempt)}, and those after it: not tried, because time ran out")
                return
            self.tried_count += 1
            if self._is_accepted(attempt):
                yield attempt

    def with_bound(self, attempt: Attempt) -> Attempt:
        """The attempt; if other numbers fit as well, with these."""
        slip, number = SLIPS[attempt.slips[0]], next(iter(attempt.numbers), None)
        if slip.number is None or len(attempt.slips) > 1 or not isinstance(number, (int, float)) or not number:
            return attempt
        own = own_attempt(self.problem, self.dtype, attempt.part, self.on_demand)
        start = replace(own, known=attempt.known)

        def fits(other: float) -> bool:
            return any(map(self._is_accepted, self._made(start, slip, other)))

        if slip.number.is_whole:
            candidates = sorted(slip.number.candidates(own.computation))
            nearest = sorted(candidates, key=lambda other: abs(other - number))[: MOST_OTHERS + 1]
            others = [text_of(other) for other in sorted(nearest) if other != number and fits(other)]
            verb = "fits" if len(others) == 1 else "fit"
            return replace(attempt, bound=f"{join_words(others)} {verb} as well") if others else attempt
        for factor, which in ((FAR, "larger"), (1 / FAR, "smaller")):
            if attempt.is_fitted and fits(number * factor):
                return replace(attempt, bound=f"any {which} number fits as well")
        return attempt

    def first_of_each(self, accepted: Iterable[Attempt]) -> list[Attempt]:
        """The first confirmed attempt among those with the same slips."""
        first: dict[tuple[str, ...], Attempt] = {}
        for attempt in list(accepted):  # try all before confirming one, which takes longer
            if attempt.slips not in first and self.is_confirmed(attempt):
                first[attempt.slips] = attempt
        return list(first.values())

    def is_confirmed(self, attempt: Attempt) -> bool:
        """Whether an attempt accepted in a part is accepted in all; assumed if time runs out first."""
        if attempt.part == ALL:
            return True
        needs = needs_of([attempt])
        refuting = self.refuting.setdefault(needs, [])
        if any(self._is_refused(attempt, part) for part in refuting):  # these refute most similar slips
            return False
        for part in all_parts(self.problem, self.limits, needs):
            if self.limits.clock() > self.end + self.limits.seconds:
                self.untried.append(f"{_names(attempt)} was not tried on all numbers: time ran out")
                return True
            if self._is_refused(attempt, part):
                refuting.append(part)
                return False
        return True

    def _is_refused(self, attempt: Attempt, part: Part) -> bool:
        """Whether another part does not accept the same slips."""
        same = in_part(attempt, self.problem, part)
        return not self._is_accepted(replace(same, is_confirmation=True))

    def _is_accepted(self, attempt: Attempt) -> bool:
        """Whether an attempt is accepted; not if it fails to compute."""
        try:
            return self.accepts(attempt)
        except AttnError as error:  # an operator of another package may reject a slip's input
            self.untried.append(f"{_names(attempt)}: {error.typed}")
            return False

    def _made(self, start: Attempt, slip: Slip, number: Number | None = None) -> Iterator[Attempt]:
        try:
            yield from with_slip(start, slip, number)
        except AttnError as error:  # an operator of another package may reject a slip's input
            self.untried.append(f"{slip.name}: {error.typed}")


def _rounder(number: float) -> Sequence[float]:
    """The nearby number with few digits: it is named if it fits as well."""
    rounded = (float(f"{number:.{digits}g}") for digits in range(1, DIGITS))
    return list(dict.fromkeys(value for value in rounded if value and abs(number / value - 1) < NEAR_KNOWN))


def _names(attempt: Attempt) -> str:
    """The slips of an attempt: `no_scale with no_mask`."""
    return " with ".join(attempt.slips)
