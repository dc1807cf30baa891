"""Sequences, and the queries, keys and values that are given or projected from them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from attncli.base.axes import Letters
from attncli.ops import elementwise, indices, positions, structural
from attncli.ops.records import format_value
from attncli.plan.builder import PlanBuilder
from attncli.plan.graph import GIVEN, LOOK_UP, Axes, Axis, Node
from attncli.plan.stages.heads import add_norm
from attncli.problem.fields import Field
from attncli.problem.spec import FIELDS
from attncli.problem.weights import PackedPart, columns_letter, has_projection, packed_key, parts_of_problem

MAX_RANGES = 2  # of the columns of a part that a formula names


def add_given(
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


def add_parameter(builder: PlanBuilder, name: str, symbol: str, letters: Letters) -> Node | None:
    """Add weights or a bias, given alone or packed with others; None where the problem has neither."""
    if getattr(builder.problem, name) is not None:
        return add_given(builder, name, symbol, letters)
    owner = packed_key(vars(builder.problem), name)
    return None if owner is None else _add_part(builder, owner, name, symbol, letters)


def _add_part(builder: PlanBuilder, owner: str, name: str, symbol: str, letters: Letters) -> Node:
    """Add the columns of one projection, after the packed array that has them."""
    if owner in builder.nodes:
        packed = builder.nodes[owner]
    else:
        packed_symbol = f"{symbol[0]}_{owner.partition('_')[2].upper()}"
        packed = add_given(builder, owner, packed_symbol, (*letters[:-1], columns_letter(builder.problem, owner)))
    part = next(part for part in parts_of_problem(builder.problem, owner) if part.key == name)
    return builder.add(
        Node(
            name,
            symbol,
            f"{_columns(part, FIELDS[owner], packed.axes[-1].length)} of {packed.symbol}",
            (*packed.axes[:-1], Axis(letters[-1], part.size)),
            GIVEN,
            structural.unpack,
            {"x": packed.name},
            {"blocks": part.blocks, "first": part.first, "count": part.count},
        )
    )


def _columns(part: PackedPart, field: Field, columns: int) -> str:
    """The columns of a part in words: `columns 0:2, 6:8`, as NumPy counts them."""
    ranges = [f"{block.start}:{block.stop}" for block in part.ranges(columns)]
    more = [] if len(ranges) <= MAX_RANGES else ["…"]
    return f"{'columns' if field.is_weight else 'numbers'} {', '.join([*ranges[:MAX_RANGES], *more])}"


def axes_of(letters: Letters, shape: tuple[int, ...]) -> Axes:
    """Letters with the lengths of an array's axes."""
    return tuple(map(Axis, letters, shape))


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
