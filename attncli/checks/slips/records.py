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
    """The function of a node with a later change: it gets the value before, `x`, by position."""

    change: Function

    def __call__(self, x: Array, **others: Any) -> Array:
        """The value after the change."""
        return self.change(x, **others)

    @property
    def __name__(self) -> str:
        """The name of the change in a printed plan."""
        return self.change.__name__


@dataclass(frozen=True)
class Computation:
    """A problem and its plan, which a slip changes, and the type of the checked numbers.

    The problem may be computed in a wider type than `dtype`; only a slip that overflows or rounds uses the latter.
    """

    problem: ProblemSpec
    plan: Plan
    dtype: str

    def node(self, name: str) -> Node | None:
        """The node of a name, if the plan has it."""
        return self.plan.by_name.get(name)

    def node_of_stage(self, stage: str) -> Node | None:
        """The node of a stage's function: the score, the normalizer."""
        return next((node for node in self.plan.nodes if node.stage == stage and node.tapped_from is None), None)

    @property
    def key_count(self) -> int:
        """How many keys there are."""
        return self.plan.pair_axes[-1].length

    def with_nodes(self, *nodes: Node) -> "Computation":
        """The computation with these nodes, which replace nodes of the same name or join the others."""
        return self._with({**self.plan.by_name, **{node.name: node for node in nodes}})

    def with_inputs(self, name: str, **inputs: str) -> "Computation":
        """The computation in which some arguments of a node come from other nodes."""
        node = self.plan.by_name[name]
        return self.with_nodes(replace(node, inputs={**node.inputs, **inputs}))

    def with_identity(self, name: str, argument: str = "x") -> "Computation":
        """The computation in which a node is its input: its operation is left out."""
        node = self.plan.by_name[name]
        inputs = {"x": node.inputs[argument]}
        return self.with_nodes(replace(node, function=structural.identity, inputs=inputs, options={}))

    def with_function(self, name: str, function: Function, **options: Any) -> "Computation":
        """The computation in which another function computes a node from the same inputs, with more options.

        It does not compute the operator's inner quantities.
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
        """The computation in which a node's value is `function(its value before, **inputs, **options)`.

        All readers of the node read the changed value; the original node has another name.
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
        """The computation in which each of some nodes has the value `function(its value before, **options)`."""
        case = self
        for name in names:
            case = case.with_changed_value(name, function, options=options)
        return case

    def before_changes(self, name: str) -> Node:
        """The node before all changes of its value by `with_changed_value`."""
        node = self.plan.by_name[name]
        while isinstance(node.function, ValueChange):
            node = self.plan.by_name[node.inputs["x"]]
        return node

    def new_name(self, name: str) -> str:
        """The name, or the name and a number if a node has it."""
        number, free = 1, name
        while free in self.plan.by_name:
            number += 1
            free = f"{name}_{number}"
        return free

    def _with(self, by_name: Mapping[str, Node]) -> "Computation":
        """The computation with these nodes, each after its inputs."""
        return replace(self, plan=Plan(_ordered(by_name), self.plan.results))


@dataclass(frozen=True)
class Variant:
    """A problem, or a computation with a changed plan, and a sentence if it adds to the slip's."""

    changed: ProblemSpec | Computation
    sentence: str = ""


Number = float | tuple[float, ...]  # of a slip: a number, several, or a map
# For a Computation, the result of a slip's `find`, and the slip's number if it has one.
Change = Callable[..., Iterator[Variant]]
Decorator = Callable[[Change], Change]
Find = Callable[[Computation], Any]  # the target of a slip, such as a node, or whether the slip is possible

# Several numbers that follow from the expected ones, such as the source head of each head, by result; NaN where nothing
# is expected.
Solve = Callable[[Computation, Mapping[str, Array]], Iterator[tuple[float, ...]]]


@dataclass(frozen=True)
class FittedNumber:
    """The number of a mistake, or several, such as a map, fitted to the wrong numbers.

    `candidates` are all that are tried if it is an integer (`is_whole`); otherwise they are positive, and the search
    continues from the best ones, in logarithms. Without candidates the mistake is impossible. For integers that are
    sizes (`is_size`), where near ones have near results, some are tried, and then the neighbours of the best. `known`
    has numbers that people know, by their names in a sentence; `usual` ones are tried first, and in pairs. `solve`
    finds several numbers.
    """

    name: str
    candidates: Callable[[Computation], Sequence[float]] = lambda _: ()
    is_whole: bool = False
    is_size: bool = False
    solve: Solve | None = None
    usual: Sequence[float] = ()
    known: Callable[[Computation], Mapping[str, float]] = lambda _: {}

    def changes_nothing(self, number: Number) -> bool:
        """Whether a number is a factor that a sentence would write as 1: rounding, not a mistake."""
        if self.name != "factor" or self.is_whole or isinstance(number, tuple) or not number:
            return False
        return "1" in (text_of(number), text_of(1 / number))


