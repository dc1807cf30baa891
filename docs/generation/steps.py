"""Every step that a plan can have, as `attn show` explains it: symbols, formula, axes and inputs, and what it is for.

Steps are named where stages add them, and some names have a key's name in them (`visible_by_causal`), so that no list
of them is kept by hand: they are those of the plans of some problems, which have them all. Keys that none of these
problems has are given together in one more, by their examples.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple
from typing import Any

import numpy as np

from attncli.base.errors import AttnError
from attncli.io.assemble import read_value
from attncli.io.problem_files import Origin, RawValue
from attncli.numbers.parsing import number_of_text
from attncli.ops.recording.derivatives import RecordedDerivative
from attncli.ops.recording.guard import numbers_for
from attncli.plan.build import build_plan
from attncli.plan.graph import Node, Plan
from attncli.problem.build import build
from attncli.problem.fields import Field
from attncli.problem.spec import FIELDS
from attncli.render.meanings import STEPS_FILE, StepMeaning

PAGE = STEPS_FILE
# Expressions that have every mask in them, each also where it is not.
MASKS = (
    "(causal | prefix:size=1) & ~dilated:step=2",
    "~(causal & [[1]]) & (block:size=2 | ~[[1]])",
    "~global:tokens=1 & document:ids=0 0 1 & ~(block:size=2 | causal)",
    "document:lengths=1 2 & global:tokens=1",
    "causal & (top:keys=2 | window:left=1,right=0)",
)


def generate() -> str:
    """The steps by their names as JSON, a line each: one meaning for every symbol that a step can have."""
    steps: dict[str, dict[str, StepMeaning]] = {}
    problems = list(_problems())
    for keys in (*problems, _with_other_keys(problems)):
        for plan in _plans(keys):
            for name in (*plan.by_name, *(name for name in plan.results if plan[name].is_on_demand)):
                node = plan[name]
                of_name = steps.setdefault(name, {})
                if node.symbol not in of_name:
                    of_name[node.symbol] = _meaning(plan, node)
    lines = (json.dumps([*map(astuple, by_symbol.values())], ensure_ascii=False) for by_symbol in steps.values())
    return "{\n" + ",\n".join(f'"{name}": {line}' for name, line in zip(steps, lines, strict=True)) + "\n}\n"


def _plans(keys: Mapping[str, Any]) -> Iterator[Plan]:
    """The plan of a problem, and the one with gradients where each of its operators has a derivative."""
    problem = build(keys)
    yield build_plan(problem)
    with suppress(AttnError):
        yield build_plan(problem.with_gradient())


def _meaning(plan: Plan, node: Node) -> StepMeaning:
    """What a plan says of a node; the inputs of an inner quantity are those of its operator."""
    outer = node if node.tapped_from is None else plan.by_name[node.tapped_from]
    inputs = (plan.by_name[name] for name in dict.fromkeys(_read_by(plan, outer)))
    shapes = tuple((source.symbol, source.letters) for source in inputs)
    return StepMeaning(node.symbol, node.formula, node.letters, node.purpose, shapes)


def _read_by(plan: Plan, node: Node) -> Iterator[str]:
    """The nodes whose numbers a node reads: of the derivative of a function not those that it takes the shape of."""
    names = list(node.inputs)
    if isinstance(node.function, RecordedDerivative):
        shapes = {name: plan.by_name[source].shape for name, source in node.inputs.items()}
        arrays = {name: numbers_for(name, shape, 0) for name, shape in shapes.items()}
        names = list(node.function.read(arrays, node.options))
    return (node.inputs[name] for name in names)


def _mask(text: str) -> Any:
    """The value of a mask that is an expression."""
    return read_value(FIELDS["mask"], RawValue(text, Origin()))


def _with_other_keys(problems: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The plainest problem with every key of a stage that none of these problems has."""
    known = {name for keys in problems for name in keys}
    others = (field for name, field in FIELDS.items() if field.used_by and name not in known)
    return {**problems[0], **{field.name: _example(field) for field in others}}


def _example(field: Field) -> Any:
    """The example of a field: numbers and lists of them as Python has them, words and generators as text."""
    try:
        return json.loads(field.example)
    except ValueError:
        return number_of_text(field.example) if field.kind == "number" else field.example


