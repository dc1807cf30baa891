"""The builder of a plan: stages add nodes to it, and read the lengths of axes from earlier nodes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from attncli.base.axes import COUNTED_FROM_0, Letters
from attncli.ops.records import Operator, OperatorRecord
from attncli.ops.registry import failures_named
from attncli.plan.formulas import formula_in_plan, parameters_in_force
from attncli.plan.graph import GIVEN, Axes, Axis, Node, Plan
from attncli.problem.spec import ProblemSpec
from attncli.problem.unread import is_read

# The keys whose operators may read derived arrays.
STAGE_KEYS = ("position", "query_scale", "score", "normalize", "context")


class PlanBuilder:
    """The nodes of a problem's plan so far.

    `current` has the name of the last node of each role (query, key, value, scores, weights …); `results` has the name
    of the node of each result.
    """

    def __init__(self, problem: ProblemSpec) -> None:
        self.problem = problem
        self.layout = problem.layout
        self.nodes: dict[str, Node] = {}
        self.current: dict[str, str] = {}
        self.results: dict[str, str] = {}

        selected = problem.selected_queries
        self.query_count = problem.query_count if selected is None else len(selected)
        self.key_count = problem.past_count + problem.new_key_count
        lengths = {"b": self.layout.batch or 1, "h": self.layout.heads}
        # The axes before the queries in the table of scores, and those of the table.
        self.score_axes: Axes = tuple(Axis(letter, lengths[letter]) for letter in self.layout.score_axes)
        self.table_axes: Axes = (*self.score_axes, Axis("n", self.query_count), Axis("m", self.key_count))
        # What there is of queries, keys and values: given scores or weights are in place of queries and keys.
        roles = ["query", "key"] if problem.given_table is None else []
        self.roles = roles if "output" in problem.not_computed else [*roles, "value"]
        # The letter of the queries that are given: n, or q where `only` selects some of them.
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

    def add(self, node: Node) -> Node:
        """Add a node, after the inner quantities of its operator; it becomes the current node of its role.

        The formula of an operator's node is that of its record, with the parameters in force and the plan's symbols.
        """
        record = node.record
        if record is not None:
            parameters = parameters_in_force(node, record)
            taps = dict(self._add_inner(node, record, parameters))
            with failures_named(record, "formula_in_force"):
                formula = formula_in_plan(record.formula_with(parameters), node, self.nodes)
            node = replace(node, taps=taps, formula=formula)
        assert node.name not in self.nodes, node.name  # a stage that adds a name twice would hide a step
        self.nodes[node.name] = node
        if node.role is not None:
            self.current[node.role] = node.name
        return node

    def _add_inner(
        self, outer: Node, record: OperatorRecord, parameters: Mapping[str, Any]
    ) -> Iterator[tuple[str, str]]:
        """Add the inner quantities of an operator; yields the name of each, and that of its node."""
        if not record.inner:
            return
        leading = tuple(axis for axis in outer.axes if axis.letter in COUNTED_FROM_0)
        lengths = self._lengths(record, outer.inputs)
        result = dict(zip(record.shapes.result, outer.axes[len(leading) :], strict=True))
        for quantity in record.inner:
            name = quantity.name if quantity.name not in self.nodes else f"{outer.name}_{quantity.name}"
            axes = (*leading, *(result[x] if x in result else Axis(x, lengths[x]) for x in quantity.axes))
            with failures_named(record, "formula_in_force"):
                formula = formula_in_plan(quantity.formula_with(parameters), outer, self.nodes)
            self.add(Node(name, quantity.symbol, formula, axes, outer.stage, tapped_from=outer.name))
            yield quantity.name, name

    def _lengths(self, record: OperatorRecord, inputs: Mapping[str, str]) -> dict[str, int]:
        """The length of each letter in the shapes of an operator, as its inputs have them."""
        lengths = dict[str, int]()
        for argument, letters in record.shapes.arrays.items():
            if argument in inputs and letters:
                shape = self.nodes[inputs[argument]].shape[-len(letters) :]
                lengths |= dict(zip(letters[-len(shape) :], shape, strict=True))
        return lengths

    def result_axes(self, record: OperatorRecord, inputs: Mapping[str, str], leading: Axes) -> Axes:
        """The axes of an operator's result: those before the queries, and those of its record."""
        lengths = self._lengths(record, inputs)
        return (*leading, *(Axis(letter, lengths[letter]) for letter in record.shapes.result))

    def inputs_of(self, key: str, operator: Operator) -> dict[str, str]:
        """The nodes that an operator reads: the current nodes of its arguments, and those of its own arrays.

        `key` is the key of the problem that names the operator.
        """
        inputs = {name: self.current[name] for name in operator.record.shapes.arrays if name in self.current}
        return inputs | self.add_arrays(key, operator)

    def add_arrays(self, key: str, operator: Operator) -> dict[str, str]:
        """Add the array parameters of an operator, each once; returns the name of each one's node."""
        names = {}
        for parameter, array in operator.arrays.items():
            name = names[parameter] = f"{key}.{parameter}"
            if name not in self.nodes:
                of_record = operator.record.parameter(parameter)
                letters: Letters = (*(of_record.leading or ("h",)), *of_record.letters)[-array.ndim :]
                axes = tuple(map(Axis, letters, array.shape))
                is_taken = any(node.symbol == of_record.symbol for node in self.nodes.values())
                symbol = name if is_taken else of_record.symbol
                self.add(Node(name, symbol, GIVEN, axes, GIVEN, source=(key, parameter)))
        return names

    def add_operator(self, key: str, operator: Operator, node: Node) -> Node:
        """Add the node of an operator, with its inputs and options; the other fields are those of `node`."""
        record = operator.record
        return self.add(
            replace(
                node,
                stage=key,
                function=record.function,
                inputs=self.inputs_of(key, operator),
                options=operator.options,
            )
        )

    def reads(self, key: str) -> bool:
        """Whether a key is given, and a result that the problem computes reads it."""
        return getattr(self.problem, key) is not None and is_read(self.problem, key)

    def operators(self) -> Sequence[tuple[str, Operator]]:
        """The operators that the problem names and that are read, each with its key."""
        return [(key, getattr(self.problem, key)) for key in STAGE_KEYS if self.reads(key)]
