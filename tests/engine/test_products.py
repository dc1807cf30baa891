"""Products of tiles are those of the whole arrays, however these are stored, and have sums of a bounded length."""

import numpy as np
import pytest

from attncli.base.lazy_numpy import Array
from attncli.engine import products
from attncli.engine.options import BlockSizes, RunOptions
from attncli.engine.products import choose_summation, grouped_product, multiply, typical_score_limit
from attncli.engine.run import run
from attncli.ops.products import sum_of_parts
from tests.arrays import normal
from tests.problems import problem

IN_TILES = RunOptions("serial", sizes=BlockSizes(dense_cells=0))
ALL = 10**9  # terms of a sum


def whole_numbers(*shape: int, dtype: str = "float64") -> Array:
    """Small ones: their products and sums are exact in any order."""
    return np.random.default_rng(shape).integers(-4, 5, shape).astype(dtype)


@pytest.mark.parametrize("rows", [1, 2, 31, 32, 137])
@pytest.mark.parametrize(("terms", "dtype"), [(ALL, "float64"), (7, "float32"), (7, "longdouble")])
def test_query_heads_share_the_keys_of_a_key_head(rows: int, terms: int, dtype: str) -> None:
    query, key = whole_numbers(3, 6, rows, 8, dtype=dtype), whole_numbers(3, 2, 300, 8, dtype=dtype)
    out = np.full((3, 6, rows, 300), np.nan, dtype)
    assert grouped_product(query, key.mT, out, terms) is out
    np.testing.assert_array_equal(out, query @ np.repeat(key, 3, axis=1).mT)


@pytest.mark.parametrize("stored", ["by key", "by feature", "with gaps", "backwards"])
@pytest.mark.parametrize("rows", [5, 160])
def test_keys_may_be_stored_in_any_order(stored: str, rows: int) -> None:
    numbers = whole_numbers(400, 60)
    key = {
        "by key": numbers[:, :30],
        "by feature": numbers[:, :30].mT.copy().mT,
        "with gaps": numbers[:, ::2],
        "backwards": numbers[::-1, 30:],
    }[stored]
    query = whole_numbers(rows, 30)
    np.testing.assert_array_equal(multiply(query, key.mT, np.empty((rows, 400)), ALL), query @ key.mT)


@pytest.mark.parametrize(
    ("rows", "keys", "are_columns"),
    [(1, 1000, False), (2, 1000, True), (31, 1000, True), (32, 1000, False), (4, 256, False), (4, 257, True)],
)
def test_few_queries_are_the_columns_that_many_keys_are_multiplied_with(
    rows: int, keys: int, are_columns: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """BLAS copies the right factor, which is then the small one."""
    columns: set[int] = set()

    def note(left: Array, right: Array, *rest: object) -> Array:
        columns.add(right.shape[-1])
        return sum_of_parts(left, right, *rest)

    monkeypatch.setattr(products, "sum_of_parts", note)
    query, key = whole_numbers(3, rows, 8), whole_numbers(3, keys, 8)
    out = multiply(query, key.mT, np.full((3, rows, keys), np.nan), ALL)
    np.testing.assert_array_equal(out, query @ key.mT)
    assert columns == {rows if are_columns else keys}


def test_a_product_is_written_to_a_part_of_a_larger_array() -> None:
    query, key = whole_numbers(140, 8), whole_numbers(30, 8)
    table = np.full((150, 60), np.nan)
    multiply(query, key.mT, table[5:145, 10:40], ALL)
    np.testing.assert_array_equal(table[5:145, 10:40], query @ key.mT)
    assert np.isnan(table).sum() == table.size - 140 * 30


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
    of_items = (np.broadcast_to(x, (2, 3, *x.shape)) for x in (query, key))
    assert typical_score_limit(*of_items, scale=-0.5) == pytest.approx(2.5)


@pytest.mark.parametrize("size", [-800.0, 800.0])
def test_a_bias_as_large_as_any_leaves_the_others_exact(size: float) -> None:
    given = {name: normal(1, 70, 8).astype(np.float32) for name in ("query", "key", "value")}
    bias = normal(70, 70).astype(np.float32)
    bias[7] += size
    output = run(problem(**given, bias=bias, dtype="float32"), ("output",), options=IN_TILES).output
    exact = run(problem(**given, bias=bias, dtype="float64"), ("output",)).output
    np.testing.assert_allclose(output, exact, rtol=0, atol=1e-4)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_scores_have_more_digits_where_they_are_large_and_a_wider_type_is_there(dtype: str) -> None:
    usual, large = (choose_summation(limit, 64, 512, 512, dtype).score_dtype for limit in (199.0, 201.0))
    assert (usual, large) == (dtype, "float64")
    assert choose_summation(None, 64, 512, 512, dtype).score_dtype == dtype


@pytest.mark.parametrize(("keys", "part"), [(64, 64), (128, 128), (129, 65), (200, 100), (512, 128)])
def test_sums_of_keys_have_as_few_parts_as_can_be_of_equal_length(keys: int, part: int) -> None:
    """A short last part would leave the others long: of 129 keys there are 65 and 64, not 128 and 1."""
    assert choose_summation(0.0, 64, 512, keys, "float32").keys == part


def test_a_single_query_is_summed_in_long_parts() -> None:
    """Its products are sums of several lanes: over features they are short, and over keys in parts that are longer."""
    single, many = (choose_summation(8.0, 128, rows, 4096, "float32") for rows in (1, 64))
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
    query, key, value = (normal(2, 1, 600, 16, seed=seed).astype(dtype) for seed in range(3))
    given = {"query": query, "key": key, "value": value, "scale": 2, "key_lengths": [40, 3]}
    output = run(problem(**given), "output").output
    expected = run(problem(**given), "output", every_step=True).output
    np.testing.assert_allclose(output, expected, rtol=0, atol=2e-6 if dtype == "float32" else 1e-13)
