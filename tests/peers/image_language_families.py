"""Language models that are fed with an encoder's vectors, beyond those of multimodal_families: a row for each part."""

from typing import Any

from tests.peers.audio_families import drawn
from tests.peers.image_text_families import patches
from tests.peers.multimodal_families import ALL, LANGUAGE, QWEN_TEXT, QWEN_VISION, ROPE, like_llava
from tests.peers.tiny_models import TinyModel
from tests.peers.vision_families import VISION, grid

TEXT_LAYER = "language_model.layers.{layer}.self_attn"
VISION_LAYER = "encoder.layers.{layer}.self_attn"

LLAVAS = [
    *like_llava(
        "deepseek_vl_hybrid",
        "llama",
        "siglip_vision_model",
        settings={
            "high_res_vision_config": {
                **VISION,
                "model_type": "sam_vision_model",
                "global_attn_indexes": [1],
                "output_channels": 8,
            }
        },
    )[:1],
    *like_llava(
        "granite4_vision",
        "granite4_vision_text",
        "siglip_vision_model",
        settings={"deepstack_layer_map": [], "downsample_rate": "1/2", "vision_config": {**VISION, "hidden_size": 64}},
    )[:1],
    *like_llava("aria", "aria_text", "idefics3_vision", settings={"projector_patch_to_query_dict": {16: 4}})[:1],
    *like_llava("lfm2_vl", "lfm2", "siglip2_vision_model")[:1],
    *like_llava(
        "janus",
        "llama",
        "janus_vision_model",
        settings={
            "vision_config": {**VISION, "projection_dim": 32},
            "vq_config": {
                **{"base_channels": 32, "num_res_blocks": 1, "embed_dim": 4, "num_embeddings": 16},
                **{"projection_dim": 32, "channel_multiplier": [1, 1]},
            },
        },
        tower="vision_model.encoder.layers.{layer}.self_attn",
        model_class="AutoModel",
    ),
    *like_llava(
        "ovis2",
        "qwen2",
        "ovis2_vision",
        settings={"hidden_size": 32, "vision_config": {**VISION, "vocab_size": 16}},
    )[:1],
    *like_llava("video_llava", "llama", "clip_vision_model")[:1],
]

AUDIO = {
    **{"d_model": 32, "encoder_layers": 2, "encoder_attention_heads": 4, "encoder_ffn_dim": 16},
    **{"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 16},
    **{"num_mel_bins": 8, "max_source_positions": 12, "head_dim": 8},
}


def heard(_config: Any) -> dict[str, Any]:
    """Two items of the features of sounds."""
    return {"input_features": drawn(8, 24)}


def heard_whole(config: Any) -> dict[str, Any]:
    """The same, none of which is padding."""
    import torch

    return {**heard(config), "input_features_mask": torch.ones(2, 24, dtype=torch.long)}


def like_voxtral(model_type: str, text: str, audio: str, **fields: Any) -> list[TinyModel]:
    """The rows of a language model that is fed with an audio encoder."""
    config = {"text_config": {"model_type": text, **LANGUAGE}, "audio_config": {"model_type": audio, **AUDIO}}
    return [
        TinyModel(model_type, config, sizes={}, part="text", model_class="AutoModel", module=TEXT_LAYER, float32=ROPE),
        TinyModel(
            model_type,
            config,
            sizes={},
            part="audio",
            model_class="AutoModel",
            module="audio_tower.layers.{layer}.self_attn",
            block="audio_tower.layers.{layer}",
            method="audio_tower",
            **{"inputs": heard, "float32": ROPE, **fields},
        ),
    ]


SPOKEN = [
    *like_voxtral("audioflamingo3", "qwen2", "audioflamingo3_encoder", float32="", inputs=heard_whole),
    *like_voxtral("musicflamingo", "qwen2", "audioflamingo3_encoder", float32="", inputs=heard_whole),
    *like_voxtral("glmasr", "llama", "glmasr_encoder"),
]

OMNI_AUDIO = {**AUDIO, "max_source_positions": 32, "output_dim": 32, "n_window": 32, "downsample_hidden_size": 4}
OMNI = {
    "text_config": QWEN_TEXT,
    "vision_config": {
        **{**QWEN_VISION, "hidden_size": 32, "out_hidden_size": 32, "intermediate_size": 16},
        **{"fullatt_block_indexes": [0], "window_size": 16, "deepstack_visual_indexes": [1]},
    },
    "audio_config": OMNI_AUDIO,
}
OMNIS = [
    TinyModel(name, OMNI, sizes={}, model_class="AutoModel", part=part, float32=ROPE, **fields)
    for name in ("qwen2_5_omni_thinker", "qwen3_omni_moe_thinker")
    for part, fields in (
        ("text", {"module": TEXT_LAYER}),
        (
            "vision",
            {
                "module": "visual.blocks.{layer}.attn",
                "output": "{module}.proj",
                "method": "get_image_features",
                "inputs": patches,
                "given": grid,
            },
        ),
    )
]


def heard_in_one_chunk(_config: Any) -> dict[str, Any]:
    """The features of one sound, which is a chunk."""
    import torch

    return {"input_features": drawn(8, 60)[0], "feature_lens": torch.tensor([60])}


OMNIS += [
    TinyModel(
        name,
        OMNI,
        sizes={},
        model_class="AutoModel",
        part="audio",
        module="audio_tower.layers.{layer}.self_attn",
        block="audio_tower.layers.{layer}",
        method="audio_tower",
        inputs=heard_in_one_chunk,
    )
    for name in ("qwen2_5_omni_thinker", "qwen3_omni_moe_thinker")
]

ALONE = [
    TinyModel(
        "chameleon",
        {"vq_config": {"base_channels": 32, "num_res_blocks": 1}, "vocabulary_map": {"<image>": 4}, **LANGUAGE},
        model_class="AutoModel",
        float32=ROPE,
        block="layers.{layer}",
    ),
    TinyModel(
        "emu3",
        {
            "text_config": LANGUAGE,
            "vq_config": {
                "base_channels": 32,
                "num_res_blocks": 1,
                "embed_dim": 4,
                "codebook_size": 16,
                "latent_channels": 4,
                "hidden_size": 32,
                "channel_multiplier": [1, 1],
            },
            "vocabulary_map": {"<image>": 4},
        },
        sizes={},
        model_class=ALL,
        module="text_model.layers.{layer}.self_attn",
        block="text_model.layers.{layer}",
        float32=ROPE,
    ),
    TinyModel(
        "phi4_multimodal",
        {
            **LANGUAGE,
            "vision_config": {**VISION, "image_size": 448, "num_hidden_layers": 1, "patch_size": 14, "crop_size": 448},
            "audio_config": {"hidden_size": 16, "num_blocks": 1, "num_attention_heads": 2, "intermediate_size": 16},
        },
        part="decoder",
        module="model.layers.{layer}.self_attn",
        block="model.layers.{layer}",
        float32=ROPE,
    ),
]

FAMILIES = [*LLAVAS, *SPOKEN, *OMNIS, *ALONE]
