"""Queries, keys and values limited after their projection, and values times a number."""

from attncli.ops import elementwise
from attncli.ops.records import format_value
from attncli.plan.builder import PlanBuilder
from attncli.plan.graph import Node


def clip_projections(builder: PlanBuilder) -> None:
    """Limit queries, keys and values by `clip_qkv`."""
    limit = builder.problem.clip_qkv
    if limit is None:
        return
    for role in builder.roles:
        source = builder.current_node(role)
        builder.add(
            Node(
                f"clipped_{role}",
                f"{source.symbol}ᶜ",
                f"{source.symbol}, limited to ±{format_value(limit)}",
                source.axes,
                "clip",
                elementwise.clip,
                {"x": source.name},
                {"limit": limit},
                role=role,
            )
        )


def scale_values(builder: PlanBuilder) -> None:
    """Multiply the values by `value_scale`."""
    factor = builder.problem.value_scale
    if factor is None or "value" not in builder.roles:
        return
    source = builder.current_node("value")
    symbol = f"{source.symbol}ˢ"
    builder.add(
        Node(
            "scaled_value",
            symbol,
            f"{symbol} = {format_value(factor)} {source.symbol}",
            source.axes,
            "value_scale",
            elementwise.multiply,
            {"x": source.name},
            {"factor": factor},
            role="value",
        )
    )
