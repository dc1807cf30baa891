"""Changes of a plan: a node replaced, its value changed afterwards, a node added; the nodes stay in a valid order."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from attncli.base.dataclasses import dataclass
from attncli.base.lazy_numpy import Array
from attncli.plan.graph import Node, Plan

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


def with_nodes(plan: Plan, *nodes: Node) -> Plan:
    """The plan with these nodes in place of those of their names, or besides the others."""
    by_name = {**plan.by_name, **{node.name: node for node in nodes}}
    return Plan(_ordered(by_name), plan.results)


def with_changed_value(
    plan: Plan,
    name: str,
    function: Function,
    inputs: Mapping[str, str] | None = None,
    options: Mapping[str, Any] | None = None,
) -> Plan:
    """The plan in which the value of a node is `function(its value before, **inputs, **options)`.

    Whatever reads the node reads the changed value; the node as it was has another name.
    """
    node = plan.by_name[name]
    before = new_name(plan, f"{name}_before")
    changed = replace(
        node,
        function=ValueChange(function),
        inputs={"x": before, **(inputs or {})},
        options=options or {},
        source=(),
        taps={},
        notes=(),
    )
    renamed = {other.name: replace(other, tapped_from=before) for other in plan.nodes if other.tapped_from == name}
    by_name = {**plan.by_name, **renamed, before: replace(node, name=before), name: changed}
    return Plan(_ordered(by_name), plan.results)


def before_changes(plan: Plan, name: str) -> Node:
    """The node as it was before its value was changed by `with_changed_value`, however often."""
    node = plan.by_name[name]
    while isinstance(node.function, ValueChange):
        node = plan.by_name[node.inputs["x"]]
    return node


def with_function(plan: Plan, name: str, function: Function, **options: Any) -> Plan:
    """The plan in which a node is computed by another function of the same inputs, with more options.

    The inner quantities of its operator are not computed.
    """
    node = plan.by_name[name]
    inner = {other.name for other in plan.nodes if other.tapped_from == name}
    changed = replace(node, function=function, options={**node.options, **options}, taps={})
    by_name = {other.name: changed if other.name == name else other for other in plan.nodes if other.name not in inner}
    return Plan(_ordered(by_name), plan.results)


def with_inputs(plan: Plan, name: str, **inputs: str) -> Plan:
    """The plan in which some arguments of a node are read from other nodes."""
    node = plan.by_name[name]
    return with_nodes(plan, replace(node, inputs={**node.inputs, **inputs}))


def new_name(plan: Plan, name: str) -> str:
    """The name, or the name and a number where a node has it."""
    number, free = 1, name
    while free in plan.by_name:
        number += 1
        free = f"{name}_{number}"
    return free


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
