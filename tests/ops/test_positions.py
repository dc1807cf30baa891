"""Positions that are added to embeddings, and the rotation of queries and keys."""

import cmath
import math

import numpy as np
import pytest

from attncli.ops.positions import learned, sinusoidal
from attncli.ops.rope import pair_slices, rope, rope_frequencies
from tests.arrays import normal

N, D = 5, 6


@pytest.mark.parametrize("interleaved", [True, False])
@pytest.mark.parametrize(("base", "scaling", "offset"), [(10000, 1, 0), (50, 4, 2)])
def test_rope_multiplies_each_pair_as_a_complex_number(
    interleaved: bool, base: float, scaling: float, offset: float
) -> None:
    x = normal(N, D)
    rotated = rope(x, np.arange(N), base=base, scaling=scaling, offset=offset, interleaved=interleaved)
    for position in range(N):
        for number in range(D // 2):
            one, other = (2 * number, 2 * number + 1) if interleaved else (number, number + D // 2)
            angle = (position + offset) / scaling * base ** (-2 * number / D)
            expected = complex(x[position, one], x[position, other]) * cmath.exp(1j * angle)
            assert cmath.isclose(complex(rotated[position, one], rotated[position, other]), expected, rel_tol=1e-14)


def test_position_0_is_not_rotated() -> None:
    x = normal(1, D)
    np.testing.assert_array_equal(rope(x, np.array([0])), x)


def test_products_of_rotated_vectors_depend_on_the_distance_alone() -> None:
    query, key = normal(1, D), normal(2, D)[1:]
    products = [
        (rope(query, np.array([position + 3])) @ rope(key, np.array([position])).T).item()
        for position in (0, 1, 100, 10_000)
    ]
    np.testing.assert_allclose(products, products[0], rtol=1e-10)


def test_rotation_keeps_the_length() -> None:
    x = normal(N, D)
    rotated = rope(x, np.arange(N) * 1000)
    np.testing.assert_allclose(np.linalg.norm(rotated, axis=-1), np.linalg.norm(x, axis=-1), rtol=1e-14)


@pytest.mark.parametrize("interleaved", [True, False])
def test_features_beyond_dims_are_not_rotated(interleaved: bool) -> None:
    x = normal(N, D)
    rotated = rope(x, np.arange(N), dims=4, interleaved=interleaved)
    np.testing.assert_array_equal(rotated[:, 4:], x[:, 4:])
    np.testing.assert_array_equal(rotated[:, :4], rope(x[:, :4], np.arange(N), interleaved=interleaved))


def test_given_frequencies_replace_the_base() -> None:
    x = normal(N, D)
    own = rope(x, np.arange(N), frequencies=rope_frequencies(D, 500.0))
    np.testing.assert_array_equal(own, rope(x, np.arange(N), base=500.0))


def test_the_frequencies_are_those_that_models_keep_as_inv_freq() -> None:
    # dims 8, base 10000: 1, 1/10, 1/100, 1/1000
    np.testing.assert_allclose(rope_frequencies(8, 10000.0), [1, 0.1, 0.01, 0.001], rtol=1e-15)


@pytest.mark.parametrize("dtype", ["float16", "float32", "longdouble"])
def test_vectors_keep_their_type_and_far_positions_their_angle(dtype: str) -> None:
    rotated = rope(np.array([[1, 0]], dtype=dtype), np.array([100_000]))
    assert rotated.dtype == dtype
    expected = [math.cos(100_000), math.sin(100_000)]
    np.testing.assert_allclose(rotated[0].astype(float), expected, rtol=2 * float(np.finfo(dtype).eps) + 1e-15)


def test_pairs_are_neighbours_or_in_two_halves() -> None:
    features = list(range(8))
    assert [features[part] for part in pair_slices(3, interleaved=True)] == [[0, 2, 4], [1, 3, 5]]
    assert [features[part] for part in pair_slices(3, interleaved=False)] == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize("features", [5, 6])
def test_sinusoidal_positions_are_sines_and_cosines_of_ever_slower_waves(features: int) -> None:
    table = sinusoidal(np.array([0, 7]), features, base=100.0, offset=1)
    for row, position in enumerate((1, 8)):
        for feature in range(features):
            angle = position / 100.0 ** ((feature - feature % 2) / features)
            wave = math.cos(angle) if feature % 2 else math.sin(angle)
            assert math.isclose(table[row, feature], wave, rel_tol=1e-14)


def test_the_published_base_is_the_default() -> None:
    # Vaswani et al. 2017, §3.5: wavelengths from 2π to 10000 · 2π; Su et al. 2021, §3.2.2: the same 10000.
    np.testing.assert_allclose(
        sinusoidal(np.array([1]), 4), [[math.sin(1), math.cos(1), math.sin(0.01), math.cos(0.01)]]
    )
    rotated = rope(np.array([[1.0, 1, 0, 0]]), np.array([1]))
    np.testing.assert_allclose(rotated, [[math.cos(1), math.cos(0.01), math.sin(1), math.sin(0.01)]])


def test_a_learned_position_is_its_row_of_the_table() -> None:
    table = normal(9, D)
    np.testing.assert_array_equal(learned(np.array([0, 3]), table=table, offset=2), table[[2, 5]])
