"""Factors in slices: the products of the highest are exact, and scores from them differ by what they differ exactly."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from attncli.engine.options import BlockSizes, RunOptions
from attncli.engine.run import run
from attncli.engine.slices import can_be_sliced, slice_left, slice_right
from attncli.engine.summation import choose_summation
from tests.arrays import normal
from tests.problems import problem

IN_TILES = RunOptions("serial", sizes=BlockSizes(dense_cells=0))


def exact_product(left: np.ndarray, right: np.ndarray) -> list[list[Fraction]]:
    """The products of rows [n d] and rows [m d], as fractions."""
    rows, columns = ([list(map(Fraction, row.tolist())) for row in x] for x in (left, right))
    return [[sum((a * b for a, b in zip(row, column, strict=True)), Fraction(0)) for column in columns] for row in rows]


def rows_of_many_sizes(count: int, features: int, seed: int) -> np.ndarray:
    """Rows whose numbers are of sizes from 1e-6 to 1e6, one of zeros, and one of numbers of all 53 bits."""
    x = normal(count, features, seed=seed) * 10.0 ** np.random.default_rng(seed).integers(-6, 7, (count, features))
    x[0], x[1] = 0, 1 - 2.0**-53
    return x


def rows_of_large_numbers(count: int, features: int, seed: int) -> np.ndarray:
    """Rows of numbers that are nearly as large as their units allow, so that their products add up."""
    return np.random.default_rng(seed).uniform(0.9, 1, (count, features))


@pytest.mark.parametrize("features", [1, 3, 64, 100, 1000])
@pytest.mark.parametrize("rows", [rows_of_many_sizes, rows_of_large_numbers])
def test_high_slices_have_exact_products(features: int, rows: Callable[..., np.ndarray]) -> None:
    query, key = (rows(4, features, seed) for seed in (1, 2))
    left, right = slice_left(query), slice_right(key)
    products = left.high @ right.high.mT
    assert [list(map(Fraction, row)) for row in products.tolist()] == exact_product(left.high, right.high)


@pytest.mark.parametrize("features", [1, 3, 64, 1000])
def test_slices_have_the_product_to_a_hundred_thousandth_of_its_last_digit(features: int) -> None:
    """Of the largest that it may be: of the lengths of the rows."""
    query, key = (rows_of_many_sizes(4, features, seed) for seed in (1, 2))
    left, right = slice_left(query), slice_right(key)
    high, others = left.high @ right.high.mT, left.others @ right.others.mT
    lengths = np.linalg.norm(query, axis=-1)[:, None] * np.linalg.norm(key, axis=-1)
    for (row, column), exact in np.ndenumerate(np.array(exact_product(query, key), object)):
        error = Fraction(float(high[row, column])) + Fraction(float(others[row, column])) - exact
        assert abs(error) <= Fraction(float(lengths[row, column])) * Fraction(2) ** -53 / 100_000


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf, 1e125, -1e125])
def test_a_number_that_overflows_or_is_none_is_not_sliced(number: float) -> None:
    x = normal(3, 4)
    assert can_be_sliced(x)
    x[1, 2] = number
    assert not can_be_sliced(x)
    assert not can_be_sliced(normal(3, 4).astype(np.float32))
    assert not can_be_sliced(np.zeros((3, 0)))


def test_only_large_scores_without_a_wider_type_are_computed_in_slices() -> None:
    for limit, dtype, in_slices in ((1000.0, "float64", True), (1000.0, "float32", False), (50.0, "float64", False)):
        assert choose_summation(limit, 64, 512, 512, dtype, can_slice=lambda: True).in_slices == in_slices
    assert not choose_summation(1000.0, 64, 512, 512, "float64", can_slice=lambda: False).in_slices


KEYS = 130
PROBLEMS: dict[str, dict[str, Any]] = {
    "plain": {},
    "causal": {"mask": "causal"},
    "window": {"mask": "window:left=40,right=3"},
    "padding": {"key_lengths": [110]},
    "bias": {"bias": normal(KEYS, KEYS, seed=7)},
    "hidden by bias": {"bias": np.where(np.arange(KEYS) % 7 == 3, -np.inf, 0.0)[None]},
    "temperature": {"normalize": "softmax:temperature=2"},
    "alibi": {"position": "alibi"},
}


def large_problem(dtype: str, key_factors: np.ndarray | float = 40.0, **given: Any) -> Any:
    """Six heads of which three share one of two key heads each; scores are some thousands."""
    arrays = {
        "query": 40 * normal(1, 6, KEYS, 24, seed=1),
        "key": key_factors * normal(1, 2, KEYS, 24, seed=2),
        "value": normal(1, 2, KEYS, 8, seed=3),
    }
    return problem(**{name: x.astype(dtype) for name, x in arrays.items()}, dtype=dtype, **given)


@pytest.mark.parametrize("name", PROBLEMS)
def test_outputs_of_large_scores_have_a_fraction_of_the_error_that_rounded_scores_lead_to(name: str) -> None:
    """Whole tables have scores as steps, which are rounded: of some thousands by 1e-13 and more."""
    given = large_problem("float64", **PROBLEMS[name])
    exact = run(large_problem("longdouble", **PROBLEMS[name]), ("output",), every_step=True).output
    in_tiles, whole = (
        abs(run(given, ("output",), options=IN_TILES, every_step=every_step).output - exact).max()
        for every_step in (False, True)
    )
    assert in_tiles < whole / 10


SMALL_TILES = RunOptions("serial", sizes=BlockSizes(dense_cells=0, rows=60, masked_rows=30, tile_cells=60 * 64))
NUMBERS, SEEN = np.arange(KEYS), 75


@pytest.mark.parametrize(
    ("given", "size"),
    [
        ({"key_lengths": [SEEN]}, 1e3),
        ({"key_mask": NUMBERS < SEEN}, 1e9),
        ({"bias": np.where(NUMBERS < SEEN, 0.0, -np.inf)[None]}, 1e30),
        ({"mask": np.broadcast_to(NUMBERS < SEEN, (KEYS, KEYS))}, 1e30),
        ({"causal": True, "only": list(range(SEEN))}, 1e9),
        ({"score": "dot", "scale": -0.1, "key_lengths": [SEEN]}, 1e30),
    ],
    ids=["lengths", "key mask", "bias", "mask", "causal", "negative scale"],
)
def test_keys_that_are_hidden_coarsen_no_score_however_large_they_are(given: dict[str, Any], size: float) -> None:
    """As the numbers in padding may be."""
    factors = np.where(NUMBERS < SEEN, 40.0, size)[:, None]
    exact = run(large_problem("longdouble", factors, **given), ("output",), every_step=True).output
    for options in (IN_TILES, SMALL_TILES):
        output = run(large_problem("float64", factors, **given), ("output",), options=options).output
        np.testing.assert_allclose(output, exact, rtol=0, atol=4e-15)


@pytest.mark.parametrize("first_tiles_are_lower", [True, False])
def test_keys_that_score_far_less_coarsen_no_score(first_tiles_are_lower: bool) -> None:
    query, key, value = (abs(normal(KEYS, 24, seed=seed)) for seed in range(3))
    key[(NUMBERS < SEEN) == first_tiles_are_lower] *= -1e12
    given = {"query": 40 * query, "key": 40 * key, "value": value}
    exact = run(problem(**{name: x.astype("longdouble") for name, x in given.items()}), ("output",), every_step=True)
    output = run(problem(**given), ("output",), options=SMALL_TILES).output
    np.testing.assert_allclose(output, exact.output, rtol=0, atol=4e-15)


def test_where_one_weight_is_all_there_is_the_output_is_its_value_to_the_last_digit() -> None:
    query, key, value = (300 * normal(300, 24, seed=seed) for seed in range(3))
    scores = np.sort(query @ key.T / np.sqrt(24), axis=-1)
    has_one = scores[:, -1] - scores[:, -2] > 100
    assert has_one.sum() > 100
    output = run(problem(query=query, key=key, value=value), ("output",), options=IN_TILES).output
    best = value[(query @ key.T).argmax(axis=-1)]
    np.testing.assert_array_equal(output.reshape(300, 24)[has_one], best[has_one])


@pytest.mark.parametrize(
    "given",
    [
        {"softcap": 50},
        {"sink": np.array([1e3, 2e3, -1e3, 0, 5e2, 3e3])},
        {"normalize": "softmax1"},
        {"normalize": "hardmax"},
    ],
    ids=str,
)
def test_scores_that_are_not_to_be_shifted_are_computed_as_they_are(given: dict[str, Any]) -> None:
    output = run(large_problem("float64", **given), ("output",), options=IN_TILES).output
    exact = run(large_problem("longdouble", **given), ("output",), every_step=True).output
    np.testing.assert_allclose(output, exact, rtol=0, atol=2e-11)


def test_keys_that_are_infinite_have_the_weights_that_the_whole_table_has() -> None:
    query, key, value = (40 * normal(300, 24, seed=seed) for seed in range(3))
    key[5, 3], key[7, 3] = np.inf, np.nan
    given = {"query": query, "key": key, "value": value, "mask": "causal"}
    in_tiles = run(problem(**given), ("output",), options=IN_TILES).output
    np.testing.assert_allclose(in_tiles, run(problem(**given), ("output",), every_step=True).output, atol=1e-9)


def test_queries_that_see_no_key_have_zeros() -> None:
    given = {"query": 40 * normal(300, 24), "key": 40 * normal(300, 24, seed=2), "value": normal(300, 8)}
    mask = np.ones((300, 300), bool)
    mask[20:40] = False
    output = run(problem(**given, key_mask=np.zeros(300, bool)), ("output",), options=IN_TILES).output
    assert not output.any()
    output = run(problem(**given, mask=mask), ("output",), options=IN_TILES).output
    assert not output[..., 20:40, :].any()
    assert output[..., 40:, :].any(axis=-1).all()
