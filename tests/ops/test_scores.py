"""Scores, against loops over single pairs that follow their formulas."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from attncli.ops import operators
from attncli.ops.distances import gaussian
from attncli.ops.scores import additive, cosine, dot, scaled_dot
from tests.arrays import normal

Vector = Sequence[float]
N, M, D, C, A = 3, 5, 7, 2, 13  # distinct primes: a swapped axis can't hide


def inner(a: Vector, b: Vector) -> float:
    return math.fsum(x * y for x, y in zip(a, b, strict=True))


def column(w: np.ndarray, at: int) -> Vector:
    return [row[at] for row in w.tolist()]


ACTIVATIONS: dict[str, Callable[[float], float]] = {
    "tanh": math.tanh,
    "relu": lambda x: x if x > 0 else 0.0,
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
    "identity": lambda x: x,
}


def additive_by_loop(q: Vector, k: Vector, _j: int, w1: Any, w2: Any, v: Any, b: Any, activation: str) -> float:
    bias = b if np.ndim(b) else [b] * len(v)
    hidden = (inner(k, column(w1, a)) + inner(q, column(w2, a)) + bias[a] for a in range(len(v)))
    return math.fsum(v[a] * ACTIVATIONS[activation](x) for a, x in enumerate(hidden))


# name -> (a loop over one pair of a query, a key and the key's place; cases of parameters; size of the keys)
DEFINITIONS: dict[str, tuple[Callable[..., float], list[dict[str, Any]], int]] = {
    "scaled_dot": (lambda q, k, _: inner(q, k) / math.sqrt(len(q)), [{}], D),
    "dot": (lambda q, k, _: inner(q, k), [{}], D),
    "general": (
        lambda q, k, _, w: math.fsum(q[d] * w[d][c] * k[c] for d in range(D) for c in range(C)),
        [{"w": normal(D, C)}],
        C,
    ),
    "additive": (
        additive_by_loop,
        [
            {"w1": normal(C, A), "w2": normal(D, A), "v": normal(A), "b": b, "activation": activation}
            for activation in ACTIVATIONS
            for b in (0.0, 0.25, normal(A, seed=1))
        ],
        C,
    ),
    "location": (lambda q, _k, j, w: inner(q, column(w, j)), [{"w": normal(D, M)}], C),
    "cosine": (
        lambda q, k, _, beta: beta * inner(q, k) / (math.hypot(*q) * math.hypot(*k)),
        [{"beta": 1.0}, {"beta": 2.5}],
        D,
    ),
    "gaussian": (
        lambda q, k, _, sigma: -(math.dist(q, k) ** 2) / (2 * sigma * sigma),
        [{"sigma": 1.0}, {"sigma": 0.3}],
        D,
    ),
    "laplacian": (
        lambda q, k, _, sigma: -math.fsum(abs(a - b) for a, b in zip(q, k, strict=True)) / sigma,
        [{"sigma": 1.0}, {"sigma": 0.3}],
        D,
    ),
    "euclidean": (lambda q, k, _: -math.dist(q, k), [{}], D),
}
CASES = [
    pytest.param(name, loop, parameters, width, id=f"{name}-{at}")
    for name, (loop, cases, width) in DEFINITIONS.items()
    for at, parameters in enumerate(cases)
]


def test_every_score_has_a_second_definition_here() -> None:
    assert set(DEFINITIONS) == set(operators("score"))


@pytest.mark.parametrize(("name", "loop", "parameters", "width"), CASES)
def test_a_score_is_its_formula(name: str, loop: Callable[..., float], parameters: dict[str, Any], width: int) -> None:
    query, key = normal(N, D), normal(M, width, seed=1)
    computed = operators("score")[name].function(query, key, **parameters)
    expected = [[loop(q, k, j, **parameters) for j, k in enumerate(key.tolist())] for q in query.tolist()]
    np.testing.assert_allclose(computed, expected, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize(("name", "loop", "parameters", "width"), CASES)
def test_leading_axes_are_carried_along(
    name: str, loop: Callable[..., float], parameters: dict[str, Any], width: int
) -> None:
    function = operators("score")[name].function
    query, key = normal(2, 11, N, D), normal(2, 11, M, width)
    stacked = function(query, key, **parameters)
    assert stacked.shape == (2, 11, N, M)
    np.testing.assert_allclose(stacked[1, 7], function(query[1, 7], key[1, 7], **parameters), rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize(("name", "loop", "parameters", "width"), CASES)
def test_single_precision_stays_single(
    name: str, loop: Callable[..., float], parameters: dict[str, Any], width: int
) -> None:
    single = {key: value.astype(np.float32) if np.ndim(value) else value for key, value in parameters.items()}
    scores = operators("score")[name].function(normal(N, D).astype("f4"), normal(M, width).astype("f4"), **single)
    assert scores.dtype == np.float32


def test_scaling_divides_by_the_root_of_the_features() -> None:
    query, key = np.array([[2.0, 0, 2]]), np.array([[2.0, 4, 3]])
    assert dot(query, key).tolist() == [[10]]
    assert scaled_dot(query, key).tolist() == [[10 / math.sqrt(3)]]


@pytest.mark.parametrize("size", [1e-300, 1e-200, 1.0, 1e200, 1e300])
def test_the_cosine_does_not_depend_on_the_size(size: float) -> None:
    query, key = np.array([[3.0, 4.0]]) * size, np.array([[4.0, 3.0], [0.0, 0.0]])
    np.testing.assert_allclose(cosine(query, key), [[0.96, 0.0]], rtol=1e-15)


def test_a_gaussian_of_near_points_does_not_cancel() -> None:
    """q·q − 2q·k + k·k would lose every digit here."""
    query, key = np.array([[1e8, 1.0]]), np.array([[1e8, 1.5]])
    assert gaussian(query, key).tolist() == [[-0.125]]


def test_additive_scores_of_whole_numbers_are_fractions() -> None:
    one = np.array([[1]])
    scores = additive(one, 2 * one, w1=one, w2=one, v=np.array([5]), b=np.array([0]))
    np.testing.assert_allclose(scores, [[5 * math.tanh(3)]])


def test_the_tap_receives_the_inner_quantities_of_additive_scores() -> None:
    tapped: dict[str, np.ndarray] = {}

    def tap(name: str, value: np.ndarray) -> np.ndarray:
        tapped[name] = value
        return value

    parameters = {"w1": normal(C, A), "w2": normal(D, A), "v": normal(A)}
    scores = additive(normal(N, D), normal(M, C), **parameters, tap=tap)
    assert {name: value.shape for name, value in tapped.items()} == {
        "projected_key": (M, A),
        "projected_query": (N, A),
        "hidden": (N, M, A),
    }
    np.testing.assert_allclose(scores, tapped["hidden"] @ parameters["v"], rtol=1e-15)


def test_each_head_may_have_hidden_units_of_its_own() -> None:
    heads = 2
    query, key = normal(heads, N, D, seed=1), normal(heads, M, C, seed=2)
    parameters = {"w1": normal(heads, C, A), "w2": normal(heads, D, A), "v": normal(heads, A), "b": normal(heads, A)}
    for given in (parameters, {**parameters, "v": normal(A)}, {**parameters, "b": normal(A)}):
        scores = additive(query, key, **given)
        for head in range(heads):
            own = {name: array if name in "vb" and array.ndim == 1 else array[head] for name, array in given.items()}
            np.testing.assert_allclose(scores[head], additive(query[head], key[head], **own), rtol=1e-13)
