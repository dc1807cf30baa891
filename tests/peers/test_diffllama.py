"""Differential attention is that of transformers' class, with its gradients, those of the vectors of λ too."""

from typing import Any

import numpy as np
import pytest

from attncli import attention

torch = pytest.importorskip("torch")
modeling = pytest.importorskip("transformers.models.diffllama.modeling_diffllama")

HEADS, GROUPS, D, N, LAYER = 8, 4, 4, 6, 3
VECTORS = ("lambda_q1", "lambda_k1", "lambda_q2", "lambda_k2")
NAMES = ("hidden", "q_proj", "k_proj", "v_proj", "o_proj")
KEYS = {"hidden": "embeddings", **{f"{letter}_proj": f"w_{letter}" for letter in "qkvo"}}


def test_output_and_gradients_are_those_of_the_class() -> None:
    torch.manual_seed(0)
    config = modeling.DiffLlamaConfig(
        hidden_size=HEADS * D, num_attention_heads=HEADS, num_key_value_heads=GROUPS, rms_norm_eps=0.1
    )
    config._attn_implementation = "eager"
    module = modeling.DiffLlamaAttention(config, LAYER).double()
    for name in VECTORS:
        torch.nn.init.normal_(getattr(module, name), std=0.6)
    hidden = torch.randn(2, N, HEADS * D, dtype=torch.float64, requires_grad=True)
    turns = torch.ones(2, N, D, dtype=torch.float64), torch.zeros(2, N, D, dtype=torch.float64)  # no rotation
    mask = torch.full((N, N), -torch.inf, dtype=torch.float64).triu(1)
    output, _ = module(hidden, turns, mask)
    grad = torch.randn_like(output)
    output.backward(grad)

    parameters: dict[str, Any] = {name: getattr(module, name).detach().numpy() for name in VECTORS}
    found = attention(
        embeddings=hidden.detach().numpy(),
        **{KEYS[name]: getattr(module, name).weight.detach().numpy() for name in NAMES[1:]},
        weight_layout="out_in",
        heads=HEADS,
        kv_heads=GROUPS,
        causal=True,
        difference={"differential": {"layer": LAYER, **parameters}},
        head_pairs="halves",
        context_norm={"rms": {"eps": 0.1}},
        gradient=grad.numpy(),
        select=["output", *(f"grad_{name}" for name in (*KEYS.values(), *VECTORS))],
    )
    # Its softmax is in float32.
    close = {"rtol": 2e-6, "atol": 2e-6}
    np.testing.assert_allclose(found.output, output.detach().numpy(), **close)
    np.testing.assert_allclose(found.grad_embeddings, hidden.grad.numpy(), **close)
    for name in NAMES[1:]:
        expected = getattr(module, name).weight.grad.numpy().T
        np.testing.assert_allclose(getattr(found, f"grad_{KEYS[name]}"), expected, **close)
    for name in VECTORS:
        np.testing.assert_allclose(getattr(found, f"grad_{name}"), getattr(module, name).grad.numpy(), **close)
