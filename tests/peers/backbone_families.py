"""Vision encoders that other models are built on, and the detectors and segmenters around them: a row for each part."""

from dataclasses import replace
from typing import Any

from tests.peers.audio_families import drawn
from tests.peers.tiny_models import LENGTH, TinyModel
from tests.peers.vision_families import (
    BERT_TEXT,
    GRID,
    MODEL,
    ROPE,
    SIDE,
    TEXT,
    VISION,
    image,
    image_and_text,
    like_vit,
    video,
)

SIDES = {"image_size": [SIDE, SIDE]}
LAYER = {"module": "encoder.layer.{layer}.attention"}
HERE = {"module": "layers.{layer}.attention"}


def middles(_config: Any, before: int) -> dict[str, Any]:
    """2π times the row and the column of each patch's middle, from −1 to 1, and 0 for so many tokens before them."""
    import numpy as np

    middle = (np.arange(GRID) + 0.5) / GRID * 2 - 1
    turned = 2 * np.pi * np.array(np.meshgrid(middle, middle, indexing="ij")).reshape(2, -1)
    return {"positions": np.pad(turned, ((0, 0), (before, 0)))}


WINDOWED = {"num_windows": 1, "out_features": ["stage2"]}
VITS = [
    like_vit("rf_detr_dinov2", {**WINDOWED, "window_block_indexes": []}, model_class="RfDetrDinov2Backbone", **LAYER),
    like_vit(
        "lw_detr_vit",
        {"num_windows": 4, "window_block_indices": [0, 1], "out_features": ["stage2"]},
        model_class="LwDetrViTBackbone",
        **LAYER,
    ),
    like_vit("radio", {"num_register_tokens": 2}, **LAYER),
    like_vit(
        "mgp-str",
        {**SIDES, "max_token_length": 5},
        model_class="MgpstrForSceneTextRecognition",
        kernel="eager",
        module="encoder.blocks.{layer}.attn",
    ),
    like_vit(
        "sapiens2",
        {"num_key_value_heads_per_layer": [2, 4], "num_register_tokens": 2},
        module="model.layer.{layer}.attention",
        float32=ROPE,
        given=lambda config: middles(config, 3),
    ),
    like_vit(
        "eomt", {"num_blocks": 1, "num_queries": 3}, model_class="EomtForUniversalSegmentation", layers=(0,), **HERE
    ),
    like_vit(
        "eomt_dinov3",
        {"num_blocks": 1, "num_queries": 3},
        model_class="EomtDinov3ForUniversalSegmentation",
        layers=(0,),
        float32=ROPE,
        given=lambda config: middles(config, 1 + config.num_register_tokens),
        **HERE,
    ),
    like_vit(
        "videomt",
        {"num_blocks": 1, "num_queries": 3},
        model_class="VideomtForUniversalSegmentation",
        layers=(0,),
        inputs=lambda config: {"pixel_values_videos": video(config)["pixel_values"]},
        **HERE,
    ),
    like_vit("tipsv2_vision_model", **LAYER),
]
VITS[-1] = replace(VITS[-1], model_class="Tipsv2VisionModel")
VITS[3] = replace(VITS[3], block="encoder.blocks.{layer}")

MESSAGES = [
    TinyModel(
        "xclip_vision_model",
        {**VISION, "num_frames": 2},
        sizes={},
        model_class="XCLIPVisionModel",
        part=part,
        module=f"encoder.layers.{{layer}}.{module}",
        inputs=image,
    )
    for part, module in (("vision", "self_attn"),)
]

TIPS = [
    TinyModel(
        "tipsv2_text_model",
        TEXT,
        sizes={},
        model_class="Tipsv2TextModel",
        module="encoder.layers.{layer}.self_attn",
        block="encoder.layers.{layer}",
    ),
    TinyModel(
        "align_text_model",
        TEXT,
        sizes={},
        model_class="AlignTextModel",
        kernel="eager",
        float32="softmax",
        module="encoder.layer.{layer}.attention.self",
        output="encoder.layer.{layer}.attention.output.dense",
    ),
]

DUAL = [
    TinyModel(
        "vision-text-dual-encoder",
        {"text_config": {"model_type": "bert", **TEXT}, "vision_config": {"model_type": "vit", **VISION}},
        sizes={},
        model_class=MODEL,
        part=part,
        inputs=image_and_text,
        **fields,
    )
    for part, fields in (
        ("text", {"module": BERT_TEXT["text"], "output": BERT_TEXT["text_output"]}),
        ("vision", {"module": "vision_model.layers.{layer}.attention", "block": "vision_model.layers.{layer}"}),
    )
]

DINO = {"model_type": "dinov2", **VISION}
DEPTH_PRO = [
    TinyModel(
        "depth_pro",
        {
            **{f"{name}_model_config": DINO for name in ("image", "patch", "fov")},
            **{"patch_size": SIDE, "scaled_images_ratios": [0.5, 1], "scaled_images_overlap_ratios": [0.5, 0.25]},
            **{"intermediate_feature_dims": [8], "intermediate_hook_ids": [1], "fusion_hidden_size": 8},
            "scaled_images_feature_dims": [8, 8],
        },
        sizes={},
        model_class=MODEL,
        part=part,
        module=f"encoder.{name}_encoder.model.encoder.layer.{{layer}}.attention",
        block=f"encoder.{name}_encoder.model.encoder.layer.{{layer}}",
        inputs=lambda config: image(config, 3, 2 * SIDE, 2 * SIDE),
    )
    for part, name in (("patches", "patch"), ("image", "image"))
]

