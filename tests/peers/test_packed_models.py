"""Models that pack their projections give the numbers of one problem: real modules with random weights."""

from typing import Any

import numpy as np
import pytest

from attncli import attention
from tests.arrays import normal

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

BATCH, ROWS, FEATURES, HEADS = 2, 5, 24, 4
HIDDEN = normal(BATCH, ROWS, FEATURES)
EXACT, ROUNDED = 1e-9, 2e-6  # ROUNDED: the model computes its softmax in float32


def numbers(module: Any) -> dict[str, np.ndarray]:
    """The parameters of a module by their names, filled with random numbers of which none is 0 or 1."""
    with torch.no_grad():
        for at, parameter in enumerate(module.double().eval().parameters()):
            parameter.copy_(torch.tensor(normal(*parameter.shape, seed=at + 1)))
    return {name: parameter.detach().numpy() for name, parameter in module.named_parameters()}


def causal_mask() -> Any:
    """0 where a query sees a key, −∞ elsewhere."""
    return torch.full((ROWS, ROWS), -torch.inf, dtype=torch.float64).triu(1)[None, None]


def no_rotation(features: int) -> tuple[Any, Any]:
    """Cosines and sines of rope that change nothing."""
    ones = torch.ones(1, ROWS, features, dtype=torch.float64)
    return ones, ones * 0


def config(name: str, **keys: Any) -> Any:
    """A small configuration of a model."""
    return getattr(transformers, f"{name}Config")(**keys, attn_implementation="sdpa")


def output_of(module: Any, *arguments: Any, **keywords: Any) -> np.ndarray:
    """What a module makes of the hidden states."""
    with torch.no_grad():
        return module(torch.tensor(HIDDEN), *arguments, **keywords)[0].numpy()


def assert_computes(expected: np.ndarray, close: float = EXACT, **keys: Any) -> None:
    output = attention(embeddings=HIDDEN, heads=HEADS, causal=True, **keys).output
    np.testing.assert_allclose(output, expected, rtol=close, atol=close)


def test_gpt2_has_queries_keys_and_values_one_after_the_other_in_out() -> None:
    from transformers.models.gpt2.modeling_gpt2 import GPT2Attention

    module = GPT2Attention(config("GPT2", n_embd=FEATURES, n_head=HEADS), layer_idx=0)
    own = numbers(module)
    assert_computes(
        output_of(module, attention_mask=causal_mask()),
        w_qkv=own["c_attn.weight"],
        b_qkv=own["c_attn.bias"],
        w_o=own["c_proj.weight"],
        b_o=own["c_proj.bias"],
    )


def test_multihead_attention_of_torch_has_them_one_after_the_other_out_in() -> None:
    module = torch.nn.MultiheadAttention(FEATURES, HEADS, batch_first=True)
    own = numbers(module)
    x, mask = torch.tensor(HIDDEN), torch.ones(ROWS, ROWS, dtype=torch.bool).triu(1)
    with torch.no_grad():
        expected = module(x, x, x, attn_mask=mask)[0].numpy()
    assert_computes(
        expected,
        w_qkv=own["in_proj_weight"],
        b_qkv=own["in_proj_bias"],
        w_o=own["out_proj.weight"],
        b_o=own["out_proj.bias"],
        weight_layout="out_in",
    )


def test_in_cross_attention_torch_projects_two_sequences_with_the_parts_of_one_matrix() -> None:
    module = torch.nn.MultiheadAttention(FEATURES, HEADS, batch_first=True)
    own, queries = numbers(module), normal(BATCH, 3, FEATURES, seed=9)
    x = torch.tensor(HIDDEN)
    with torch.no_grad():
        expected = module(torch.tensor(queries), x, x)[0].numpy()
    output = attention(
        embeddings=HIDDEN,
        query_embeddings=queries,
        heads=HEADS,
        w_qkv=own["in_proj_weight"],
        b_qkv=own["in_proj_bias"],
        w_o=own["out_proj.weight"],
        b_o=own["out_proj.bias"],
        weight_layout="out_in",
    ).output
    np.testing.assert_allclose(output, expected, rtol=EXACT, atol=EXACT)


