"""Sparse selection: an indexer's queries, keys and head weights, and its scores, by which a mask chooses keys."""

from collections.abc import Sequence

from attncli.base.axes import Letters
from attncli.ops import selection, structural
from attncli.plan.builder import PlanBuilder, options_beside
from attncli.plan.graph import Axis, Node, axes_of
from attncli.plan.stages.heads import add_norm
from attncli.plan.stages.indices import rotation_positions
from attncli.plan.stages.projections import add_projection
from attncli.problem.spec import rotated_features

STEPS = {
    "index_query": "What the indexer looks for, for each token: the queries of its heads, side by side.",
    "index_query_heads": "Each head of the indexer gets its share of the features.",
    "index_key": "What each token offers the indexer: one short key for all of its heads.",
    "index_key_heads": "The indexer's key with an axis of one head, which all heads share.",
    "index_weights": "How much each head of the indexer counts for a query.",
    "index_scores": "How useful each key is to each query, according to the indexer: the query sees the highest ones.",
    "index_query_positions": "The position of each query, for the indexer.",
    "index_key_positions": "The position of each key, for the indexer.",
    "past_index_key": "The indexer's keys of earlier tokens, kept from the calls before.",
    "past_index_key_heads": "The cached keys of the indexer with an axis of one head.",
    "concatenated_index_key": "The indexer's kept keys of earlier tokens, then the new ones.",
    "w_q_index": "Learned weights that make the indexer's queries from the embeddings, or from their latent.",
    "w_k_index": "Learned weights that make the indexer's keys from the embeddings.",
    "w_h_index": "Learned weights that make, from each query's embedding, a weight for each head of the indexer.",
}
_SYMBOLS = {"index_query": "Qᴵ", "index_key": "Kᴵ", "index_weights": "ω"}


def project_index(builder: PlanBuilder) -> None:
    """The indexer's queries, keys and head weights, projected, normalized and split into heads."""
    if not builder.problem.has_indexer:
        return
    rows = builder.current["selected_rows"]
    latent = builder.current.get("query_latent", rows)
    batch = builder.letters("query")[:-2]
    for name, source, letters in (
        ("index_query", latent, ("n", "ζ")),
        ("index_key", builder.current["embeddings"], (builder.problem.new_key_letter, "η")),
        ("index_weights", rows, ("n", "ι")),
    ):
        add_projection(builder, name, _SYMBOLS[name], (*batch, *letters), source)
    if builder.problem.k_index_norm is not None:
        key = builder.current_node("index_key")
        add_norm(builder, "k_index_norm", key, "normalized_index_key", "K̂ᴵ", "index_key", "index_key")
    _add_split(builder, "index_query", builder.current_node("index_weights").axes[-1].length)
    _add_split(builder, "index_key", 1)


