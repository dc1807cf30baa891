"""The gradients: from that of the output back to every step and array, by the derivatives of the functions between."""

from collections.abc import Mapping
from dataclasses import replace

from attncli.base.axes import COUNTED_FROM_0
from attncli.base.errors import AttnError
from attncli.ops.derivatives import Derivative, add_all, sum_over
from attncli.ops.registry import record_of
from attncli.plan.builder import PlanBuilder
from attncli.plan.graph import Axes, Axis, Node

STEPS = {"grad_output": "How fast the loss grows with each number of the output."}


def differentiate(builder: PlanBuilder) -> None:
    """Add the gradient of each step that the output is computed from, from the last one to the first."""
    if builder.problem.grad_output is None:
        return
    forward = list(builder.nodes.values())
    output = builder.nodes[builder.results["output"]]
    varying = _varying(forward)
    builder.add_given("grad_output", "dO", output.axes)
    ways: dict[str, list[Node]] = {output.name: [builder.nodes["grad_output"]]}
    for node in reversed(forward):
        found = ways.get(node.name)
        if found is None or node.tapped_from is not None:
            continue
        gradient = found[0] if len(found) == 1 else _add_sum(builder, node, found)
        if node.is_input or node.function is None:
            continue
        for argument, name in node.inputs.items():
            if name in varying:
                ways.setdefault(name, []).append(_add_derivative(builder, node, argument, gradient, len(ways)))
    _name_results(builder)


def _varying(nodes: list[Node]) -> frozenset[str]:
    """The nodes of real numbers that may be changed a little: arrays that were given, and what is computed of them."""
    varying = set[str]()
    for node in nodes:
        if node.is_input:
            varying.add(node.name)
            continue
        record = record_of(node.function) if node.function is not None else None
        derivatives = getattr(record, "derivatives", None)
        read = {
            argument
            for argument, name in node.inputs.items()
            if name in varying and (derivatives is None or derivatives.get(argument) is not None)
        }
        if read and not node.is_boolean:
            varying.add(node.name)
    return frozenset(varying)
