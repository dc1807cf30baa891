"""Language models of 2025 and 2026 that are fed with images, and those that search documents: a row for each part."""

from dataclasses import replace
from typing import Any

from tests.peers.image_text_families import BLOCK, IMAGES, patches
from tests.peers.multimodal_families import ALL, LANGUAGE, QWEN_TEXT, QWEN_VISION, ROPE, TEXT_LAYER
from tests.peers.tiny_models import TinyModel
from tests.peers.vision_families import GRID, SIDE, VISION, grid, image

CONFIG = {"image_token_id": 4, "image_token_index": 4}
QWEN_LIKE = {**QWEN_VISION, "hidden_size": 32, "out_hidden_size": 32, "intermediate_size": 16, "num_attention_heads": 4}


def text(model_type: str, text_config: dict[str, Any], vision: dict[str, Any], **fields: Any) -> TinyModel:
    """The row of the language model."""
    config = {**CONFIG, "text_config": {**LANGUAGE, **text_config}, "vision_config": {**VISION, **vision}}
    row = {"sizes": {}, "model_class": ALL, "module": TEXT_LAYER, "float32": ROPE, "part": "text", **fields}
    return TinyModel(model_type, {**config, **row.pop("settings", {})}, **row)


def encoder(of: TinyModel, **fields: Any) -> TinyModel:
    """The row of the image encoder of a model whose language model has this row."""
    row = {"part": "vision", "method": IMAGES, "inputs": image, "block": None, "module": "layers.{layer}.self_attn"}
    return replace(of, **{**row, **fields})