@dataclass(frozen=True, eq=False)
class Slip:
    """One mistake: its name, its description, its condition, and how it changes a problem or a plan.

    `change` yields nothing if the mistake is impossible, and may yield several variants; if the slip has a `number`,
    `change` takes it too. `needs_all` has the letters of axes that it needs whole (n: queries, h: heads, b: batch
    items): the result of one depends on the others. Without `is_paired` it is not tried in pairs. One that
    `is_general` (a rule of many units) or `is_rounding` (small errors that look like many others) is named only if no
    other slip alone explains the expected numbers. One that `is_backward` changes gradients alone.
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
    """Further facts about a slip: fields of `Slip`."""

    needs_all: str
    is_paired: bool
    is_general: bool
    is_rounding: bool
    number: FittedNumber | None


def problem_slip(applies_where: str, find: Find | str | None = None, **traits: Unpack[Traits]) -> Decorator:
    """A decorator: the function yields changed problems; its name and docstring are the slip's name and sentence.

    With `find`, it also gets the result of `find`, or the node of this name, but never True. If that is missing, 0,
    empty or False, the slip is impossible, and its number has no candidates.
    """
    return _register(applies_where, find, changes_problem=True, **traits)


def plan_slip(applies_where: str, find: Find | str | None = None, **traits: Unpack[Traits]) -> Decorator:
    """A decorator like `problem_slip`: the function yields computations of changed plans."""
    return _register(applies_where, find, changes_problem=False, **traits)


def backward_slip(applies_where: str, find: Find | str | None = None, **traits: Unpack[Traits]) -> Decorator:
    """A decorator like `plan_slip`, for a slip that changes gradients alone; it needs a plan with gradients."""
    return _register(applies_where, find, changes_problem=False, is_backward=True, **traits)


def function_slip(applies_where: str, find: Find | str, **traits: Unpack[Traits]) -> Callable[[Function], Function]:
    """A decorator: the function replaces a node's function; its name and docstring are the slip's."""

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
    """Register the slips of a family with the same condition: by name the sentence of each, and its change."""
    for name, (sentence, change) in rows.items():

        def own(case: Computation, *found: Any, change: Change = change) -> Iterator[Variant]:
            return change(case, *found)

        own.__name__, own.__doc__ = name, sentence
        decorate(own)


def of_stage(stage: str) -> Find:
    """The node of a stage's function, if the plan has it."""
    return lambda case: case.node_of_stage(stage)


DIGITS, EVERY_DIGIT = 5, 17  # digits of a number in a sentence; 17 distinguish any two
FEW_KEYS = 64  # with at most this many keys, tiles may have any size


def text_of(number: float) -> str:
    """A number as text for a sentence.

    >>> text_of(1.58958), text_of(16.0)
    ('1.5896', '16')
    """
    return f"{number:.{DIGITS}g}"


def instead_of(number: float, right: float) -> str:
    """A wrong number and the right one, with enough digits to differ.

    >>> instead_of(0.5, 0.25), instead_of(0.1250001, 0.125)
    ('0.5 instead of 0.25', '0.1250001 instead of 0.125')
    """
    texts = ([f"{x:.{digits}g}" for x in (number, right)] for digits in range(DIGITS, EVERY_DIGIT + 1))
    wrong, own = next((both for both in texts if both[0] != both[1]), (repr(number), repr(right)))
    return f"{wrong} instead of {own}"


def tile_sizes(key_count: int) -> Sequence[int]:
    """Numbers of keys that make two tiles or more: powers of two first, then others, or all if keys are few."""
    powers = (8, 16, 32, 64, 128, 256, 512)
    others = range(1, key_count) if key_count <= FEW_KEYS else (*range(1, 17), *range(24, 129, 8), 192, 384)
    return [size for size in dict.fromkeys((*powers, *others)) if size < key_count]


def usual_tile_sizes(count: int) -> Sequence[int]:
    """The sizes of tiles of rows that kernels have; all sizes where rows are few."""
    usual = (16, 32, 64, 128, 256, 512, 1)
    return [size for size in usual if size < count] if count > FEW_KEYS else tile_sizes(count)


def without(case: Computation, key: str) -> Iterator[Variant]:
    """The problem without a key's value, if it has one."""
    if getattr(case.problem, key) is not None:
        nothing: dict[str, Any] = {key: None}
        yield Variant(replace(case.problem, **nothing))


def evaluate_names(plan: Plan, problem: ProblemSpec, names: Iterable[str], precision: Precision) -> dict[str, Array]:
    """The values of results or steps, and of the steps before them, by the dense engine in a type."""
    resolved = {plan.resolve(name) for name in names}
    needed = plan.needed_for({plan.by_name[name].tapped_from or name for name in resolved})
    engine = DenseEngine(plan, problem, precision)
    engine.run(node for node in plan.nodes if node.name in needed)
    return engine.values


def _ordered(by_name: Mapping[str, Node]) -> tuple[Node, ...]:
    """The nodes, each after its inputs, otherwise in their original order."""
    done: dict[str, Node] = {}

    def add(nodes: Iterable[Node]) -> None:
        for node in nodes:
            if node.name not in done:
                add(by_name[name] for name in node.inputs.values())
                done[node.name] = node

    add(by_name.values())
    return tuple(done.values())
