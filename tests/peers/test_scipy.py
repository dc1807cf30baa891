"""SciPy computes the same distances, softmax, sigmoid and entropy."""

import numpy as np
import pytest

from attncli.ops import operators
from attncli.render.rows import row_statistics
from tests.arrays import normal

distance = pytest.importorskip("scipy.spatial.distance")
special = pytest.importorskip("scipy.special")
stats = pytest.importorskip("scipy.stats")

N, M, D = 3, 5, 7


def test_distances_and_cosines_are_those_of_scipy() -> None:
    query, key = normal(N, D), normal(M, D)
    for name, metric, sign in (
        ("euclidean", "euclidean", lambda d: -d),
        ("laplacian", "cityblock", lambda d: -d),
        ("gaussian", "sqeuclidean", lambda d: -d / 2),
        ("cosine", "cosine", lambda d: 1 - d),
    ):
        expected = sign(distance.cdist(query, key, metric))
        np.testing.assert_allclose(operators("score")[name].function(query, key), expected, rtol=1e-13, atol=1e-14)


def test_softmax_and_sigmoid_are_those_of_scipy() -> None:
    scores = normal(5, 11) * 4
    normalizers = operators("normalize")
    np.testing.assert_allclose(normalizers["softmax"].function(scores), special.softmax(scores, axis=-1), rtol=1e-14)
    np.testing.assert_allclose(normalizers["sigmoid"].function(scores), special.expit(scores), rtol=1e-14)


def test_entropies_of_weights_are_those_of_scipy() -> None:
    weights = special.softmax(normal(5, 11) * 4, axis=-1)
    weights[2] = np.eye(11)[3]
    statistics = row_statistics(weights)
    np.testing.assert_allclose(statistics.entropy, stats.entropy(weights, axis=-1), rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(statistics.effective_keys, np.exp(stats.entropy(weights, axis=-1)), rtol=1e-13)
