"""The positions that position schemes read: those that the problem gives, or those of rows among the keys."""

from collections.abc import Mapping
from typing import Any

from attncli.ops import indices
from attncli.plan.builder import PlanBuilder
from attncli.plan.graph import GIVEN, Axes, Axis, Node
from attncli.problem.positions import position_axes, positions_of

# The node and the symbol of given positions, and of those of rows on several axes, for queries and keys.
_GIVEN: Mapping[str, tuple[str, str]] = {"query": ("positions_of_queries", "p_Q"), "key": ("positions", "p_K")}
_ON_AXES = {"query": "query_positions_on_axes", "key": "positions_on_axes"}


def given_positions(builder: PlanBuilder, role: str) -> str | None:
    """Add the positions that the problem gives for queries or keys, once; their node's name, None where none are."""
    key = positions_of(builder.problem, role)
    if key is None:
        return None
    name, symbol = _GIVEN[role]
    if name in builder.nodes:
        return name
    array, layout = getattr(builder.problem, key), builder.layout
    position = position_axes(builder.problem)
    has_axes = position is not None
    leading: Axes = ()
    if array.ndim - has_axes > 1:
        leading = (Axis("b", array.shape[-2]), *((Axis("h", 1),) if layout.has_heads else ()))
    leading += () if position is None else (Axis("s", position.count),)
    rows = Axis("n" if role == "query" else builder.problem.new_key_letter, array.shape[-1])
    options: dict[str, Any] = {"shape": tuple(axis.length for axis in (*leading, rows)), "has_axes": has_axes}
    selected = builder.problem.selected_queries if role == "query" else None
    if selected is not None:
        rows, options["at"] = Axis("n", len(selected)), selected
    function = indices.given_positions
    builder.add(Node(name, symbol, GIVEN, (*leading, rows), GIVEN, function, options=options, source=(key,)))
    return name


def rotation_positions(builder: PlanBuilder, role: str) -> str:
    """The node of the positions by which queries or keys are rotated: given, or of rows, with several axes on each."""
    given = given_positions(builder, role)
    if given is not None:
        return given
    keys = "new_key_positions" if builder.problem.past_count else "key_positions"
    rows = builder.nodes["query_positions" if role == "query" else keys]
    position = position_axes(builder.problem)
    if position is None:
        return rows.name
    axes = (*rows.axes[:-1], Axis("s", position.count), rows.axes[-1])
    formula = f"{rows.symbol} on each of {position.count} axes"
    inputs, options = {"positions": rows.name}, {"count": position.count}
    return builder.add(
        Node(_ON_AXES[role], f"{rows.symbol}ₛ", formula, axes, "index", indices.on_axes, inputs, options)
    ).name
