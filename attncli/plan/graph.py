"""The graph of a computation: nodes with names, functions, named inputs and axes with lengths, and no numbers."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

from attncli.base.axes import Letters
from attncli.base.errors import AttnError, UnknownNameError
from attncli.base.lazy_numpy import Array
from attncli.ops.derivatives import DerivativeRecord
from attncli.ops.elementwise import fill_empty_rows, round_to
from attncli.ops.records import OperatorRecord, StructuralRecord, format_value
from attncli.ops.registry import record_of
from attncli.ops.structural import identity
from attncli.problem.fields import GRADIENT_PREFIX, LSE, OUTPUT, RENAMED_STEPS, RESULTS, TABLES, WEIGHTS

TABLE_RESULTS = ("scores", "capped_scores", "masked_scores", LSE, WEIGHTS)  # a recurrence does not have them
GRADIENT_HINT = "add --gradient, or give grad_output"
GIVEN = "given"  # the stage, and the formula, of the user's arrays
GRADIENT = "gradient"  # the stage of the backward pass
ROUND = "round"  # the stage of rounding steps
LOOK_UP = "look_up"  # the stage of embeddings from a vocabulary


class Axis(NamedTuple):
    """The letter of an axis and its length."""

    letter: str
    length: int


Axes = tuple[Axis, ...]


@dataclass(frozen=True)
class Node:
    """One quantity of a plan, with its function and inputs.

    A computed node is `function(**{argument: value of the node named}, **options)`. An input has a `source`, the path
    of an array in the problem, and possibly a function of that array alone. An inner quantity has neither: the node in
    `tapped_from` passes it to its tap.
    """

    name: str  # unique in its plan
    symbol: str  # its letter in formulas
    formula: str  # in Unicode; the builder sets an operator's
    axes: Axes
    stage: str
    function: Callable[..., Array] | None = None
    inputs: Mapping[str, str] = field(default_factory=dict)  # argument: name of a node
    options: Mapping[str, Any] = field(default_factory=dict)
    source: tuple[str, ...] = ()
    numbers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # option: path of a number in the problem
    role: str | None = None  # whose current node it is: query, key, value, scores, weights …
    tapped_from: str | None = None
    taps: Mapping[str, str] = field(default_factory=dict)  # name of an inner quantity: name of its node
    is_lookup: bool = False  # of an input: indices of queries and keys look it up, so it is never sliced along them
    notes: tuple[str, ...] = ()  # warnings that follow from lengths and operators alone
    purpose: str = ""  # in one sentence
    is_on_demand: bool = False  # computed only if selected: no other node reads it

    @cached_property
    def letters(self) -> Letters:
        """The letters of its axes."""
        return tuple(axis.letter for axis in self.axes)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The lengths of its axes."""
        return tuple(axis.length for axis in self.axes)

    @cached_property
    def is_input(self) -> bool:
        """Whether it is an array of the problem."""
        return bool(self.source)

    @cached_property
    def is_identity(self) -> bool:
        """Whether it returns its input unchanged."""
        return self.function is identity

    @cached_property
    def record(self) -> OperatorRecord | None:
        """The record of its operator; None for inputs and structural functions."""
        record = self._record
        return record if isinstance(record, OperatorRecord) else None

    @property
    def title(self) -> str:
        """Its name in messages: an operator's kind and name; a gradient also has its forward operator."""
        if self.record is not None:
            return self.record.title
        own = self._record
        operator = own.operator if isinstance(own, DerivativeRecord) else ""
        return f"{self.name} (back through {operator})" if operator else self.name

    @cached_property
    def is_built_in(self) -> bool:
        """Whether its function belongs to this package, like structural functions."""
        return self.record is None or self.record.is_built_in

    @cached_property
    def is_exact(self) -> bool:
        """Whether it only counts or moves numbers: it is neither widened nor rounded."""
        record = self._record
        return isinstance(record, StructuralRecord) and record.is_exact

    @property
    def is_boolean(self) -> bool:
        """Whether its values are computed booleans, like a mask's."""
        record = self._record
        if isinstance(record, OperatorRecord):
            return record.kind == "mask"
        return isinstance(record, StructuralRecord) and record.is_boolean

    @property
    def is_pair_table(self) -> bool:
        """Whether it has a number for each pair of a query and a key, like scores and weights."""
        return "n" in self.letters and self.has_key_axis

    @property
    def has_key_axis(self) -> bool:
        """Whether one of its axes is keys, with or without a sink."""
        return "m" in self.letters or "m+1" in self.letters

    @property
    def _record(self) -> OperatorRecord | StructuralRecord | DerivativeRecord | None:
        return record_of(self.function) if self.function is not None and not self.source else None

    def with_numbers(self, values: Mapping[tuple[str, ...], Any]) -> "Node":
        """The node with new values for those of its options that are numbers of the problem, by path."""
        own = {option: values[path] for option, path in self.numbers.items() if path in values}
        return replace(self, options={**self.options, **own}) if own else self

    def axis(self, letter: str) -> Axis | None:
        """The axis of that letter, if there is one."""
        return next((axis for axis in self.axes if axis.letter == letter), None)

    def arguments(self, values: Mapping[str, Array]) -> dict[str, Array]:
        """The array arguments of its function, from values by node name."""
        return {argument: values[name] for argument, name in self.inputs.items()}

    def __str__(self) -> str:
        """The call that computes it, on one line: `project(x=embeddings, w=w_q)`."""
        if self.tapped_from is not None:
            return f"inside {self.tapped_from}"
        options = [f"{name}={format_value(value)}" for name, value in self.options.items()]
        if self.source:
            path = ".".join(self.source)
            name = "" if self.function is None else self.function.__name__
            return f"input {path}" + (f", {name}({', '.join(options)})" if name else "")
        assert self.function is not None
        arguments = [f"{argument}={name}" for argument, name in self.inputs.items()]
        return f"{self.function.__name__.rstrip('_')}({', '.join([*arguments, *options])})"


