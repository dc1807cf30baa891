"""The symbols and formulas of a plan: one letter means one thing, and only parameters in force are shown."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pytest

from attncli.ops import kinds, operators
from attncli.ops.records import Parameter
from attncli.plan.build import build_plan
from attncli.plan.graph import Node, Plan
from attncli.problem.spec import ProblemSpec
from tests.problems import problem

FREE = frozenset("ijf")  # indices, and the pair that a formula counts

X = [[1.0, 2.0], [3.0, 4.0]]
WIDE = [[1.0, 2.0, 3.0, 4.0]]
ROTATION = "(u₁, u₂) → (u₁ cos φ − u₂ sin φ, u₂ cos φ + u₁ sin φ)"
ELEMENT = re.compile("(?<![A-Za-z])[a-z](?=[ᵢⱼ])")  # the letter of an array, at one index or two
LETTER = re.compile(r"(?<![\w^])[a-z](?!\w)")  # on its own, or before a bracket
MORE: dict[str, dict[str, Any]] = {
    "two sequences with positions": {"embeddings": X, "query_embeddings": X, "position": "sinusoidal", "causal": True},
    "two matrices w": {
        "query": X,
        "key": X,
        "score": {"general": {"w": X}},
        "context": {"attentional": {"w": [[1.0], [1], [1], [1]]}},
    },
    "additive scores in a batch, with a cache": {
        "query": [X],
        "key": [X],
        "past_key": [X],
        "past_value": [X],
        "score": {"additive": {"w1": X, "w2": X, "v": [1, 2], "b": [1, 2]}},
        "position": "alibi",
        "causal": True,
        "only": [1],
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


def axes_of(nodes: Iterable[Node]) -> set[str]:
    """The letters of the axes of these nodes, those of `e+d` and `h·e` too."""
    return set("".join(letter for node in nodes for letter in node.letters)) - set("+·1")


def plans_of_every_operator() -> Iterator[Plan]:
    """A plan of each score, normalizer and context, and of each norm, in a batch with heads."""
    arrays = {"query": [[X, X]], "key": [[X, X]]}
    for kind in ("score", "normalize", "context", "qk_norm"):
        for record in operators(kind).values():
            required = {p.name: record.example[p.name] for p in record.parameters if p.required}
            parameters = {**required, **{p.name: _array(p) for p in record.parameters if p.kind == "array"}}
            yield build_plan(problem(**arrays, **{kind: {record.name: parameters}}))


def _array(parameter: Parameter) -> np.ndarray:
    """An array for a parameter of an operator of two features and two keys."""
    return np.ones([4 if letter == "e+d" else 2 for letter in parameter.letters])


def assert_a_letter_is_an_axis_or_an_array(plan: Plan) -> None:
    """The letter of an axis is that of no array, and on its own it is an axis of what the step is computed from."""
    axes = axes_of(plan.nodes)
    for node in plan.nodes:
        upstream = axes_of(plan[name] for name in plan.needed_for([node.name]))
        assert node.symbol not in axes, node.name
        assert not axes & set(ELEMENT.findall(node.formula)), (node.name, node.formula)
        assert set(LETTER.findall(node.formula)) & axes <= upstream, (node.name, node.formula)


def test_the_letter_of_an_axis_is_that_of_no_array(spec: ProblemSpec) -> None:
    for plan in all_plans(spec):
        assert_a_letter_is_an_axis_or_an_array(plan)


def test_the_letter_of_an_axis_is_that_of_no_array_of_an_operator() -> None:
    for plan in plans_of_every_operator():
        assert_a_letter_is_an_axis_or_an_array(plan)


def test_an_element_has_the_symbol_of_the_step_that_is_read() -> None:
    plan = build_plan(problem(query=WIDE, key=WIDE, heads=2, position="rope", qk_norm="l2", causal=True, sink=[1, 1]))
    symbols = [plan[name].symbol for name in ("rotated_query", "rotated_key", "scores_and_sink", "weights_and_sink")]
    query, key, scores, weights = symbols
    assert plan["scores"].formula == f"Sᵢⱼ = {query}ᵢ·{key}ⱼ / √d"
    assert plan["weights_and_sink"].formula == f"{weights}ᵢⱼ = exp({scores}ᵢⱼ) / Σⱼ exp({scores}ᵢⱼ)"
    assert plan["context"].formula == "Cᵢ = Σⱼ Aᵢⱼ Vₕⱼ"


@pytest.mark.parametrize(
    ("keys", "step", "formula"),
    [
        ({}, "weights", "Aᵢⱼ = exp(Sᵢⱼ) / Σⱼ exp(Sᵢⱼ)"),
        ({}, "exponentials", "exp(Sᵢⱼ − maxᵢ)"),
        ({"normalize": "softmax:temperature=2"}, "weights", "Aᵢⱼ = exp(Sᵢⱼ/T) / Σⱼ exp(Sᵢⱼ/T)"),
        ({"normalize": "softmax:temperature=2"}, "exponentials", "exp((Sᵢⱼ − maxᵢ)/T)"),
        ({"normalize": "sigmoid"}, "weights", "Aᵢⱼ = 1 / (1 + exp(−Sᵢⱼ))"),
        ({"normalize": "sigmoid:shift=1"}, "weights", "Aᵢⱼ = 1 / (1 + exp(−(Sᵢⱼ + shift)))"),
        ({"normalize": "entmax"}, "weights", "Aᵢⱼ = max(Sᵢⱼ/2 − τᵢ, 0)²"),
        ({"normalize": "entmax:alpha=1.3"}, "weights", "Aᵢⱼ = max((α − 1) Sᵢⱼ − τᵢ, 0)^(1/(α − 1))"),
        ({"position": {"shaw": {"table": [[1, 2]]}}}, "scores", "S = S₁ / √d"),
        ({"position": {"shaw": {"table": [[1, 2]]}}, "scale": 0.5}, "scores", "S = 0.5 S₁"),
        ({"score": "cosine"}, "scores", "Sᵢⱼ = Qᵢ·Kⱼ / (‖Qᵢ‖ ‖Kⱼ‖)"),
        ({"score": "cosine:beta=3"}, "scores", "Sᵢⱼ = β Qᵢ·Kⱼ / (‖Qᵢ‖ ‖Kⱼ‖)"),
        ({"score": "gaussian"}, "scores", "Sᵢⱼ = −‖Qᵢ − Kⱼ‖² / 2"),
        ({"score": "laplacian:sigma=3"}, "scores", "Sᵢⱼ = −‖Qᵢ − Kⱼ‖₁ / σ"),
        ({"score": {"additive": {"w1": X, "w2": X, "v": [1, 2]}}}, "scores", "Sᵢⱼ = vᵀ tanh(W₁Kⱼ + W₂Qᵢ)"),
        (
            {"score": {"additive": {"w1": X, "w2": X, "v": [1, 2], "b": [1, 2], "activation": "relu"}}},
            "hidden",
            "Hᵢⱼ = relu(W₁Kⱼ + W₂Qᵢ + b_H)",
        ),
        ({"normalize": "sparsemax"}, "weights", "Aᵢⱼ = max(Sᵢⱼ − τᵢ, 0)"),
        ({"normalize": "topk:k=2"}, "weights", "Aᵢ = softmax over the 2 largest Sᵢⱼ, 0 elsewhere"),
        ({"qk_norm": "rms"}, "normalized_query", "u / √(mean(u²))"),
        ({"qk_norm": "rms:eps=0.1"}, "normalized_query", "u / √(mean(u²) + eps)"),
        (
            {"position": "rope"},
            "rotated_query",
            f"{ROTATION}, φ = pos θ, θ = base^(−2f/d)",
        ),
        (
            {"position": "rope:offset=1,scaling=2,dims=2"},
            "rotated_query",
            f"{ROTATION}, φ = (pos + offset) θ / scaling, θ = base^(−2f/dims)",
        ),
        ({"window": (1, float("inf"))}, "visible_by_window", "visible where posᵢ − left ≤ j"),
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
