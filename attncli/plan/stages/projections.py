"""Sequences, and the queries, keys and values, given or projected from them."""

from typing import Any

from attncli.base.axes import Letters
from attncli.ops import elementwise, indices, structural
from attncli.ops.records import Operator, format_value
from attncli.plan.builder import PlanBuilder, numbers_of
from attncli.plan.graph import GIVEN, LOOK_UP, Axes, Axis, Node, axes_of
from attncli.plan.stages.heads import ROPE_KEY, add_norm
from attncli.problem.fields import Field
from attncli.problem.spec import FIELDS
from attncli.problem.weights import (
    PACKED,
    PackedPart,
    columns_letter,
    has_latent,
    has_projection,
    has_rope_key,
    packed_key,
    parts_of_problem,
)

STEPS = {
    "embeddings": "The sequence: one vector for each token.",
    "residual": "The residual stream: one vector for each token, to which every layer adds its output.",
    "token_vectors": "The learned vector of each token, by its number in the vocabulary.",
    "scaled_token_vectors": "The vectors of the tokens, in the size that the first layer expects.",
    "token_types": "A learned vector for each type, which distinguishes the segments of a text.",
    "typed_token_vectors": "The vectors of the tokens with those of their types.",
    "token_positions": "A learned vector for each position, which distinguishes equal tokens.",
    "positioned_token_vectors": "The vectors of the tokens with those of their positions, so that order counts.",
    "query_embeddings": "The second sequence, for the queries: one vector for each query.",
    "embeddings_positions": "The position of each embedding in the sequence.",
    "query_embeddings_positions": "The position of each query embedding in its sequence.",
    "positioned_embeddings": "The embeddings with the vector of their position added, so that order counts.",
    "positioned_query_embeddings": "The query embeddings with the vector of their position added.",
    "selected_rows": "Only the queries that `only` names are computed; keys and values stay whole.",
    "query": "What each token looks for in the others.",
    "key": "What each token offers for comparison with the queries.",
    "value": "What each token passes on to the queries that attend to it.",
    "query_latent": "A few features of each token, from which the queries of all heads are projected.",
    "kv_latent": "A few features of each token, from which all heads' keys and values are projected: a small cache.",
    "rope_key": "The last features of each key, which all heads share: only they are rotated.",
    "w_q_latent": "Learned weights that make the query latent from the embeddings.",
    "b_q_latent": "A learned vector that is added to every query latent.",
    "w_kv_latent": "Learned weights that make the latent from the embeddings.",
    "b_kv_latent": "A learned vector that is added to every latent.",
    "w_k_rope": "Learned weights that make the key features that all heads share.",
    "b_k_rope": "A learned vector that is added to the key features that all heads share.",
    "w_kv_latent_rope": "Learned weights that make the latent and the features that all heads share, in one matrix.",
    "b_kv_latent_rope": "A learned vector that is added to every latent and to the shared features, each to its part.",
    "w_q": "Learned weights that make the queries.",
    "w_k": "Learned weights that make the keys.",
    "w_v": "Learned weights that make the values.",
    "w_qkv": "Learned weights that make queries, keys and values from the embeddings, in one matrix.",
    "w_kv": "Learned weights that make keys and values from the embeddings, in one matrix.",
    "b_qkv": "A learned vector that is added to every query, key and value, each to its part.",
    "b_kv": "A learned vector that is added to every key and value, each to its part.",
    "w_qg": "Learned weights that make each head's query and its gate, in one matrix.",
    "b_qg": "A learned vector that is added to every query and every projected gate, each to its part.",
    "b_q": "A learned vector that is added to every query.",
    "b_k": "A learned vector that is added to every key.",
    "b_v": "A learned vector that is added to every value.",
    **{f"clipped_{x}": f"Every number of a {x}, cut off at ± the limit." for x in ("query", "key", "value")},
    "scaled_value": "The values times a number, as their model was trained.",
}
# The keys of the weights and the bias of each step that is projected.
PROJECTIONS = {
    "query": ("w_q", "b_q"),
    "key": ("w_k", "b_k"),
    "value": ("w_v", "b_v"),
    "query_latent": ("w_q_latent", "b_q_latent"),
    "kv_latent": ("w_kv_latent", "b_kv_latent"),
    "rope_key": ("w_k_rope", "b_k_rope"),
    "projected_gate": ("w_g", "b_g"),
    "output": ("w_o", "b_o"),
    "index_query": ("w_q_index", ""),
    "index_key": ("w_k_index", ""),
    "index_weights": ("w_h_index", ""),
}
SYMBOLS = {"query": "Q", "key": "K", "value": "V", "projected_gate": "G"}
SYMBOLS |= {"query_latent": "U", "kv_latent": "Z", ROPE_KEY: "R"}
# The input of each role's projection: the sequence, or the latent instead, with the letter of its features.
SOURCES = dict.fromkeys(("key", "value"), ("embeddings", "kv_latent", "λ"))
SOURCES["query"] = ("selected_rows", "query_latent", "μ")
_SYMBOL_OF = {key: symbol for step, symbol in SYMBOLS.items() for key in PROJECTIONS[step]}
LATENT_NORMS = {"query_latent": "q_latent_norm", "kv_latent": "kv_latent_norm"}
MAX_RANGES = 2  # ranges of columns in a formula


