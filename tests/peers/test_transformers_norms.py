"""Norms with gains: the attention modules of transformers, with random weights, against one problem of ours each."""

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import attncli

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

ROWS, HIDDEN, HEADS, KV_HEADS, HEAD_DIM = 5, 24, 6, 2, 8
SIZES = {
    "hidden_size": HIDDEN,
    "num_attention_heads": HEADS,
    "num_key_value_heads": KV_HEADS,
    "head_dim": HEAD_DIM,
    "num_hidden_layers": 1,
    "vocab_size": 11,
    "intermediate_size": 13,
    "pad_token_id": 0,
}
SHARED = {**SIZES, "hidden_size": HEADS * HEAD_DIM}  # where the heads share the hidden features
SINGLE = 2e-6  # rope and norms of these models compute in float32
Weights = dict[str, np.ndarray]
EPS = 1e-3  # large, so that it counts


@dataclass(frozen=True)
class Case:
    """A model's attention, its configuration, and what its keys mean in a problem of ours."""

    module: str  # of transformers.models
    name: str  # of the class of its attention
    config: str  # of the class of its configuration
    sizes: dict[str, Any]
    keys: Callable[[Weights], dict[str, Any]]
    rope: dict[str, Any] = field(default_factory=dict)  # parameters of ours


def norms(name: str, query: str, key: str, **given: Any) -> Callable[[Weights], dict[str, Any]]:
    """The keys of a norm of queries and keys, whose gains and biases have these names."""

    def keys(weights: Weights) -> dict[str, Any]:
        arrays = {
            f"{role}_{part}": weights[f"{prefix}.{stored}"]
            for role, prefix in (("query", query), ("key", key))
            for part, stored in (("gain", "weight"), ("bias", "bias"))
            if f"{prefix}.{stored}" in weights
        }
        return {"qk_norm": {name: {**arrays, "eps": EPS, **given}}}

    return keys


def of_each_head(weights: Weights) -> dict[str, Any]:
    """StableLM has a module for the norm of each head."""
    arrays = {
        f"{role}_gain": np.stack([weights[f"{name}.norms.{head}.weight"] for head in range(count)])
        for role, name, count in (("query", "q_layernorm", HEADS), ("key", "k_layernorm", KV_HEADS))
    }
    return {"qk_norm": {"layer": {**arrays, "eps": EPS}}}


def persimmon(weights: Weights) -> dict[str, Any]:
    """Queries, keys and values of each head side by side."""
    norm = norms("layer", "q_layernorm", "k_layernorm")(weights)
    packed = {"w_qkv": weights["query_key_value.weight"], "b_qkv": weights["query_key_value.bias"]}
    return {**norm, **packed, "packing": "per_head", "kv_heads": HEADS, "b_o": weights["dense.bias"]}


def gemma3n(weights: Weights) -> dict[str, Any]:
    """Values are normalized too, without a gain; nothing is scaled."""
    return {**norms("rms", "q_norm", "k_norm")(weights), "value_norm": {"rms": {"eps": EPS}}, "score": "dot"}


