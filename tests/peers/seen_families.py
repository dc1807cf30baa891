"""Models around an image encoder, or whose text asks one, of 2023 to 2026: a row for each part."""

from dataclasses import replace
from typing import Any

from tests.peers.audio_families import drawn
from tests.peers.decoder_families import EXPERTS
from tests.peers.encoder_families import GEMMA2, like_bert, like_t5, with_encoder_vectors
from tests.peers.image_chat_families import QWEN_LIKE, text
from tests.peers.image_text_families import patches
from tests.peers.multimodal_families import LANGUAGE, ROPE
from tests.peers.tiny_models import LENGTH, TinyModel, tokens
from tests.peers.vision_families import SIDE, VISION, grid, image, middles
from tests.peers.wrapping_families import STAGES

CANINE = replace(
    like_bert("canine", {"local_transformer_stride": 64, "downsampling_rate": 2, "num_hash_buckets": 16}),
    kernel="eager",
    module="canine.encoder.layer.{layer}.attention.self",
    output="canine.encoder.layer.{layer}.attention.output.dense",
    block=None,
    model_class="CanineForTokenClassification",
    method="canine.encoder",
    inputs=lambda config: {"hidden_states": drawn(LENGTH, 32)},
    tokens="",
)


def page(config: Any) -> Any:
    """Where each of the tokens is on a page."""
    import torch

    return torch.zeros(*tokens(config)["input_ids"].shape, 4, dtype=torch.double)


