"""Embeddings that are made of a residual stream, or of the vectors of tokens: scaled, with positions, normalized."""

from dataclasses import replace

from attncli.base.axes import Letters
from attncli.ops import elementwise, positions, structural
from attncli.ops.records import format_value
from attncli.plan.builder import PlanBuilder
from attncli.plan.graph import GIVEN, LOOK_UP, Axes, Axis, Node
from attncli.plan.stages.norms import add_norm


def make_embeddings(builder: PlanBuilder, letters: Letters) -> Node:
    """Add the residual stream as the user gave it, or as its tokens have it, and the embeddings that it becomes."""
    problem = builder.problem
    array = problem.embeddings
    assert array is not None
    axes = tuple(map(Axis, letters, array.shape))
    if problem.residual is not None:
        builder.add(Node("residual", "H", GIVEN, axes, GIVEN, source=("residual",), role="residual"))
    else:
        _look_up(builder, axes)
    source = builder.current_node("residual")
    inputs = {"x": source.name}
    node = Node(
        "embeddings", "X", f"X = {source.symbol}", axes, "residual", structural.identity, inputs, role="embeddings"
    )
    if problem.residual_norm is None:
        return builder.add(node)
    return add_norm(builder, "residual_norm", "residual", source, node)


def _look_up(builder: PlanBuilder, axes: Axes) -> None:
    """Add the vectors of the tokens, times the scale, with those of their positions."""
    problem = builder.problem
    formula = "the row of each token, looked up in the token table"
    vectors = builder.add(Node("token_vectors", "H₀", formula, axes, LOOK_UP, source=("token_table",), role="residual"))
    factor = problem.token_scale
    if factor is not None:
        node = Node("scaled_token_vectors", "H₁", f"H₁ = {format_value(factor)} H₀", axes, "scale_tokens")
        inputs, options = {"x": vectors.name}, {"factor": factor}
        vectors = builder.add(
            replace(node, function=elementwise.multiply, inputs=inputs, options=options, role="residual")
        )
    if problem.token_positions is None:
        return
    formula = "the row of each token's position, looked up in token_positions"
    table = builder.add(Node("token_positions", "P", formula, axes, GIVEN, source=("token_positions",)))
    inputs = {"x": vectors.name, "positions": table.name}
    node = Node("residual", "H", f"H = {vectors.symbol} + P", axes, "position", positions.add_positions, inputs)
    builder.add(replace(node, role="residual"))