def _latents(sequence: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Problems with latents, and with features of keys that all heads share: each on its own, and packed."""
    gain = {"rms": {"gain": np.ones(3)}}
    norms = {"q_latent_norm": gain, "kv_latent_norm": gain}
    heads = {**sequence, "heads": 2, "w_q": np.zeros((3, 8)), "w_q_latent": np.zeros((4, 3)), "b_q_latent": np.zeros(3)}
    ups = {"w_k": np.zeros((3, 4)), "w_v": np.zeros((3, 4)), "position": "rope"}
    alone = {"w_kv_latent": np.zeros((4, 3)), "b_kv_latent": np.zeros(3)}
    yield {**heads, **ups, **norms, **alone, "w_k_rope": np.zeros((4, 2)), "b_k_rope": np.zeros(2)}
    gains = {key: {"rms": {"gain": np.zeros(3), "bias": np.zeros(3)}} for key in norms}
    yield {**heads, **ups, **gains, "w_kv_latent_rope": np.zeros((4, 5)), "b_kv_latent_rope": np.zeros(5)}


def _indexers(sequence: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Problems with an indexer of two heads: plain, with a norm, rotated, with a cache, of batch items."""
    arrays = {"w_q_index": np.zeros((4, 4)), "w_k_index": np.zeros((4, 2)), "w_h_index": np.zeros((4, 2))}
    own = {**sequence, **arrays, "mask": _mask(MASKS[-1])}
    norm = {"k_index_norm": {"layer": {"gain": np.ones(2), "bias": np.zeros(2)}}}
    rotated = {"position": {"rope": {"dims": 2}}, "index_rope": "halves"}
    cache = {"past_key": np.zeros((1, 4)), "past_value": np.zeros((1, 4)), "past_index_key": np.zeros((1, 2))}
    yield from ({**own, **norm, **change} for change in ({}, rotated))
    yield from ({**own, **change} for change in ({}, rotated, cache, {**rotated, **cache}, {"heads": 2}))
    of_items = {"embeddings": np.zeros((2, 3, 4)), "positions": [[0, 1, 2], [0, 1, 2]]}
    yield {**own, **rotated, **of_items}
    yield {**sequence, "mask": _mask(MASKS[-1]), "index_scores": np.zeros((3, 3))}


def _problems() -> Iterator[Mapping[str, Any]]:  # noqa: PLR0915 - a list, whose items share arrays
    """Problems whose plans have every step: the plainest first, as the first symbol and formula of a step is shown."""
    sequence = {"embeddings": np.zeros((3, 4))}
    projected = {**sequence, **{f"w_{letter}": np.zeros((4, 4)) for letter in "qkv"}}
    in_heads = {**projected, "heads": 2}
    groups = {**in_heads, "kv_heads": 1, "w_k": np.zeros((4, 2)), "w_v": np.zeros((4, 2))}
    with_axes = {"query": np.zeros((1, 2, 3, 4)), "key": np.zeros((1, 1, 3, 4)), "value": np.zeros((1, 1, 3, 4))}
    cache = {"past_key": np.zeros((1, 4)), "past_value": np.zeros((1, 4))}
    other = {"query_embeddings": np.zeros((2, 4))}
    table, rows = np.zeros((3, 3)), {"gain": np.zeros(4), "bias": np.zeros(4)}
    limits = {"clip_qkv": 8.0, "value_scale": 0.5}

    yield from (projected, {**sequence, "grad_output": [[1.0]]})
    rules = {"causal": True, "window": [1, 0], "mask": table, "bias": table, "key_lengths": [3], "key_mask": [1, 1, 1]}
    offsets = {f"b_{letter}": np.zeros(4) for letter in "qkv"}
    yield {**projected, **offsets, **rules, "softcap": 2.0, "score": "dot"}
    yield {**sequence, "w_qkv": np.zeros((4, 12)), "b_qkv": np.zeros(12)}
    yield {**sequence, "w_kv": np.zeros((4, 8)), "b_kv": np.zeros(8)}
    yield {**sequence, "w_qg": np.zeros((4, 8)), "b_qg": np.zeros(8), **limits}
    yield from _latents(sequence)
    yield from _indexers(sequence)
    yield {**projected, "causal": True, "empty_rows": "uniform"}
    yield {**in_heads, "w_o": np.zeros((4, 4)), "b_o": np.zeros(4), "sink": np.zeros(2)}
    yield {**groups, "normalize": "softmax1"}
    yield {**projected, **cache, "align": "bottom_right", "key_lengths": [4]}
    yield {**projected, "causal": True, "align": "bottom_right", "key_lengths": [[1, 2, 3]]}
    yield {**in_heads, **cache, "causal": True}
    yield {**projected, **other, "position": "sinusoidal", "only": [0]}
    yield {**projected, "position": {"learned": {"table": np.zeros((3, 4))}}}
    yield {**projected, "position": {"shaw": {"table": np.zeros((3, 4))}}, "score": "dot", "scale": 2.0}
    yield {**projected, "position": "transformer_xl", "position_norm": {"layer": rows}}
    square = dict.fromkeys(("w_position_k", "w_position_q"), np.zeros((4, 4)))
    offsets_of_table = dict.fromkeys(("b_position_k", "b_position_q"), np.zeros(4))
    yield {**projected, "position": {"disentangled": {"table": np.zeros((4, 4)), **square, **offsets_of_table}}}
    biases = dict.fromkeys(("content_bias", "position_bias"), np.zeros(4))
    yield {**projected, "position": {"transformer_xl": {"w_position": np.zeros((4, 4)), **biases}}}
    yield {**projected, "position": {"t5": {"table": np.zeros((4, 1))}}}
    yield from ({**in_heads, "position": "alibi"}, {**in_heads, "bias": table})
    yield from ({**sequence, "position": "sinusoidal", "only": [0]}, {**projected, **other, "only": [0]})
    yield {**with_axes, "key_mask": [1, 1, 0], "align": "bottom_right", "causal": True}
    yield {**in_heads, "query_scale": {"logn": {"length": 2}}}
    yield from (
        {**with_axes, "key_mask": [0, 1, 1], "mask": {"chunked": {"size": 2}}},
        *({**projected, "mask": _mask(text)} for text in MASKS[:-1]),
    )

    yield {**in_heads, "difference": 0.5}
    yield {**in_heads, "difference": {"differential": {"lambda_init": 0.5}}, "context_norm": "rms"}
    learned = {"layer": 1, **{f"lambda_{name}": np.zeros(1) for name in ("q1", "k1", "q2", "k2")}}
    in_pairs = {"heads": 4, "kv_heads": 2, "w_k": np.zeros((4, 2)), "w_v": np.zeros((4, 2))}
    yield {**projected, **in_pairs, "difference": {"differential": learned}}
    states = {"decay": np.zeros((2, 3)), "beta": np.zeros((2, 3)), "past_state": np.zeros((2, 2, 2))}
    yield {**projected, "recurrence": {"gated": {"feature_map": "l2", "normalize": True}}, "decay": np.zeros(3)}
    yield {**in_heads, **states, "recurrence": "gated_delta"}
    in_groups = {"heads": 4, "kv_heads": 2, "w_k": np.zeros((4, 2)), "w_v": np.zeros((4, 2))}
    of_groups = {**states, "past_state": np.zeros((2, 1, 1))}
    yield {**projected, **in_groups, **of_groups, "recurrence": "gated_delta"}

    for score, normalize in (("cosine", "entmax"), ("gaussian", "sigmoid"), ("laplacian", "softmax")):
        yield {**projected, "score": score, "normalize": normalize}

    l2, rotated = {"qk_norm": "l2"}, {"position": "rope"}
    norms: list[Mapping[str, Any]] = [
        {key: {"rms": given} for key in ("qk_norm", "value_norm", "context_norm")} for given in ({}, {"over": "all"})
    ]
    late: list[Mapping[str, Any]] = [
        {"qk_norm": {"rms": {"when": "after_rope", **given}}} for given in ({}, {"over": "all"})
    ]
    for change in (l2, norms[0], rotated, {**rotated, **l2}, {**rotated, **late[0]}, {**rotated, **limits}):
        yield {**projected, **change}
    yield from ({**in_heads, **change} for change in (l2, late[1]))
    changes = [{**positions, **x} for positions in ({}, rotated) for x in ({}, l2, *norms, *late, limits)]
    yield from ({**groups, **change} for change in changes)
    yield {**groups, "past_key": np.zeros((1, 2)), "past_value": np.zeros((1, 2))}
    gain = {"sink": np.zeros(2), "qk_norm": {"rms": {"query_gain": np.zeros(4)}}}
    of_items = {name: np.repeat(array, 2, axis=0) for name, array in with_axes.items()}
    yield from ({**with_axes, **change} for change in changes)
    yield {**of_items, **gain}
    of_two = {f"{role}_{name}": zeros for role in ("query", "key") for name, zeros in rows.items()}
    yield {**projected, "qk_norm": {"rms": of_two}, "value_norm": {"rms": rows}, "context_norm": {"rms": rows}}
    for scaling in (
        {"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 4096},
        {"rope_type": "dynamic", "factor": 4, "max_position_embeddings": 4096},
        {"rope_type": "default", "mrope_section": [1, 1]},
    ):
        yield {**projected, "position": {"rope": {"scaling": scaling}}}
    yield {**projected, **rotated, "positions": [0, 1, 5]}
    yield {**projected, "context": {"attentional": {"w": np.zeros((8, 4))}}}
    yield {**sequence, "only": [0], "heads": 2}
    yield {"residual": np.zeros((3, 4)), "residual_norm": {"layer": rows}}
    yield {"tokens": [0, 1], "token_table": np.zeros((3, 4)), "token_positions": np.zeros((2, 4)), "token_scale": 2.0}
    of_types = {"token_scale": 2.0, "token_types": np.zeros((1, 4)), "token_norm": {"layer": rows}}
    yield {"tokens": [0, 1], "token_table": np.zeros((3, 4)), "token_positions": np.zeros((2, 4)), **of_types}