UDOP = [
    replace(row, inputs=lambda config, inputs=row.inputs: {**inputs(config), "bbox": page(config)})
    for row in like_t5("udop", {"image_size": SIDE, "patch_size": 4})[1:]
]
PIX = {
    **{"hidden_size": 32, "d_kv": 8, "d_ff": 16, "num_layers": 2, "num_heads": 4, "vocab_size": 50},
    **{"pad_token_id": 0, "eos_token_id": 2},
}
PIX2STRUCT = [
    TinyModel(
        "pix2struct",
        {"text_config": PIX, "vision_config": {**VISION, "patch_embed_hidden_size": 12, "d_ff": 16, "d_kv": 8}},
        sizes={},
        model_class="Pix2StructForConditionalGeneration",
        method="decoder",
        inputs=lambda config: with_encoder_vectors(config, 32),
        kernel="eager",
        float32="softmax",
        **fields,
    )
    for fields in (
        {
            "part": "decoder",
            "module": "decoder.layer.{layer}.self_attention.attention",
            "block": "decoder.layer.{layer}.self_attention",
        },
        {
            "part": "cross",
            "module": "decoder.layer.{layer}.encoder_decoder_attention.attention",
            "query_embeddings": "hidden_states",
            "embeddings": "key_value_states",
        },
    )
]
BACKBONES = [
    TinyModel(
        name,
        {"backbone_config": {"model_type": model_type, **VISION, **backbone}, **settings},
        sizes={},
        model_class=model_class,
        module=module,
        kernel="eager",
        method="backbone",
        float32=ROPE if model_type == "dinov3_vit" else "",
        inputs=lambda config: image(config, config.backbone_config.num_channels, SIDE, SIDE),
        given=given,
    )
    for name, model_type, backbone, settings, model_class, module, given in (
        (
            "chmv2",
            "dinov3_vit",
            STAGES,
            {"fusion_hidden_size": 8, "post_process_channels": [8, 8], "reassemble_factors": [1, 1]},
            "AutoModelForDepthEstimation",
            "layer.{layer}.attention",
            lambda config: middles(config.backbone_config),
        ),
        (
            "vitmatte",
            "vitdet",
            {"num_channels": 4, "out_features": ["stage2"], "use_relative_position_embeddings": False},
            {"convstream_hidden_sizes": [8, 8, 8], "fusion_hidden_sizes": [8, 8, 8, 8]},
            "VitMatteForImageMatting",
            "encoder.layer.{layer}.attention",
            lambda _config: {},
        ),
    )
]
MINIS = [
    text(
        name,
        {"model_type": "qwen3_5_text", "layer_types": ["full_attention", "full_attention"]},
        {"image_size": SIDE, "insert_layer_id": 0},
        model_class="AutoModel",
    )
    for name in ("minicpmv4_7", "minicpm_ocr")
]
SPARK = text(
    "muse_spark",
    {**EXPERTS, "moe_hidden_size": 16, "layer_types": ["sliding_attention", "full_attention"], "sliding_window": 4},
    {"merge_size": 1},
    model_class="AutoModel",
    settings={
        "projector_hidden_size": 32,
        "out_hidden_size": 32,
        "audio_config": {
            "patch_sizes": [2],
            "hidden_sizes": [8],
            "depths": [1],
            "num_hidden_layers": 1,
            "out_hidden_size": 32,
        },
    },
)
ULTRA = text(
    "ultravbert", {"sliding_window": 3}, {}, model_class="AutoModel", module="text_model.layers.{layer}.self_attn"
)
UNIFIED = text(
    "gemma4_unified",
    {"layer_types": ["sliding_attention", "full_attention"], "sliding_window": 4, "num_kv_shared_layers": 0},
    {},
    model_class="AutoModel",
    part="decoder",
    settings={"image_token_id": 0},
)
PI0 = TinyModel(
    "pi0",
    {
        "vlm_config": {
            "model_type": "paligemma",
            "text_config": {"model_type": "gemma", **LANGUAGE},
            "vision_config": {"model_type": "siglip_vision_model", **VISION},
            "projection_dim": 32,
        },
        "dit_config": {"model_type": "gemma", **LANGUAGE},
    },
    sizes={},
    model_class="AutoModel",
    part="text",
    module="vlm.language_model.layers.{layer}.self_attn",
    method="vlm.language_model",
    float32=ROPE,
)
DETECTORS = [
    TinyModel(
        name,
        {
            "text_config": {"model_type": "bert", **LANGUAGE},
            "backbone_config": {
                **{"model_type": "swin", "embed_dim": 8, "depths": [2], "num_heads": [2], "window_size": 2},
                **{"image_size": SIDE, "patch_size": 4},
            },
            **{"d_model": 32, "encoder_layers": 1, "decoder_layers": 1, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16},
            **{"encoder_attention_heads": 4, "decoder_attention_heads": 4, "num_queries": 4, "num_feature_levels": 1},
        },
        sizes={},
        model_class="AutoModel",
        kernel="eager",
        part="text",
        module="text_backbone.encoder.layer.{layer}.attention.self",
        output="text_backbone.encoder.layer.{layer}.attention.output.dense",
        method="text_backbone",
    )
    for name in ("grounding-dino", "mm-grounding-dino")
]
WINDOWS = [
    replace(
        row,
        part="stage1",
        layers=(0,),
        module="layers.0.blocks.{layer}.attention",
        output="{module}",
        method="backbone",
        float32="softmax",
        inputs=lambda config: {
            **image(config),
            "pixel_mask": image(config)["pixel_values"][:, 0].long() * 0 + 1,
        },
    )
    for row in DETECTORS
]
WINDOW = {"layer_types": ["sliding_attention", "full_attention"]}
T5GEMMA = TinyModel(
    "t5gemma2",
    {
        "encoder": {
            "text_config": {**GEMMA2, **WINDOW},
            "vision_config": VISION,
            **{"image_token_index": 0, "vocab_size": 50, "mm_tokens_per_image": 4},
        },
        "decoder": GEMMA2,
        **{"vocab_size": 50, "image_token_index": 0, "eoi_token_index": 49},
    },
    sizes={},
    model_class="AutoModel",
    part="encoder",
    module="encoder.text_model.layers.{layer}.self_attn",
    block="encoder.text_model.layers.{layer}",
    method="encoder.text_model",
    float32=ROPE,
)


def hidden_patches(config: Any) -> dict[str, Any]:
    """The patches of one image, as an encoder on its own takes them."""
    given = patches(config)
    return {"hidden_states": given["pixel_values"], "grid_thw": given["image_grid_thw"]}


COMPASS = TinyModel(
    "cohere_compass_vision",
    {**QWEN_LIKE, "deepstack_visual_indexes": [1]},
    sizes={},
    model_class="AutoModel",
    module="blocks.{layer}.attn",
    output="{module}.proj",
    block="blocks.{layer}",
    inputs=hidden_patches,
    given=grid,
    float32=ROPE,
)
FAMILIES = [
    COMPASS,
    *WINDOWS,
    T5GEMMA,
    replace(
        T5GEMMA,
        part="vision",
        module="vision_tower.encoder.layers.{layer}.self_attn",
        block=None,
        method="encoder.vision_tower",
        inputs=image,
        float32="",
    ),
    CANINE,
    *UDOP,
    *PIX2STRUCT,
    *BACKBONES,
    *MINIS,
    SPARK,
    ULTRA,
    UNIFIED,
    PI0,
    *DETECTORS,
]