def project(builder: PlanBuilder) -> None:
    """Queries, keys and values, if the problem has them: given, or projected from the sequences."""
    _add_sequences(builder)
    for role in builder.roles:
        _add_projected(builder, role, _source_of(builder, role))
    if "key" in builder.roles and has_rope_key(vars(builder.problem)):
        letters, source = (*builder.letters("key")[:-1], "ρ"), builder.current["embeddings"]
        add_projection(builder, ROPE_KEY, SYMBOLS[ROPE_KEY], letters, source)


def _source_of(builder: PlanBuilder, role: str) -> str:
    """The input of a role's projection: a sequence, or its latent; None if the role is given."""
    sequence, latent, letter = SOURCES[role]
    source, problem = builder.current.get(sequence, ""), builder.problem
    if getattr(problem, role) is not None or not has_latent(vars(problem), letter):
        return source
    if latent not in builder.current:
        add_projection(builder, latent, SYMBOLS[latent], (*builder.letters(role)[:-1], letter), source)
        if getattr(problem, LATENT_NORMS[latent]) is not None:
            node = builder.current_node(latent)
            name, symbol = f"normalized_{latent}", f"{node.symbol}̂"
            add_norm(builder, LATENT_NORMS[latent], node, name, symbol, latent, latent)
    return builder.current[latent]


def clip_projections(builder: PlanBuilder) -> None:
    """Limit queries, keys and values by `clip_qkv`."""
    limit = builder.problem.clip_qkv
    for role in builder.roles if limit is not None else ():
        source, options = builder.current_node(role), {"limit": limit}
        name, symbol = f"clipped_{role}", f"{source.symbol}ᶜ"
        formula = f"{source.symbol}, limited to ±{format_value(limit)}"
        builder.add_made_of(source, name, symbol, formula, "clip", elementwise.clip, options, role=role)


def scale_values(builder: PlanBuilder) -> None:
    """Multiply the values by `value_scale`."""
    factor = builder.problem.value_scale
    if factor is not None and "value" in builder.roles:
        source = builder.current_node("value")
        symbol, options = f"{source.symbol}ˢ", {"factor": factor}
        formula, function = f"{symbol} = {format_value(factor)} {source.symbol}", elementwise.multiply
        more: dict[str, Any] = {"role": "value", "numbers": {"factor": ("value_scale",)}}
        builder.add_made_of(source, "scaled_value", symbol, formula, "value_scale", function, options, **more)


def _add_sequences(builder: PlanBuilder) -> None:
    """Add the sequences with their positions; the queries are projected from `selected_rows`."""
    problem, selected = builder.problem, builder.problem.selected_queries
    if problem.embeddings is not None:
        are_queries = problem.is_self_attention and selected is None and "query" in builder.roles
        _add_sequence(builder, "embeddings", "X", "n" if are_queries else problem.new_key_letter)
    if problem.query_embeddings is not None:
        _add_sequence(builder, "query_embeddings", "Y", builder.query_letter)
    is_gated = has_projection(vars(problem), "g") and "output" not in problem.not_computed
    if problem.query is not None or not ("query" in builder.roles or is_gated):
        return
    name = "embeddings" if problem.query_embeddings is None else "query_embeddings"
    builder.current["selected_rows"] = builder.current[name]
    if selected is not None:
        source, name = builder.current_node(name), "selected_rows"
        axes = (*source.axes[:-2], Axis("n", len(selected)), source.axes[-1])
        symbol, formula, options = f"{source.symbol}ₒ", f"the selected rows of {source.name}", {"at": selected}
        function = structural.select_rows
        builder.add_made_of(source, name, symbol, formula, GIVEN, function, options, axes=axes, role=name)


