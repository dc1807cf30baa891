"""How tiles sum: in parts, which rounds less; large scores and queries of few keys are computed in more digits."""

import numpy as np
import pytest

from attncli.engine.grouped_heads import grouped_product
from attncli.engine.options import BlockSizes, RunOptions
from attncli.engine.run import run
from attncli.engine.summation import choose_summation, typical_bias_limit, typical_score_limit
from tests.arrays import normal
from tests.problems import problem

IN_TILES = RunOptions("serial", sizes=BlockSizes(dense_cells=0))


@pytest.mark.parametrize("terms", [1, 2, 5, 36, 37, 100])
def test_parts_of_any_length_add_up_to_the_product(terms: int) -> None:
    left, right = normal(6, 5, 37), normal(2, 37, 3)
    expected = np.stack([left[head] @ right[head // 3] for head in range(6)])
    np.testing.assert_allclose(grouped_product(left, right, np.empty((6, 5, 3)), terms), expected, rtol=1e-12)


def test_a_sum_in_parts_rounds_less_than_one_long_sum() -> None:
    """Of a mean of 8,192 values, as of attention to keys that are alike."""
    weights, value = np.full((64, 8192), 1 / 8192, np.float32), normal(8192, 64).astype(np.float32)
    exact = value.astype(np.float64).mean(axis=0)
    errors = {
        terms: np.sqrt(((grouped_product(weights, value, np.empty((64, 64), np.float32), terms) - exact) ** 2).mean())
        for terms in (64, 8192)
    }
    assert errors[64] < 0.8 * errors[8192]


def test_no_score_of_rows_that_are_as_long_as_most_exceeds_the_typical_limit() -> None:
    query, key = normal(300, 8), 3 * normal(500, 8)
    query /= np.linalg.norm(query, axis=-1, keepdims=True)
    key *= 5 / np.linalg.norm(key, axis=-1, keepdims=True)
    limit = typical_score_limit(query, key, scale=0.5)
    assert abs(0.5 * query @ key.T).max() <= limit == pytest.approx(2.5)


def test_biases_are_bounded_by_the_largest_either_way_but_for_masked_keys() -> None:
    table = normal(3, 40, 50)
    table[1, :, 7] = -30.0
    table[2, :, 9] = -np.inf
    assert typical_bias_limit(table) == 30.0
    assert typical_bias_limit(np.full((2, 0), 0.0)) == 0.0


@pytest.mark.parametrize("size", [-800.0, 800.0])
def test_a_bias_in_a_row_that_is_not_tried_is_as_exact_as_any(size: float) -> None:
    given = {name: normal(1, 70, 8).astype(np.float32) for name in ("query", "key", "value")}
    bias = normal(70, 70).astype(np.float32)
    bias[7] += size
    assert typical_bias_limit(bias) < 10
    output = run(problem(**given, bias=bias, dtype="float32"), ("output",), options=IN_TILES).output
    exact = run(problem(**given, bias=bias, dtype="float64"), ("output",)).output
    np.testing.assert_allclose(output, exact, rtol=0, atol=1e-4)


@pytest.mark.parametrize("limit", [None, 0.0, 8.0, 50.0, 1e6])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_larger_scores_are_summed_no_longer_and_in_no_fewer_digits(limit: float | None, dtype: str) -> None:
    small, large = (
        choose_summation(x, 64, 512, 512, dtype, can_slice=lambda: False) for x in (limit, 2 * (limit or 0))
    )
    assert large.features <= small.features or large.score_dtype != dtype
    assert np.finfo(large.score_dtype).eps <= np.finfo(small.score_dtype).eps


def test_scores_of_unknown_size_are_summed_as_large_ones() -> None:
    unknown, small, large = (
        choose_summation(limit, 64, 512, 512, "float32", can_slice=lambda: False) for limit in (None, 0.0, 8.0)
    )
    assert unknown == large
    assert unknown.keys > small.keys


@pytest.mark.parametrize("limit", [0.0, 50.0])
def test_without_a_wider_type_sums_of_keys_are_shorter(limit: float) -> None:
    with_wider, without = (
        choose_summation(limit, 64, 512, 512, dtype, can_slice=lambda: False) for dtype in ("float32", "float64")
    )
    assert without.keys < with_wider.keys


@pytest.mark.parametrize(("keys", "part"), [(64, 64), (77, 39), (128, 64), (129, 43), (200, 50), (512, 64)])
def test_sums_of_keys_have_as_few_parts_as_can_be_of_equal_length(keys: int, part: int) -> None:
    """A short last part would leave the others long: of 77 keys there are 39 and 38, not 64 and 13."""
    assert choose_summation(0.0, 64, 512, keys, "float32", can_slice=lambda: False).keys == part


def test_a_single_query_is_summed_in_long_parts() -> None:
    """Its products are sums of several lanes: over features they are short, and over keys in parts that are longer."""
    single, many = (choose_summation(8.0, 128, rows, 4096, "float32", can_slice=lambda: True) for rows in (1, 64))
    assert (single.features, single.keys) == (128, 4 * many.keys)


def test_the_output_of_a_single_query_of_many_keys_is_more_exact_than_whole_sums() -> None:
    """Of keys that all have the same weight."""
    query, key = np.zeros((1, 8, 1, 64)), normal(1, 8, 8192, 64, seed=2)
    value = normal(1, 8, 8192, 16, seed=3)
    given = {name: x.astype(np.float32) for name, x in (("query", query), ("key", key), ("value", value))}
    output = run(problem(**given), ("output",)).output
    exact = given["value"].astype(np.float64).mean(axis=-2, keepdims=True)
    whole = np.full((1, 8, 1, 8192), 2.0**-13, np.float32) @ given["value"]
    errors = [float(np.sqrt(((found - exact) ** 2).mean())) for found in (output, whole)]
    assert errors[0] < 2 / 3 * errors[1]


def test_large_scores_of_float32_have_weights_as_of_float64() -> None:
    given = {name: 20 * normal(1, 256, 8).astype(np.float32) for name in ("query", "key", "value")}
    output = run(problem(**given, dtype="float32"), ("output",), options=IN_TILES).output
    exact = run(problem(**given, dtype="float64"), ("output",), options=IN_TILES).output
    assert np.sqrt(((output - exact) ** 2).mean()) < 2e-6


@pytest.mark.parametrize("mask", ["causal", "window:left=5,right=0"])
def test_the_first_query_of_many_has_its_only_value_to_the_last_digit(mask: str) -> None:
    given = {name: normal(1, 600, 16).astype(np.float32) for name in ("query", "key", "value")}
    output = run(problem(**given, dtype="float32", mask=mask), ("output",), options=IN_TILES).output
    np.testing.assert_array_equal(output[..., 0, :], given["value"][..., 0, :])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_first_query_of_a_large_causal_problem_attends_to_the_first_key_exactly(dtype: str) -> None:
    """It sees no other: its output is the first value, to the last digit."""
    query, key, value = (normal(8, 600, 16, seed=seed).astype(dtype) for seed in range(3))
    output = run(problem(query=query, key=key, value=value, mask="causal", dtype=dtype), "output").output
    np.testing.assert_array_equal(output[:, 0], value[:, 0])


@pytest.mark.parametrize("dtype", ["float32", "float64", "longdouble"])
def test_large_scores_of_few_visible_keys_are_computed_in_tiles(dtype: str) -> None:
    """Of so many queries some are tried first, whether exponentials as they are leave the range."""
    query, key, value = (normal(2, 1, 600, 16, seed=seed).astype(dtype) for seed in range(3))
    given = {"query": query, "key": key, "value": value, "scale": 2, "key_lengths": [40, 3]}
    output = run(problem(**given), "output").output
    expected = run(problem(**given), "output", every_step=True).output
    np.testing.assert_allclose(output, expected, rtol=0, atol=2e-6 if dtype == "float32" else 1e-13)