def _add_split(builder: PlanBuilder, role: str, heads: int) -> None:
    """Add the queries or the keys of the indexer with an axis of its heads."""
    source = builder.current_node(role)
    name, symbol = f"{role}_heads", f"{source.symbol}ₕ"
    formula = f"the features of {source.symbol}, {'in one head' if heads == 1 else f'shared among {heads} heads'}"
    *before, rows, features = source.axes
    axes = (*before, Axis("ι", heads), rows, Axis("η", features.length // heads))
    options, function = {"heads": heads}, structural.split_heads
    builder.add_made_of(source, name, symbol, formula, "split", function, options, axes=axes, role=role)


def rotate_index(builder: PlanBuilder) -> None:
    """Rotate the first features of the indexer's queries and keys like the attention's, by `position`."""
    problem = builder.problem
    if not problem.has_indexer or problem.index_rope is None or problem.position is None:
        return
    position = problem.position
    arrays = builder.add_arrays("position", position)
    arrays |= {name: builder.current[name] for name in position.record.derived if name in builder.current}
    options = {**options_beside(position, arrays), "interleaved": problem.index_rope == "pairs"}
    if "frequencies" not in arrays:
        width = builder.current_node("index_key").axes[-1].length
        options["dims"] = min(rotated_features(problem), width - width % 2)
    for role in ("query", "key"):
        source = builder.current_node(f"index_{role}")
        inputs = {"x": source.name, "positions": _positions(builder, role), **arrays}
        name, function = f"rotated_index_{role}", position.record.function
        builder.add(
            name, f"{source.symbol}ᵣ", "", source.axes, "position", function, inputs, options, role=f"index_{role}"
        )


def _positions(builder: PlanBuilder, role: str) -> str:
    """The node of the positions of queries or keys, with an axis for heads if batch items have their own."""
    node = builder.nodes[rotation_positions(builder, role)]
    if "b" not in node.letters or builder.layout.has_heads:
        return node.name
    batch, *others = node.axes
    axes = (batch, Axis("h", 1), *others)
    options = {"shape": tuple(axis.length for axis in axes)}
    name, symbol = f"index_{role}_positions", f"{node.symbol}ᴵ"
    return builder.add_made_of(node, name, symbol, node.symbol, "index", structural.reshape, options, axes=axes).name


def concatenate_index_cache(builder: PlanBuilder) -> None:
    """Put the cached keys of the indexer before the new ones."""
    problem = builder.problem
    if not problem.has_indexer or problem.past_index_key is None:
        return
    new, name = builder.current_node("index_key"), "past_index_key"
    letters: Letters = (*builder.letters("query")[:-2], "p", "η")
    builder.add_given(name, "Kᴵₚ", axes_of(letters, problem.past_index_key.shape), role=name)
    _add_split(builder, name, 1)
    past = builder.current_node(name)
    axes = (*new.axes[:-2], Axis("m", builder.key_count), new.axes[-1])
    inputs, formula = {"past": past.name, "new": new.name}, f"{past.symbol}, then {new.symbol}"
    function, name = structural.concat_cache, "concatenated_index_key"
    builder.add(name, "Kᴵ_all", formula, axes, "cache", function, inputs, role="index_key")


def score_index(builder: PlanBuilder) -> None:
    """The scores of the indexer, given or computed, if a mask chooses keys by them."""
    problem, layout, name = builder.problem, builder.layout, "index_scores"
    if not problem.chooses_keys:
        return
    rows = (Axis("n", builder.query_count), Axis("m", builder.key_count))
    heads = (Axis("h", 1),) if layout.has_heads else ()
    if problem.index_scores is not None:
        _add_given_scores(builder)
        return
    query, key, weights = (builder.current_node(f"index_{role}") for role in ("query", "key", "weights"))
    inputs = {"query": query.name, "key": key.name, "weights": weights.name}
    symbols = {argument: node.symbol for argument, node in (("query", query), ("key", key), ("weights", weights))}
    formula = selection.INDEX_SCORES_FORMULA.format(**symbols)
    axes, options = (*query.axes[:-3], *heads, *rows), {"has_head_axis": layout.has_heads}
    builder.add(name, "I", formula, axes, "index_scores", selection.index_scores, inputs, options, role=name)


def _add_given_scores(builder: PlanBuilder) -> Node:
    """Add the given scores of the computed queries."""
    problem, name, layout = builder.problem, "index_scores", builder.layout
    assert problem.index_scores is not None
    shape, selected = problem.index_scores.shape, problem.selected_queries
    axes = axes_of(builder.letters(name, len(shape)), shape)
    by_letter = {axis.letter: axis.length for axis in axes} | {"n": builder.query_count}
    present: Sequence[str] = [letter for letter in layout.score_axes if letter in by_letter or "b" in by_letter]
    axes = tuple(Axis(letter, by_letter.get(letter, 1)) for letter in (*present, "n", "m"))
    options = {"shape": tuple(axis.length for axis in axes), "at": selected}
    return builder.add_given(name, "I", axes, selection.given_index_scores, options=options, role=name)


STAGES = {"inputs": (project_index, rotate_index, concatenate_index_cache), "weights": (score_index,)}
