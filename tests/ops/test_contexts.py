"""Contexts, against loops that follow their definitions, and their laws."""

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attncli.ops import operators
from attncli.ops.contexts import sample, weighted_sum
from attncli.ops.normalizers import softmax
from attncli.ops.sparse_normalizers import sparsemax
from tests.arrays import normal

N, M, E, D, A = 3, 5, 7, 2, 11
CONTEXTS = operators("context")
Row = list[float]


def mixture(weights: Row, value: list[Row]) -> Row:
    return [math.fsum(a * v[e] for a, v in zip(weights, value, strict=True)) for e in range(len(value[0]))]


def attentional_by_loop(weights: Row, value: list[Row], query: Row, w: Any) -> Row:
    joined = mixture(weights, value) + query
    return [math.tanh(math.fsum(x * w[i][a] for i, x in enumerate(joined))) for a in range(len(w[0]))]


def best_value(weights: Row, value: list[Row], _query: Row) -> Row:
    return value[weights.index(max(weights))]


def largest_products(weights: Row, value: list[Row], _query: Row) -> Row:
    return [max(a * v[e] for a, v in zip(weights, value, strict=True)) for e in range(len(value[0]))]


W = normal(E + D, A)
DEFINITIONS: dict[str, tuple[Callable[..., Row], dict[str, Any]]] = {
    "weighted_sum": (lambda weights, value, _query: mixture(weights, value), {}),
    "attentional": (attentional_by_loop, {"w": W}),
    "argmax": (best_value, {}),
    "max": (largest_products, {}),
}


def apply(name: str, weights: np.ndarray, value: np.ndarray, query: np.ndarray) -> np.ndarray:
    given_arrays = {"weights": weights, "value": value, "query": query}
    wanted = {array: given_arrays[array] for array in CONTEXTS[name].shapes.arrays if array in given_arrays}
    parameters = DEFINITIONS[name][1] if name in DEFINITIONS else {}
    result: np.ndarray = CONTEXTS[name].function(**wanted, **parameters)
    return result


def test_every_context_has_a_second_definition_here() -> None:
    assert {*DEFINITIONS, "sample"} == set(CONTEXTS)


