"""The models of images beyond those of vision_families: a row for each part."""

from dataclasses import replace
from typing import Any

from tests.peers.image_text_families import IMAGES, patches
from tests.peers.multimodal_families import ALL, LANGUAGE, QWEN_VISION, ROPE, TEXT_LAYER
from tests.peers.tiny_models import ITEMS, VOCABULARY, TinyModel, tokens
from tests.peers.vision_families import (
    MODEL,
    SIDE,
    TEXT,
    VISION,
    grid,
    image,
    image_and_text,
    like_vit,
)

AXES = {"rope_type": "default", "rope_theta": 5e4, "mrope_section": [1, 1, 1], "partial_rotary_factor": 0.75}
GLM = {
    "text_config": {
        **LANGUAGE,
        "rope_parameters": AXES,
        "attention_bias": True,
        "n_routed_experts": 2,
        "num_experts_per_tok": 1,
    },
    "vision_config": {
        **{**QWEN_VISION, "hidden_size": 32, "out_hidden_size": 32, "intermediate_size": 16, "attention_bias": True},
        **{"image_size": SIDE, "patch_size": 4},
    },
    "image_token_id": 4,
}
ROTATING = [
    TinyModel(name, GLM, sizes={}, model_class=ALL, part=part, float32=ROPE, **fields)
    for name in ("glm4v", "glm4v_moe", "glm46v", "glm_ocr")
    for part, fields in (
        ("text", {"module": TEXT_LAYER}),
        (
            "vision",
            {
                "module": "visual.blocks.{layer}.attn",
                "output": "{module}.proj",
                "method": IMAGES,
                "inputs": patches,
                "given": grid,
                "default_type": "float32",  # of the positions, which it interpolates
            },
        ),
    )
]

FLAVA = [
    TinyModel(
        "flava",
        {
            **{f"{part}_config": {**VISION, "vocab_size": VOCABULARY} for part in ("image", "text", "multimodal")},
            "image_codebook_config": {"hidden_size": 4, "num_blocks_per_group": 1, "vocab_size": 16},
            **{"hidden_size": 32, "projection_dim": 32},
        },
        sizes={},
        model_class=MODEL,
        part=part,
        module=f"{part}_model.encoder.layer.{{layer}}.attention.attention",
        output=f"{part}_model.encoder.layer.{{layer}}.attention.output.dense",
        block=f"{part}_model.encoder.layer.{{layer}}",
        kernel="eager",
        inputs=image_and_text,
    )
    for part in ("image", "text", "multimodal")
]


def frames(config: Any) -> dict[str, Any]:
    """Two videos of four frames, and the texts of them."""
    return {**image_and_text(config), **image(config, 4, 3, SIDE, SIDE)}


XCLIP = [
    TinyModel(
        "xclip",
        {
            "text_config": TEXT,
            "vision_config": {
                **{**VISION, "num_frames": 4, "mit_hidden_size": 32, "mit_intermediate_size": 16},
                **{"mit_num_hidden_layers": 1, "mit_num_attention_heads": 2},
            },
            **{"projection_dim": 32, "prompt_num_attention_heads": 2},
        },
        sizes={},
        layers=layers,
        model_class=MODEL,
        part=part,
        module=module,
        inputs=frames,
    )
    for part, module, layers in (
        ("text", "text_model.encoder.layers.{layer}.self_attn", (0, 1)),
        ("vision", "vision_model.encoder.layers.{layer}.self_attn", (0, 1)),
        ("messages", "vision_model.encoder.layers.{layer}.message_attn", (0, 1)),
        ("frames", "mit.encoder.layers.{layer}.self_attn", (0,)),
    )
]

GIT = [
    TinyModel(
        "git",
        {"intermediate_size": 16, "vision_config": VISION},
        model_class="AutoModelForCausalLM",
        kernel="eager",
        part=part,
        **fields,
    )
    for part, fields in (
        (
            "text",
            {
                "module": "git.encoder.layer.{layer}.attention.self",
                "output": "git.encoder.layer.{layer}.attention.output.dense",
                "inputs": lambda config: {**tokens(config), "use_cache": False},
            },
        ),
        (
            "vision",
            {"module": "vision_model.encoder.layers.{layer}.self_attn", "inputs": image_and_text, "float32": "softmax"},
        ),
    )
]


def regions(config: Any) -> dict[str, Any]:
    """Tokens, and five regions of an image: their features and their places."""
    import torch

    drawn = torch.Generator().manual_seed(9)
    features, places = (torch.randn(ITEMS, 5, size, generator=drawn, dtype=torch.float64) for size in (6, 4))
    return {**tokens(config), "visual_feats": features, "visual_pos": places}


LXMERT = [
    TinyModel(
        "lxmert",
        {
            **{"hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 16, "vocab_size": VOCABULARY},
            **{"l_layers": 1, "x_layers": 1, "r_layers": 1, "visual_feat_dim": 6},
        },
        sizes={},
        layers=(0,),
        model_class=MODEL,
        kernel="eager",
        part=part,
        module=f"encoder.{module}.{inner}",
        output=f"encoder.{module}.output.dense",
        inputs=regions,
    )
    for part, module, inner in (
        ("text", "layer.{layer}.attention", "self"),
        ("image", "r_layers.{layer}.attention", "self"),
        ("text_of_both", "x_layers.{layer}.lang_self_att", "self"),
        ("image_of_both", "x_layers.{layer}.visn_self_att", "self"),
    )
]
LXMERT_CROSS = replace(
    LXMERT[0],
    part="cross",
    module="encoder.x_layers.{layer}.visual_attention.att",
    output="encoder.x_layers.{layer}.visual_attention.output.dense",
    query_embeddings="hidden_states",
    embeddings="context",
)

BRIDGE = {
    **{"hidden_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 16},
    "text_config": {**TEXT, "hidden_size": 128, "num_attention_heads": 4},
    "vision_config": {**VISION, "hidden_size": 128},
}
BRIDGETOWER = [
    TinyModel(
        "bridgetower",
        BRIDGE,
        sizes={},
        model_class=MODEL,
        kernel="eager",
        part="vision",
        module="vision_model.visual.transformer.resblocks.{layer}.attn",
        block="vision_model.visual.transformer.resblocks.{layer}",
        items=1,
        inputs=image_and_text,
    ),
] + [
    TinyModel(
        "bridgetower",
        BRIDGE,
        sizes={},
        model_class=MODEL,
        kernel="eager",
        part=part,
        module=f"cross_modal_{part.rpartition('_')[2]}_layers.{{layer}}.{module}.self",
        output=f"cross_modal_{part.rpartition('_')[2]}_layers.{{layer}}.{module}.output.dense",
        inputs=image_and_text,
        **fields,
    )
    for kind in ("text", "image")
    for part, module, fields in (
        (f"self_of_{kind}", "attention", {}),
        (
            f"cross_of_{kind}",
            "crossattention",
            {"query_embeddings": "hidden_states", "embeddings": "encoder_hidden_states"},
        ),
    )
]

FAMILIES = [
    like_vit("pixio", {"n_cls_tokens": 2}),
    *ROTATING,
    *FLAVA,
    *XCLIP,
    *GIT,
    *LXMERT,
    LXMERT_CROSS,
    *BRIDGETOWER,
]
