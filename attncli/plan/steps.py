"""Every step that a plan can have: what it is for, its symbols, formula, axes and inputs."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from attncli.base.axes import Letters
from attncli.base.dataclasses import dataclass
from attncli.plan.build import build_plan
from attncli.plan.graph import Node, Plan
from attncli.problem.build import build

# Of the steps and results that no operator names; a step that is an operator's has its summary.
PURPOSES: Mapping[str, str] = {
    # sequences
    "embeddings": "The sequence: one vector for each token.",
    "residual": "The residual stream: one vector for each token, to which every layer adds what it finds.",
    "token_vectors": "The learned vector of each token, by its number in the vocabulary.",
    "scaled_token_vectors": "The vectors of the tokens, in the size that the first layer expects.",
    "token_positions": "A learned vector for each position, by which a token is told from the same one elsewhere.",
    "query_embeddings": "The sequence that asks: one vector for each query.",
    "embeddings_positions": "Where each embedding stands in the sequence.",
    "query_embeddings_positions": "Where each query embedding stands in its sequence.",
    "positioned_embeddings": "The embeddings with the vector of their position added, so that order counts.",
    "positioned_query_embeddings": "The query embeddings with the vector of their position added.",
    "selected_rows": "Only the queries that `only` names are computed; keys and values stay whole.",
    # projections
    "query": "What each token looks for in the others.",
    "key": "What each token offers to those that look; queries are compared with it.",
    "value": "What each token passes on when it is attended to.",
    "w_q": "Learned weights that make queries of the embeddings.",
    "w_k": "Learned weights that make keys of the embeddings.",
    "w_v": "Learned weights that make values of the embeddings.",
    "w_qkv": "Learned weights that make queries, keys and values of the embeddings, in one matrix.",
    "w_kv": "Learned weights that make keys and values of the embeddings, in one matrix.",
    "b_qkv": "A learned vector that is added to every query, key and value, each to its part.",
    "b_kv": "A learned vector that is added to every key and value, each to its part.",
    "w_g": "Learned weights that make the gates of the output of the queries' sequence.",
    "b_g": "A learned vector that is added to every projected gate.",
    "w_qg": "Learned weights that make each head's query and its gate, in one matrix.",
    "b_qg": "A learned vector that is added to every query and every projected gate, each to its part.",
    "w_o": "Learned weights that mix what the heads have found.",
    "b_q": "A learned vector that is added to every query.",
    "b_k": "A learned vector that is added to every key.",
    "b_v": "A learned vector that is added to every value.",
    "b_o": "A learned vector that is added to every output.",
    "clipped_query": "No number of a query is farther from 0 than the limit.",
    "clipped_key": "No number of a key is farther from 0 than the limit.",
    "clipped_value": "No number of a value is farther from 0 than the limit.",
    "scaled_value": "The values times a number, as their model was trained.",
    # heads
    "query_heads": "Each head gets its own share of the query's features, and looks for something of its own.",
    "key_heads": "Each head gets its own share of the key's features.",
    "value_heads": "Each head gets its own share of the value's features.",
    "merged_query": "The queries of all heads side by side, to be normalized together.",
    "merged_key": "The keys of all heads side by side, to be normalized together.",
    "merged_value": "The values of all heads side by side, to be normalized together.",
    "merged_context": "What the heads have found, side by side, to be normalized together.",
    "normalized_query_heads": "Each head gets its share of the normalized queries again.",
    "normalized_key_heads": "Each head gets its share of the normalized keys again.",
    "normalized_value_heads": "Each head gets its share of the normalized values again.",
    "normalized_context_heads": "Each head gets its share of the normalized context again.",
    "repeated_key": "Several query heads read the same key head, which saves memory in the cache.",
    "repeated_value": "Several query heads read the same value head, which saves memory in the cache.",
    # the cache
    "past_key": "The keys of earlier tokens, kept from the calls before.",
    "past_value": "The values of earlier tokens, kept from the calls before.",
    "past_key_heads": "Each head gets its own share of the cached key's features.",
    "past_value_heads": "Each head gets its own share of the cached value's features.",
    "concatenated_key": "Queries see the keys of earlier tokens, which were kept, and then the new ones.",
    "concatenated_value": "The values of earlier tokens, which were kept, and then the new ones.",
    "present_key": "The keys of all tokens so far, kept for the next call.",
    "present_value": "The values of all tokens so far, kept for the next call.",
    # positions
    "key_positions": "Where each key stands, counted from 0.",
    "new_key_positions": "Where each new key stands, counted after the cached ones.",
    "query_rows": "The number of each query, counted from 0.",
    "query_positions": "Where each query stands among the keys; causal masks, windows and positions count from there.",
    "positions": "Where each key stands, as it was given.",
    "positions_of_queries": "Where each query stands, as it was given.",
    "positions_on_axes": "Where each key stands on each axis: on all of them by its number.",
    "query_positions_on_axes": "Where each query stands on each axis: on all of them by its number.",
    "position_count": "How long the sequence is: some scalings of positions depend on it.",
    "real_key_ends": "Where the real keys of each batch item end; what stands after them is padding.",
    "real_key_starts": "Where the real keys of each batch item begin; what stands before them is padding.",
    "scaled_query": "The queries times their factors: with more keys to choose from the scores are larger.",
    # scores
    "unscaled_scores": "How well each key answers each query, before the scale.",
    "scores": "How well each key answers each query: the higher, the more the query attends to it.",
    "capped_scores": "No score is farther from 0 than the cap, so that no single key takes everything.",
    "positioned_scores": "The scores with the bias of the positions.",
    "biased_scores": "The scores with the bias that was given.",
    "bias": "Numbers that are added to the scores: what is known beforehand of each pair.",
    "mask": "Which keys each query may attend to: 1 where it may, 0 where it may not.",
    "key_mask": "Which keys are real, 1, and which are padding, 0.",
    "key_lengths": "How many keys of each batch item are real; the rest is padding.",
    "visible": "Which keys each query may attend to: those that no rule hides.",
    "masked_scores": "A hidden key scores −∞, so that its weight is 0.",
    # the output
    "sink": "A score for each head that takes part in the softmax like that of one more key, and is then dropped.",
    "scores_and_sink": "The sink is one more column, which may take weight away from every key.",
    "weights": "How much of each key's value a query takes.",
    "context": "What each query gathers: the values, mixed by its weights.",
    "merged": "What the heads have found, side by side again in one vector for each query.",
    "projected_gate": "What each query makes its gates of: one for each feature of the output, or for each head.",
    "gate": "How far each feature, or each head, is let through.",
    "gated": "The merged heads as far as the gates let them through.",
    "output": "The answer: one vector for each query.",
}


def purpose_of(plan: Plan, node: Node) -> str:
    """What a node of a plan is for, in one sentence.

    That of an operator is its summary, that of an array inside an operator in its record; the others are in PURPOSES.

    >>> from attncli.plan.build import build_plan
    >>> from attncli.problem.build import build
    >>> plan = build_plan(build({"embeddings": [[1, 2]], "normalize": "hardmax"}))
    >>> purpose_of(plan, plan["key"])
    'What each token offers to those that look; queries are compared with it.'
    """
    if node.record is not None:
        return node.record.summary
    if node.tapped_from is not None:
        return _purpose_of_inner(plan[node.tapped_from], node)
    if len(node.source) > 1:
        reader = next(other.record for other in plan.nodes if other.record and node.name in other.inputs.values())
        return f"The parameter {node.source[-1]} of {reader.name}, as it was given."
    if node.name in PURPOSES:
        return PURPOSES[node.name]
    records = [other.record for other in plan.nodes if other.record is not None]
    return next(record.derived[node.name].purpose for record in records if node.name in record.derived)


def _purpose_of_inner(outer: Node, node: Node) -> str:
    """The purpose of a quantity that the operator of `outer` computes on the way to its result."""
    assert outer.record is not None
    purposes = (quantity.purpose for quantity in outer.record.inner if outer.taps.get(quantity.name) == node.name)
    return next(purposes) or f"An inner step of {outer.name}."


@dataclass(frozen=True)
class StepMeaning:
    """What is known of a step before any problem: as one plan has it."""

    name: str
    symbol: str
    formula: str
    letters: Letters
    purpose: str
    inputs: tuple[tuple[str, Letters], ...]  # the symbol and the letters of each


def _zeros(*shape: int) -> Any:
    """Nested lists of zeros."""
    return [_zeros(*shape[1:]) for _ in range(shape[0])] if shape else 0.0


_SEQUENCE = {"embeddings": _zeros(3, 4)}
_PROJECTED = {**_SEQUENCE, "w_q": _zeros(4, 4), "w_k": _zeros(4, 4), "w_v": _zeros(4, 4)}
_HEADS = {"heads": 2}
_GROUPS = {**_PROJECTED, "heads": 2, "kv_heads": 1, "w_k": _zeros(4, 2), "w_v": _zeros(4, 2)}
_AXES = {"query": _zeros(1, 2, 3, 4), "key": _zeros(1, 1, 3, 4), "value": _zeros(1, 1, 3, 4)}
_CACHE = {"past_key": _zeros(1, 4), "past_value": _zeros(1, 4)}
_GROUPS_CACHE = {**_GROUPS, "past_key": _zeros(1, 2), "past_value": _zeros(1, 2)}
_RULES = {
    "causal": True,
    "window": [1, 0],
    "mask": _zeros(3, 3),
    "bias": _zeros(3, 3),
    "key_lengths": [3],
    "key_mask": [1, 1, 1],
}
_TABLES = {
    name: {name: {"table": _zeros(*shape)}} for name, shape in (("shaw", (3, 4)), ("t5", (4, 1)), ("learned", (3, 4)))
}

_NORMS: tuple[Mapping[str, Any], ...] = (
    *({key: {"rms": given} for key in ("qk_norm", "value_norm", "context_norm")} for given in ({}, {"over": "all"})),
    *({"qk_norm": {"rms": {"when": "after_rope", **given}}} for given in ({}, {"over": "all"})),
)
_LIMITS = {"clip_qkv": 8.0, "value_scale": 0.5}
_GAINS = {"gain": _zeros(4), "bias": _zeros(4)}
_NORMS_WITH_GAINS: Mapping[str, Any] = {
    "qk_norm": {"rms": {f"{role}_{name}": zeros for role in ("query", "key") for name, zeros in _GAINS.items()}},
    "value_norm": {"rms": _GAINS},
    "context_norm": {"rms": _GAINS},
}
_SCALINGS: tuple[Mapping[str, Any], ...] = (
    {"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 4096},
    {"rope_type": "dynamic", "factor": 4, "max_position_embeddings": 4096},
    {"rope_type": "default", "mrope_section": [1, 1]},
)

# Problems whose plans have every step: the plainest first, because the first symbol and formula of a step is shown.
_PROBLEMS: tuple[Mapping[str, Any], ...] = (
    _PROJECTED,
    {"sentence": "a b c", "vocabulary": {"a": [0, 1], "b": [1, 0], "c": [1, 1]}},
    {**_PROJECTED, **{f"b_{name}": _zeros(4) for name in "qkv"}, **_RULES, "softcap": 2.0, "score": "dot"},
    {**_SEQUENCE, "w_qkv": _zeros(4, 12), "b_qkv": _zeros(12)},
    {**_SEQUENCE, "w_kv": _zeros(4, 8), "b_kv": _zeros(8)},
    {**_SEQUENCE, "w_qg": _zeros(4, 8), "b_qg": _zeros(8), **_LIMITS},
    {**_SEQUENCE, "w_g": _zeros(4, 4), "b_g": _zeros(4)},
    {**_PROJECTED, "causal": True, "empty_rows": "uniform"},
    {**_PROJECTED, **_HEADS, "w_o": _zeros(4, 4), "b_o": _zeros(4), "sink": _zeros(2)},
    {**_GROUPS, "normalize": "softmax1"},
    {**_PROJECTED, **_CACHE, "align": "bottom_right", "key_lengths": [4]},
    {**_PROJECTED, **_HEADS, **_CACHE, "causal": True},
    {"query": _zeros(2, 4), "key": _zeros(3, 4), "value": _zeros(3, 4), "only": [0]},
    {**_PROJECTED, "query_embeddings": _zeros(2, 4), "position": "sinusoidal", "only": [0]},
    {**_PROJECTED, "position": _TABLES["learned"]},
    {**_PROJECTED, "position": _TABLES["shaw"], "score": "dot", "scale": 2.0},
    {**_PROJECTED, "position": _TABLES["t5"]},
    {**_PROJECTED, **_HEADS, "position": "alibi"},
    {**_SEQUENCE, "position": "sinusoidal", "only": [0]},
    {**_PROJECTED, "query_embeddings": _zeros(2, 4), "only": [0]},
    {**_AXES, "key_mask": [1, 1, 0], "align": "bottom_right", "causal": True},
    {**_PROJECTED, **_HEADS, "query_scale": {"logn": {"length": 2}}},
    {**_AXES, "key_mask": [0, 1, 1], "mask": {"chunked": {"size": 2}}},
    *(
        {**sequences, **position, **change}
        for sequences in (_PROJECTED, _PROJECTED | _CACHE, _PROJECTED | _HEADS, _GROUPS, _GROUPS_CACHE, _AXES)
        for position in ({}, {"position": "rope"})
        for change in ({}, {"qk_norm": "l2"}, *_NORMS, _LIMITS)
    ),
    {**_PROJECTED, **_NORMS_WITH_GAINS},
    *({**_PROJECTED, "position": {"rope": {"scaling": scaling}}} for scaling in _SCALINGS),
    {**_PROJECTED, "position": "rope", "positions": [0, 1, 5]},
    {**_PROJECTED, "context": {"attentional": {"w": _zeros(8, 4)}}},
    {**_SEQUENCE, "only": [0], **_HEADS},
    {"residual": _zeros(3, 4), "residual_norm": "rms"},
    {"residual": _zeros(3, 4), "residual_norm": {"layer": {"gain": _zeros(4), "bias": _zeros(4)}}},
    {"tokens": [0, 1], "token_table": _zeros(3, 4), "token_positions": _zeros(2, 4), "token_scale": 2.0},
)


@cache
def every_step() -> Mapping[str, tuple[StepMeaning, ...]]:
    """The steps by their names, each once for every symbol that it can have."""
    steps: dict[str, dict[str, StepMeaning]] = {}
    for keys in _PROBLEMS:
        plan = build_plan(build(keys))
        for node in plan.nodes:
            steps.setdefault(node.name, {}).setdefault(node.symbol, _step(plan, node))
    return {name: tuple(by_symbol.values()) for name, by_symbol in steps.items()}


def _step(plan: Plan, node: Node) -> StepMeaning:
    """What a plan says of a node."""
    inputs = tuple((plan[name].symbol, plan[name].letters) for name in _inputs(plan, node))
    return StepMeaning(node.name, node.symbol, node.formula, node.letters, purpose_of(plan, node), inputs)


def _inputs(plan: Plan, node: Node) -> Iterator[str]:
    """The nodes that a node is computed from; an inner quantity's are those of its operator."""
    outer = node if node.tapped_from is None else plan[node.tapped_from]
    yield from dict.fromkeys(outer.inputs.values())
