"""Models with a gate on the output, limited projections or scaled values give the numbers of one problem."""

from typing import Any

import numpy as np
import pytest

from attncli import attention
from tests.peers.test_packed_models import (
    EXACT,
    FEATURES,
    HEADS,
    HIDDEN,
    ROUNDED,
    causal_mask,
    config,
    no_rotation,
    numbers,
    output_of,
)

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

WIDTH = 6  # of a head
SIZES = {"hidden_size": FEATURES, "num_attention_heads": HEADS, "num_key_value_heads": 2, "head_dim": WIDTH}


def made(model: str, name: str, *arguments: Any, **keys: Any) -> Any:
    """The attention module of layer 0 of a small model; its norms of queries and keys are left out."""
    modules = pytest.importorskip(f"transformers.models.{model}.modeling_{model}")
    module = getattr(modules, f"{name}Attention")(config(name, **keys), 0, *arguments)
    for norm in ("q_norm", "k_norm"):
        if hasattr(module, norm):
            setattr(module, norm, torch.nn.Identity())
    return module


def parts(own: dict[str, np.ndarray], output: str = "o_proj") -> dict[str, Any]:
    """The keys of projections of their own."""
    names = {"w_q": "q_proj", "w_k": "k_proj", "w_v": "v_proj", "w_o": output}
    weights = {key: own[f"{name}.weight"] for key, name in names.items() if f"{name}.weight" in own}
    biases = {f"b{key[1:]}": own[f"{name}.bias"] for key, name in names.items() if f"{name}.bias" in own}
    return weights | biases


def assert_computes(module: Any, close: float = EXACT, **keys: Any) -> None:
    rotation = no_rotation(WIDTH)
    expected = output_of(module, position_embeddings=rotation, attention_mask=causal_mask())
    output = attention(embeddings=HIDDEN, heads=HEADS, kv_heads=2, causal=True, weight_layout="out_in", **keys).output
    np.testing.assert_allclose(output, expected, rtol=close, atol=close)


def test_qwen3_next_packs_each_heads_query_and_its_gate() -> None:
    module = made("qwen3_next", "Qwen3Next", **SIZES)
    own = numbers(module)
    keys = parts(own)
    assert_computes(module, w_qg=keys.pop("w_q"), **keys)


def test_afmoe_has_a_gate_for_each_feature() -> None:
    module = made("afmoe", "Afmoe", **SIZES, layer_types=["full_attention"], num_hidden_layers=1)
    own = numbers(module)
    assert_computes(module, w_g=own["gate_proj.weight"], **parts(own))


@pytest.mark.parametrize("gating", ["per-head", "per-element"])
def test_laguna_has_a_softplus_gate_for_each_head_or_each_feature(gating: str) -> None:
    layers = {"layer_types": ["full_attention"], "num_hidden_layers": 1, "num_attention_heads_per_layer": [HEADS]}
    module = made("laguna", "Laguna", HEADS, **SIZES, gating=gating, **layers)
    own = numbers(module)
    assert own["g_proj.weight"].shape[0] == (HEADS if gating == "per-head" else HEADS * WIDTH)
    assert_computes(module, close=ROUNDED, w_g=own["g_proj.weight"], gate="softplus", **parts(own))


def test_olmo_limits_its_projections() -> None:
    sizes = {name: size for name, size in SIZES.items() if name != "head_dim"}
    module = made("olmo", "Olmo", **sizes, clip_qkv=1.5, pad_token_id=0)
    own = numbers(module)
    assert_computes(module, clip_qkv=1.5, **parts(own))


def test_dbrx_limits_packed_projections() -> None:
    sizes = {
        "d_model": FEATURES,
        "n_heads": HEADS,
        "attn_config": {"kv_n_heads": 2, "clip_qkv": 2.0, "rope_theta": 1e4},
    }
    module = made("dbrx", "Dbrx", **sizes)
    own = numbers(module)
    assert_computes(module, clip_qkv=2.0, w_qkv=own["Wqkv.weight"], w_o=own["out_proj.weight"])


def test_mimo_scales_its_values() -> None:
    layers = {"layer_types": ["full_attention"], "num_hidden_layers": 1, "attention_value_scale": 0.7}
    module = made("mimo_v2_flash", "MiMoV2Flash", **SIZES, v_head_dim=5, **layers)
    own = numbers(module)
    assert_computes(module, value_scale=0.7, **parts(own))