RMS = {"rms_norm_eps": EPS}
PER_HEAD = norms("rms", "q_norm", "k_norm")
CASES = {
    "Qwen 3": Case("qwen3", "Qwen3Attention", "Qwen3Config", {**SIZES, **RMS}, PER_HEAD),
    "Gemma 3": Case(
        "gemma3",
        "Gemma3Attention",
        "Gemma3TextConfig",
        {**SIZES, **RMS, "layer_types": ["full_attention"], "query_pre_attn_scalar": 4},
        lambda weights: {**norms("rms", "q_norm", "k_norm", gain_plus_one=True)(weights), "scale": 0.5},
        {"base": 1e6},
    ),
    "OLMo 2": Case(
        "olmo2", "Olmo2Attention", "Olmo2Config", {**SHARED, **RMS}, norms("rms", "q_norm", "k_norm", over="all")
    ),
    "Cohere": Case(
        "cohere",
        "CohereAttention",
        "CohereConfig",
        {**SHARED, "use_qk_norm": True, "layer_norm_eps": EPS},
        norms("layer", "q_norm", "k_norm"),
        {"interleaved": True, "base": 500000},
    ),
    "Chameleon": Case(
        "chameleon",
        "ChameleonAttention",
        "ChameleonConfig",
        SHARED,
        norms("layer", "q_norm", "k_norm", eps=1e-5),
    ),
    "StableLM": Case(
        "stablelm",
        "StableLmAttention",
        "StableLmConfig",
        {**SHARED, "qk_layernorm": True, "layer_norm_eps": EPS, "partial_rotary_factor": 0.5},
        of_each_head,
        {"dims": HEAD_DIM // 2},
    ),
    "Persimmon": Case(
        "persimmon",
        "PersimmonAttention",
        "PersimmonConfig",
        {**SHARED, "layer_norm_eps": EPS, "partial_rotary_factor": 0.5},
        persimmon,
        {"dims": HEAD_DIM // 2},
    ),
    "Llama 4": Case(
        "llama4",
        "Llama4TextAttention",
        "Llama4TextConfig",
        {**SIZES, **RMS, "use_qk_norm": True, "no_rope_layers": [1]},
        lambda _: {"qk_norm": {"rms": {"eps": EPS, "when": "after_rope"}}},
        {"interleaved": True, "base": 500000},
    ),
    "HunYuan": Case(
        "hunyuan_v1_dense",
        "HunYuanDenseV1Attention",
        "HunYuanDenseV1Config",
        {**SIZES, **RMS},
        norms("rms", "query_layernorm", "key_layernorm", when="after_rope"),
    ),
    "BitNet": Case(
        "bitnet",
        "BitNetAttention",
        "BitNetConfig",
        {**SHARED, **RMS},
        lambda weights: {"context_norm": {"rms": {"gain": weights["attn_sub_norm.weight"], "eps": EPS, "over": "all"}}},
        {"base": 500000},
    ),
    "Gemma 3n": Case(
        "gemma3n",
        "Gemma3nTextAttention",
        "Gemma3nTextConfig",
        {**SIZES, **RMS, "layer_types": ["full_attention"], "num_kv_shared_layers": 0},
        gemma3n,
        {"base": 1e6},
    ),
}


def theirs(case: Case) -> tuple[Any, np.ndarray, np.ndarray]:
    """A module with random weights, hidden states, and what it makes of them."""
    torch.manual_seed(7)
    source = import_module(f"transformers.models.{case.module}.modeling_{case.module}")
    config = getattr(import_module(f"transformers.models.{case.module}"), case.config)(**case.sizes)
    config._attn_implementation = "eager"
    module = getattr(source, case.name)(config, layer_idx=0).double().eval()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_()
    rotary_name = case.config.removesuffix("Config") + "RotaryEmbedding"
    rotary = getattr(source, rotary_name, None) or getattr(source, rotary_name.replace("Text", ""))
    hidden = torch.randn(1, ROWS, config.hidden_size, dtype=torch.float64)
    positions = torch.arange(ROWS)[None]
    layers = {"layer_type": "full_attention"} if hasattr(config, "layer_types") and case.module[:5] == "gemma" else {}
    embeddings = rotary(config)(hidden, positions, **layers)
    with torch.no_grad():
        output = module(hidden, position_embeddings=embeddings, attention_mask=None)[0]
    return module, hidden[0].numpy(), output[0].numpy()


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_attention_of_a_model_with_norms_is_one_problem(case: Case) -> None:
    module, hidden, expected = theirs(case)
    weights = {name: value.numpy() for name, value in module.state_dict().items()}
    names = [("w_q", "q_proj"), ("w_k", "k_proj"), ("w_v", "v_proj"), ("w_o", "o_proj"), ("w_o", "dense")]
    projections = {key: weights[f"{name}.weight"] for key, name in names if f"{name}.weight" in weights}
    keys = {"heads": HEADS, "kv_heads": KV_HEADS, "weight_layout": "out_in", **projections, **case.keys(weights)}
    problem = attncli.Problem(embeddings=hidden, position={"rope": case.rope}, **keys)
    output = problem.compute().output
    np.testing.assert_allclose(output, expected, rtol=0, atol=SINGLE * abs(expected).max())
    without = {key: value for key, value in keys.items() if not key.endswith("_norm")}
    plain = attncli.Problem(embeddings=hidden, position={"rope": case.rope}, **without).compute().output
    assert abs(plain - expected).max() > 1e-2 * abs(expected).max()  # the norms count