TVP = TinyModel(
    "tvp",
    {
        **TEXT,
        "backbone_config": {"model_type": "resnet", "hidden_sizes": [8] * 4, "embedding_size": 8, "depths": [1] * 4},
    },
    sizes={},
    model_class=MODEL,
    kernel="eager",
    module="encoder.layer.{layer}.attention",
    output="{module}.dense",
    method="encoder",
    inputs=lambda config: {"hidden_states": drawn(LENGTH, config.hidden_size)},
)

SHRINKING = {
    **{"depths": [1, 1, 1, 1], "hidden_sizes": [8, 16, 16, 32], "num_attention_heads": [2, 4, 2, 4]},
    **{"num_encoder_blocks": 4, "strides": [1, 2, 1, 2], "mlp_ratios": [2] * 4},
}
# Where a stage makes the image smaller, its own vectors ask the smaller image; the other rows make it nowhere smaller.
PYRAMIDS = [
    TinyModel(
        name,
        {**SHRINKING, **sizes, ratios_name: ratios},
        sizes={},
        layers=(0,),
        model_class=MODEL,
        part=f"stage{stage + 1}",
        variant=variant,
        kernel="eager",
        module=module.format(stage=stage),
        output=output.format(stage=stage),
        inputs=lambda config, side=side: image(config, 3, side, side),
        **(
            {"block": module.format(stage=stage).partition(".attention")[0]}
            if not variant
            else {"query_embeddings": "hidden_states", "source": "{module}.key"}
        ),
    )
    for name, side, sizes, ratios_name, module, output in (
        (
            "pvt",
            4 * SIDE,
            {"image_size": 4 * SIDE, "patch_sizes": [4, 2, 2, 2], "strides": [4, 2, 2, 2]},
            "sequence_reduction_ratios",
            "encoder.block.{stage}.{{layer}}.attention.self",
            "encoder.block.{stage}.{{layer}}.attention.output.dense",
        ),
        (
            "pvt_v2",
            SIDE,
            {"image_size": SIDE, "patch_sizes": [3] * 4},
            "sr_ratios",
            "encoder.layers.{stage}.blocks.{{layer}}.attention",
            "{{module}}.proj",
        ),
        (
            "glpn",
            SIDE,
            {"patch_sizes": [3] * 4, "decoder_hidden_size": 8},
            "sr_ratios",
            "encoder.block.{stage}.{{layer}}.attention.self",
            "encoder.block.{stage}.{{layer}}.attention.output.dense",
        ),
    )
    for stage in range(4)
    for variant, ratios in (("", [1, 1, 1, 1]), ("smaller", [4, 2, 2, 1]))
    if not variant or stage < 3
]

MOBILE = [
    TinyModel(
        "mobilevit",
        {"image_size": 64, "hidden_sizes": [16] * 3, "neck_hidden_sizes": [4, 4, 8, 8, 8, 8, 8]},
        sizes={},
        model_class=MODEL,
        kernel="eager",
        part=f"stage{stage + 1}",
        module=f"encoder.layer.{stage + 2}.transformer.layer.{{layer}}.attention.attention",
        output=f"encoder.layer.{stage + 2}.transformer.layer.{{layer}}.attention.output.dense",
        block=f"encoder.layer.{stage + 2}.transformer.layer.{{layer}}",
        inputs=lambda config: image(config, 3, 64, 64),
    )
    for stage in range(3)
]

SWIN = {
    **{"model_type": "swin", "embed_dim": 8, "depths": [2, 1, 1, 1], "num_heads": [2, 4, 4, 8]},
    **{"window_size": 3, "image_size": 48, "patch_size": 2},
    "out_features": [f"stage{stage + 1}" for stage in range(4)],
}
SMALL = {
    **{"hidden_dim": 32, "encoder_layers": 1, "decoder_layers": 1, "num_attention_heads": 2},
    **{"feature_size": 32, "mask_feature_size": 32, "encoder_feedforward_dim": 16, "dim_feedforward": 16},
}
SEGMENTERS = [
    TinyModel(
        name,
        {"backbone_config": SWIN, **config},
        sizes={},
        layers=(0,),
        model_class="AutoModel",
        part=f"stage{stage + 1}",
        module=f"encoder.layers.{stage}.blocks.{{layer}}.attention",
        output="{module}.output.dense" if name == "maskformer" else "{module}.o_proj",
        inputs=lambda config: image(config, 3, 48, 48),
        kernel="eager",
        float32="" if name == "maskformer" else "softmax",
        method="pixel_level_module.encoder",
    )
    for name, config in (
        (
            "maskformer",
            {
                **{"fpn_feature_size": 32, "mask_feature_size": 32},
                "decoder_config": {"model_type": "detr", "d_model": 32, "encoder_layers": 1, "decoder_layers": 1},
            },
        ),
        ("mask2former", SMALL),
        ("oneformer", {"hidden_dim": 32, "conv_dim": 32, "mask_dim": 32, "dim_feedforward": 16}),
    )
    for stage in range(4)
]

FAMILIES = [*VITS, *MESSAGES, *TIPS, *DUAL, *DEPTH_PRO, TVP, *PYRAMIDS, *MOBILE, *SEGMENTERS]
