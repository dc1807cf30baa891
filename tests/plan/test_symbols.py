"""The symbols and formulas of a plan: one letter means one thing, and only parameters in force are shown."""

import re
from collections import Counter
from typing import Any

import pytest

from attncli.ops import kinds, operators
from attncli.plan.build import build_plan
from attncli.plan.graph import Node, Plan
from attncli.problem.spec import ProblemSpec
from tests.problems import problem

FREE = frozenset("ijfpx")  # indices, and the position and pair that a formula counts

X = [[1.0, 2.0], [3.0, 4.0]]
MORE: dict[str, dict[str, Any]] = {
    "two sequences with positions": {"embeddings": X, "query_embeddings": X, "position": "sinusoidal", "causal": True},
    "two matrices w": {
        "query": X,
        "key": X,
        "score": {"general": {"w": X}},
        "context": {"attentional": {"w": [[1.0], [1], [1], [1]]}},
    },
    "unit vectors of normalized queries": {"query": X, "key": X, "score": "cosine", "qk_norm": "l2"},
    "masks of every kind": {
        "query": [X],
        "key": [X],
        "mask": [[1, 0], [1, 1]],
        "key_mask": [[1, 1]],
        "key_lengths": [2],
        "align": "bottom_right",
        "causal": True,
        "heads": 2,
    },
}


def all_plans(spec: ProblemSpec) -> list[Plan]:
    return [build_plan(spec), *(build_plan(problem(**keys)) for keys in MORE.values())]


def sources(plan: Plan, node: Node) -> set[str]:
    """The symbols of the node, of what it is computed from, and of its operator's inner quantities."""
    outer = plan[node.tapped_from] if node.tapped_from else node
    names = {node.name, outer.name, *outer.inputs.values(), *outer.taps.values()}
    return {plan[name].symbol for name in names}


def test_two_steps_of_a_plan_have_different_symbols(spec: ProblemSpec) -> None:
    for plan in all_plans(spec):
        counts = Counter(node.symbol for node in plan.nodes)
        assert [symbol for symbol, count in counts.items() if count > 1] == []


def test_a_letter_in_a_formula_is_no_symbol_of_a_step_that_it_does_not_read(spec: ProblemSpec) -> None:
    for plan in all_plans(spec):
        symbols = {node.symbol for node in plan.nodes}
        for node in plan.nodes:
            letters = set(re.findall(r"(?<!\w)[^\W\d](?![\w⁺\u0302])", node.formula))
            assert (letters & symbols) - sources(plan, node) - FREE == set(), (node.name, node.formula)


@pytest.mark.parametrize(
    ("keys", "step", "formula"),
    [
        ({}, "weights", "aᵢⱼ = exp(sᵢⱼ) / Σⱼ exp(sᵢⱼ)"),
        ({}, "exponentials", "exp(sᵢⱼ − maxᵢ)"),
        ({"normalize": "softmax:temperature=2"}, "weights", "aᵢⱼ = exp(sᵢⱼ/T) / Σⱼ exp(sᵢⱼ/T)"),
        ({"normalize": "softmax:temperature=2"}, "exponentials", "exp((sᵢⱼ − maxᵢ)/T)"),
        ({"normalize": "sigmoid"}, "weights", "aᵢⱼ = 1 / (1 + exp(−sᵢⱼ))"),
        ({"normalize": "sigmoid:shift=1"}, "weights", "aᵢⱼ = 1 / (1 + exp(−(sᵢⱼ + shift)))"),
        ({"normalize": "entmax"}, "weights", "aᵢⱼ = max(sᵢⱼ/2 − τᵢ, 0)²"),
        ({"normalize": "entmax:alpha=1.3"}, "weights", "aᵢⱼ = max((α − 1) sᵢⱼ − τᵢ, 0)^(1/(α − 1))"),
        ({"position": {"shaw": {"table": [[1, 2]]}}}, "scores", "S = S₁ / √d"),
        ({"position": {"shaw": {"table": [[1, 2]]}}, "scale": 0.5}, "scores", "S = 0.5 S₁"),
        ({"score": "cosine"}, "scores", "sᵢⱼ = qᵢ·kⱼ / (‖qᵢ‖ ‖kⱼ‖)"),
        ({"score": "cosine:beta=3"}, "scores", "sᵢⱼ = β qᵢ·kⱼ / (‖qᵢ‖ ‖kⱼ‖)"),
        ({"score": "gaussian"}, "scores", "sᵢⱼ = −‖qᵢ − kⱼ‖² / 2"),
        ({"score": "laplacian:sigma=3"}, "scores", "sᵢⱼ = −‖qᵢ − kⱼ‖₁ / σ"),
        ({"score": {"additive": {"w1": X, "w2": X, "v": [1, 2]}}}, "scores", "sᵢⱼ = vᵀ tanh(W₁kⱼ + W₂qᵢ)"),
        (
            {"score": {"additive": {"w1": X, "w2": X, "v": [1, 2], "b": [1, 2], "activation": "relu"}}},
            "hidden",
            "hᵢⱼ = relu(W₁kⱼ + W₂qᵢ + b)",
        ),
        ({"normalize": "sparsemax"}, "weights", "aᵢⱼ = max(sᵢⱼ − τᵢ, 0)"),
        ({"normalize": "topk:k=2"}, "weights", "aᵢ = softmax over the 2 largest sᵢⱼ, 0 elsewhere"),
        ({"qk_norm": "rms"}, "normalized_query", "u / √(mean(u²))"),
        ({"qk_norm": "rms:eps=0.1"}, "normalized_query", "u / √(mean(u²) + eps)"),
        (
            {"position": "rope"},
            "rotated_query",
            "(u₁, u₂) → (u₁ cos pθ − u₂ sin pθ, u₂ cos pθ + u₁ sin pθ), θ = base^(−2f/d)",
        ),
        (
            {"position": "rope:offset=1,scaling=2,dims=2"},
            "rotated_query",
            "(u₁, u₂) → (u₁ cos φ − u₂ sin φ, u₂ cos φ + u₁ sin φ), φ = (p + offset) θ / scaling, θ = base^(−2f/dims)",
        ),
        ({"window": (1, float("inf"))}, "visible_by_window", "visible where pᵢ − left ≤ j"),
    ],
)
def test_a_formula_has_the_parameters_in_force_and_no_others(keys: dict[str, Any], step: str, formula: str) -> None:
    assert build_plan(problem(query=X, key=X, **keys))[step].formula == formula


def test_the_defaults_make_no_formula_longer_than_that_of_the_record() -> None:
    for kind in kinds():
        for record in operators(kind).values():
            required = {p.name: record.example[p.name] for p in record.parameters if p.required}
            arrays_given = {name: isinstance(value, list) or value for name, value in required.items()}
            assert len(record.formula_with({**record.defaults, **arrays_given})) <= len(record.formula), record.name
