"""The builder of a plan: stages add nodes to it, and read the lengths of axes from earlier nodes."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from attncli.base.axes import COUNTED_FROM_0, RESULT_OF_KIND, SYMBOLS, Letters
from attncli.base.lazy_numpy import Array
from attncli.base.text import count_of
from attncli.ops.elementwise import round_to
from attncli.ops.records import Operator, OperatorRecord
from attncli.ops.registry import failures_named
from attncli.plan.graph import GIVEN, ROUND, Axes, Axis, Node, Plan, axes_of
from attncli.problem.inputs import is_read
from attncli.problem.spec import FIELDS, ProblemSpec


def symbols_of(node: Node, nodes: Mapping[str, Node]) -> dict[str, str]:
    """The symbols of a node's inputs, by the names of arguments, and of its operator's result, by role."""
    symbols = {argument: nodes[name].symbol for argument, name in node.inputs.items()}
    role = RESULT_OF_KIND.get(node.record.kind) if node.record is not None else None
    return symbols if role is None else {**symbols, role: node.symbol}


def formula_in_plan(formula: str, node: Node, nodes: Mapping[str, Node]) -> str:
    """The formula of an operator's record, or of an inner quantity, in the symbols of a plan.

    Elements have the symbols of the nodes that the operator of `node` reads: `exp(Sᵐᵢⱼ)` for masked scores. Axes have
    the node's letters: `√c` if the record's d features are key features.
    """
    assert node.record is not None
    symbols = {SYMBOLS[name]: symbol for name, symbol in symbols_of(node, nodes).items() if name in SYMBOLS}
    formula = re.sub("[A-Z](?=[ᵢⱼ])", lambda letter: symbols.get(letter[0], letter[0]), formula)
    for parameter in node.record.parameters:  # γ_Q for queries
        own = nodes[node.inputs[parameter.name]].symbol if parameter.name in node.inputs else ""
        if own.startswith(f"{parameter.symbol}_"):
            formula = re.sub(rf"(?<!\w){parameter.symbol}(?!\w)", own, formula)
    letters = dict(zip(reversed(node.record.shapes.result), reversed(node.letters), strict=False))
    return re.sub(r"(?<!\w)[a-z](?!\w)", lambda letter: letters.get(letter[0], letter[0]), formula)


def parameters_in_force(node: Node, record: OperatorRecord) -> dict[str, Any]:
    """The parameters of an operator's node: numbers and choices, and True for a given array."""
    names = [parameter.name for parameter in record.parameters]
    numbers = {name: node.options[name] for name in names if node.options.get(name) is not None}
    return {**record.defaults, **numbers} | {name: True for name in names if name in node.inputs}


def options_beside(operator: Operator, arrays: Collection[str]) -> dict[str, Any]:
    """The options of an operator that reads these arrays, without the parameters of its derived arrays."""
    derived = (x for name, x in operator.record.derived.items() if name in arrays)
    used = {parameter for x in derived for parameter in x.parameters}
    return {name: value for name, value in operator.options.items() if name not in used}


def numbers_of(key: str, operator: Operator) -> dict[str, tuple[str, str]]:
    """The real numbers among the options of an operator, with their paths from its key."""
    real = {parameter.name for parameter in operator.record.parameters if parameter.kind == "number"}
    return {name: (key, name) for name, x in operator.options.items() if name in real and isinstance(x, float)}


# The keys whose operators may read derived arrays.
STAGE_KEYS = ("position", "query_scale", "score", "normalize", "context", "recurrence")
NOTHING: Mapping[str, Any] = MappingProxyType({})


