"""Projections: embeddings with their positions, projected to queries, keys and values."""

from dataclasses import replace

from attncli.base.axes import Letters
from attncli.ops import indices, positions, structural
from attncli.plan.builder import PlanBuilder
from attncli.plan.graph import GIVEN, LOOK_UP, Axis, Node
from attncli.plan.stages.arrays import add_given, add_parameter, axes_of
from attncli.plan.stages.residual import make_embeddings
from attncli.problem.packing import has_projection


def project(builder: PlanBuilder) -> None:
    """Queries, keys and values, as far as the problem has them: given, or projected from the sequences."""
    _add_sequences(builder)
    layout, rows = builder.layout, builder.problem.new_key_letter
    query_axes, key_axes = layout.input_axes, layout.with_kv_heads(layout.input_axes)
    axes_of_role = {
        "query": (*query_axes, "n", "d"),
        "key": (*key_axes, rows, builder.problem.key_feature_letter),
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
    is_gated = has_projection(vars(problem), "g") and "output" not in problem.not_computed
    if problem.query is not None or not ("query" in builder.roles or is_gated):
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
    if name == "embeddings" != builder.problem.embeddings_source:
        sequence = make_embeddings(builder, letters)
    else:
        sequence = add_given(builder, name, symbol, letters, role=name)
    if name == "embeddings" and builder.problem.vocabulary is not None:
        formula = "the vector of each word, looked up in the vocabulary"
        builder.nodes[name] = replace(sequence, stage=LOOK_UP, formula=formula)
    position = builder.problem.position
    if position is None or position.record.acts_on != "embeddings":
        return
    rows, features = sequence.axes[-2:]
    node = Node(f"{name}_positions", f"pos_{symbol}", "counted from 0, after any cache", (rows,), "index")
    key = "positions_of_queries" if name == "query_embeddings" else "positions"
    given = getattr(builder.problem, key)
    if given is None:
        options = {"first": builder.problem.past_count, "length": rows.length}
        positions_node = builder.add(replace(node, function=indices.count, options=options))
    else:
        axes = (*(axis for axis in sequence.axes[:1] if given.ndim > 1), rows)
        positions_node = builder.add(replace(node, formula=GIVEN, axes=axes, stage=GIVEN, source=(key,)))
    vectors = builder.add(
        Node(
            f"{name}_position_vectors",
            f"P_{symbol}",
            "",
            (*positions_node.axes, features),
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
        add_given(builder, name, symbol, letters, role=name, selected=selected)
    elif name == "value" and problem.key is not None:
        key = builder.nodes["key"]
        axes = (*key.axes[:-1], Axis("e", key.axes[-1].length))
        builder.add(Node(name, symbol, "V = K", axes, "project", structural.identity, {"x": "key"}, role=name))
    else:
        add_projection(builder, name, symbol, letters, sequence)


def add_projection(builder: PlanBuilder, name: str, symbol: str, letters: Letters, source: str) -> None:
    """Add `x @ w + b`, with the weights and the bias that carry the projection's symbol; x itself without them."""
    x, letter = builder.nodes[source], symbol.lower()
    inputs, formula, features = {"x": source}, f"{symbol} = {x.symbol}", x.axes[-1].length
    weights = add_parameter(builder, f"w_{letter}", f"W_{symbol}", (x.axes[-1].letter, letters[-1]))
    if weights is not None:
        inputs["w"], features = weights.name, weights.axes[-1].length
        formula += f" W_{symbol}"
    bias = add_parameter(builder, f"b_{letter}", f"b_{symbol}", letters[-1:])
    if bias is not None:
        inputs["b"] = bias.name
        formula += f" + b_{symbol}"
    function = structural.identity if len(inputs) == 1 else structural.project
    axes = axes_of(letters, (*x.shape[:-1], features))
    builder.add(Node(name, symbol, formula, axes, "project", function, inputs, role=name))
