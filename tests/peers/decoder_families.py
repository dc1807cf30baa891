"""The decoders that are compared: a row for each family, with the settings that switch its peculiarities on."""

from collections.abc import Mapping, Sequence
from typing import Any

from tests.peers.tiny_models import ITEMS, SIZES, TinyModel, tokens

ROPE = "rope"
SCORES = "scores"

GROUPED = {"num_key_value_heads": 2, "intermediate_size": 16}
HEAD_DIM = {**GROUPED, "head_dim": 12}
EXPERTS = {
    "num_experts": 2,
    "num_local_experts": 2,
    "n_routed_experts": 2,
    "num_experts_per_tok": 1,
    "moe_intermediate_size": 16,
    "shared_expert_intermediate_size": 16,
}
WINDOW = {"sliding_window": 4}
TYPES = {"layer_types": ["sliding_attention", "full_attention"]}
LINEAR = {
    "layer_types": ["linear_attention", "full_attention"],
    **{f"linear_{of}_head_dim": 8 for of in ("key", "value")},
    **{f"linear_num_{of}_heads": 2 for of in ("key", "value")},
}
MAMBA = {"mamba_n_heads": 4, "mamba_d_head": 16, "mamba_d_state": 8, "mamba_chunk_size": 16}
NO_SHARED = {"num_kv_shared_layers": 0, "hidden_size_per_layer_input": 8, "vocab_size_per_layer_input": 50}
BIASES = {"attention_bias": True}
CLIP = {"clip_qkv": 0.7}


SMALL_VISION = {
    "hidden_size": 16,
    "intermediate_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "depth": 1,
}
SMALL_VISION |= {"image_size": 28, "patch_size": 14, "num_heads": 2, "out_hidden_size": 32}
OF_TEXT = {
    "module": "language_model.layers.{layer}.self_attn",
    "block": "language_model.layers.{layer}",
    "model_class": "AutoModelForImageTextToText",
    "sizes": {},
}


def without_cache(config: Any) -> dict[str, Any]:
    """Tokens, for a model that passes its layers several times."""
    return {**tokens(config), "use_cache": False}


def decisions(config: Any) -> dict[str, Any]:
    """States, actions and returns at a few points of time."""
    import torch

    drawn = torch.Generator().manual_seed(7)
    widths = {"states": config.state_dim, "actions": config.act_dim, "returns_to_go": 1}
    steps = torch.arange(3)[None].repeat(ITEMS, 1)
    made = {name: torch.randn((ITEMS, 3, size), generator=drawn).double() for name, size in widths.items()}
    return {**made, "timesteps": steps, "attention_mask": torch.ones_like(steps)}


def with_images(model_type: str, *parts: Mapping[str, Any], **fields: Any) -> TinyModel:
    """A decoder whose configuration is that of the text model in a model of text and images."""
    text = {name: value for part in (SIZES, rope(), *parts) for name, value in part.items()}
    config = {"text_config": text, "vision_config": SMALL_VISION}
    return TinyModel(model_type, config, float32=ROPE, **{**OF_TEXT, **fields})


def rotating(model_type: str, *parts: Mapping[str, Any], variant: str = "", **fields: Any) -> TinyModel:
    """A decoder with rope, whose cosines transformers computes in float32."""
    config = {name: value for part in (rope(), *parts) for name, value in part.items()}
    block = {} if {"module", "block"} & set(fields) else {"block": "layers.{layer}"}
    return TinyModel(model_type, config, variant=variant, **{"float32": ROPE, **block, **fields})


def rope(factor: float = 1.0, base: float = 500.0, **scaling: Any) -> dict[str, Any]:
    """Parameters of rope with a small base, so that a few tokens turn far."""
    partial = {} if factor == 1 else {"partial_rotary_factor": factor}
    return {"rope_parameters": {"rope_type": "default", "rope_theta": base, **partial, **scaling}}


OF_EACH_TYPE = {
    "rope_parameters": {
        "sliding_attention": {"rope_type": "default", "rope_theta": 50.0},
        "full_attention": {"rope_type": "default", "rope_theta": 500.0},
    }
}
SHARE_OF_ONE_TYPE = {
    "rope_parameters": {
        "sliding_attention": {"rope_type": "default", "rope_theta": 50.0},
        "full_attention": {"rope_type": "default", "rope_theta": 500.0, "partial_rotary_factor": 0.334},
    }
}
YARN = {
    "rope_type": "yarn",
    "rope_theta": 500.0,
    "factor": 4.0,
    "beta_fast": 32.0,
    "beta_slow": 1.0,
    "mscale": 0.7,
    "mscale_all_dim": 1.2,
    "original_max_position_embeddings": 4,
}
MULTIPLIERS = {"attention_multiplier": 0.3, "embedding_multiplier": 1.7}

