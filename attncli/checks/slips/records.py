"""The record of a slip, a mistake that people make in attention, and how slips change and evaluate a plan."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from types import MappingProxyType
from typing import Any, TypedDict, Unpack

from attncli.base.dtypes import Precision
from attncli.base.lazy_numpy import Array
from attncli.engine.dense import DenseEngine
from attncli.ops import structural
from attncli.plan.graph import Node, Plan
from attncli.problem.spec import ProblemSpec

Function = Callable[..., Array]


@dataclass(frozen=True)
class ValueChange:
    """The function of a node whose value was changed afterwards: of the value before, `x`, passed by its position."""

    change: Function

    def __call__(self, x: Array, **others: Any) -> Array:
        """The value after the change."""
        return self.change(x, **others)

    @property
    def __name__(self) -> str:
        """The name of the change, as a printed plan shows it."""
        return self.change.__name__


@dataclass(frozen=True)
class Computation:
    """A problem and its plan, which a slip changes, and the type of the numbers that are checked.

    The problem may be computed in a wider type than `dtype`; only a slip that overflows or rounds asks for the latter.
    """

    problem: ProblemSpec
    plan: Plan
    dtype: str

    def node(self, name: str) -> Node | None:
        """The node of a name, where the plan has it."""
        return self.plan.by_name.get(name)

    def node_of_stage(self, stage: str) -> Node | None:
        """The node whose function a stage is for: the score, the normalizer."""
        return next((node for node in self.plan.nodes if node.stage == stage and node.tapped_from is None), None)

    @property
    def key_count(self) -> int:
        """How many keys there are."""
        return self.plan.pair_axes[-1].length

    def with_nodes(self, *nodes: Node) -> "Computation":
        """The computation with these nodes in place of those of their names, or added to the others."""
        return self._with({**self.plan.by_name, **{node.name: node for node in nodes}})

    def with_inputs(self, name: str, **inputs: str) -> "Computation":
        """The computation in which some arguments of a node are read from other nodes."""
        node = self.plan.by_name[name]
        return self.with_nodes(replace(node, inputs={**node.inputs, **inputs}))

    def with_identity(self, name: str, argument: str = "x") -> "Computation":
        """The computation in which a node is its input: what it computes is left out."""
        node = self.plan.by_name[name]
        inputs = {"x": node.inputs[argument]}
        return self.with_nodes(replace(node, function=structural.identity, inputs=inputs, options={}))

    def with_function(self, name: str, function: Function, **options: Any) -> "Computation":
        """The computation in which a node is computed by another function of the same inputs, with more options.

        The inner quantities of its operator are not computed.
        """
        node = self.plan.by_name[name]
        inner = {other.name for other in self.plan.nodes if other.tapped_from == name}
        changed = replace(node, function=function, options={**node.options, **options}, taps={})
        nodes = [changed if other.name == name else other for other in self.plan.nodes]
        return self._with({other.name: other for other in nodes if other.name not in inner})

    def with_changed_value(
        self,
        name: str,
        function: Function,
        inputs: Mapping[str, str] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> "Computation":
        """The computation in which the value of a node is `function(its value before, **inputs, **options)`.

        Whatever reads the node reads the changed value; the node as it was has another name.
        """
        node = self.plan.by_name[name]
        before = self.new_name(f"{name}_before")
        changed = replace(
            node,
            function=ValueChange(function),
            inputs={"x": before, **(inputs or {})},
            options=options or {},
            source=(),
            taps={},
            notes=(),
        )
        inner = [other for other in self.plan.nodes if other.tapped_from == name]
        renamed = {other.name: replace(other, tapped_from=before) for other in inner}
        by_name = {**self.plan.by_name, **renamed, before: replace(node, name=before), name: changed}
        return self._with(by_name)

    def with_changed_values(self, names: Iterable[str], function: Function, **options: Any) -> "Computation":
        """The computation in which the value of each of some nodes is `function(its value before, **options)`."""
        case = self
        for name in names:
            case = case.with_changed_value(name, function, options=options)
        return case

    def before_changes(self, name: str) -> Node:
        """The node as it was before its value was changed by `with_changed_value`, however often."""
        node = self.plan.by_name[name]
        while isinstance(node.function, ValueChange):
            node = self.plan.by_name[node.inputs["x"]]
        return node

    def new_name(self, name: str) -> str:
        """The name, or the name and a number where a node has it."""
        number, free = 1, name
        while free in self.plan.by_name:
            number += 1
            free = f"{name}_{number}"
        return free

    def _with(self, by_name: Mapping[str, Node]) -> "Computation":
        """The computation with these nodes, each after those that it reads."""
        return replace(self, plan=Plan(_ordered(by_name), self.plan.results))


@dataclass(frozen=True)
class Variant:
    """A problem, or a computation whose plan was changed, and a sentence where it says more than that of the slip."""

    changed: ProblemSpec | Computation
    sentence: str = ""


Number = float | tuple[float, ...]  # of a slip: a number, several, or a map
# Of a Computation, what a slip finds in it, and the number of one that has it.
Change = Callable[..., Iterator[Variant]]
Decorator = Callable[[Change], Change]
Find = Callable[[Computation], Any]  # what a slip changes, such as a node, or whether it can be made

# Several numbers, such as which head's numbers each head has, that follow from what is expected, by the names of
# results; NaN where nothing is expected.
Solve = Callable[[Computation, Mapping[str, Array]], Iterator[tuple[float, ...]]]


@dataclass(frozen=True)
class FittedNumber:
    """The number of a mistake, or several, as of a map, which is found from the numbers that differ.

    `candidates` are all that are tried where it is whole (`is_whole`); otherwise they are positive, and the search goes
    on from the best ones, in logarithms. There are none where the mistake can't be made. Of whole numbers that are
    sizes (`is_size`), where near ones have near results, some are tried, and then those near the best. `known` has
    numbers that people know, by what they are called in a sentence; those that are `usual` are tried first, and in
    pairs. Several numbers are found by `solve`.
    """

    name: str
    candidates: Callable[[Computation], Sequence[float]] = lambda _: ()
    is_whole: bool = False
    is_size: bool = False
    solve: Solve | None = None
    usual: Sequence[float] = ()
    known: Callable[[Computation], Mapping[str, float]] = lambda _: {}

    def changes_nothing(self, number: Number) -> bool:
        """Whether a number is a factor that a sentence would write as 1: that is rounding, and no mistake."""
        if self.name != "factor" or self.is_whole or isinstance(number, tuple) or not number:
            return False
        return "1" in (text_of(number), text_of(1 / number))


@dataclass(frozen=True, eq=False)
class Slip:
    """One mistake: its name, what is done wrong, where it can be made, and how it changes a problem or a plan.

    `change` yields nothing where the mistake can't be made, and several variants where there are several; of a slip
    with a `number` it takes that too. `needs_all` has the letters of axes of which it needs all positions (n: queries,
    h: heads, b: batch items): the result of one depends on the others, and no part can be computed alone. Without
    `is_paired` it is tried in no pair of slips. One that `is_general` or `is_rounding` is named where no other alone
    explains what is expected: a rule of many units, of which others say more, or rounding, whose errors are small and
    look like many others. One that `is_backward` changes gradients alone.
    """

    name: str
    sentence: str
    applies_where: str  # completes "It can be made where …"
    change: Change
    changes_problem: bool
    needs_all: str = ""
    is_paired: bool = True
    is_general: bool = False
    is_rounding: bool = False
    is_backward: bool = False
    number: FittedNumber | None = None


_SLIPS: dict[str, Slip] = {}
SLIPS: Mapping[str, Slip] = MappingProxyType(_SLIPS)


class Traits(TypedDict, total=False):
    """What is said of a slip beyond its sentence and where it applies: fields of `Slip`."""

    needs_all: str
    is_paired: bool
    is_general: bool
    is_rounding: bool
    number: FittedNumber | None


def problem_slip(applies_where: str, find: Find | str | None = None, **traits: Unpack[Traits]) -> Decorator:
    """A decorator: the function yields changed problems; its name and docstring are the slip's name and sentence.

    With `find` it is called with what this finds, or the node of this name, too, but not with True. Where there is
    none, or it is 0, empty or False, the slip can't be made, and its number has no candidates.
    """
    return _register(applies_where, find, changes_problem=True, **traits)


def plan_slip(applies_where: str, find: Find | str | None = None, **traits: Unpack[Traits]) -> Decorator:
    """A decorator as `problem_slip`: the function yields computations of changed plans."""
    return _register(applies_where, find, changes_problem=False, **traits)


def backward_slip(applies_where: str, find: Find | str | None = None, **traits: Unpack[Traits]) -> Decorator:
    """A decorator as `plan_slip`, of a slip that changes gradients alone; it is made where the plan has some."""
    return _register(applies_where, find, changes_problem=False, is_backward=True, **traits)


def function_slip(applies_where: str, find: Find | str, **traits: Unpack[Traits]) -> Callable[[Function], Function]:
    """A decorator: the function takes the place of that of a node; its name and docstring are those of a slip."""

    def register(function: Function) -> Function:
        @wraps(function)
        def change(case: Computation, node: Node) -> Iterator[Variant]:
            yield Variant(case.with_function(node.name, function))

        plan_slip(applies_where, find, **traits)(change)
        return function

    return register


def _register(
    applies_where: str,
    find: Find | str | None,
    *,
    changes_problem: bool,
    is_backward: bool = False,
    **traits: Unpack[Traits],
) -> Decorator:
    def found_in(case: Computation) -> Any:
        if is_backward and not case.plan.has_gradients:
            return None
        return case.node(find) if isinstance(find, str) else True if find is None else find(case)

    number = traits.get("number")
    if number is not None:
        candidates = number.candidates
        traits["number"] = replace(number, candidates=lambda case: candidates(case) if found_in(case) else ())

    def register(change: Change) -> Change:
        @wraps(change)
        def where_it_applies(case: Computation, *numbers: Number) -> Iterator[Variant]:
            found = found_in(case)
            if found:
                yield from change(case, *([] if found is True else [found]), *numbers)

        name, sentence = change.__name__, (change.__doc__ or "").partition("\n")[0]
        assert name not in _SLIPS, name
        _SLIPS[name] = Slip(
            name, sentence, applies_where, where_it_applies, changes_problem, is_backward=is_backward, **traits
        )
        return change

    return register


def add_slips(decorate: Decorator, rows: Mapping[str, tuple[str, Change]]) -> None:
    """Register the slips of a family, which apply in the same place: by name the sentence of each, and its change."""
    for name, (sentence, change) in rows.items():

        def own(case: Computation, *found: Any, change: Change = change) -> Iterator[Variant]:
            return change(case, *found)

        own.__name__, own.__doc__ = name, sentence
        decorate(own)


def of_stage(stage: str) -> Find:
    """The node whose function a stage is for, where the plan has it."""
    return lambda case: case.node_of_stage(stage)


DIGITS, EVERY_DIGIT = 5, 17  # of a number in a sentence; 17 tell any two apart
FEW_KEYS = 64  # so many at most may be in tiles of any size


def text_of(number: float) -> str:
    """A number as a sentence has it.

    >>> text_of(1.58958), text_of(16.0)
    ('1.5896', '16')
    """
    return f"{number:.{DIGITS}g}"


def instead_of(number: float, right: float) -> str:
    """A wrong number and the right one, with as many digits as tell them apart.

    >>> instead_of(0.5, 0.25), instead_of(0.1250001, 0.125)
    ('0.5 instead of 0.25', '0.1250001 instead of 0.125')
    """
    texts = ([f"{x:.{digits}g}" for x in (number, right)] for digits in range(DIGITS, EVERY_DIGIT + 1))
    wrong, own = next((both for both in texts if both[0] != both[1]), (repr(number), repr(right)))
    return f"{wrong} instead of {own}"


def tile_sizes(key_count: int) -> Sequence[int]:
    """Numbers of keys that make two tiles or more: powers of two first, then others, all of them where keys are few."""
    powers = (8, 16, 32, 64, 128, 256, 512)
    others = range(1, key_count) if key_count <= FEW_KEYS else (*range(1, 17), *range(24, 129, 8), 192, 384)
    return [size for size in dict.fromkeys((*powers, *others)) if size < key_count]


def usual_tile_sizes(count: int) -> Sequence[int]:
    """The sizes of tiles of rows that kernels have; all sizes where rows are few."""
    usual = (16, 32, 64, 128, 256, 512, 1)
    return [size for size in usual if size < count] if count > FEW_KEYS else tile_sizes(count)


def without(case: Computation, key: str) -> Iterator[Variant]:
    """The problem without the value of a key, where it has one."""
    if getattr(case.problem, key) is not None:
        nothing: dict[str, Any] = {key: None}
        yield Variant(replace(case.problem, **nothing))


def evaluate_names(plan: Plan, problem: ProblemSpec, names: Iterable[str], precision: Precision) -> dict[str, Array]:
    """The values of results or steps, and of those that they need, by the dense engine, which computes in a type."""
    resolved = {plan.resolve(name) for name in names}
    needed = plan.needed_for({plan.by_name[name].tapped_from or name for name in resolved})
    engine = DenseEngine(plan, problem, precision)
    engine.run(node for node in plan.nodes if node.name in needed)
    return engine.values


def _ordered(by_name: Mapping[str, Node]) -> tuple[Node, ...]:
    """The nodes, each after those that it reads, otherwise in the order that they had."""
    done: dict[str, Node] = {}

    def add(nodes: Iterable[Node]) -> None:
        for node in nodes:
            if node.name not in done:
                add(by_name[name] for name in node.inputs.values())
                done[node.name] = node

    add(by_name.values())
    return tuple(done.values())
