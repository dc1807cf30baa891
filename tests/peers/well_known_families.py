"""The decoders that most people know: a row for each, with the settings that switch their peculiarities on."""

from collections.abc import Sequence
from typing import Any

from tests.peers.decoder_families import GROUPED, HEAD_DIM, SCORES, TYPES, WINDOW, rope, rotating
from tests.peers.tiny_models import ITEMS, SIZES, TinyModel, tokens

BASE = {"rope_theta": 500.0, "original_max_position_embeddings": 8}
LLAMA3 = {**BASE, "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
BOTH_WAYS = {"is_causal": False}  # as models that embed texts have it
GPT2 = {"n_embd": 32, "n_layer": 2, "n_head": 4}
YARN = {**BASE, "rope_type": "yarn", "factor": 4.0, "beta_fast": 32.0, "beta_slow": 1.0, "truncate": False}
LONGROPE = {"rope_type": "longrope", "short_factor": [1.0, 1.5, 2.0, 2.5], "long_factor": [1.0, 2.0, 4.0, 8.0]}
OF_GPT2 = {"module": "h.{layer}.attn", "block": "h.{layer}"}
OF_FALCON = {"module": "h.{layer}.self_attention", "block": "h.{layer}", "kernel": "eager"}
# A language model beside a vision tower, of which only the former sees text.
GEMMA3 = {**SIZES, **HEAD_DIM, **WINDOW, **TYPES, "query_pre_attn_scalar": 9}
VISION = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
OF_GEMMA3 = {
    "sizes": {},
    "model_class": "AutoModelForImageTextToText",
    "module": "language_model.layers.{layer}.self_attn",
    "block": "language_model.layers.{layer}",
}


def with_image_tokens(config: Any) -> dict[str, Any]:
    """Tokens, of which six are those of an image, and see each other."""
    import torch

    kinds = torch.tensor([[0, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0]] * ITEMS)
    return {**tokens(config), "token_type_ids": kinds}


def with_other_vectors(config: Any) -> dict[str, Any]:
    """Tokens, and the vectors of another sequence."""
    import torch

    drawn = torch.Generator().manual_seed(8)
    vectors = torch.randn((ITEMS, 7, config.n_embd), generator=drawn, dtype=torch.float64)
    return {**tokens(config), "encoder_hidden_states": vectors, "use_cache": False}


FAMILIES: Sequence[TinyModel] = [
    TinyModel("gpt2", GPT2, **OF_GPT2),
    TinyModel("gpt2", {**GPT2, "scale_attn_by_inverse_layer_idx": True}, variant="inverse", **OF_GPT2),
    TinyModel(
        "gpt2",
        {**GPT2, "scale_attn_by_inverse_layer_idx": True, "scale_attn_weights": False},
        variant="inverse-alone",
        **OF_GPT2,
    ),
    TinyModel("gpt2", {**GPT2, **BOTH_WAYS}, variant="both-ways", **OF_GPT2),
    TinyModel(
        "gpt2",
        {**GPT2, "add_cross_attention": True},
        part="cross",
        module="h.{layer}.crossattention",
        query_embeddings="hidden_states",
        embeddings="encoder_hidden_states",
        inputs=with_other_vectors,
    ),
    rotating("gpt_neox", rope(0.5), module="layers.{layer}.attention", block="layers.{layer}"),
    TinyModel(
        "bloom",
        {"hidden_size": 32, "n_layer": 2, "n_head": 4},
        module="h.{layer}.self_attention",
        output="h.{layer}.self_attention.dense",
        block="h.{layer}",
        kernel="eager",
        float32=SCORES,
    ),
    rotating("falcon", variant="7b", **OF_FALCON),
    rotating("falcon", {"new_decoder_architecture": True, "num_kv_heads": 2}, variant="40b", **OF_FALCON),
    rotating("falcon", {"multi_query": False, "bias": True}, variant="heads", **OF_FALCON),
    # Its eager kernel adds the biases twice.
    TinyModel("falcon", {"alibi": True, "multi_query": False}, variant="alibi", **{**OF_FALCON, "kernel": "sdpa"}),
    rotating("llama", GROUPED, {"rope_parameters": LLAMA3}, variant="llama3"),
    rotating("llama", GROUPED, BOTH_WAYS, variant="both-ways", kernel="eager"),
    rotating("mistral", HEAD_DIM, WINDOW, variant="window"),
    rotating("mistral", HEAD_DIM, WINDOW, BOTH_WAYS, variant="both-ways"),
    rotating("gemma2", HEAD_DIM, WINDOW, {"query_pre_attn_scalar": 9}, kernel="eager"),
    rotating(
        "gemma3_text",
        HEAD_DIM,
        WINDOW,
        TYPES,
        {
            "query_pre_attn_scalar": 9,
            "rope_parameters": {
                "sliding_attention": {"rope_type": "default", "rope_theta": 50.0},
                "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 500.0},
            },
        },
    ),
    rotating("gemma3_text", HEAD_DIM, WINDOW, {"attn_logit_softcapping": 0.7}, variant="capped"),
    rotating("gemma3_text", HEAD_DIM, WINDOW, {"use_bidirectional_attention": True}, variant="bidirectional"),
    rotating(
        "gemma3",
        {"text_config": GEMMA3, "vision_config": VISION},
        inputs=with_image_tokens,
        given=lambda _config: {"mask": "causal | document:ids=0 1 2 3 3 3 3 3 3 4 5"},
        variant="image",
        **OF_GEMMA3,
    ),
    rotating(
        "gemma3",
        {"text_config": GEMMA3, "vision_config": VISION},
        given=lambda _config: {"mask": "causal"},
        **OF_GEMMA3,
    ),
    rotating("qwen3", HEAD_DIM, variant="full"),
    rotating("phi3", GROUPED, WINDOW),
    rotating(
        "phi3",
        GROUPED,
        {"original_max_position_embeddings": 8, "max_position_embeddings": 32},
        {"rope_parameters": {**LONGROPE, "rope_theta": 500.0, "partial_rotary_factor": 1.0}},
        variant="long",
    ),
    rotating(
        "phi3",
        GROUPED,
        {"original_max_position_embeddings": 16, "max_position_embeddings": 32},
        {"rope_parameters": {**LONGROPE, "rope_theta": 500.0, "partial_rotary_factor": 1.0}},
        variant="short",
    ),
    rotating("phi3", GROUPED, rope(0.5), variant="partial"),
    rotating("olmo2", GROUPED, rope()),
    rotating(
        "gpt_oss",
        HEAD_DIM,
        WINDOW,
        {"num_local_experts": 2, "num_experts_per_tok": 1},
        {"rope_parameters": YARN},
        kernel="eager",
    ),
]
