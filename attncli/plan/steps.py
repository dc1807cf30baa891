"""Every step that a plan can have: what it is for, its symbols, formula, axes and inputs."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from attncli.base.axes import Letters
from attncli.base.dataclasses import dataclass
from attncli.plan.build import build_plan
from attncli.plan.graph import Node, Plan
from attncli.problem.build import build


def purpose_of(plan: Plan, node: Node) -> str:
    """What a node of a plan is for, in one sentence."""
    return node.purpose


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
