"""Scores: those of the score operator, times the scale, capped, with the biases of positions and of the user."""

from dataclasses import replace

from attncli.base.dtypes import square_root
from attncli.ops import elementwise
from attncli.ops.records import Operator, format_value
from attncli.ops.registry import look_up
from attncli.plan.builder import PlanBuilder
from attncli.plan.graph import Node
from attncli.plan.stages.masks import add_table


def score(builder: PlanBuilder) -> None:
    """The score of each pair, with its relative keys, times the scale where the problem has one."""
    operator, scale = builder.problem.score, builder.problem.scale
    position = builder.problem.position
    relative = position is not None and position.record.acts_on == "products"
    if operator.record.unscaled and (relative or scale is not None):
        width = builder.problem.precision.scalar(builder.current_node("query").axes[-1].length)
        scale = 1 / square_root(width) if scale is None else scale
        operator = Operator(look_up("score", operator.record.unscaled), operator.given)
    names = ["content_scores"] if relative else []
    names += ["unscaled_scores"] if scale is not None else []
    first, *rest = [*names, "scores"]
    symbol = "S" if first == "scores" else "S₀"
    builder.add_operator("score", operator, Node(first, symbol, "", builder.table_axes, "score", role="scores"))
    if position is not None and relative:
        builder.add_operator("position", position, Node("relative_scores", "R", "", builder.table_axes, "position"))
        symbol = "S" if rest[0] == "scores" else "S₁"
        _add(builder, rest[0], symbol, f"{symbol} = S₀ + R", "content_scores", "relative_scores")
    if scale is not None:
        unscaled = builder.current_node("scores").symbol
        is_own = builder.problem.scale is None
        builder.add(
            Node(
                "scores",
                "S",
                f"S = {unscaled} / √d" if is_own else f"S = {format_value(scale)} {unscaled}",
                builder.table_axes,
                "scale",
                elementwise.scale,
                {"scores": builder.current_node("scores").name},
                {"scale": scale},
                role="scores",
            )
        )
    builder.set_result("scores", "scores")


def _add(builder: PlanBuilder, name: str, symbol: str, formula: str, left: str, right: str) -> None:
    """Add the sum of two tables, which becomes the current scores."""
    inputs = {"left": left, "right": right}
    builder.add(Node(name, symbol, formula, builder.table_axes, "bias", elementwise.add, inputs, role="scores"))


def softcap(builder: PlanBuilder) -> None:
    """Limit the scores to between −softcap and softcap."""
    cap = builder.problem.softcap
    if cap is not None:
        builder.add(
            Node(
                "capped_scores",
                "Sᶜ",
                f"{format_value(cap)} tanh(S / {format_value(cap)})",
                builder.table_axes,
                "cap",
                elementwise.softcap,
                {"scores": builder.current["scores"]},
                {"cap": cap},
                role="scores",
            )
        )
    builder.set_result("capped_scores", "scores")


def add_biases(builder: PlanBuilder) -> None:
    """Add the bias of positions, then the user's; cells of −∞ in the latter are a mask, and add 0."""
    _add_position_bias(builder)
    builder.set_result("positioned_scores", "scores")
    if builder.problem.bias is not None:
        table, before = add_table(builder, "bias"), builder.current_node("scores")
        inputs = {"scores": before.name, "table": table.name}
        inputs |= {name: builder.current[name] for name in ("query_rows", "key_positions")}
        builder.add(
            Node(
                "biased_scores",
                "Sᵇ",
                f"{before.symbol} + {table.symbol}",
                builder.table_axes,
                "bias",
                elementwise.add_bias,
                inputs,
                role="scores",
            )
        )
    builder.set_result("biased_scores", "scores")


def _add_position_bias(builder: PlanBuilder) -> None:
    """Add the bias of a position scheme that acts on scores, and the scores with it."""
    position = builder.problem.position
    if position is None or position.record.acts_on != "scores":
        return
    layout, before = builder.layout, builder.current_node("scores")
    per_item = "b" in builder.nodes["query_positions"].letters
    # Only an operator that takes `heads` has numbers of its own for each head.
    kept = {"n", "m", *("b" if per_item else ""), *("h" if "heads" in position.record.arguments else "")}
    axes = tuple(axis for axis in builder.table_axes if axis.letter in kept)
    node = builder.add_operator("position", position, Node("position_bias", "B", "", axes, "bias"))
    heads = {"heads": layout.heads if layout.has_heads else None} if "heads" in position.record.arguments else {}
    builder.nodes[node.name] = replace(node, stage="bias", options={**heads, **node.options})
    _add(builder, "positioned_scores", "Sᵖ", f"{before.symbol} + B", before.name, node.name)
