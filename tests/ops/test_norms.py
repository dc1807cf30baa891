"""Norms of vectors, with gain and bias."""

import math
from typing import Any

import numpy as np
import pytest

from attncli.ops import operators
from attncli.ops.norms import l2, layer, rms

X = np.array([[3.0, 4, 12], [1, -2, 2]])
every_norm = pytest.mark.parametrize("norm", [l2, rms, layer])


def test_every_norm_is_tested_here() -> None:
    assert set(operators("norm")) == {"l2", "rms", "layer"}


def test_l2_brings_every_vector_to_length_one() -> None:
    np.testing.assert_allclose(l2(X), [[3 / 13, 4 / 13, 12 / 13], [1 / 3, -2 / 3, 2 / 3]], rtol=1e-15)
    np.testing.assert_allclose(l2(X, eps=7.0)[1], np.array([1, -2, 2]) / 4, rtol=1e-15)


def test_rms_brings_the_mean_square_to_one() -> None:
    np.testing.assert_allclose(rms(X)[1], np.array([1, -2, 2]) / math.sqrt(3), rtol=1e-15)
    np.testing.assert_allclose(rms(X, eps=1.0)[1], np.array([1, -2, 2]) / 2, rtol=1e-15)


def test_layer_brings_the_mean_to_zero_and_the_variance_to_one() -> None:
    np.testing.assert_allclose(layer(np.array([[1.0, 2, 6]])), np.array([[-2, -1, 3]]) / math.sqrt(14 / 3), rtol=1e-15)
    np.testing.assert_allclose(
        layer(np.array([[1.0, 5, 3]]), eps=1 / 3), np.array([[-2, 2, 0]]) / math.sqrt(3), rtol=1e-15
    )


@every_norm
def test_a_gain_multiplies_the_divided_vector_and_a_bias_is_added(norm: Any) -> None:
    plain, gain, bias = norm(X), np.array([2.0, 0, -1]), np.array([0.5, 1, 0])
    expected = [[2 * row[0] + 0.5, 1, -row[2]] for row in plain]
    np.testing.assert_allclose(norm(X, gain=gain, bias=bias), expected, rtol=1e-15)
    np.testing.assert_allclose(norm(X, gain=gain - 1, bias=bias, gain_plus_one=True), expected, rtol=1e-15)


@every_norm
def test_each_head_has_the_gain_and_the_bias_of_its_row(norm: Any) -> None:
    heads, gain, bias = np.stack([X, 2 * X]), np.array([[1.0, 2, 3], [4, 5, 6]]), np.array([[0.0, 1, 0], [1, 0, 0]])
    together = norm(heads, gain=gain, bias=bias)
    for head in range(2):
        np.testing.assert_allclose(together[head], norm(heads[head], gain=gain[head], bias=bias[head]), rtol=1e-15)


@every_norm
def test_a_zero_vector_stays_zero(norm: Any) -> None:
    assert norm(np.zeros((2, 3))).tolist() == [[0, 0, 0], [0, 0, 0]]
    assert norm(np.zeros((1, 3)), gain=np.ones(3), bias=np.arange(3.0)).tolist() == [[0, 1, 2]]


@every_norm
@pytest.mark.parametrize("size", [1e-300, 1e-200, 1e-3, 1e3, 1e200, 1e300])
def test_the_size_of_a_vector_does_not_matter(norm: Any, size: float) -> None:
    np.testing.assert_allclose(norm(X * size), norm(X), rtol=1e-14)


@every_norm
@pytest.mark.parametrize("size", [1e-30, 1e30])
def test_the_size_of_a_vector_does_not_matter_in_float32(norm: Any, size: float) -> None:
    small = norm((X * size).astype(np.float32))
    assert small.dtype == np.float32
    np.testing.assert_allclose(small, norm(X), rtol=1e-6)


@every_norm
def test_a_tiny_vector_beside_eps_is_divided_by_its_root(norm: Any) -> None:
    centred = X - X.mean(axis=-1, keepdims=True) if norm is layer else X
    np.testing.assert_allclose(norm(X * 1e-200, eps=0.25), centred * 2e-200, rtol=1e-14)


@every_norm
def test_nan_and_infinity_stay_in_their_row(norm: Any) -> None:
    with np.errstate(invalid="ignore"):
        result = norm(np.array([[np.nan, 1, 2], [np.inf, 1, 2], [3, 4, 12]]))
    assert np.isnan(result[0]).all()
    assert np.isnan(result[1]).any()
    np.testing.assert_array_equal(result[2], norm(X)[0])