class PlanBuilder:
    """The nodes of a problem's plan so far.

    `current` has the name of the last node of each role (query, key, value, scores, weights …); `results` has the
    node's name for each result. `purposes` has the purposes of steps without an operator.
    """

    def __init__(self, problem: ProblemSpec, purposes: Mapping[str, str] = NOTHING) -> None:
        self.problem = problem
        self.purposes = purposes
        self.layout = problem.leading
        self.nodes: dict[str, Node] = {}
        self.current: dict[str, str] = {}
        self.results: dict[str, str] = {}

        selected = problem.selected_queries
        self.query_count = problem.query_count if selected is None else len(selected)
        self.key_count = problem.past_count + problem.new_key_count
        lengths = {"b": self.layout.batch or 1, "h": self.layout.heads}
        # The axes before the queries in the table of scores, and the table's axes.
        self.score_axes: Axes = tuple(Axis(letter, lengths[letter]) for letter in self.layout.score_axes)
        self.table_axes: Axes = (*self.score_axes, Axis("n", self.query_count), Axis("m", self.key_count))
        # The available queries, keys and values: given scores or weights replace queries and keys.
        roles = ["query", "key"] if problem.given_table is None else []
        self.roles = roles if "output" in problem.not_computed else [*roles, "value"]
        # The letter of the given queries: n, or q if `only` selects some of them.
        self.query_letter = "n" if selected is None else "q"

    def plan(self) -> Plan:
        """The plan of all nodes."""
        return Plan(tuple(self.nodes.values()), self.results)

    def current_node(self, role: str) -> Node:
        """The last node of a role."""
        return self.nodes[self.current[role]]

    def set_result(self, result: str, role: str) -> None:
        """Make the last node of a role the node of a result."""
        self.results[result] = self.current[role]

    def reads(self, key: str) -> bool:
        """Whether a key is given, and a computed result reads it."""
        return getattr(self.problem, key) is not None and is_read(self.problem, key)

    def operators(self) -> Sequence[tuple[str, Operator]]:
        """The problem's used operators, by key."""
        return [(key, getattr(self.problem, key)) for key in STAGE_KEYS if self.reads(key)]

    def letters(self, key: str, count: int = 2) -> Letters:
        """The letters in steps for the axes of a key's array with so many axes."""
        own = {"c": self.problem.key_feature_letter}
        return tuple(own.get(letter, letter) for letter in self.layout.letters(FIELDS[key], count))

    def add(
        self,
        name: str,
        symbol: str,
        formula: str,
        axes: Axes,
        stage: str,
        function: Callable[..., Array] | None = None,
        inputs: Mapping[str, str] = NOTHING,
        options: Mapping[str, Any] = NOTHING,
        **more: Any,
    ) -> Node:
        """Add a node, after the inner quantities of its operator; it becomes the current node of its role.

        `more` are further fields of the node. An operator's node has the record's formula, with the parameters in force
        and the plan's symbols, and the record's summary as its purpose. Others have the purpose for their name, unless
        it is given. `inner` has the names of the inner quantities to add, by default all. A step that the problem
        rounds has two nodes: the exact one, and the rounded one with its name and role.
        """
        more = {"purpose": self.purposes.get(name, ""), **more}
        decimals = (self.problem.round or {}).get(name)
        if decimals is not None and function not in (None, round_to) and not more.get("source"):
            own = {key: value for key, value in more.items() if key != "role"}
            exact = self.add(f"unrounded_{name}", f"{symbol}′", formula, axes, stage, function, inputs, options, **own)
            formula, stage = f"{exact.symbol} to {count_of(decimals, 'decimal')}", ROUND
            function, inputs, options = round_to, {"x": exact.name}, {"decimals": decimals}
            more = {"role": more.get("role"), "purpose": "The numbers for a reader who continues by hand."}
        inner: Collection[str] | None = more.pop("inner", None)
        node = Node(name, symbol, formula, axes, stage, function, {**inputs}, {**options}, **more)
        record = node.record
        if record is not None:
            parameters = parameters_in_force(node, record)
            taps = dict(self._add_inner(node, record, parameters, inner))
            with failures_named(record, "formula_in_force"):
                formula = formula_in_plan(record.formula_with(parameters), node, self.nodes)
            purpose = "" if record.summary == record.formula else record.summary  # it has no docstring
            node = replace(node, taps=taps, formula=formula, purpose=purpose)
        assert node.name not in self.nodes, node.name  # a stage that adds a name twice would hide a step
        self.nodes[node.name] = node
        if node.role is not None:
            self.current[node.role] = node.name
        return node

    def add_made_of(
        self,
        source: Node,
        name: str,
        symbol: str,
        formula: str,
        stage: str,
        function: Callable[..., Array],
        options: Mapping[str, Any] = NOTHING,
        **more: Any,
    ) -> Node:
        """Add the result of a function of one node, its argument `x`; `more` are further fields of the node.

        It has the source's axes, unless `axes` is given, and no role, unless `role` is given.
        """
        axes = more.pop("axes", source.axes)
        return self.add(name, symbol, formula, axes, stage, function, {"x": source.name}, options, **more)

    def add_given(
        self, name: str, symbol: str, axes: Axes, function: Callable[..., Array] | None = None, **more: Any
    ) -> Node:
        """Add an array of the problem: the key `name`'s, unless it has another `source`."""
        return self.add(name, symbol, GIVEN, axes, GIVEN, function, **{"source": (name,), **more})

    def _add_inner(
        self,
        outer: Node,
        record: OperatorRecord,
        parameters: Mapping[str, Any],
        names: Collection[str] | None,
    ) -> Iterator[tuple[str, str]]:
        """Add the inner quantities of an operator; yields the name of each, and its node's name."""
        if not record.inner:
            return
        leading = tuple(axis for axis in outer.axes if axis.letter in COUNTED_FROM_0)
        lengths = self._lengths(record, outer.inputs)
        result = dict(zip(record.shapes.result, outer.axes[len(leading) :], strict=True))
        for quantity in record.inner:
            if names is not None and quantity.name not in names:
                continue
            name = quantity.name if quantity.name not in self.nodes else f"{outer.name}_{quantity.name}"
            axes = (*leading, *(result[x] if x in result else Axis(x, lengths[x]) for x in quantity.axes))
            with failures_named(record, "formula_in_force"):
                formula = formula_in_plan(quantity.formula_with(parameters), outer, self.nodes)
            purpose = quantity.purpose or f"An inner step of {outer.name}."
            self.add(name, quantity.symbol, formula, axes, outer.stage, tapped_from=outer.name, purpose=purpose)
            yield quantity.name, name

    def _lengths(self, record: OperatorRecord, inputs: Mapping[str, str]) -> dict[str, int]:
        """The length of each letter in an operator's shapes, from its inputs; 1 broadcasts."""
        lengths = dict[str, int]()
        for argument, letters in record.shapes.arrays.items():
            if argument in inputs and letters:
                shape = self.nodes[inputs[argument]].shape[-len(letters) :]
                own = zip(letters[-len(shape) :], shape, strict=True)
                lengths |= {letter: length for letter, length in own if length > 1 or letter not in lengths}
        return lengths

    def result_axes(self, record: OperatorRecord, inputs: Mapping[str, str], leading: Axes) -> Axes:
        """The axes of an operator's result: the axes before the queries, then its record's."""
        lengths = self._lengths(record, inputs)
        return (*leading, *(Axis(letter, lengths[letter]) for letter in record.shapes.result))

    def inputs_of(self, key: str, operator: Operator) -> dict[str, str]:
        """The nodes that an operator reads: the current nodes of its arguments, and its own arrays'.

        `key` is the key of the problem that names the operator.
        """
        inputs = {name: self.current[name] for name in operator.record.shapes.arrays if name in self.current}
        inputs |= self.add_arrays(key, operator)
        return inputs | {name: self.current[f"{key}.{name}"] for name in inputs if f"{key}.{name}" in self.current}

    def add_arrays(self, key: str, operator: Operator, leaf: str = "") -> dict[str, str]:
        """Add the array parameters of an operator, each once; returns the name of each one's node.

        If a key has several operators, `leaf` is the name of this one.
        """
        names = {}
        for parameter, array in operator.arrays.items():
            own = f"{leaf}.{parameter}" if leaf else parameter
            name = names[parameter] = f"{key}.{own}"
            if name not in self.nodes:
                of_record = operator.record.parameter(parameter)
                letters: Letters = (*(of_record.leading or ("h",)), *of_record.letters)[-array.ndim :]
                is_taken = any(node.symbol == of_record.symbol for node in self.nodes.values())
                self.add_parameter((key, own), name if is_taken else of_record.symbol, letters, array, operator.record)
        return names

    def add_parameter(
        self, path: tuple[str, str], symbol: str, letters: Letters, array: Array, reader: OperatorRecord
    ) -> Node:
        """Add an operator's array parameter, by key and name."""
        parameter = path[1].rpartition(".")[-1]
        purpose = f"The parameter {parameter} of {reader.name}, as it was given."
        is_lookup = any(own.is_table for own in reader.parameters if own.name == parameter)
        name, axes = ".".join(path), axes_of(letters, array.shape)
        return self.add_given(name, symbol, axes, source=path, purpose=purpose, is_lookup=is_lookup)

    def add_operator(
        self,
        key: str,
        operator: Operator,
        name: str,
        symbol: str,
        axes: Axes,
        *,
        role: str | None = None,
        stage: str = "",
        options: Mapping[str, Any] = NOTHING,
        inner: Collection[str] | None = None,
    ) -> Node:
        """Add the node of an operator, with its inputs and options; the stage is its key unless given."""
        function, inputs = operator.record.function, self.inputs_of(key, operator)
        numbers, options = numbers_of(key, operator), {**options, **options_beside(operator, inputs)}
        return self.add(
            name, symbol, "", axes, stage or key, function, inputs, options, role=role, numbers=numbers, inner=inner
        )
