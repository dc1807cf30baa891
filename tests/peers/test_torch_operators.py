"""PyTorch computes the same scores, weights, norms and buckets, each operator by itself."""

import math

import numpy as np
import pytest

from attncli.ops import operators
from attncli.ops.norms import rms
from attncli.ops.position_biases import t5_bucket
from tests.arrays import normal

torch = pytest.importorskip("torch")

N, M, D = 3, 5, 7


def test_scores_are_those_of_pytorch() -> None:
    query, key = normal(N, D), normal(M, D)
    q, k = torch.from_numpy(query), torch.from_numpy(key)
    expected = {
        "euclidean": -torch.cdist(q, k, compute_mode="donot_use_mm_for_euclid_dist"),
        "laplacian": -torch.cdist(q, k, p=1),
        "cosine": torch.nn.functional.cosine_similarity(q[:, None], k[None], dim=-1),
        "dot": q @ k.T,
    }
    for name, value in expected.items():
        computed = operators("score")[name].function(query, key)
        np.testing.assert_allclose(computed, value.numpy(), rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("offset", [0.0, 1e3])
@pytest.mark.parametrize("spread", [1.0, 1e-3])
def test_distances_are_at_least_as_exact_as_those_of_pytorch(spread: float, offset: float, dtype: str) -> None:
    """Of many vectors: the largest error, beside the sum in the widest type; within the rounding of the result."""
    key = (normal(307, 64) + offset).astype(dtype)
    query = (key[:293] + spread * normal(293, 64)).astype(dtype)
    q, k = torch.from_numpy(query), torch.from_numpy(key)
    for name, norm in (("euclidean", 2), ("laplacian", 1)):
        differences = abs(np.longdouble(query)[:, None] - np.longdouble(key))
        exact = (differences**norm).sum(axis=-1) ** (1 / np.longdouble(norm))
        own, other = -operators("score")[name].function(query, key), torch.cdist(q, k, p=norm).numpy()
        rounding = np.finfo(dtype).eps * exact.max()
        assert abs(own - exact).max() <= abs(other - exact).max() + rounding


def test_softmax_and_relu_are_those_of_pytorch() -> None:
    scores = normal(5, 11) * 4
    tensor, normalizers = torch.from_numpy(scores), operators("normalize")
    np.testing.assert_allclose(normalizers["softmax"].function(scores), torch.softmax(tensor, -1).numpy(), rtol=1e-14)
    np.testing.assert_array_equal(normalizers["relu"].function(scores), torch.relu(tensor).numpy())


def test_rms_is_that_of_pytorch() -> None:
    x = np.array([[3.0, 4, 12], [1, -2, 2]])
    expected = torch.nn.functional.rms_norm(torch.tensor(x), (3,), eps=1e-3).numpy()
    np.testing.assert_allclose(rms(x, eps=1e-3), expected, rtol=1e-14)


@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize(("buckets", "farthest"), [(32, 128), (16, 64), (20, 100), (8, 20)])
def test_t5_buckets_are_those_of_its_formula_in_pytorch(bidirectional: bool, buckets: int, farthest: int) -> None:
    distance = torch.arange(-300, 300)
    half = buckets // 2 if bidirectional else buckets
    away = distance.abs() if bidirectional else (-distance).clamp(min=0)
    exact = half // 2
    ratio = torch.log(away.double().clamp(min=1) / exact) / math.log(farthest / exact)
    far = (exact + (ratio * (half - exact) + 1e-9).long()).clamp(max=half - 1)
    expected = torch.where(away < exact, away, far) + (half * (distance > 0) if bidirectional else 0)
    np.testing.assert_array_equal(t5_bucket(distance.numpy(), buckets, farthest, bidirectional), expected.numpy())