DECODERS: Sequence[TinyModel] = [
    rotating("mixtral", HEAD_DIM, WINDOW, EXPERTS),
    rotating("qwen2", GROUPED, WINDOW, {"use_sliding_window": True, "max_window_layers": 1}),
    rotating("qwen2_moe", GROUPED, EXPERTS, WINDOW, TYPES, {"use_sliding_window": True}),
    rotating("qwen3_moe", HEAD_DIM, EXPERTS, WINDOW, {"use_sliding_window": True}),
    rotating("gemma", HEAD_DIM),
    rotating("starcoder2", GROUPED, WINDOW),
    rotating("granite", GROUPED, BIASES, MULTIPLIERS),
    rotating("granitemoe", GROUPED, EXPERTS, MULTIPLIERS),
    rotating("granitemoeshared", GROUPED, EXPERTS, MULTIPLIERS),
    rotating("cohere", GROUPED, {"use_qk_norm": True}),
    rotating("cohere2", GROUPED, WINDOW, TYPES),
    rotating("olmo", GROUPED, CLIP),
    rotating("olmoe", GROUPED, EXPERTS),
    rotating("flex_olmo", GROUPED, EXPERTS),
    rotating("olmo3", OF_EACH_TYPE, GROUPED, WINDOW, TYPES),
    rotating("stablelm", GROUPED, {"use_qkv_bias": True}, rope(0.5)),
    rotating("stablelm", GROUPED, {"qk_layernorm": True}, rope(0.5), variant="normalized"),
    rotating("nemotron", GROUPED, rope(0.5)),
    rotating("persimmon", {"intermediate_size": 16, "qk_layernorm": True}, rope(0.5)),
    rotating("phi", GROUPED, {"qk_layernorm": True}, rope(0.5)),
    rotating("ministral", HEAD_DIM, WINDOW, TYPES),
    rotating("ministral3", HEAD_DIM, WINDOW, {"rope_parameters": {**YARN, "llama_4_scaling_beta": 0.3}}),
    rotating("smollm3", GROUPED, {"no_rope_layers": [1, 0]}),
    rotating("exaone4", GROUPED, WINDOW, TYPES),
    rotating("exaone_moe", GROUPED, WINDOW, TYPES, EXPERTS),
    rotating("glm", HEAD_DIM, rope(0.5)),
    rotating("glm4", HEAD_DIM, rope(0.5)),
    rotating("glm4_moe", HEAD_DIM, EXPERTS, {"use_qk_norm": True}, rope(0.5)),
    rotating("ernie4_5", HEAD_DIM, {"use_bias": True}),
    rotating("ernie4_5_moe", GROUPED, EXPERTS),
    rotating("helium", GROUPED, {"head_dim": 8}),
    rotating("hunyuan_v1_dense", HEAD_DIM),
    rotating("hunyuan_v1_moe", HEAD_DIM, EXPERTS, {"moe_topk": 1}),
    rotating("seed_oss", HEAD_DIM),
    rotating("arcee", HEAD_DIM),
    rotating("cwm", HEAD_DIM, WINDOW, TYPES),
    rotating("apertus", GROUPED),
    rotating("bitnet", GROUPED),
    rotating("diffllama", GROUPED, BIASES, kernel="eager"),
    rotating("dots1", GROUPED, EXPERTS, WINDOW, TYPES, {"n_shared_experts": 1}),
    rotating("lfm2", GROUPED, {"layer_types": ["conv", "full_attention"]}, layers=(1,)),
    rotating("lfm2_moe", GROUPED, EXPERTS, {"layer_types": ["conv", "full_attention"]}, layers=(1,)),
    rotating("minimax_m2", HEAD_DIM, EXPERTS, rope(0.5)),
    rotating("qwen3_next", HEAD_DIM, EXPERTS, LINEAR, rope(0.5), layers=(1,)),
    rotating("qwen3_5_text", HEAD_DIM, LINEAR, rope(0.5), layers=(1,)),
    rotating("afmoe", HEAD_DIM, EXPERTS, WINDOW, TYPES),
    rotating("nanochat", GROUPED),
    rotating("hy_v3", HEAD_DIM, EXPERTS),
    rotating("solar_open", HEAD_DIM, EXPERTS, {"use_qk_norm": True}),
    rotating("granite_swa", GROUPED, MULTIPLIERS, WINDOW, TYPES, kernel="eager"),
    rotating("llama4_text", GROUPED, EXPERTS, {"attention_chunk_size": 4, "no_rope_layers": [1, 0], "floor_scale": 3}),
    rotating(
        "mimo_v2_flash",
        SHARE_OF_ONE_TYPE,
        HEAD_DIM,
        EXPERTS,
        WINDOW,
        TYPES,
        {"attention_value_scale": 0.7},
        kernel="eager",
    ),
    rotating("jamba", GROUPED, EXPERTS, {"attn_layer_period": 2, "attn_layer_offset": 1}, layers=(1,)),
    rotating("bamba", GROUPED, MAMBA, {"attn_layer_indices": [1]}, layers=(1,)),
    rotating("falcon_h1", GROUPED, MAMBA, {"mamba_d_ssm": 64, "key_multiplier": 0.7, "embedding_multiplier": 1.7}),
    rotating(
        "falcon_h1",
        GROUPED,
        MAMBA,
        {"mamba_d_ssm": 64, "attention_in_multiplier": 0.7},
        block=None,
        variant="multiplied",
    ),
    rotating("vaultgemma", HEAD_DIM, WINDOW, {"query_pre_attn_scalar": 9}, kernel="eager"),
    rotating("hyperclovax", GROUPED, MULTIPLIERS),
    rotating("jais2", GROUPED),
    rotating("mellum", OF_EACH_TYPE, HEAD_DIM, EXPERTS, WINDOW, TYPES),
    rotating(
        "laguna",
        SHARE_OF_ONE_TYPE,
        HEAD_DIM,
        EXPERTS,
        WINDOW,
        TYPES,
        {"num_attention_heads_per_layer": [2, 4], "gating": "per-head"},
    ),
    rotating("laguna", OF_EACH_TYPE, HEAD_DIM, EXPERTS, {"gating": "per-element"}, variant="features"),
    rotating("olmo_hybrid", GROUPED, LINEAR, layers=(1,)),
    rotating("minimax", HEAD_DIM, EXPERTS, LINEAR, layers=(1,)),
    rotating(
        "modernbert-decoder",
        OF_EACH_TYPE,
        {"intermediate_size": 16, "local_attention": 8},
        TYPES,
        BIASES,
        module="layers.{layer}.attn",
        block="layers.{layer}",
    ),
    rotating(
        "phimoe",
        GROUPED,
        EXPERTS,
        BIASES,
        {"max_position_embeddings": 32, "original_max_position_embeddings": 16},
        {
            "rope_parameters": {
                "rope_type": "longrope",
                "rope_theta": 500.0,
                "short_factor": [1.0, 1.5, 2.0, 2.5],
                "long_factor": [1.0, 2.0, 4.0, 8.0],
                "short_mscale": 1.3,
                "long_mscale": 1.3,
                "original_max_position_embeddings": 16,
            }
        },
    ),
    rotating("gemma3n_text", OF_EACH_TYPE, HEAD_DIM, WINDOW, TYPES, NO_SHARED, block=None),
    rotating(
        "gemma4_text",
        OF_EACH_TYPE,
        HEAD_DIM,
        WINDOW,
        TYPES,
        NO_SHARED,
        BIASES,
        {"global_head_dim": 24, "attention_k_eq_v": True, "num_global_key_value_heads": 1},
    ),
    *(
        rotating(
            "gemma4_text",
            OF_EACH_TYPE,
            HEAD_DIM,
            WINDOW,
            TYPES,
            NO_SHARED,
            {"global_head_dim": 24, "use_bidirectional_attention": whom},
            variant=whom,
        )
        for whom in ("all", "vision")
    ),
    rotating("granitemoehybrid", GROUPED, EXPERTS, MAMBA, {"layer_types": ["mamba", "attention"]}, layers=(1,)),
    rotating(
        "granitemoe_swa", GROUPED, MULTIPLIERS, EXPERTS, WINDOW, TYPES, {"layer_rope_theta": [0, 300.0]}, kernel="eager"
    ),
    rotating(
        "nemotron_h",
        HEAD_DIM,
        EXPERTS,
        {"layers_block_type": ["attention", "mlp"]},
        layers=(0,),
        module="layers.{layer}.mixer",
    ),
    rotating("cohere2_moe", GROUPED, EXPERTS, WINDOW, TYPES),
    rotating("qwen3_5_moe_text", HEAD_DIM, EXPERTS, LINEAR, rope(0.5), layers=(1,)),
    rotating(
        "recurrent_gemma",
        {"num_hidden_layers": 3, "lru_width": 32, "attention_window_size": 4},
        layers=(2,),
        module="layers.{layer}.temporal_block",
    ),
    TinyModel("opt", {"ffn_dim": 16, "word_embed_proj_dim": 32}),
    TinyModel("opt", {"ffn_dim": 16, "word_embed_proj_dim": 16, "do_layer_norm_before": False}, variant="projected"),
    TinyModel("xglm", {"ffn_dim": 16, "d_model": 32, "num_layers": 2, "attention_heads": 4}, kernel="eager"),
    TinyModel("biogpt", {"intermediate_size": 16}),
    TinyModel("ctrl", {"dff": 16}, module="h.{layer}.multi_head_attention", embeddings="q"),
    rotating(
        "gptj", {"n_embd": 32, "n_layer": 2, "n_head": 4, "rotary_dim": 4}, module="h.{layer}.attn", kernel="eager"
    ),
    rotating(
        "codegen",
        {"n_embd": 32, "n_layer": 2, "n_head": 4, "rotary_dim": 4},
        module="h.{layer}.attn",
        kernel="eager",
        float32=SCORES,
    ),
    TinyModel(
        "gpt_neo",
        {
            "hidden_size": 32,
            "num_layers": 2,
            "num_heads": 4,
            "attention_types": [[["global", "local"], 1]],
            "window_size": 4,
        },
        module="h.{layer}.attn",
        kernel="eager",
        float32=SCORES,
    ),
    rotating("internlm3", HEAD_DIM, BIASES, {"mlp_bias": True}),
    rotating("iquestcoder", HEAD_DIM),
    rotating("kolibri1", HEAD_DIM, EXPERTS, WINDOW, TYPES),
    rotating("lfm3", OF_EACH_TYPE, HEAD_DIM, WINDOW, TYPES),
    rotating("muse_glimmer_text", HEAD_DIM, WINDOW, TYPES, {"layer_rope_theta": [500.0, 0]}, model_class="AutoModel"),
    rotating(
        "muse_spark_text", HEAD_DIM, EXPERTS, WINDOW, TYPES, {"layer_rope_theta": [500.0, 0]}, model_class="AutoModel"
    ),
    rotating(
        "gemma4_unified_text", OF_EACH_TYPE, HEAD_DIM, WINDOW, TYPES, {"global_head_dim": 24}, model_class="AutoModel"
    ),
    *(
        rotating(
            "hrm_text",
            {"intermediate_size": 16, "num_layers_per_stack": 2, "H_cycles": 1, "L_cycles": 1},
            part=part,
            module=f"{stack}_module.layers.{{layer}}.self_attn",
            block=f"{stack}_module.layers.{{layer}}",
            inputs=without_cache,
        )
        for part, stack in (("high", "H"), ("low", "L"))
    ),
    TinyModel(
        "imagegpt",
        {"n_embd": 32, "n_layer": 2, "n_head": 4},
        module="h.{layer}.attn",
        block="h.{layer}",
        model_class="AutoModel",
        kernel="eager",
    ),
    TinyModel(
        "decision_transformer",
        {"hidden_size": 32, "n_layer": 2, "n_head": 4, "state_dim": 3, "act_dim": 2},
        sizes={},
        module="encoder.h.{layer}.attn",
        block="encoder.h.{layer}",
        model_class="AutoModel",
        kernel="eager",
        inputs=decisions,
    ),
    TinyModel("gpt_bigcode", {"multi_query": True}, module="h.{layer}.attn"),
    TinyModel("gpt_bigcode", {"multi_query": False}, module="h.{layer}.attn", variant="heads"),
    rotating("gpt_neox_japanese", rope(0.5), module="layers.{layer}.attention", kernel="eager"),
    TinyModel("openai-gpt", {"n_embd": 32, "n_layer": 2, "n_head": 4}, module="h.{layer}.attn", kernel="eager"),
    TinyModel(
        "openai-gpt",
        {"n_embd": 32, "n_layer": 2, "n_head": 4, "is_causal": False},  # which it does not read
        module="h.{layer}.attn",
        kernel="eager",
        variant="causal",
    ),
    TinyModel(
        "mpt",
        {"d_model": 32, "n_layers": 2, "n_heads": 4, "max_seq_len": 16},
        module="blocks.{layer}.attn",
        kernel="eager",
        float32=SCORES,
    ),
    rotating(
        "dbrx",
        {
            "d_model": 32,
            "n_layers": 2,
            "n_heads": 4,
            "attn_config": {"kv_n_heads": 2, "clip_qkv": 0.7, "rope_theta": 500.0},
            "ffn_config": {"ffn_hidden_size": 16, "moe_num_experts": 2, "moe_top_k": 1},
        },
        module="blocks.{layer}.norm_attn_norm.attn",
    ),
    with_images(
        "llama4",
        GROUPED,
        EXPERTS,
        {"attention_chunk_size": 4, "no_rope_layers": [1, 0], "floor_scale": 3},
        module="language_model.model.layers.{layer}.self_attn",
        block="language_model.model.layers.{layer}",
    ),
    with_images("qwen3_5", HEAD_DIM, LINEAR, rope(0.5), layers=(1,)),
    with_images("qwen3_5_moe", HEAD_DIM, EXPERTS, LINEAR, rope(0.5), layers=(1,)),
    with_images("gemma4", HEAD_DIM, OF_EACH_TYPE, WINDOW, TYPES, NO_SHARED, {"global_head_dim": 24}),
]
