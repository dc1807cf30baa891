"""Norms of queries and keys."""

import math

import numpy as np
import pytest

from attncli.ops import operators
from attncli.ops.norms import l2, rms

X = np.array([[3.0, 4, 12], [1, -2, 2]])


def test_every_norm_is_tested_here() -> None:
    assert set(operators("qk_norm")) == {"l2", "rms"}


def test_l2_brings_every_vector_to_length_one() -> None:
    np.testing.assert_allclose(l2(X), [[3 / 13, 4 / 13, 12 / 13], [1 / 3, -2 / 3, 2 / 3]], rtol=1e-15)


def test_rms_brings_the_mean_square_to_one() -> None:
    np.testing.assert_allclose(rms(X)[1], np.array([1, -2, 2]) / math.sqrt(3), rtol=1e-15)
    np.testing.assert_allclose(rms(X, eps=1.0)[1], np.array([1, -2, 2]) / 2, rtol=1e-15)


@pytest.mark.parametrize("norm", [l2, rms])
def test_a_zero_vector_stays_zero(norm: object) -> None:
    assert norm(np.zeros((2, 3))).tolist() == [[0, 0, 0], [0, 0, 0]]  # type: ignore[operator]


@pytest.mark.parametrize("norm", [l2, rms])
@pytest.mark.parametrize("size", [1e-3, 1e3])
def test_the_size_of_a_vector_does_not_matter(norm: object, size: float) -> None:
    np.testing.assert_allclose(norm(X * size), norm(X), rtol=1e-14)  # type: ignore[operator]
