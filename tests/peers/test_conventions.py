"""What docs/conventions.md says of PyTorch and ONNX is what the installed packages do."""

from typing import Any

import numpy as np
import pytest

from attncli import attention
from tests.arrays import normal

pytestmark = pytest.mark.peer

QUERY, KEY, VALUE = normal(2, 5), normal(3, 5), normal(3, 7)


def sdpa(**options: Any) -> Any:
    """The answer of scaled_dot_product_attention to the queries, keys and values of this file."""
    torch = pytest.importorskip("torch")
    arrays = [torch.from_numpy(array)[None, None] for array in (QUERY, KEY, VALUE)]
    return torch.nn.functional.scaled_dot_product_attention(*arrays, **options)[0, 0].numpy()


def test_causal_of_pytorch_counts_from_the_first_key() -> None:
    assert np.allclose(sdpa(is_causal=True), attention(QUERY, KEY, VALUE, causal=True).output)


def test_causal_lower_right_of_pytorch_is_bottom_right() -> None:
    bias = pytest.importorskip("torch.nn.attention.bias")
    expected = attention(QUERY, KEY, VALUE, causal=True, align="bottom_right").output
    assert np.allclose(sdpa(attn_mask=bias.causal_lower_right(2, 3)), expected)


def test_true_attends_in_pytorch_and_a_query_without_keys_gives_0() -> None:
    torch = pytest.importorskip("torch")
    mask = np.array([[True, False, True], [False, False, False]])
    assert np.allclose(sdpa(attn_mask=torch.from_numpy(mask)), attention(QUERY, KEY, VALUE, mask=mask).output)


def layer_of_pytorch() -> Any:
    """A layer of nn.MultiheadAttention with 2 heads of 3 features, in float64."""
    torch = pytest.importorskip("torch")
    return torch.nn.MultiheadAttention(6, 2, batch_first=True, dtype=torch.float64)


def test_true_hides_in_multihead_attention_whose_packed_weights_are_three_of_out_in() -> None:
    torch = pytest.importorskip("torch")
    layer, x, hidden = layer_of_pytorch(), normal(4, 6), np.array([False, False, True, False])
    tensor = torch.from_numpy(x)[None]
    with torch.no_grad():
        expected, _ = layer(tensor, tensor, tensor, key_padding_mask=torch.from_numpy(hidden)[None])
    w_q, w_k, w_v = np.split(layer.in_proj_weight.detach().numpy(), 3)
    projected = [x @ w.T for w in (w_q, w_k, w_v)]
    result = attention(*projected, heads=2, key_mask=~hidden).output
    assert np.allclose(result @ layer.out_proj.weight.detach().numpy().T, expected[0].numpy())


def test_multihead_attention_gives_nan_for_a_query_without_keys() -> None:
    torch = pytest.importorskip("torch")
    tensor = torch.from_numpy(normal(3, 6))[None]
    _, weights = layer_of_pytorch()(
        tensor, tensor, tensor, attn_mask=torch.tensor([[True] * 3, [False] * 3, [False] * 3])
    )
    assert weights[0].isnan().any(dim=-1).tolist() == [True, False, False]


def test_the_window_of_onnx_counts_keys_beside_the_query_s_own() -> None:
    onnx = pytest.importorskip("onnx")
    schema = onnx.defs.get_schema("Attention", 25)
    assert {"left_window_size", "right_window_size", "softcap", "is_causal", "scale"} <= set(schema.attributes)
    assert "p - left_window_size <= j <= p + right_window_size" in schema.doc


@pytest.mark.parametrize("words", ["offset = nonpad_kv_seqlen - q_sequence_length", "zero output row, not `NaN`"])
def test_the_specification_of_onnx_says_what_the_page_says(words: str) -> None:
    onnx = pytest.importorskip("onnx")
    assert words in " ".join(onnx.defs.get_schema("Attention", 25).doc.split())
