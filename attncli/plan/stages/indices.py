"""Indices of keys and queries, and the position of each query among the keys, where operators or masks read them."""

from collections.abc import Mapping
from typing import Any

from attncli.ops import indices, structural
from attncli.ops.records import DerivedInput, Operator
from attncli.plan.builder import PlanBuilder
from attncli.plan.graph import GIVEN, Axes, Axis, Node
from attncli.plan.stages.masks import mask_rules
from attncli.plan.stages.positions import given_positions
from attncli.plan.stages.query_scales import has_given_positions
from attncli.problem.positions import positions_of


def add_indices(builder: PlanBuilder) -> None:
    """Add the indices that the masks and operators of this problem read, and the derived arrays of the operators."""
    problem = builder.problem
    read = {name for _, operator in mask_rules(problem) for name in operator.record.shapes.arrays}
    if builder.reads("bias"):
        read |= {"query_rows", "key_positions"}
    read |= {name for _, operator in builder.operators() for name in operator.record.shapes.arrays}
    for _, operator in builder.operators():
        read |= {role for derived in _needed(operator).values() for role in derived.inputs(operator.parameters)}
    position = dict(builder.operators()).get("position")
    if position is not None and position.record.acts_on == "query_and_key":
        read |= {f"{role}_positions" for role in ("query", "key") if positions_of(problem, role) is None}
    if builder.reads("query_scale") and not has_given_positions(problem):
        read.add("query_positions")
    if builder.reads("key_lengths"):
        _add_key_lengths(builder)
        read.add("key_positions")
    if builder.reads("key_mask"):
        _add_key_mask(builder)
        if "real_key_starts" in read:
            _add_real_key_starts(builder)
    if read & {"key_positions", "query_positions", "query_rows"}:
        _add_key_positions(builder)
    if read & {"query_positions", "query_rows"}:
        _add_query_rows(builder)
    if "query_positions" in read:
        _add_query_positions(builder)
    if "position_count" in read:
        _add_position_count(builder)
    for _, operator in builder.operators():
        _add_derived(builder, operator)


def _needed(operator: Operator) -> Mapping[str, DerivedInput]:
    """The derived arrays of an operator that the user did not give, and that its parameters ask for."""
    derived, parameters = operator.record.derived, operator.parameters
    return {name: x for name, x in derived.items() if name not in operator.given and x.is_needed(parameters)}


def _add_derived(builder: PlanBuilder, operator: Operator) -> None:
    """Add the derived arrays of an operator that the user did not give."""
    parameters = operator.parameters
    for name, derived in _needed(operator).items():
        lengths = {"n": builder.query_count, "m": builder.key_count, "h": builder.layout.heads}
        lengths |= derived.lengths(parameters, builder.problem.lengths)
        axes: Axes = ()
        for letter in derived.axes:
            own = (Axis(letter, lengths[letter]),) if letter in lengths else ()
            axes += builder.score_axes if letter == "…" else own
        options: dict[str, Any] = {"shape": tuple(axis.length for axis in axes)}
        options |= {key: parameters[key] for key in derived.parameters}
        inputs = {role: builder.current[role] for role in derived.inputs(parameters)}
        formula = derived.formula(**options)
        builder.add(Node(name, derived.symbol, formula, axes, "derive", derived.function, inputs, options, role=name))


def _add_key_lengths(builder: PlanBuilder) -> None:
    """Add how many keys of each batch item are real; the same for every head."""
    _add_per_item(builder, "key_lengths", "L", ())


def _add_key_mask(builder: PlanBuilder) -> None:
    """Add which keys of each batch item are real; the same for every head."""
    _add_per_item(builder, "key_mask", "Mₖ", (Axis("m", builder.key_count),))


def _add_per_item(builder: PlanBuilder, name: str, symbol: str, own: Axes) -> None:
    """Add an array of the problem that has entries, or rows with the axes `own`, for each batch item."""
    layout = builder.layout
    axes: Axes = () if layout.batch is None else (Axis("b", layout.batch),)
    if layout.batch is not None and layout.has_heads:
        axes = (*axes, Axis("h", 1))
    axes = (*axes, *own)
    options = {"shape": tuple(axis.length for axis in axes)}
    builder.add(Node(name, symbol, GIVEN, axes, GIVEN, structural.reshape, options=options, source=(name,), role=name))


