"""The gate of the output: projected from the sequence of the queries, and multiplied into the merged heads."""

from attncli.ops.gates import GATES, apply_gate
from attncli.plan.builder import PlanBuilder
from attncli.plan.graph import Node
from attncli.plan.stages.projections import add_projection


def add_gated(builder: PlanBuilder, source: Node) -> Node:
    """Add the gate of each query, and the merged heads times it."""
    sequence = builder.current["selected_rows"]
    add_projection(builder, "projected_gate", "G", (*builder.layout.batch_axes, "n", "u"), sequence)
    projected = builder.nodes["projected_gate"]
    function, formula = GATES[builder.problem.gate]
    gate = builder.add(
        Node("gate", "Gᵃ", f"Gᵃ = {formula}", projected.axes, "gate", function, {"x": projected.name}),
    )
    per_head = gate.axes[-1].length < source.axes[-1].length
    each = f"each head of {source.symbol}" if per_head else f"each number of {source.symbol}"
    inputs = {"x": source.name, "gate": gate.name}
    return builder.add(
        Node("gated", f"{source.symbol[0]}ᵍ", f"{each} times its gate", source.axes, "gate", apply_gate, inputs)
    )
