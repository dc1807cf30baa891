"""The trace of a computation: the nodes of a plan in order, each with its value, and its results."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import EllipsisType
from typing import Any

from attncli.base.axes import Letters
from attncli.base.dtypes import Precision
from attncli.base.errors import UnknownNameError
from attncli.base.labels import LabelledArray, LabelledAxis, labelled_axis, number_equal_labels
from attncli.base.lazy_numpy import Array
from attncli.ops.records import OperatorRecord
from attncli.plan.graph import GIVEN, Node, Plan
from attncli.problem.fields import PIPELINE_STAGES, RESULT_KEYS, TABLES
from attncli.problem.inputs import is_read
from attncli.problem.labels import axis_labels
from attncli.problem.spec import ProblemSpec

# Steps of the computation that may be given: even then they count as steps, not as inputs.
STEPS_OF_EVERY_PROBLEM = ("query", "key", "value", *TABLES)


@dataclass(frozen=True, eq=False)
class Step:
    """A node of the plan and its value.

    `value` is `function(**{argument: value of the step named}, **options)`, to the last digit unless it is a product of
    more than 16 terms, which is summed in chunks. Inputs and inner quantities have no function. The last two `axes` are
    rows and columns, named by the legend of letters.
    """

    node: Node
    value: Array
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of the step, unique in its trace."""
        return self.node.name

    @property
    def symbol(self) -> str:
        """Its letter in formulas."""
        return self.node.symbol

    @property
    def formula(self) -> str:
        """The formula of its value, as a terminal shows it."""
        return self.node.formula

    @property
    def axes(self) -> Letters:
        """The letters of its axes."""
        return self.node.letters

    @property
    def stage(self) -> str:
        """Its stage of the plan."""
        return self.node.stage

    @property
    def function(self) -> Callable[..., Array] | None:
        """The function that computes it from its inputs; None for given arrays and inner quantities."""
        return None if self.node.is_input else self.node.function

    @property
    def inputs(self) -> Mapping[str, str]:
        """The names of its input steps, by argument of its function."""
        return self.node.inputs

    @property
    def options(self) -> Mapping[str, Any]:
        """The other arguments of its function."""
        return {} if self.node.is_input else self.node.options

    @property
    def record(self) -> OperatorRecord | None:
        """The record of its operator, if it has one."""
        return self.node.record

    @property
    def tapped_from(self) -> str | None:
        """The step whose function computed this inner quantity."""
        return self.node.tapped_from

    @property
    def is_identity(self) -> bool:
        """Whether the step returns its input unchanged."""
        return self.node.is_identity