def gradient_name(name: str) -> str:
    """The name of the gradient of a step or of an array.

    >>> gradient_name("weights")
    'grad_weights'
    """
    return f"{GRADIENT_PREFIX}{name}"


def loss_gradient_name(name: str) -> str:
    """The name of a step's gradient in a loss of several steps.

    >>> loss_gradient_name("weights")
    'grad_weights_of_loss'
    """
    return f"{gradient_name(name)}_of_loss"


def axes_of(letters: Letters, shape: tuple[int, ...]) -> Axes:
    """Letters with the lengths of an array's axes."""
    return tuple(map(Axis, letters, shape))


@dataclass(frozen=True)
class Plan:
    """The nodes of a computation, in order: built from a problem's lengths and operators, without numbers.

    `results` has the node of each result name: `masked_scores` is whichever node the normalizer reads.
    """

    nodes: tuple[Node, ...]
    results: Mapping[str, str]
    not_selected: tuple[str, ...] = ()  # omitted nodes on demand

    def for_results(self, names: Iterable[str]) -> "Plan":
        """The plan of a run that selects these results or nodes: it has only those nodes on demand that they need.

        Raises like `resolve`.
        """
        selected = {self.resolve(name) for name in names}
        needed = self.needed_for(selected.intersection(self._on_demand))
        left_out = tuple(name for name in self._on_demand if name not in needed)
        if not left_out:
            return self
        if left_out not in self._smaller_plans:
            nodes = tuple(node for node in self.nodes if node.name not in left_out)
            results = {result: name for result, name in self.results.items() if name not in left_out}
            self._smaller_plans[left_out] = Plan(nodes, results, left_out)
        return self._smaller_plans[left_out]

    @cached_property
    def _on_demand(self) -> Sequence[str]:
        """The names of the nodes that are computed only if selected."""
        return [node.name for node in self.nodes if node.is_on_demand]

    @cached_property
    def _smaller_plans(self) -> dict[tuple[str, ...], "Plan"]:
        """The plans of runs without some nodes on demand, by the omitted names."""
        return {}

    @cached_property
    def by_name(self) -> Mapping[str, Node]:
        """The nodes by name."""
        return {node.name: node for node in self.nodes}

    @cached_property
    def read_last(self) -> Mapping[str, tuple[str, ...]]:
        """The nodes that can be freed, by the last node that reads them."""
        last = {source: node.name for node in self.nodes for source in node.inputs.values()}
        return {name: tuple(source for source in last if last[source] == name) for name in dict.fromkeys(last.values())}

    @cached_property
    def size(self) -> int:
        """The numbers of all nodes together."""
        return sum(math.prod(node.shape) for node in self.nodes)

    @property
    def has_weights(self) -> bool:
        """Whether it has a table of weights: a recurrence has a state instead."""
        return WEIGHTS in self.results

    @cached_property
    def pair_axes(self) -> Axes:
        """The axes of pairs of a query and a key, the weights' axes, even without weights."""
        if self.has_weights:
            return self["weights"].axes
        *leading, rows, _ = self["context"].axes
        return (*leading, rows, Axis("m", rows.length))

    @cached_property
    def score_count(self) -> int:
        """The number of scores, and of weights, in all heads and batch items."""
        return math.prod(self["weights"].shape) if self.has_weights else 0

    @cached_property
    def largest_size_along_keys(self) -> int:
        """The size of the largest node with an axis of keys.

        It is a table for pairs of a query and a key, such as a hidden layer [n m a], or keys or values, possibly
        repeated for query heads.
        """
        return max(math.prod(node.shape) for node in self.nodes if node.has_key_axis)

    @cached_property
    def empty_rows_fill(self) -> str | None:
        """The fill for queries that see no key, nan or uniform; None if their weights are 0."""
        if not self.has_weights:
            return None
        weights = self.by_name[self._exact_weights]
        return weights.options["fill"] if weights.function is fill_empty_rows else None

    @cached_property
    def attending_weights(self) -> str:
        """The name of the weights before rows without keys are filled: these are 0."""
        name = self._exact_weights
        return name if self.empty_rows_fill is None else self.by_name[name].inputs["weights"]

    @property
    def _exact_weights(self) -> str:
        """The name of the weights, before any rounding."""
        weights = self["weights"]
        return weights.inputs["x"] if weights.function is round_to else weights.name

    @cached_property
    def rounds_steps(self) -> bool:
        """Whether a step is rounded before others read it."""
        return any(node.function is round_to for node in self.nodes)

    def __getitem__(self, name: str) -> Node:
        """The node, or the result's node, of that name; raises UnknownNameError."""
        return self.by_name[self.resolve(name)]

    def axis_length(self, letter: str) -> int:
        """The length of an axis, even if some nodes have length 1 and broadcast; 0 if none has it."""
        return max((axis.length for node in self.nodes if (axis := node.axis(letter)) is not None), default=0)

    def needed_for(self, names: Iterable[str]) -> frozenset[str]:
        """The names of all nodes that these nodes or results need, and their own.

        An inner quantity needs its operator's inputs, and the inner quantities before it; an operator's result needs
        all of them.
        """
        pending, needed = [self.resolve(name) for name in names], set[str]()
        while pending:
            node = self.by_name[pending.pop()]
            if node.name in needed:
                continue
            needed.add(node.name)
            outer = self.by_name[node.tapped_from] if node.tapped_from is not None else node
            taps = list(outer.taps.values())
            pending += [*outer.inputs.values(), *(taps if outer is node else taps[: taps.index(node.name)])]
        return frozenset(needed)

    @cached_property
    def names(self) -> Sequence[str]:
        """Every name that `resolve` knows: results, nodes, and old names of nodes."""
        names = dict.fromkeys((*RESULTS, *self.results, *self.by_name, *RENAMED_STEPS))
        return [name for name in names if self.find(name) is not None]

    @cached_property
    def parameters(self) -> Mapping[str, tuple[str, ...]]:
        """The paths of the arrays and numbers that the computation reads, by name: `w_q`, `score.sigma`.

        Operators' ones are also there by their own name, `sigma`, if it is unique.
        """
        nodes = [node for node in self.nodes if node.stage != GRADIENT]
        paths = [path for node in nodes for path in (node.source, *node.numbers.values()) if path]
        own = {path[-1]: path for path in paths if [other[-1] for other in dict.fromkeys(paths)].count(path[-1]) == 1}
        taken = {*self.by_name, *self.results}
        short = {name: path for name, path in own.items() if name not in taken and len(path) > 1}
        return {".".join(path): path for path in paths} | short

    @cached_property
    def expected_names(self) -> Sequence[str]:
        """The names that can have expected numbers: results, steps and parameters, and their gradients."""
        if self.has_gradients:
            return self.names
        return list(dict.fromkeys((*self.names, *map(gradient_name, (*self.names, *self.parameters)))))

    @cached_property
    def gradients_of_given(self) -> tuple[str, ...]:
        """The gradients of given arrays, in the order in which the computation reads them."""
        names = (gradient_name(node.name) for node in self.nodes if node.is_input)
        return tuple(name for name in names if name in self.by_name)

    def resolve(self, name: str) -> str:
        """The name of a node, by its name, a result's name, or its old name.

        Raises UnknownNameError with the nearest name, and AttnError for a result that the problem lacks.
        """
        found = self.find(name)
        if found is not None:
            return found
        own = name.removeprefix(GRADIENT_PREFIX)
        if not self.has_gradients and own != name and (own in self.parameters or self.find(own) is not None):
            raise AttnError(f"{name} is not computed: no gradient is asked for", hint=GRADIENT_HINT)
        if own != name and own in self.by_name and own not in self.not_selected:
            raise AttnError(f"{name} is not computed: no gradient reaches {own}")
        if name in RESULTS:
            raise self._missing_result(name)
        raise UnknownNameError("result", name, [*RESULTS, *(n for n in self.by_name if n not in RESULTS)])

    @property
    def has_gradients(self) -> bool:
        """Whether it has a backward pass, from the gradient of the output."""
        return gradient_name(OUTPUT) in self.by_name

    def find(self, name: str) -> str | None:
        """The name of the node that a name means; None if there is none."""
        return self._node_names.get(name)

    @cached_property
    def _node_names(self) -> Mapping[str, str]:
        """The name of the node that each name means; a node's own name precedes a result's, then old names."""
        names = {**RENAMED_STEPS, **self.results, **{name: name for name in self.by_name}}
        return {name: node for name, node in names.items() if node in self.by_name}

    def _missing_result(self, name: str) -> AttnError:
        """The error for a result that the plan lacks, with the reason."""
        if name in self.not_selected:
            return AttnError(f"{name} is computed only if it is selected", hint=f"select {name}")
        if name == LSE and self.has_weights:
            return self._missing_log_sum_exp()
        if not self.has_weights and name in TABLE_RESULTS:
            record = self["context"].record
            kept = record.name if record is not None else "a recurrence"
            return AttnError(f"{name} is not computed: {kept} has a state instead", hint="leave out recurrence")
        if name == "present_state":
            return AttnError(f"{name} is not computed: there is no recurrence", hint="give recurrence, such as linear")
        table = next((table for table in TABLES if table in self.by_name and self.by_name[table].is_input), None)
        if OUTPUT in self.results or name == "present_key":
            hint = f"give query and key instead of {table}"
            return AttnError(f"{name} is not computed: {table} are given", hint=hint)
        return AttnError(f"{name} is not computed: there are no values", hint="give value")

    def _missing_log_sum_exp(self) -> AttnError:
        """The error if the normalizer has no log-sum-exp, or weights are given."""
        normalizers = (node.record for node in self.nodes if node.record and node.record.kind == "normalize")
        record = next(normalizers, None)
        if record is None:
            return AttnError(f"{LSE} is not computed: weights are given", hint="give scores, or query and key")
        return AttnError(f"{record.name} has no {LSE}", hint="softmax and softmax1 have one")

    def __str__(self) -> str:
        """A line for each node: its name, the lengths of its axes, the call that computes it, and its result names."""
        results: dict[str, list[str]] = {}
        for result, name in self.results.items():
            if result != name:
                results.setdefault(name, []).append(result)
        rows = [
            (node.name, " ".join(f"{letter}={length}" for letter, length in node.axes), str(node))
            for node in self.nodes
        ]
        widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
        return "\n".join(
            f"{name:{widths[0]}}  {axes:{widths[1]}}  {call}"
            + (f"  (also {', '.join(results[name])})" if name in results else "")
            for name, axes, call in rows
        )