@pytest.mark.parametrize("name", DEFINITIONS)
@pytest.mark.parametrize("normalize", [softmax, sparsemax])
def test_a_context_is_its_definition(name: str, normalize: Callable[[np.ndarray], np.ndarray]) -> None:
    weights, value, query = normalize(normal(2, N, M)), normal(2, M, E), normal(2, N, D)
    function, parameters = DEFINITIONS[name]
    expected = [
        [function(row, v, q, **parameters) for row, q in zip(table, queries, strict=True)]
        for table, v, queries in zip(weights.tolist(), value.tolist(), query.tolist(), strict=True)
    ]
    np.testing.assert_allclose(apply(name, weights, value, query), expected, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("name", sorted(set(CONTEXTS) - {"max"}))
def test_a_key_of_weight_zero_is_as_if_it_were_not_there(name: str) -> None:
    weights, value, query = normal(N, M), normal(M, E), normal(N, D)
    if CONTEXTS[name].needs_distribution:
        weights = softmax(weights)
    weights[:, [1, 3]] = 0
    kept = [0, 2, 4]
    computed = apply(name, weights, value, query)
    np.testing.assert_allclose(computed, apply(name, weights[:, kept], value[kept], query), rtol=1e-13)


# Weights and values of three keys, which of them a mask shows, and the largest weighted value.
LARGEST: list[tuple[list[float], list[float], list[bool] | None, float]] = [
    ([1, 0, 0], [-1, 5, 7], None, 0),
    ([1, 0, 0], [-1, 5, 7], [True, True, True], 0),
    ([1, 0, 0], [-1, 5, 7], [True, False, False], -1),
    ([1, 0, 0], [-1, 5, 7], [True, True, False], 0),
    ([1, 0, 0], [-1, math.nan, math.inf], None, 0),
    ([1, 0, 0], [-1, -math.inf, 7], [True, True, False], 0),
    ([0, 0, 0], [3, 5, 7], [False, False, False], 0),
    ([0, 0, 0], [-3, -5, -7], None, 0),
    ([0.5, 0.5, 0], [-3, -5, 7], [False, False, False], -1.5),  # an empty row that is filled
    ([math.nan, math.nan, math.nan], [3, 5, 7], [False, False, False], math.nan),
]


@pytest.mark.parametrize(("weights", "value", "visible", "expected"), LARGEST)
def test_masks_alone_leave_keys_out_of_the_largest_weighted_value(
    weights: list[float], value: list[float], visible: list[bool] | None, expected: float
) -> None:
    mask = {} if visible is None else {"visible": np.array([visible])}
    found = CONTEXTS["max"].function(np.array([weights], float), np.array(value, float)[:, None], **mask)
    np.testing.assert_array_equal(found, [[expected]])


@pytest.mark.parametrize("weight", [math.inf, -2.0, 0.0])
@pytest.mark.parametrize("unsound", [math.inf, math.nan])
def test_batch_items_do_not_affect_each_other(weight: float, unsound: float) -> None:
    weights, value = normal(2, 3, N, M), normal(2, 1, M, E)
    weights[0, 1, :, 2], value[1, 0, 2] = weight, unsound
    with np.errstate(invalid="ignore"):  # a product of NumPy's may say so of infinity
        mixtures = weighted_sum(weights, value)
        alone = [w @ v for w, v in zip(weights, value, strict=True)]
    np.testing.assert_allclose(mixtures, alone, rtol=1e-12)


def test_an_infinite_weight_of_an_infinite_value_is_infinite() -> None:
    assert weighted_sum(np.array([[math.inf, 1.0]]), np.array([[math.inf, 2.0], [3.0, 4.0]])).tolist() == [
        [math.inf] * 2
    ]


@pytest.mark.parametrize("name", sorted(set(CONTEXTS) - {"attentional"}))
def test_a_query_that_attends_to_nothing_gets_zeros(name: str) -> None:
    assert apply(name, np.zeros((1, M)), normal(M, E), normal(1, D)).tolist() == [[0] * E]


@pytest.mark.parametrize("name", ["weighted_sum", "attentional", "max"])
@given(order=st.permutations(range(M)))
def test_permuting_keys_with_their_values_changes_nothing(name: str, order: list[int]) -> None:
    weights, value, query = softmax(normal(N, M)), normal(M, E), normal(N, D)
    permuted = apply(name, weights[:, order], value[order], query)
    np.testing.assert_allclose(permuted, apply(name, weights, value, query), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", CONTEXTS)
def test_single_precision_stays_single(name: str) -> None:
    weights, value, query = softmax(normal(N, M)), normal(M, E), normal(N, D)
    if name == "attentional":
        parameters = {"w": W.astype("f4")}
        result = CONTEXTS[name].function(*(x.astype("f4") for x in (weights, value, query)), **parameters)
    else:
        result = apply(name, *(x.astype("f4") for x in (weights, value, query)))
    assert result.dtype == np.float32


def test_a_sample_is_one_of_the_values_as_often_as_its_weight_says() -> None:
    weights = np.tile([[0.5, 0.0, 0.2, 0.3]], (20_000, 1))
    drawn = sample(weights, np.array([[0.0], [1.0], [2.0], [3.0]]), seed=7)
    counts = Counter(drawn[:, 0].tolist())
    assert set(counts) == {0, 2, 3}
    # Four standard deviations of a binomial count.
    for place, weight in ((0, 0.5), (2, 0.2), (3, 0.3)):
        assert abs(counts[place] - 20_000 * weight) < 4 * math.sqrt(20_000 * weight * (1 - weight))


def test_the_same_seed_draws_the_same_keys_and_another_seed_others() -> None:
    weights, value = np.full((50, M), 1 / M), normal(M, E)
    np.testing.assert_array_equal(sample(weights, value, seed=3), sample(weights, value, seed=3))
    assert (sample(weights, value, seed=3) != sample(weights, value, seed=4)).any()
