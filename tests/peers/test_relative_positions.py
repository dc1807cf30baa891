"""Transformer-XL's and DeBERTa's scores and their gradients beside PyTorch: the shift by reshaping, and autograd."""

from typing import Any

import numpy as np
import pytest

from attncli import attention
from tests.arrays import normal

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.peer

HEADS, QUERIES, FEATURES, EMBEDDED = 3, 7, 4, 5


def leaf(array: np.ndarray) -> Any:
    """A tensor that gradients are taken of."""
    return torch.tensor(array, requires_grad=True)


def shifted(products: Any) -> Any:
    """Dai et al. 2019, appendix B: a column of zeros before, and the rows and columns exchanged."""
    heads, queries, rows = products.shape
    padded = torch.nn.functional.pad(products, (1, 0)).view(heads, rows + 1, queries)
    return padded[:, 1:].reshape(heads, queries, rows)[..., :queries]


def transformer_xl(query: Any, key: Any, arrays: dict[str, Any]) -> Any:
    """The scores [h n n], not scaled."""
    rows = (arrays["table"] @ arrays["w_position"]).view(-1, HEADS, FEATURES).transpose(0, 1)
    content = (query + arrays["content_bias"][:, None]) @ key.mT
    return content + shifted((query + arrays["position_bias"][:, None]) @ rows.mT)


def disentangled(query: Any, key: Any, arrays: dict[str, Any]) -> Any:
    """The scores [h n n], not scaled, as transformers' DeBERTa gathers them."""
    span = len(arrays["table"]) // 2
    distance = torch.arange(QUERIES)[:, None] - torch.arange(QUERIES)
    keys, queries = (
        (arrays["table"] @ arrays[f"w_position_{x}"] + arrays[f"b_position_{x}"]).view(-1, HEADS, FEATURES)
        for x in "kq"
    )
    index = torch.clamp(distance + span, 0, 2 * span - 1).expand(HEADS, -1, -1)
    reversed_index = torch.clamp(-distance + span, 0, 2 * span - 1).expand(HEADS, -1, -1)
    c2p = torch.gather(query @ keys.transpose(0, 1).mT, -1, index)
    p2c = torch.gather(key @ queries.transpose(0, 1).mT, -1, reversed_index).mT
    return query @ key.mT + c2p + p2c


def given(name: str) -> dict[str, np.ndarray]:
    """The arrays of a position scheme."""
    if name == "transformer_xl":
        biases = {name: normal(HEADS, FEATURES, seed=at) for at, name in enumerate(("content_bias", "position_bias"))}
        width = (EMBEDDED, HEADS * FEATURES)
        return {"table": normal(2 * QUERIES - 1, EMBEDDED), "w_position": normal(*width), **biases}
    weights = {f"w_position_{x}": normal(EMBEDDED, HEADS * FEATURES, seed=at) for at, x in enumerate("kq")}
    offsets = {f"b_position_{x}": normal(HEADS * FEATURES, seed=at) for at, x in enumerate("kq")}
    return {"table": normal(8, EMBEDDED), **weights, **offsets}


@pytest.mark.parametrize(("scheme", "terms"), [(transformer_xl, 1), (disentangled, 3)])
def test_scores_and_gradients_are_those_of_torch(scheme: Any, terms: int) -> None:
    name = scheme.__name__
    query, key, value, grad = (normal(HEADS, QUERIES, FEATURES, seed=at) for at in range(4))
    arrays = given(name)
    leaves = {key: leaf(array) for key, array in arrays.items()}
    torch_query, torch_key, torch_value = map(leaf, (query, key, value))
    weights = torch.softmax(scheme(torch_query, torch_key, leaves) / (terms * FEATURES) ** 0.5, dim=-1)
    output = weights @ torch_value
    output.backward(torch.tensor(grad))
    result = attention(query, key, value, position={name: arrays}, layout="hnd", gradient=grad)
    np.testing.assert_allclose(np.squeeze(result.output), output.detach().numpy(), rtol=1e-12)
    of_inputs = {"query": torch_query, "key": torch_key, "value": torch_value}
    for role, tensor in {**of_inputs, **{f"position.{key}": tensor for key, tensor in leaves.items()}}.items():
        found, expected = np.squeeze(getattr(result, f"grad_{role}")), tensor.grad.numpy()
        if found.shape != expected.shape:  # an axis of heads of its own
            found = np.moveaxis(found, 0, -2).reshape(expected.shape)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12, err_msg=role)
