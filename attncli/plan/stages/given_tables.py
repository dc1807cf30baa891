"""Scores or weights that are given in place of what makes them."""

from dataclasses import replace

from attncli.ops import structural
from attncli.plan.builder import PlanBuilder
from attncli.plan.graph import GIVEN, Node

SYMBOLS = {"scores": "S", "weights": "A"}


def add_given_table(builder: PlanBuilder) -> None:
    """Add the scores or the weights of the selected queries as the user gave them."""
    name, selected = builder.problem.given_table, builder.problem.selected_queries
    assert name is not None
    node = Node(name, SYMBOLS[name], GIVEN, builder.table_axes, GIVEN, source=(name,), role=name)
    if selected is not None:
        node = replace(node, function=structural.select_rows, options={"at": selected})
    builder.add(node)
    builder.set_result(name, name)
