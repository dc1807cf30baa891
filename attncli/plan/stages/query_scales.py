"""Query scales: the factor of each query, and the queries times their factors."""

from attncli.ops import query_scales
from attncli.plan.builder import PlanBuilder
from attncli.plan.graph import Axis, Node
from attncli.plan.stages.positions import given_positions
from attncli.problem.positions import position_axes, positions_of
from attncli.problem.spec import ProblemSpec


def has_given_positions(problem: ProblemSpec) -> bool:
    """Whether query scales read positions that the problem gives; those on several axes are no numbers of keys."""
    return positions_of(problem, "query") is not None and position_axes(problem) is None


def scale_queries(builder: PlanBuilder) -> None:
    """Multiply each query by a factor that grows with its position, by `query_scale`."""
    scale, layout = builder.problem.query_scale, builder.layout
    if scale is None or not builder.reads("query_scale"):
        return
    given = given_positions(builder, "query") if has_given_positions(builder.problem) else None
    positions = builder.nodes[given or "query_positions"]
    axes, options = positions.axes, dict(scale.options)
    if "heads" in scale.record.arguments:
        options["heads"] = layout.heads if layout.has_heads else None
        before = tuple(axis for axis in axes[:-1] if axis.letter != "h")
        axes = (*before, Axis("h", layout.heads), axes[-1]) if layout.has_heads else axes
    inputs = {"positions": positions.name, **builder.add_arrays("query_scale", scale)}
    function = scale.record.function
    factors = builder.add(Node("query_scales", "κ", "", axes, "query_scale", function, inputs, options))
    source = builder.current_node("query")
    builder.add(
        Node(
            "scaled_query",
            f"{source.symbol[0]}ˢ",
            f"κ {source.symbol}",
            source.axes,
            "query_scale",
            query_scales.scale_rows,
            {"x": source.name, "factors": factors.name},
            role="query",
        )
    )