def _add_sequence(builder: PlanBuilder, name: str, symbol: str, rows_letter: str) -> None:
    """Add a given sequence, and its positions if the position scheme acts on embeddings."""
    problem = builder.problem
    *batch, _, features_letter = builder.letters(name)
    axes = axes_of((*batch, rows_letter, features_letter), getattr(problem, name).shape)
    if name == "embeddings" and problem.vocabulary is not None:
        formula = "the vector of each word, looked up in the vocabulary"
        builder.add(name, symbol, formula, axes, LOOK_UP, source=(name,), role=name)
    elif name == "embeddings" != problem.embeddings_source:
        _add_embeddings_made(builder, axes)
    else:
        builder.add_given(name, symbol, axes, role=name)
    if problem.position is None or problem.position.record.acts_on != "embeddings":
        return
    vectors = _add_position_vectors(builder, name, symbol, problem.position)
    inputs, formula = {"x": name, "positions": vectors.name}, f"{symbol}⁺ = {symbol} + {vectors.symbol}"
    function = elementwise.add_positions
    builder.add(f"positioned_{name}", f"{symbol}⁺", formula, axes, "position", function, inputs, role=name)


def _add_position_vectors(builder: PlanBuilder, sequence: str, symbol: str, position: Operator) -> Node:
    """Add the positions of a sequence, given or row numbers, and then their vectors."""
    *_, rows, features = builder.nodes[sequence].axes
    key = "positions_of_queries" if sequence == "query_embeddings" else "positions"
    given, past = getattr(builder.problem, key), builder.problem.past_count
    name, symbol_of_positions = f"{sequence}_positions", f"pos_{symbol}"
    if given is None:
        formula, options = "counted from 0, after any cache", {"first": past, "length": rows.length}
        at = builder.add(name, symbol_of_positions, formula, (rows,), "index", indices.count, options=options)
    else:
        axes = (*builder.nodes[sequence].axes[:1], rows) if given.ndim > 1 else (rows,)
        at = builder.add_given(name, symbol_of_positions, axes, source=(key,))
    axes, function = (*at.axes, features), position.record.function
    inputs = {"positions": at.name, **builder.add_arrays("position", position)}
    own = {"features": features.length} if "features" in position.record.arguments else {}
    options, numbers = {**own, **position.options}, numbers_of("position", position)
    name, symbol = f"{sequence}_position_vectors", f"P_{symbol}"
    return builder.add(name, symbol, "", axes, "position", function, inputs, options, numbers=numbers)


def _add_embeddings_made(builder: PlanBuilder, axes: Axes) -> Node:
    """Add the residual stream, given or from tokens, and the embeddings from it."""
    if builder.problem.residual is not None:
        source = builder.add_given("residual", "H", axes, role="residual")
    else:
        source = _look_up(builder, axes)
    name, symbol = "embeddings", "X"
    if builder.problem.residual_norm is not None:
        return add_norm(builder, "residual_norm", source, name, symbol, "residual", name)
    formula = f"X = {source.symbol}"
    return builder.add_made_of(source, name, symbol, formula, "residual", structural.identity, role=name)


def _look_up(builder: PlanBuilder, axes: Axes) -> Node:
    """Add the tokens' residual stream: their vectors, scaled, plus those of types and positions, normalized."""
    problem, role = builder.problem, "residual"
    is_normalized = problem.token_norm is not None
    symbol = "L" if is_normalized else "H"
    formula = "the row of each token, looked up in the token table"
    vectors = builder.add("token_vectors", f"{symbol}₀", formula, axes, LOOK_UP, source=("token_table",), role=role)
    if problem.token_scale is not None:
        name, formula = "scaled_token_vectors", f"{symbol}₁ = {format_value(problem.token_scale)} {symbol}₀"
        function, options = elementwise.multiply, {"factor": problem.token_scale}
        more: dict[str, Any] = {"role": role, "numbers": {"factor": ("token_scale",)}}
        vectors = builder.add_made_of(vectors, name, f"{symbol}₁", formula, "scale_tokens", function, options, **more)
    if problem.token_types is not None:
        vectors = _add_rows(builder, vectors, "token_types", "T", "type", ("typed_token_vectors", f"{symbol}₂"))
    if problem.token_positions is not None:
        name = "positioned_token_vectors" if is_normalized else "residual"
        vectors = _add_rows(builder, vectors, "token_positions", "P", "position", (name, symbol))
    if not is_normalized:
        return vectors
    return add_norm(builder, "token_norm", vectors, "residual", "H", "token_vectors", role)


