"""Differences of maps: λ, which heads are a pair, and attention with two maps in formulas of the paper."""

import math
from typing import Any

import numpy as np
import pytest

from attncli import AttnError, attention
from attncli.numbers.arithmetic import ArithmeticWriter
from attncli.ops import operators
from attncli.ops.differences import VECTORS, differential, heads_of_map, pair_heads
from tests.arrays import normal

N, M, D, E, PAIRS = 3, 5, 2, 3, 2


def softmax(x: np.ndarray) -> np.ndarray:
    return np.exp(x) / np.exp(x).sum(axis=-1, keepdims=True)


def paper(query: Any, key: Any, value: Any, factor: float, initial: float | None = None) -> np.ndarray:
    """Ye et al. 2024, eq. 1 and 3: each head has two queries and keys side by side, and values of twice their width."""
    heads = []
    for head in range(PAIRS):
        q1, q2 = np.split(query[:, 2 * D * head : 2 * D * (head + 1)], 2, axis=1)
        k1, k2 = np.split(key[:, 2 * D * head : 2 * D * (head + 1)], 2, axis=1)
        v = value[:, 2 * E * head : 2 * E * (head + 1)]
        out = (softmax(q1 @ k1.T / math.sqrt(D)) - factor * softmax(q2 @ k2.T / math.sqrt(D))) @ v
        if initial is not None:
            out = (1 - initial) * out / np.sqrt((out**2).mean(axis=-1, keepdims=True) + 1e-5)
        heads.append(out)
    return np.concatenate(heads, axis=1)


GIVEN = {"query": normal(N, 4 * D), "key": normal(M, 4 * D), "value": normal(M, 4 * E), "heads": 2 * PAIRS}


def test_every_difference_is_tested_here() -> None:
    assert set(operators("difference")) == {"differential"}


def test_lambda_is_the_difference_of_two_exponentials_and_where_it_begins() -> None:
    vectors = {name: normal(D, seed=at) for at, name in enumerate(VECTORS)}
    q1, k1, q2, k2 = vectors.values()
    begins = 0.8 - 0.6 * math.exp(-0.9)
    assert differential(layer=3, **vectors) == pytest.approx(math.exp(q1 @ k1) - math.exp(q2 @ k2) + begins, rel=1e-14)


EXPONENTIALS = ["exp(λ_q1·λ_k1) = exp(1·0.5 + 0·2) = 1.6487", "exp(λ_q2·λ_k2) = exp(0·3 + 1·0) = 1"]
OF_VECTORS = dict(zip(VECTORS, np.array([[1, 0], [0.5, 2], [0, 1], [3, 0]]), strict=True))


@pytest.mark.parametrize(
    ("given", "lines"),
    [
        ({}, ["λ is λ_init: 0"]),
        ({"lambda_full": 0.7}, ["λ is given: 0.7"]),
        ({"lambda_init": 0.2}, ["λ is λ_init: 0.2"]),
        ({"layer": 2}, ["λ_init = 0.8 − 0.6·exp(−0.3·2) = 0.4707"]),
        (OF_VECTORS, [*EXPONENTIALS, "λ = 1.6487 − 1 + 0 = 0.6487"]),
        ({**OF_VECTORS, "lambda_init": 0.2}, [*EXPONENTIALS, "λ = 1.6487 − 1 + 0.2 = 0.8487"]),
        (
            {**OF_VECTORS, "layer": 0},
            [*EXPONENTIALS, "λ_init = 0.8 − 0.6·exp(−0.3·0) = 0.2", "λ = 1.6487 − 1 + 0.2000 = 0.8487"],
        ),
    ],
)
def test_lambda_is_worked_out(given: dict[str, Any], lines: list[str]) -> None:
    by_hand = operators("difference")["differential"].by_hand
    assert by_hand is not None
    assert by_hand(ArithmeticWriter(4, "q", ["k"], 0, 0), result=differential(**given), **given) == lines


def test_one_number_is_lambda_and_the_context_is_that_of_the_paper() -> None:
    np.testing.assert_allclose(attention(**GIVEN, difference=0.7).output, paper(**arrays(), factor=0.7), rtol=1e-12)


def test_after_the_norm_the_context_is_multiplied_by_what_lambda_init_leaves() -> None:
    difference = {"differential": {"lambda_full": 0.3, "lambda_init": 0.8}}
    output = attention(**GIVEN, difference=difference, context_norm={"rms": {"eps": 1e-5}}).output
    np.testing.assert_allclose(output, paper(**arrays(), factor=0.3, initial=0.8), rtol=1e-12)


def arrays() -> dict[str, Any]:
    return {name: GIVEN[name] for name in ("query", "key", "value")}


def test_halves_are_neighbours_in_another_order() -> None:
    order = [*heads_of_map(4, "neighbours", 0), *heads_of_map(4, "neighbours", 1)]
    moved = {
        name: np.concatenate([np.split(x, 4, axis=1)[head] for head in order], axis=1) for name, x in arrays().items()
    }
    halves = attention(**moved, heads=4, difference=0.7, head_pairs="halves").output
    np.testing.assert_allclose(halves, attention(**GIVEN, difference=0.7).output, rtol=1e-12)


def test_each_row_of_the_difference_adds_up_to_what_lambda_leaves() -> None:
    found = attention(**GIVEN, difference=0.7, select="weight_difference").weight_difference
    np.testing.assert_allclose(found.sum(axis=-1), 0.3, rtol=1e-12)


def test_a_pair_of_values_has_the_features_of_both() -> None:
    assert pair_heads(np.arange(4).reshape(4, 1, 1), pairs="halves").tolist() == [[[0, 2]], [[1, 3]]]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"difference": 0.5, "heads": None}, "difference: subtracts the weights of one head of each pair"),
        ({"difference": "differential"}, "difference: λ is not given"),
        ({"difference": "differential:lambda_init=0.8,layer=1"}, "both lambda_init and layer give the initial λ"),
        ({"difference": {"differential": {"layer": 1, "lambda_q1": [1, 2]}}}, "needs lambda_k1 too"),
        ({"difference": 0.5, "context": "argmax"}, "context: weights of a difference may be negative"),
    ],
)
def test_what_does_not_fit_is_said(keys: dict[str, Any], message: str) -> None:
    with pytest.raises(AttnError, match=message):
        attention(**{**GIVEN, **keys})
