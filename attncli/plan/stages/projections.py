"""Projections: embeddings with their positions, projected to queries, keys and values."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from attncli.base.axes import Letters
from attncli.ops import indices, positions, structural
from attncli.plan.builder import PlanBuilder
from attncli.plan.graph import GIVEN, LOOK_UP, Axes, Axis, Node


def project(builder: PlanBuilder) -> None:
    """Queries, keys and values, as far as the problem has them: given, or projected from the sequences."""
    _add_sequences(builder)
    layout, rows = builder.layout, builder.problem.new_key_letter
    query_axes, key_axes = layout.input_axes, layout.with_kv_heads(layout.input_axes)
    # The key's features are `d` where they must be as many as the query's.
    features = builder.problem.score.record.shapes.arrays.get("key", ("m", "c"))[-1]
    axes_of_role = {
        "query": (*query_axes, "n", "d"),
        "key": (*key_axes, rows, features),
        "value": (*key_axes, rows, "e"),
    }
    for role in builder.roles:
        sequence = "selected_rows" if role == "query" else "embeddings"
        _add_projected(builder, role, role[0].upper(), axes_of_role[role], builder.current.get(sequence, ""))


def _add_sequences(builder: PlanBuilder) -> None:
    """Add the sequences with their positions; `selected_rows` are the rows that the queries are projected from."""
    problem, batch = builder.problem, builder.layout.batch_axes
    selected = problem.selected_queries
    if problem.embeddings is not None:
        are_queries = problem.is_self_attention and selected is None and "query" in builder.roles
        rows = "n" if are_queries else problem.new_key_letter
        _add_sequence(builder, "embeddings", "X", (*batch, rows, "x"))
    if problem.query_embeddings is not None:
        _add_sequence(builder, "query_embeddings", "Y", (*batch, builder.query_letter, "y"))
    if problem.query is not None or "query" not in builder.roles:
        return
    name = "embeddings" if problem.query_embeddings is None else "query_embeddings"
    builder.current["selected_rows"] = builder.current[name]
    if selected is None:
        return
    source = builder.current_node(name)
    builder.add(
        Node(
            "selected_rows",
            f"{source.symbol}ₒ",
            f"the selected rows of {source.name}",
            (*source.axes[:-2], Axis("n", len(selected)), source.axes[-1]),
            GIVEN,
            structural.select_rows,
            {"x": source.name},
            {"at": selected},
            role="selected_rows",
        )
    )


def _add_sequence(builder: PlanBuilder, name: str, symbol: str, letters: Letters) -> None:
    """Add a sequence as the user gave it, and its positions, where the position scheme acts on embeddings."""
    sequence = _add_given(builder, name, symbol, letters, role=name)
    if name == "embeddings" and builder.problem.vocabulary is not None:
        formula = "the vector of each word, looked up in the vocabulary"
        builder.nodes[name] = replace(sequence, stage=LOOK_UP, formula=formula)
    position = builder.problem.position
    if position is None or position.record.acts_on != "embeddings":
        return
    rows, features = sequence.axes[-2:]
    positions_node = builder.add(
        Node(
            f"{name}_positions",
            f"pos_{symbol}",
            "counted from 0, after any cache",
            (rows,),
            "index",
            indices.count,
            options={"first": builder.problem.past_count, "length": rows.length},
        )
    )
    vectors = builder.add(
        Node(
            f"{name}_position_vectors",
            f"P_{symbol}",
            "",
            (rows, features),
            "position",
            position.record.function,
            {"positions": positions_node.name, **builder.add_arrays("position", position)},
            {**({"features": features.length} if "features" in position.record.arguments else {}), **position.options},
        )
    )
    builder.add(
        Node(
            f"positioned_{name}",
            f"{symbol}⁺",
            f"{symbol}⁺ = {symbol} + {vectors.symbol}",
            sequence.axes,
            "position",
            positions.add_positions,
            {"x": name, "positions": vectors.name},
            role=name,
        )
    )


def _add_projected(builder: PlanBuilder, name: str, symbol: str, letters: Letters, sequence: str) -> None:
    """Add one of query, key and value: the user's array, a value equal to the key, or a projection of a sequence."""
    problem = builder.problem
    if getattr(problem, name) is not None:
        selected = problem.selected_queries if name == "query" else None
        _add_given(builder, name, symbol, letters, role=name, selected=selected)
    elif name == "value" and problem.key is not None:
        key = builder.nodes["key"]
        axes = (*key.axes[:-1], Axis("e", key.axes[-1].length))
        builder.add(Node(name, symbol, "V = K", axes, "project", structural.identity, {"x": "key"}, role=name))
    else:
        add_projection(builder, name, symbol, letters, sequence)


def _add_given(
    builder: PlanBuilder,
    name: str,
    symbol: str,
    letters: Letters,
    *,
    role: str | None = None,
    selected: list[int] | None = None,
) -> Node:
    """Add an array of the problem, or the selected rows of it."""
    axes = axes_of(letters, getattr(builder.problem, name).shape)
    node = Node(name, symbol, GIVEN, axes, GIVEN, source=(name,), role=role)
    if selected is None:
        return builder.add(node)
    options: Mapping[str, Any] = {"at": selected}
    axes = (*axes[:-2], Axis(axes[-2].letter, len(selected)), axes[-1])
    return builder.add(
        Node(name, symbol, GIVEN, axes, GIVEN, structural.select_rows, options=options, source=(name,), role=role)
    )


def axes_of(letters: Letters, shape: tuple[int, ...]) -> Axes:
    """Letters with the lengths of an array's axes."""
    return tuple(map(Axis, letters, shape))


def add_projection(builder: PlanBuilder, name: str, symbol: str, letters: Letters, source: str) -> None:
    """Add `x @ w + b`, with the weights and the bias that carry the projection's symbol; x itself without them."""
    problem, x, letter = builder.problem, builder.nodes[source], symbol.lower()
    inputs, formula, features = {"x": source}, f"{symbol} = {x.symbol}", x.axes[-1].length
    if getattr(problem, f"w_{letter}") is not None:
        weights = _add_given(builder, f"w_{letter}", f"W_{symbol}", (x.axes[-1].letter, letters[-1]))
        inputs["w"], features = weights.name, weights.axes[-1].length
        formula += f" W_{symbol}"
    if getattr(problem, f"b_{letter}") is not None:
        inputs["b"] = _add_given(builder, f"b_{letter}", f"b_{symbol}", letters[-1:]).name
        formula += f" + b_{symbol}"
    function = structural.identity if len(inputs) == 1 else structural.project
    axes = axes_of(letters, (*x.shape[:-1], features))
    builder.add(Node(name, symbol, formula, axes, "project", function, inputs, role=name))