def _add_rows(builder: PlanBuilder, vectors: Node, key: str, symbol: str, noun: str, made: tuple[str, str]) -> Node:
    """Add a table's rows, one per token, and the vectors plus them: `made` has the sum's name and symbol."""
    formula = f"the row of each token's {noun}, looked up in {key}"
    table = builder.add(key, symbol, formula, vectors.axes, GIVEN, source=(key,))
    inputs, (name, of_sum) = {"x": vectors.name, "positions": table.name}, made
    formula, function = f"{of_sum} = {vectors.symbol} + {symbol}", elementwise.add_positions
    return builder.add(name, of_sum, formula, vectors.axes, "position", function, inputs, role="residual")


def _add_projected(builder: PlanBuilder, name: str, sequence: str) -> None:
    """Add a query, key or value: the user's array, a value equal to the key, or a projection of a sequence."""
    problem, symbol, letters = builder.problem, name[0].upper(), builder.letters(name)
    array, selected = getattr(problem, name), problem.selected_queries
    if array is not None and name == "query" and selected is not None:
        axes = axes_of(letters, (*array.shape[:-2], len(selected), array.shape[-1]))
        builder.add_given(name, symbol, axes, structural.select_rows, options={"at": selected}, role=name)
    elif array is not None:
        builder.add_given(name, symbol, axes_of(letters, array.shape), role=name)
    elif name == "value" and problem.key is not None:
        key = builder.nodes["key"]
        axes = (*key.axes[:-1], Axis("e", key.axes[-1].length))
        builder.add_made_of(key, name, symbol, "V = K", "project", structural.identity, axes=axes, role=name)
    else:
        add_projection(builder, name, symbol, letters, sequence)


def add_projection(builder: PlanBuilder, name: str, symbol: str, letters: Letters, source: str) -> None:
    """Add `x @ w + b`, with the weights and the bias of the step; x itself without them."""
    x, (weights_key, bias_key) = builder.nodes[source], PROJECTIONS[name]
    inputs, formula, features = {"x": source}, f"{symbol} = {x.symbol}", x.axes[-1].length
    weights = _add_parameter(builder, weights_key, f"W_{symbol}", (x.axes[-1].letter, letters[-1]))
    if weights is not None:
        inputs["w"], features = weights.name, weights.axes[-1].length
        formula += f" W_{symbol}"
    bias = _add_parameter(builder, bias_key, f"b_{symbol}", letters[-1:]) if bias_key else None
    if bias is not None:
        inputs["b"] = bias.name
        formula += f" + b_{symbol}"
    function = structural.identity if len(inputs) == 1 else structural.project
    axes = axes_of(letters, (*x.shape[:-1], features))
    builder.add(name, symbol, formula, axes, "project", function, inputs, role=name)


def _add_parameter(builder: PlanBuilder, name: str, symbol: str, letters: Letters) -> Node | None:
    """Add weights or a bias, given alone or packed with others; None if the problem has neither."""
    array, owner = getattr(builder.problem, name), packed_key(vars(builder.problem), name)
    if array is not None:
        return builder.add_given(name, symbol, axes_of(letters, array.shape))
    return None if owner is None else _add_part(builder, owner, name, symbol, letters)


def _add_part(builder: PlanBuilder, owner: str, name: str, symbol: str, letters: Letters) -> Node:
    """Add the columns of one projection, after its packed array."""
    problem = builder.problem
    if owner not in builder.nodes:
        packed_symbol = f"{symbol[0]}_{''.join(_SYMBOL_OF[key] for key in PACKED[owner])}"
        axes = axes_of((*letters[:-1], columns_letter(problem, owner)), getattr(problem, owner).shape)
        builder.add_given(owner, packed_symbol, axes)
    packed = builder.nodes[owner]
    part = next(part for part in parts_of_problem(problem, owner) if part.key == name)
    formula = f"{_columns(part, FIELDS[owner], packed.axes[-1].length)} of {packed.symbol}"
    axes = (*packed.axes[:-1], Axis(letters[-1], part.size))
    options = {"blocks": part.blocks, "first": part.first, "count": part.count}
    return builder.add_made_of(packed, name, symbol, formula, GIVEN, structural.unpack, options, axes=axes)


def _columns(part: PackedPart, field: Field, columns: int) -> str:
    """The columns of a part in words: `columns 0:2, 6:8`, as NumPy slices."""
    ranges = [f"{block.start}:{block.stop}" for block in part.ranges(columns)]
    more = [] if len(ranges) <= MAX_RANGES else ["…"]
    return f"{'columns' if field.is_weight else 'numbers'} {', '.join([*ranges[:MAX_RANGES], *more])}"


STAGES = {"inputs": (project, clip_projections, scale_values)}
