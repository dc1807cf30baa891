"""Attempts: a problem and a plan with one slip or several in it, and their results."""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import field, replace

from attncli.analysis.slips.parts import ALL, Part, problem_part
from attncli.analysis.slips.records import SLIPS, Computation, Slip
from attncli.base.dataclasses import dataclass
from attncli.base.lazy_numpy import Array
from attncli.engine.dense import DenseEngine, input_array
from attncli.plan.build import build_plan
from attncli.plan.graph import Node, Plan
from attncli.problem.spec import ProblemSpec


class KnownValues:
    """The values of our own computation, for attempts to start from: they compute what a slip changes and no more."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}  # of each computation that was met
        self._arrays: list[Array] = []  # those whose ids are in `_numbers`, so that no other array gets these ids
        self._values: dict[int, Array] = {}

    def numbers(self, problem: ProblemSpec, plan: Plan) -> Mapping[str, int]:
        """A number for each node; nodes of the same number, in whatever plan, have the same value."""
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
        """A number for the array of an input; None for what is computed."""
        if not node.is_input:
            return None
        array = input_array(node, problem)
        self._arrays.append(array)
        return id(array)

    def keep(self, engine: DenseEngine) -> None:
        """Keep the values that an engine has computed."""
        numbers = self.numbers(engine.problem, engine.plan)
        self._values.update({numbers[name]: value for name, value in engine.values.items()})

    def of(self, problem: ProblemSpec, plan: Plan) -> dict[str, Array]:
        """The values that are known of the nodes of a plan."""
        numbers = self.numbers(problem, plan)
        return {name: self._values[number] for name, number in numbers.items() if number in self._values}


@dataclass(frozen=True)
class Attempt:
    """A computation with slips in it, in the order in which they were made; without any it is our own.

    `problem` and `plan` are what an engine runs, `sentences` say what is done wrong, by each slip. `dtype` is the type
    of the numbers that are checked; `problem` may be computed in another. `part` says which queries, batch items and
    heads of the problem that is checked are computed.
    """

    slips: tuple[str, ...]
    sentences: tuple[str, ...]
    problem: ProblemSpec
    plan: Plan
    dtype: str = "float64"
    part: Part = ALL
    known: KnownValues = field(default_factory=KnownValues, compare=False, repr=False)

    @property
    def sentence(self) -> str:
        """What is done wrong."""
        return " ".join(self.sentences)

    def compute_known_values(self) -> None:
        """Compute all steps of the attempt, for those that are made from it to start from."""
        engine = DenseEngine(self.plan, self.problem, self.problem.precision)
        engine.run(self.plan.nodes)
        self.known.keep(engine)


def own_attempt(problem: ProblemSpec, dtype: str | None = None, part: Part = ALL) -> Attempt:
    """Our own computation of a part of a problem, with no slip; `dtype` is the type that is checked, if another."""
    own = problem_part(problem, part)
    return Attempt((), (), own, build_plan(own), dtype or problem.precision.name, part)


def attempts(problem: ProblemSpec, dtype: str | None = None) -> Iterator[Attempt]:
    """Every variant of every slip that can be made in a problem, one at a time, in the order of the slips.

    A slip that changes no step of the computation can't be made: no scale where d = 1, the mask aligned otherwise where
    there are as many queries as keys.

    >>> from attncli.problem.build import build
    >>> problem = build({"query": [[1, 0]], "key": [[1, 0], [0, 1]]})
    >>> next(attempts(problem)).sentence
    'The scores are not scaled: the products of queries and keys are not divided by √d.'
    """
    own = own_attempt(problem, dtype)
    for slip in SLIPS.values():
        yield from with_slip(own, slip)


def with_slip(attempt: Attempt, slip: Slip) -> Iterator[Attempt]:
    """The attempt with one more slip in it, in each of its variants; nothing where it can't be made.

    A slip that changes the problem is made before those that change the plan.
    """
    problem, plan = attempt.problem, attempt.plan
    if slip.needs_all_queries and problem.only is not None:
        return
    for variant in slip.change(Computation(problem, plan, attempt.dtype)):
        if isinstance(variant.changed, Plan):
            changed_problem, changed_plan = problem, variant.changed
        else:
            changed_problem, changed_plan = variant.changed, build_plan(variant.changed)
        if _results(attempt, changed_problem, changed_plan) == _results(attempt, problem, plan):
            continue
        yield replace(
            attempt,
            slips=(*attempt.slips, slip.name),
            sentences=(*attempt.sentences, variant.sentence or slip.sentence),
            problem=changed_problem,
            plan=changed_plan,
        )


def same_slips(own: Attempt, attempt: Attempt) -> Attempt:
    """The slips of an attempt made in other queries of its problem, as far as they can be made there."""
    for name, sentence in zip(attempt.slips, attempt.sentences, strict=True):
        made = (changed for changed in with_slip(own, SLIPS[name]) if changed.sentences[-1] == sentence)
        own = next(made, own)
    return own


def _results(attempt: Attempt, problem: ProblemSpec, plan: Plan) -> Mapping[str, int]:
    """The number of each result's computation."""
    numbers = attempt.known.numbers(problem, plan)
    return {result: numbers[name] for result, name in plan.results.items()}


def run_attempt(attempt: Attempt, names: Iterable[str]) -> Mapping[str, Array]:
    """The values of results and steps in an attempt; those that it does not compute are missing."""
    plan = attempt.plan
    nodes = {name: found for name in names if (found := plan.find(name)) is not None}
    needed = plan.needed_for(plan.by_name[node].tapped_from or node for node in nodes.values())
    engine = DenseEngine(plan, attempt.problem, attempt.problem.precision)
    engine.values.update({n: value for n, value in attempt.known.of(attempt.problem, plan).items() if n in needed})
    to_compute = [node for node in plan.nodes if node.name in needed and node.name not in engine.values]
    last_reader = {source: node.name for node in to_compute for source in node.inputs.values()}
    for node in to_compute:
        engine.run([node])
        for source in node.inputs.values():  # values that nothing reads any more are given up: they may be large
            if last_reader[source] == node.name and source not in nodes.values():
                engine.values.pop(source, None)
    return {name: engine.values[node] for name, node in nodes.items()}