def test_gpt_neox_has_the_query_key_and_value_of_each_head() -> None:
    from transformers.models.gpt_neox.modeling_gpt_neox import GPTNeoXAttention

    module = GPTNeoXAttention(config("GPTNeoX", hidden_size=FEATURES, num_attention_heads=HEADS), layer_idx=0)
    own = numbers(module)
    assert_computes(
        output_of(module, causal_mask(), position_embeddings=no_rotation(FEATURES // HEADS)),
        w_qkv=own["query_key_value.weight"],
        b_qkv=own["query_key_value.bias"],
        packing="per_head",
        w_o=own["dense.weight"],
        b_o=own["dense.bias"],
        weight_layout="out_in",
    )


def test_bloom_has_the_query_key_and_value_of_each_head_and_alibi() -> None:
    from transformers.models.bloom.modeling_bloom import BloomAttention, build_alibi_tensor

    module = BloomAttention(config("Bloom", hidden_size=FEATURES, n_head=HEADS, hidden_dropout=0.0), layer_idx=0)
    own = numbers(module)
    alibi = build_alibi_tensor(torch.ones(BATCH, ROWS), HEADS, torch.float64)
    residual = torch.zeros(BATCH, ROWS, FEATURES, dtype=torch.float64)
    assert_computes(
        output_of(module, residual, alibi, causal_mask()),
        close=ROUNDED,
        w_qkv=own["query_key_value.weight"],
        b_qkv=own["query_key_value.bias"],
        packing="per_head",
        position="alibi",
        w_o=own["dense.weight"],
        b_o=own["dense.bias"],
        weight_layout="out_in",
    )


FALCON = {
    "7B": ({"multi_query": True, "new_decoder_architecture": False}, 1, "per_group"),
    "7B, concatenated": ({"multi_query": True, "new_decoder_architecture": False}, 1, "concatenated"),
    "40B": ({"new_decoder_architecture": True, "num_kv_heads": 2}, 2, "per_group"),
    "1B": ({"multi_query": False, "new_decoder_architecture": False}, HEADS, "per_head"),
}


@pytest.mark.parametrize(("keys", "kv_heads", "packing"), FALCON.values(), ids=FALCON)
def test_falcon_has_the_queries_of_each_key_head_before_it(keys: dict[str, Any], kv_heads: int, packing: str) -> None:
    from transformers.models.falcon.modeling_falcon import FalconAttention

    made = config("Falcon", hidden_size=FEATURES, num_attention_heads=HEADS, alibi=False, bias=True, **keys)
    module = FalconAttention(made, layer_idx=0)
    own = numbers(module)
    rotation = no_rotation(FEATURES // HEADS)
    assert_computes(
        output_of(module, alibi=None, attention_mask=causal_mask(), position_embeddings=rotation),
        w_qkv=own["query_key_value.weight"],
        b_qkv=own["query_key_value.bias"],
        packing=packing,
        kv_heads=kv_heads,
        w_o=own["dense.weight"],
        b_o=own["dense.bias"],
        weight_layout="out_in",
    )


def test_phi3_has_fewer_keys_and_values_after_the_queries_and_its_own_width_of_heads() -> None:
    from transformers.models.phi3.modeling_phi3 import Phi3Attention

    made = config(
        "Phi3", hidden_size=FEATURES, num_attention_heads=HEADS, num_key_value_heads=2, head_dim=10, pad_token_id=0
    )
    module = Phi3Attention(made, layer_idx=0)
    own = numbers(module)
    assert_computes(
        output_of(module, position_embeddings=no_rotation(10), attention_mask=causal_mask()),
        w_qkv=own["qkv_proj.weight"],
        kv_heads=2,
        w_o=own["o_proj.weight"],
        weight_layout="out_in",
    )


@pytest.mark.parametrize(("multi_query", "kv_heads", "packing"), [(True, 1, "concatenated"), (False, 4, "per_head")])
def test_gpt_bigcode_has_one_key_head_after_the_queries(multi_query: bool, kv_heads: int, packing: str) -> None:
    from transformers.models.gpt_bigcode.modeling_gpt_bigcode import GPTBigCodeAttention

    made = config("GPTBigCode", n_embd=FEATURES, n_head=HEADS, multi_query=multi_query, attn_pdrop=0.0, resid_pdrop=0.0)
    module = GPTBigCodeAttention(made, layer_idx=0)
    own = numbers(module)
    mask = causal_mask()
    hidden = torch.tensor(HIDDEN)
    with torch.no_grad():
        expected = module(hidden, attention_mask=mask)[0].numpy()
    assert_computes(
        expected,
        w_qkv=own["c_attn.weight"],
        b_qkv=own["c_attn.bias"],
        packing=packing,
        kv_heads=kv_heads,
        w_o=own["c_proj.weight"],
        b_o=own["c_proj.bias"],
        weight_layout="out_in",
    )


def test_a_gpt2_that_reads_an_encoder_packs_keys_and_values() -> None:
    from transformers.models.gpt2.modeling_gpt2 import GPT2Attention

    module = GPT2Attention(config("GPT2", n_embd=FEATURES, n_head=HEADS), is_cross_attention=True, layer_idx=0)
    own, encoded = numbers(module), normal(BATCH, 7, FEATURES, seed=8)
    expected = output_of(module, encoder_hidden_states=torch.tensor(encoded))
    output = attention(
        embeddings=encoded,
        query_embeddings=HIDDEN,
        heads=HEADS,
        w_q=own["q_attn.weight"],
        b_q=own["q_attn.bias"],
        w_kv=own["c_attn.weight"],
        b_kv=own["c_attn.bias"],
        w_o=own["c_proj.weight"],
        b_o=own["c_proj.bias"],
    ).output
    np.testing.assert_allclose(output, expected, rtol=EXACT, atol=EXACT)