@dataclass(frozen=True, eq=False)
class Trace:
    """The steps of one computation of a problem, in order, and the labels of axes, such as queries (n) and keys (m).

    `values` and `warnings` belong to the kept steps, by name. Steps and labels are made on demand. `given_labels`
    replace the problem's.
    """

    problem: ProblemSpec
    plan: Plan
    values: Mapping[str, Array]
    warnings: Mapping[str, tuple[str, ...]]
    given_labels: Mapping[str, tuple[str, ...]] | None = None

    @cached_property
    def labels(self) -> Mapping[str, tuple[str, ...]]:
        """The labels of axes by their letters."""
        return axis_labels(self.problem) if self.given_labels is None else self.given_labels

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The kept steps, in the order of the plan."""
        names = (name for name in self.plan.by_name if name in self.values)
        return tuple(Step(self.plan.by_name[name], self.values[name], self.warnings.get(name, ())) for name in names)

    def _has_stage(self, key: str) -> bool:
        """Whether the problem has and uses an operator of a stage."""
        return getattr(self.problem, key) is not None and is_read(self.problem, key)

    @property
    def precision(self) -> Precision:
        """The type of the numbers."""
        return self.problem.precision

    @property
    def pipeline(self) -> Mapping[str, str]:
        """The operators of the three stages and the position scheme, by key, if they have an effect."""
        pipeline = {key: str(getattr(self.problem, key)) for key in PIPELINE_STAGES if self._has_stage(key)}
        position = self.problem.position
        acts = position is not None and is_read(self.problem, "position")
        return {**pipeline, "position": position.in_force} if position is not None and acts else pipeline

    @property
    def selected_queries(self) -> Sequence[int] | None:
        """The positions of the computed queries among all (q); None if all are computed."""
        return self.problem.selected_queries

    @cached_property
    def numbered_labels(self) -> Mapping[str, tuple[str, ...]]:
        """The labels, equal ones with their number, as options accept them: `the#2`."""
        numbered = {letter: number_equal_labels(labels) for letter, labels in self.labels.items()}
        if self.selected_queries is not None and "q" in numbered:
            numbered["n"] = tuple(numbered["q"][position] for position in self.selected_queries)
        return numbered

    @cached_property
    def by_name(self) -> Mapping[str, Step]:
        """The steps by name."""
        return {step.name: step for step in self.steps}

    def __getitem__(self, name: str) -> Step:
        """The step, or the result's step, of that name; raises UnknownNameError if it was not kept."""
        return self.by_name[self._kept_name(name)]

    def value(self, name: str) -> Array:
        """The value of the step, or of the result, of that name; raises like `trace[name]`."""
        return self.values[self._kept_name(name)]

    def _kept_name(self, name: str) -> str:
        """The name of the step; raises UnknownNameError if it was not kept."""
        resolved = self.plan.resolve(name)
        if resolved not in self.values:
            raise UnknownNameError("result", name, self.by_name)
        return resolved

    def __iter__(self) -> Iterator[Step]:
        """The steps in order."""
        return iter(self.steps)

    def __contains__(self, name: object) -> bool:
        """Whether the step, or the result, of that name was kept."""
        return isinstance(name, str) and self.plan.find(name) in self.values

    @property
    def given(self) -> Sequence[Step]:
        """The steps of the given inputs, or of their selected rows."""
        return [step for step in self.steps if step.stage == GIVEN and step.name not in STEPS_OF_EVERY_PROBLEM]

    @property
    def computed(self) -> Sequence[Step]:
        """The other steps, beginning with query, key and value."""
        given = {step.name for step in self.given}
        return [step for step in self.steps if step.name not in given]

    @property
    def notes(self) -> Sequence[str]:
        """The notes of every step, also of steps in blocks that are not kept: warnings for the user."""
        return [note for node in self.plan.nodes for note in self.by_name.get(node.name, node).notes]

    def same_as(self, name: str) -> str:
        """The remark on a result that equals another: "the same as scores: there is no softcap"."""
        step = self.plan.results.get(name, name)
        is_same = name in RESULT_KEYS and step != name
        return f"the same as {step}: there is no {RESULT_KEYS[name]}" if is_same else ""

    def labels_of(self, step: Step, axis: int) -> tuple[str, ...]:
        """The labels along an axis (counted from the end): tokens, `head 0`, or the axis' letter and a number from 1.

        A mask may have one row for every query, or fewer columns than keys.
        """
        return self._labels_of(step, axis, self.labels)

    def numbered_labels_of(self, step: Step, axis: int) -> tuple[str, ...]:
        """The labels along an axis, equal ones with their number: `the#2`."""
        return self._labels_of(step, axis, self.numbered_labels)

    def _labels_of(self, step: Step, axis: int, labels: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
        """The labels along an axis, tokens' from a mapping; none without such an axis."""
        if -axis > len(step.axes):
            return ()
        letter = step.axes[axis]
        return labelled_axis(letter, step.value.shape[axis], labels.get(letter)).labels

    def labelled_axes(self, axes: Iterable[tuple[str, int]], *, are_numbered: bool = True) -> tuple[LabelledAxis, ...]:
        """Axes, letters and lengths, with their labels; equal tokens have their number unless suppressed."""
        labels = self.numbered_labels if are_numbered else self.labels
        return tuple(labelled_axis(letter, size, labels.get(letter)) for letter, size in axes)

    def labelled(self, step: Step, positions: Mapping[str, int] | None = None) -> LabelledArray:
        """The value of a step with its labels, or its entries at some positions, as in `value_at`."""
        whole = LabelledArray(step.name, step.value, self.labelled_axes(zip(step.axes, step.value.shape, strict=True)))
        return whole.take(slices_at(self, step, positions)) if positions else whole


class RunResult:
    """The selected results of one computation, as attributes.

    `result.weights` is an array [… n m] if `weights` was selected; so is every other name in `select`. `trace` has the
    steps, `query_tokens` and `key_tokens` have the labels of the queries and keys. Raises UnknownNameError if `select`
    has an unknown name, AttributeError for a result that was not selected.

    >>> import attncli
    >>> result = attncli.attention([[1.0, 0.0]], [[1.0, 0.0], [1.0, 0.0]], select=("weights", "output"))
    >>> result.weights.tolist()
    [[0.5, 0.5]]
    >>> result
    Result(weights (1, 2), output (1, 2))
    """

    def __init__(self, trace: Trace, select: Iterable[str] | None = None) -> None:
        self.trace = trace
        names = trace.problem.default_selection if select is None else select
        self.select = (names,) if isinstance(names, str) else tuple(names)
        for name in self.select:
            trace.value(name)  # raises here, not at the first use of the name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in self.select:
            selected = ", ".join(self.select)
            raise AttributeError(f"{name!r} was not selected; select= has {selected}")
        return self.trace.value(name)

    def __dir__(self) -> Sequence[str]:
        return [*super().__dir__(), *self.select]

    @property
    def query_tokens(self) -> tuple[str, ...]:
        """The labels of the queries."""
        return self.trace.labels["n"]

    @property
    def key_tokens(self) -> tuple[str, ...]:
        """The labels of the keys."""
        return self.trace.labels["m"]

    def __repr__(self) -> str:
        sizes = ", ".join(f"{name} {self.trace.value(name).shape}" for name in self.select)
        return f"{type(self).__name__}({sizes})"


AxisPositions = dict[str, int]  # the position on each axis, by the letter of the axis


def add_dependent_axes(trace: Trace, positions: AxisPositions) -> AxisPositions:
    """The positions, and the positions that follow from them on other axes.

    A selected query n is a row q of its sequence; a query head h has its key head g; a key m is either the cached key p
    or the new key k, and m + 1 after a sink.
    """
    completed = dict(positions)
    if "n" in positions and trace.selected_queries is not None:
        completed["q"] = trace.selected_queries[positions["n"]]
    if "h" in positions:
        completed["g"] = positions["h"] * trace.plan.axis_length("g") // max(trace.plan.axis_length("h"), 1)
    if "m" in positions:
        key, past_count = positions["m"], len(trace.labels["p"])
        completed["m+1"] = key
        completed["p" if key < past_count else "k"] = key if key < past_count else key - past_count
    return completed


def value_at(trace: Trace, step: Step, positions: Mapping[str, int]) -> Array:
    """The value of a step at some positions, whose axes stay with length 1; axes that the step lacks don't count."""
    index: tuple[slice | EllipsisType, ...] = (..., *slices_at(trace, step, positions))
    return step.value[index]  # the ellipsis makes an array even of no axes


def slices_at(trace: Trace, step: Step, positions: Mapping[str, int]) -> tuple[slice, ...]:
    """The selected slice of each axis of a step."""
    completed = add_dependent_axes(trace, dict(positions))
    axes = zip(step.axes, step.value.shape, strict=True)
    return tuple(slice_at(letter, size, completed) for letter, size in axes)


def weight_rows_at(trace: Trace, positions: Mapping[str, int]) -> tuple[slice, ...]:
    """The selected slices of the weights' axes [… n], even if the trace has not kept the weights."""
    completed = add_dependent_axes(trace, dict(positions))
    return tuple(slice_at(letter, size, completed) for letter, size in trace.plan.pair_axes[:-1])


def slice_at(letter: str, size: int, positions: AxisPositions) -> slice:
    """The selected slice of an axis; all of it if its length is 1, which broadcasts."""
    if letter not in positions or size == 1:
        return slice(None)
    return slice(positions[letter], positions[letter] + 1)
