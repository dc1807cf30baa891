"""Normalizers, against a second definition of each, one row at a time, and their laws."""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attncli.base.lazy_numpy import Array
from attncli.ops import operators
from attncli.ops.normalizers import largest_cells, softmax, softmax1
from attncli.ops.sparse_normalizers import entmax, sparsemax
from tests.arrays import normal

NORMALIZERS = operators("normalize")
DISTRIBUTIONS = [name for name, record in NORMALIZERS.items() if record.is_distribution]
Row = list[float]


def exponentials_over(row: Row, extra: float = 0.0, temperature: float = 1.0) -> Row:
    total = math.fsum(math.exp(s / temperature) for s in row) + extra
    return [math.exp(s / temperature) / total for s in row]


def nearest_distribution(row: Row) -> Row:
    """Every support is tried, in exact fractions: the largest whose members all stay positive is the one."""
    exact = [Fraction(s) for s in row]
    ordered = sorted(exact, reverse=True)
    for size in range(len(row), 0, -1):
        threshold = (sum(ordered[:size]) - 1) / size
        if ordered[size - 1] > threshold:
            return [float(max(s - threshold, Fraction(0))) for s in exact]
    raise AssertionError("the largest score alone is always a support")


def powers_that_sum_to_one(row: Row, alpha: float) -> Row:
    """The threshold by 200 halvings: slow, and nothing like a closed form."""
    scaled = [(alpha - 1) * s for s in row]
    low, high = max(scaled) - 1, max(scaled)
    for _ in range(200):
        threshold = (low + high) / 2
        total = math.fsum(max(s - threshold, 0.0) ** (1 / (alpha - 1)) for s in scaled)
        low, high = (threshold, high) if total > 1 else (low, threshold)
    return [max(s - low, 0.0) ** (1 / (alpha - 1)) for s in scaled]


def only_the_largest(row: Row, k: int) -> Row:
    least = sorted(row)[-min(k, len(row))]
    weights = iter(exponentials_over([s for s in row if s >= least]))
    return [next(weights) if s >= least else 0.0 for s in row]


DEFINITIONS: dict[str, tuple[Callable[..., Row], list[dict[str, Any]]]] = {
    "softmax": (
        lambda row, temperature=1.0: exponentials_over(row, temperature=temperature),
        [{}, {"temperature": 0.3}, {"temperature": 5.0}],
    ),
    "softmax1": (lambda row: exponentials_over(row, extra=1.0), [{}]),
    "sparsemax": (nearest_distribution, [{}]),
    "entmax": (
        lambda row, alpha=1.5: powers_that_sum_to_one(row, alpha),
        [{}, {"alpha": 1.2}, {"alpha": 1.8}, {"alpha": 2}, {"alpha": 4.0}],
    ),
    "sigmoid": (lambda row, shift=0.0: [1 / (1 + math.exp(-(s + shift))) for s in row], [{}, {"shift": -1.5}]),
    "relu": (lambda row: [s if s > 0 else 0.0 for s in row], [{}]),
    "topk": (only_the_largest, [{"k": 1}, {"k": 3}, {"k": 99}]),
    "hardmax": (lambda row: [(s == max(row)) / row.count(max(row)) for s in row], [{}]),
    "sum": (lambda row: [s / math.fsum(row) for s in row], [{}]),
    "none": (lambda row: row, [{}]),
}
CASES = [
    pytest.param(name, row, parameters, id=f"{name}-{at}")
    for name, (row, cases) in DEFINITIONS.items()
    for at, parameters in enumerate(cases)
]
REQUIRED = {"topk": {"k": 3}}
# Of one key, of equal ones, of one that has all the weight, and of several that share it.
SOME_ROWS: list[Row] = [[-3.0], [2.5, 2.5], [30.0, -30.0, 1.0], [0.25, -1.0, 0.25, 0.75], [*normal(7).tolist()]]
ROWS = st.lists(st.floats(-30, 30).map(lambda x: round(x, 3)), min_size=1, max_size=9)


def test_every_normalizer_has_a_second_definition_here() -> None:
    assert set(DEFINITIONS) == set(NORMALIZERS)