def _real_key_ends(builder: PlanBuilder) -> Node | None:
    """The node of the index after the last real key of each batch item; None where all keys are real."""
    if "key_mask" not in builder.current:
        return builder.nodes.get(builder.current.get("key_lengths", ""))
    key_mask = builder.current_node("key_mask")
    inputs: dict[str, str] = {
        name: builder.current[name] for name in ("key_mask", "key_lengths") if name in builder.current
    }
    formula = "the index after the last real key"
    return builder.add(Node("real_key_ends", "Lᵣ", formula, key_mask.axes[:-1], "align", indices.real_key_ends, inputs))


def _add_real_key_starts(builder: PlanBuilder) -> None:
    """Add the index of the first real key of each batch item, by the key mask."""
    name, key_mask = "real_key_starts", builder.current_node("key_mask")
    inputs, axes = {"key_mask": key_mask.name}, key_mask.axes[:-1]
    formula = "the first key that is real"
    builder.add(Node(name, "F", formula, axes, "align", indices.real_key_starts, inputs, role=name))


def _add_key_positions(builder: PlanBuilder) -> None:
    """Add every key's index; with a cache also those of the new ones."""
    past, new = builder.problem.past_count, builder.problem.new_key_count
    _add_count(builder, "key_positions", "j", "j = 0, 1, … each key", "m", 0, past + new)
    if past:
        _add_count(builder, "new_key_positions", "jₖ", "the keys after the cache", "k", past, new)


def _add_query_rows(builder: PlanBuilder) -> None:
    """Add the rows of the queries that are computed."""
    name, symbol, formula, selected = "query_rows", "i", "i = 0, 1, … each query", builder.problem.selected_queries
    if selected is None:
        _add_count(builder, name, symbol, formula, "n", 0, builder.query_count)
        return
    axes, options = (Axis("n", len(selected)),), {"at": selected}
    builder.add(Node(name, symbol, formula, axes, "index", indices.selected_positions, options=options, role=name))


def _add_count(builder: PlanBuilder, name: str, symbol: str, formula: str, letter: str, first: int, count: int) -> None:
    """Add `first`, `first + 1` and so on, `count` of them."""
    options = {"first": first, "length": count}
    builder.add(Node(name, symbol, formula, (Axis(letter, count),), "index", indices.count, options=options, role=name))


def _add_position_count(builder: PlanBuilder) -> None:
    """Add how many positions there are, up to that of the last key or query."""
    problem = builder.problem
    name, formula = "position_count", "one more than the last position"
    given = {role: given_positions(builder, role) for role in ("query", "key")}
    if any(given.values()):
        inputs = {role: node or builder.current[f"{role}_positions"] for role, node in given.items()}
        builder.add(Node(name, "N", formula, (), "index", indices.last_position_count, inputs, role=name))
        return
    first = problem.past_count if problem.align == "top_left" else 0
    options = {"length": max(builder.key_count, first + problem.query_count)}
    builder.add(Node(name, "N", formula, (), "index", indices.position_count, options=options, role=name))


def _add_query_positions(builder: PlanBuilder) -> None:
    """Add the position of each query among the keys, by `align`."""
    problem, rows = builder.problem, builder.nodes["query_rows"]
    count, keys = problem.query_count, builder.key_count
    at_end = problem.align == "bottom_right"
    end = ": the last query stands at the last real key" if at_end else ""
    ends = _real_key_ends(builder) if at_end else None
    if ends is not None:
        builder.add(
            Node(
                "query_positions",
                "pos",
                f"posᵢ = i − {count} + {ends.symbol}{end}",
                (*ends.axes, *rows.axes),
                "align",
                indices.query_positions_at_end,
                {"rows": rows.name, "key_lengths": ends.name},
                {"first": -count},
                role="query_positions",
            )
        )
        return
    first = {"top_left": problem.past_count, "first_key": 0, "bottom_right": keys - count}[problem.align]
    shifted = f"i − {-first}" if first < 0 else f"i + {first}" if first else "i"
    builder.add(
        Node(
            "query_positions",
            "pos",
            f"posᵢ = {shifted}{end}",
            rows.axes,
            "align",
            indices.query_positions,
            {"rows": rows.name},
            {"first": first},
            role="query_positions",
        )
    )