def numbered_patches(config: Any) -> dict[str, Any]:
    """The row and the column of each patch, and its pixels."""
    import torch

    places = torch.stack([torch.arange(16) // GRID + 1.0, torch.arange(16) % GRID + 1.0], dim=-1).expand(2, -1, -1)
    return {"flattened_patches": torch.cat([places, image(config, 16, 48)["pixel_values"]], dim=-1).double()}


AXES = {"inputs": patches, "given": grid, **BLOCK}
COMPASS = text(
    "cohere_compass",
    {
        "layer_types": ["sliding_attention", "full_attention"],
        "sliding_window": 4,
        "rope_parameters": {
            "sliding_attention": {"rope_type": "default", "rope_theta": 5e4, "mrope_section": [2, 1, 1]},
            "full_attention": None,
        },
    },
    QWEN_LIKE,
    model_class="AutoModel",
)
COSMOS = text("cosmos3_omni", QWEN_TEXT, {**QWEN_LIKE, "deepstack_visual_indexes": [1]}, model_class="AutoModel")
EDGE = text("cosmos3_edge", QWEN_TEXT, VISION, model_class="AutoModel")
ERNIE = text(
    "ernie4_5_vl_moe",
    {
        **QWEN_TEXT,
        "moe_num_experts": 2,
        "moe_k": 1,
        "moe_intermediate_size": [16, 16],
        "rope_parameters": {"rope_type": "default", "rope_theta": 5e4, "mrope_section": [1, 1, 2]},
    },
    QWEN_LIKE,
    model_class="AutoModel",
)
EXAONE = text(
    "exaone4_5",
    {"model_type": "exaone4", "sliding_window": 4, "layer_types": ["sliding_attention", "full_attention"]},
    {**QWEN_LIKE, "num_key_value_heads": 2, "fullatt_block_indexes": [0, 1]},
)
GLM_IMAGE = text(
    "glm_image",
    QWEN_TEXT,
    QWEN_LIKE,
    model_class="AutoModel",
    settings={"vq_config": {"embed_dim": 32, "num_embeddings": 16, "latent_channels": 8}},
)
DOCLING = text("granite_docling", {}, {"out_hidden_size": 32}, module="text_model.layers.{layer}.self_attn")
HUNYUAN = text(
    "hunyuan_vl",
    {"rope_parameters": {"rope_type": "default", "rope_theta": 5e4, "mrope_section": [2, 1, 1]}},
    {"out_hidden_size": 32, "num_channels": 3, "max_image_size": SIDE},
    model_class="AutoModel",
)
CLOVA = text(
    "hyperclovax_vision_v2",
    {"model_type": "hyperclovax"},
    {**QWEN_LIKE, "model_type": "qwen2_5_vl_vision", "fullatt_block_indexes": [0, 1]},
)
LFM = text(
    "lfm3_vl",
    {"model_type": "lfm3", "layer_types": ["full_attention", "sliding_attention"], "sliding_window": 4},
    {"num_key_value_heads": 2},
    model_class="AutoModel",
)
QIANFAN = text("qianfan_ocr", {"model_type": "qwen3"}, {"image_size": [SIDE, SIDE], "patch_size": [4, 4]})
MUSE = text(
    "muse_glimmer",
    {"layer_types": ["sliding_attention", "full_attention"], "sliding_window": 4},
    {"merge_kernel_size": [1, 1]},
    model_class="AutoModel",
    settings={"projector_hidden_size": 32, "out_hidden_size": 128},
)
KOSMOS = TinyModel(
    "kosmos-2.5",
    {
        "text_config": {"embed_dim": 32, "layers": 2, "attention_heads": 4, "ffn_dim": 16, "vocab_size": 50},
        "vision_config": {**VISION, "head_dim": 8, "patch_embed_hidden_size": 48},
        "latent_query_num": 3,
    },
    sizes={},
    model_class="AutoModel",
    part="text",
    module="text_model.model.layers.{layer}.self_attn",
    method="text_model",
)
STEP = text(
    "step3p7",
    {
        "model_type": "step3p5",
        "layer_types": ["sliding_attention", "full_attention"],
        "sliding_window": 4,
        "num_experts": 2,
    },
    {},
    model_class="AutoModel",
)
MOLMO = text(
    "molmo2",
    {},
    {"image_size": [SIDE, SIDE], "num_key_value_heads": 4, "head_dim": 8},
    settings={
        "adapter_config": {
            "hidden_size": 32,
            "num_attention_heads": 4,
            "num_key_value_heads": 4,
            "head_dim": 8,
            "intermediate_size": 16,
            "vision_feature_layer": [1, 0],
            "text_hidden_size": 32,
        }
    },
)
MODERN = text(
    "modernvbert",
    {"model_type": "modernbert"},
    {"model_type": "siglip_vision_model"},
    model_class="AutoModel",
    module="text_model.layers.{layer}.attn",
)
MINICPM = text(
    "minicpmv4_6",
    {"model_type": "qwen3_5_text", "layer_types": ["full_attention", "full_attention"]},
    {"image_size": SIDE, "insert_layer_id": 0},
    model_class="AutoModel",
)
OCR2 = text(
    "deepseek_ocr2",
    {"mlp_layer_types": ["dense", "dense"]},
    {"sam_config": VISION, "encoder_config": LANGUAGE},
    model_class="AutoModel",
)

VBERT = {
    "vlm_config": {
        "model_type": "modernvbert",
        "text_config": {"model_type": "modernbert", **LANGUAGE},
        "vision_config": {"model_type": "siglip_vision_model", **VISION},
    }
}
COLPALI = TinyModel(
    "colpali",
    {
        "vlm_config": {
            "model_type": "paligemma",
            "text_config": {"model_type": "gemma", **LANGUAGE},
            "vision_config": {"model_type": "siglip_vision_model", **VISION},
            "projection_dim": 32,
        },
        "embedding_dim": 8,
    },
    sizes={},
    model_class="ColPaliForRetrieval",
    part="text",
    module=TEXT_LAYER,
    float32=ROPE,
)
COLQWEN = TinyModel(
    "colqwen2",
    {
        "vlm_config": {
            "model_type": "qwen2_vl",
            "text_config": QWEN_TEXT,
            "vision_config": {**QWEN_VISION, "embed_dim": 32, "hidden_size": 32},
        },
        "embedding_dim": 8,
    },
    sizes={},
    model_class="ColQwen2ForRetrieval",
    part="text",
    module=TEXT_LAYER,
    float32=ROPE,
)
COLMODERN = TinyModel(
    "colmodernvbert",
    {**VBERT, "embedding_dim": 8},
    sizes={},
    model_class="ColModernVBertForRetrieval",
    part="text",
    module="text_model.layers.{layer}.attn",
    float32=ROPE,
)
UNLIMITED = text(
    "unlimited_ocr",
    {"mlp_layer_types": ["dense", "dense"]},
    {"sam_config": VISION, "encoder_config": VISION},
    model_class="AutoModel",
)
CHART = text("pp_chart2table", {"model_type": "qwen2"}, {}, kernel="eager")
SW3 = TinyModel("gpt-sw3", model_class="AutoModel", module="h.{layer}.attn")
FLINT = TinyModel(
    "flint",
    {
        **LANGUAGE,
        "sliding_window": 4,
        "layer_types": ["sliding_attention", "full_attention"],
        "num_experts": 2,
        "num_experts_per_tok": 1,
        "moe_intermediate_size": 8,
    },
    float32=ROPE,
    kernel="eager",
)
TOWERS = [
    encoder(
        KOSMOS,
        module="vision_model.encoder.layer.{layer}.attention",
        inputs=numbered_patches,
        method="vision_model",
        float32="norms",
    ),
    encoder(COLPALI, module="encoder.layers.{layer}.self_attn", method="vlm.get_image_features"),
    encoder(COLQWEN, **AXES | {"method": "vlm.get_image_features"}),
]
FAMILIES = [
    *(
        COMPASS,
        COSMOS,
        encoder(COSMOS, **AXES),
        EDGE,
        ERNIE,
        EXAONE,
        encoder(EXAONE, **AXES),
        GLM_IMAGE,
        DOCLING,
        HUNYUAN,
    ),
    *(
        CLOVA,
        encoder(CLOVA, **{**AXES, "module": "vision_model.blocks.{layer}.attn", "block": None}),
        LFM,
        QIANFAN,
        MUSE,
    ),
    *(KOSMOS, STEP, MOLMO, MODERN, MINICPM, OCR2, COLPALI, COLQWEN, COLMODERN, UNLIMITED, CHART, SW3, FLINT),
    *TOWERS,
]
