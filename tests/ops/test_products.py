"""Products of matrices in parts: the same numbers, rounded less, and handed to operators where no type is wider."""

from collections.abc import Callable

import numpy as np
import pytest

from attncli.engine.run import run
from attncli.ops import products
from attncli.ops.norms import l2
from attncli.ops.products import product, product_in_parts, sum_of_parts
from tests.arrays import normal
from tests.problems import problem


@pytest.mark.parametrize("terms", [0, 1, 16, 17, 64, 300])
@pytest.mark.parametrize("rows", [1, 2, 16])
@pytest.mark.parametrize("heads", [1, 3])
def test_parts_add_up_to_the_product(terms: int, rows: int, heads: int) -> None:
    left, right = normal(3, rows, terms), normal(heads, terms, 5)
    expected = (left[..., :, None, :] * right.mT[..., None, :, :]).sum(axis=-1)
    np.testing.assert_allclose(product_in_parts(left, right), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("leading", [(), (2, 3)])
@pytest.mark.parametrize("count", [4, 16, 17, 31, 64])
def test_parts_in_one_call_add_up_to_the_same_digits(
    leading: tuple[int, ...], count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As parts one after another, also in memory that is given, and of columns of a larger array."""
    left, right = normal(*leading, 19, 2 * count)[..., count:], normal(count, 5)
    at_once = sum_of_parts(left, right, terms=7)
    out = np.empty_like(at_once)
    np.testing.assert_array_equal(sum_of_parts(left, right, 7, out, np.empty), at_once)
    monkeypatch.setattr(products, "MAX_PARTS_SIZE", 0)
    np.testing.assert_array_equal(sum_of_parts(left, right, terms=7), at_once)
    np.testing.assert_array_equal(out, at_once)
    np.testing.assert_allclose(at_once, left @ right, rtol=0, atol=1e-12)


@pytest.mark.parametrize("multiply", [product, product_in_parts])
@pytest.mark.parametrize("rows", [40, 44])
def test_matrices_that_do_not_fit_are_an_error(multiply: Callable[..., np.ndarray], rows: int) -> None:
    with pytest.raises(ValueError, match="matmul"):
        multiply(np.ones((20, 42)), np.ones((rows, 3)))


def test_a_vector_is_multiplied_as_numpy_does() -> None:
    left, right = normal(20, 42), normal(42)
    np.testing.assert_array_equal(product_in_parts(left, right), left @ right)
    np.testing.assert_array_equal(product_in_parts(right, left.T), right @ left.T)


@pytest.mark.parametrize("rows", [1, 2, 4, 15, 16])
def test_products_of_few_rows_are_more_exact_than_whole_sums(rows: int) -> None:
    """NumPy adds the terms of a single row in several sums, and those of some rows in one."""
    left, right = normal(128 // rows, rows, 1024), normal(1024, 64)
    exact = left.astype(np.longdouble) @ right.astype(np.longdouble)
    assert typical_error(product_in_parts(left, right), exact) < 2 / 3 * typical_error(left @ right, exact)


@pytest.mark.parametrize("score", ["scaled_dot", "dot", "cosine"])
def test_scores_of_double_precision_are_more_exact_than_whole_sums(score: str) -> None:
    query, key = normal(200, 128, seed=1), normal(200, 128, seed=2)
    ours, exact = (
        run(problem(query=query, key=key, score=score, scale=1, dtype=dtype), "scores").scores
        for dtype in ("float64", "longdouble")
    )
    if score == "cosine":
        query, key = l2(query), l2(key)
    whole = query @ key.T
    assert typical_error(ours, exact) < 2 / 3 * typical_error(whole, exact)


def test_contexts_of_double_precision_are_more_exact_than_whole_sums() -> None:
    """Of weights that are alike: powers of two, which are exact."""
    scores, value = np.zeros((32, 2048)), normal(2048, 16)
    output = run(problem(scores=scores, value=value, dtype="float64"), "output").output
    whole = np.full((32, 2048), 2.0**-11) @ value
    exact = np.broadcast_to(value.astype(np.longdouble).mean(axis=0), (32, 16))
    assert typical_error(output, exact) < 2 / 3 * typical_error(whole, exact)


def typical_error(found: np.ndarray, exact: np.ndarray) -> float:
    """The root mean square of the errors."""
    return float(np.sqrt(((found - exact) ** 2).mean()))