@pytest.mark.parametrize(("name", "row", "parameters"), CASES)
def test_a_normalizer_is_its_definition(name: str, row: Callable[..., Row], parameters: dict[str, Any]) -> None:
    scores = np.random.default_rng(3).normal(size=(2, 5, 7)) * 2
    weights = NORMALIZERS[name].function(scores, **parameters)
    expected = [[row(line, **parameters) for line in table] for table in scores.tolist()]
    np.testing.assert_allclose(weights, expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(("name", "row", "parameters"), CASES)
def test_a_masked_key_has_weight_0_and_the_others_those_without_it(
    name: str, row: Callable[..., Row], parameters: dict[str, Any]
) -> None:
    function = NORMALIZERS[name].function
    scores = np.random.default_rng(5).normal(size=(3, 7))
    hidden = np.array([False, True, False, False, True, False, False])
    with_hidden = function(np.where(hidden, -np.inf, scores), **parameters)
    assert (with_hidden[:, hidden] == 0).all()
    np.testing.assert_allclose(with_hidden[:, ~hidden], function(scores[:, ~hidden], **parameters), rtol=1e-14)


@pytest.mark.parametrize(("name", "row", "parameters"), CASES)
def test_a_row_of_masked_keys_becomes_zeros(name: str, row: Callable[..., Row], parameters: dict[str, Any]) -> None:
    scores = np.array([[-np.inf, -np.inf, -np.inf], [1.0, 2.0, 3.0]])
    weights = NORMALIZERS[name].function(scores, **parameters)
    assert weights[0].tolist() == [0, 0, 0]
    assert np.isfinite(weights).all()


@pytest.mark.parametrize(("name", "row", "parameters"), CASES)
@pytest.mark.parametrize("dtype", ["float32", "float64", "longdouble"])
def test_weights_have_the_type_of_the_scores(
    name: str, row: Callable[..., Row], parameters: dict[str, Any], dtype: str
) -> None:
    scores = np.array([[0.5, -1.0, 2.0]], dtype=dtype)
    assert NORMALIZERS[name].function(scores, **parameters).dtype == dtype


@pytest.mark.parametrize("name", DISTRIBUTIONS)
@pytest.mark.parametrize("row", SOME_ROWS, ids=len)
def test_a_distribution_is_not_negative_and_sums_to_one(name: str, row: Row) -> None:
    weights = NORMALIZERS[name].function(np.array([row]), **REQUIRED.get(name, {}))
    assert (weights >= 0).all()
    assert weights.sum() == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("name", DISTRIBUTIONS)
@pytest.mark.parametrize("row", SOME_ROWS, ids=len)
@pytest.mark.parametrize("constant", [-64.0, 0.5, 1024.0])
def test_a_constant_added_to_a_row_changes_nothing(name: str, row: Row, constant: float) -> None:
    function, scores = NORMALIZERS[name].function, np.round(np.array([row]) * 1024) / 1024  # sums stay exact
    parameters = REQUIRED.get(name, {})
    np.testing.assert_array_equal(function(scores + constant, **parameters), function(scores, **parameters))


@pytest.mark.parametrize("name", NORMALIZERS)
@pytest.mark.parametrize("row", SOME_ROWS, ids=len)
def test_permuted_scores_have_permuted_weights(name: str, row: Row) -> None:
    function, scores = NORMALIZERS[name].function, np.array([row])
    weights = function(scores, **REQUIRED.get(name, {}))
    orders = [np.roll(range(len(row)), shift) for shift in range(1, len(row))]
    for order in (*orders, *(order[::-1] for order in orders)):
        permuted = function(scores[:, order], **REQUIRED.get(name, {}))
        np.testing.assert_allclose(permuted, weights[:, order], rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("name", DISTRIBUTIONS)
@pytest.mark.parametrize("size", [1e4, 1e150, 1e300])
def test_scores_of_any_size_give_a_distribution(name: str, size: float) -> None:
    weights = NORMALIZERS[name].function(
        np.array([[size, -size, 0.0], [-size, -size, -size]]), **REQUIRED.get(name, {})
    )
    np.testing.assert_allclose(weights, [[1, 0, 0], [1 / 3, 1 / 3, 1 / 3]], rtol=1e-15)


@given(row=ROWS)
def test_entmax_goes_from_softmax_to_sparsemax(row: Row) -> None:
    scores = np.array([row])
    np.testing.assert_array_equal(entmax(scores, alpha=1), softmax(scores))
    np.testing.assert_array_equal(entmax(scores, alpha=2), sparsemax(scores))
    np.testing.assert_allclose(entmax(scores, alpha=1.5), entmax(scores, alpha=1.5 + 1e-9), atol=1e-6)
    np.testing.assert_allclose(entmax(scores, alpha=1 + 1e-9), softmax(scores), atol=1e-5)


@given(row=ROWS)
def test_softmax1_is_softmax_with_one_more_key_that_scores_zero(row: Row) -> None:
    with_one_more = softmax(np.array([[*row, 0.0]]))
    np.testing.assert_allclose(softmax1(np.array([row])), with_one_more[:, :-1], rtol=1e-14)


def test_equal_scores_get_equal_weights_from_topk() -> None:
    weights = NORMALIZERS["topk"].function(np.array([[1.0, 3.0, 1.0, 0.0]]), k=2)
    assert weights[0, 0] == weights[0, 2] > 0
    assert weights[0, 3] == 0


@pytest.mark.parametrize("dtype", ["float32", "float64", "longdouble"])
def test_topk_of_many_keys_gives_the_best_of_each_row_their_softmax(dtype: str) -> None:
    scores = np.random.default_rng(0).normal(size=(2, 3, 64)).astype(dtype)
    scores[0, 1, 10:14] = scores[0, 1].max()  # four tie for two places
    scores[1, 0, 1:] = -np.inf
    weights = NORMALIZERS["topk"].function(scores, k=2)
    expected = [[only_the_largest(row, 2) for row in table] for table in scores.tolist()]
    assert weights.dtype == dtype
    digits = 4 * max(np.finfo(dtype).eps, np.finfo(float).eps)  # the loop computes in float64
    np.testing.assert_allclose(weights, expected, rtol=digits)


def test_topk_of_many_whole_numbers_gives_fractions() -> None:
    weights = NORMALIZERS["topk"].function(np.arange(64)[None], k=2)
    np.testing.assert_allclose(weights[0, -3:], [0, 1 / (1 + math.e), math.e / (1 + math.e)])


def test_topk_of_many_keys_without_a_visible_one_or_with_no_number() -> None:
    scores = np.random.default_rng(0).normal(size=(4, 64))
    scores[1], scores[2, 5], scores[3, 7] = -np.inf, np.nan, np.inf
    with np.errstate(invalid="ignore"):
        weights = NORMALIZERS["topk"].function(scores, k=2)
    assert weights[0].sum() == pytest.approx(1)
    assert not weights[1].any()
    assert np.isnan(weights[2:]).all()


def test_a_row_that_sums_to_zero_has_no_shares() -> None:
    assert NORMALIZERS["sum"].function(np.array([[1.0, -1.0], [1.0, 3.0]])).tolist() == [[0, 0], [0.25, 0.75]]


def sorted_cells(x: Array, k: int) -> list[int]:
    """The same cells, found by sorting the finite numbers of each row."""
    found = []
    for row, numbers in enumerate(x.reshape(-1, x.shape[-1]).tolist()):
        finite = sorted(number for number in numbers if number != -np.inf)
        found += [
            row * len(numbers) + column
            for column, number in enumerate(numbers)
            if number != -np.inf and number >= finite[-k:][0]
        ]
    return found


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("k", [1, 2, 3, 16, 31])
@pytest.mark.parametrize("length", [37, 64, 131, 1009])
def test_they_are_those_that_sorting_finds(length: int, k: int, dtype: str) -> None:
    random = np.random.default_rng([length, k])
    scattered = random.standard_normal((3, 5, length)).astype(dtype)
    alike = np.round(2 * scattered)
    causal = np.where(np.arange(length) <= 7 * np.arange(5)[:, None], scattered, -np.inf).astype(dtype)
    for x in (scattered, alike, causal, np.sort(scattered), np.zeros_like(scattered), scattered.swapaxes(0, 2)):
        rows = np.ascontiguousarray(x)
        if k <= x.shape[-1]:
            assert largest_cells(x, k).tolist() == sorted_cells(rows, k)


def test_rows_without_a_visible_key_have_none() -> None:
    assert largest_cells(np.full((4, 256), -np.inf), 2).tolist() == []
    assert largest_cells(np.zeros((0, 256)), 2).tolist() == []
