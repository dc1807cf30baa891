"""The package entmax computes the same sparse weights."""

import numpy as np
import pytest

import attncli
from attncli.ops.sparse_normalizers import entmax
from tests.arrays import normal

torch = pytest.importorskip("torch")
peer = pytest.importorskip("entmax")


@pytest.mark.parametrize("alpha", [1.2, 1.5, 1.8, 2.0, 3.0])
def test_sparse_normalizers_are_those_of_the_entmax_package(alpha: float) -> None:
    scores = normal(13, 29) * 2
    tensor = torch.from_numpy(scores)
    exact = {1.5: peer.entmax15, 2.0: peer.sparsemax}
    expected = exact[alpha](tensor, dim=-1) if alpha in exact else peer.entmax_bisect(tensor, alpha=alpha, n_iter=200)
    np.testing.assert_allclose(entmax(scores, alpha=alpha), expected.numpy(), atol=1e-13)


@pytest.mark.parametrize("alpha", [1.2, 1.5, 1.8, 2.0, 3.0])
def test_gradients_of_sparse_normalizers_are_those_of_the_entmax_package(alpha: float) -> None:
    scores, value, grad = normal(5, 7, seed=1) * 2, normal(7, 3, seed=2), normal(5, 3, seed=3)
    tensor = torch.tensor(scores, requires_grad=True)
    exact = {1.5: peer.entmax15, 2.0: peer.sparsemax}
    weights = exact[alpha](tensor, dim=-1) if alpha in exact else peer.entmax_bisect(tensor, alpha=alpha, n_iter=200)
    (weights @ torch.from_numpy(value)).backward(torch.from_numpy(grad))
    keys = {"scores": scores, "value": value, "normalize": {"entmax": {"alpha": alpha}}}
    found = attncli.Problem(**keys).compute("grad_scores", gradient=grad).grad_scores
    np.testing.assert_allclose(found, tensor.grad.numpy(), atol=1e-11)
