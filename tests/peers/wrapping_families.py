"""Models that put a head, or a model of text, around a model of another family: a row for each."""

from typing import Any

from tests.peers.encoder_families import BART, BERT, target_tokens
from tests.peers.multimodal_families import LANGUAGE, QUERY_LAYER, QUERYING, ROPE, TEXT_LAYER, VISION_LAYER, text_of
from tests.peers.tiny_models import SIZES, TinyModel, tokens
from tests.peers.vision_families import SIDE, VISION, image

DEPTH = "AutoModelForDepthEstimation"
STAGES = {"out_indices": [1, 2], "reshape_hidden_states": False}
NECK = {
    **{"reassemble_factors": [1, 1], "neck_hidden_sizes": [8, 8], "fusion_hidden_size": 8},
    **{"reassemble_hidden_size": 32, "head_hidden_size": 4, "patch_size": 4, "bottleneck_features": 8},
    **{"num_attractors": [4, 2, 2, 1], "num_relative_features": 4, "bin_embedding_dim": 8},
}
BACKBONES = [
    TinyModel(
        name,
        {"backbone_config": {"model_type": model_type, **VISION, **STAGES, **backbone}, **neck},
        sizes={},
        model_class=model_class,
        part="encoder",
        module=module,
        block=module.partition(".attention")[0],
        kernel="eager",
        float32="softmax" if model_type == "beit" else "",
        method="backbone",
        inputs=image,
    )
    for name, model_type, backbone, neck, model_class, module in (
        ("depth_anything", "dinov2", {}, NECK, DEPTH, "encoder.layer.{layer}.attention"),
        ("prompt_depth_anything", "dinov2", {}, NECK, DEPTH, "encoder.layer.{layer}.attention"),
        ("zoedepth", "beit", {"use_relative_position_bias": True}, NECK, DEPTH, "beit.layers.{layer}.attention"),
        (
            "vitpose",
            "vitpose_backbone",
            {"image_size": [16, 16], "patch_size": [8, 8]},
            {},
            "VitPoseForPoseEstimation",
            "encoder.layer.{layer}.attention",
        ),
    )
]

TEXTS = [
    text_of(
        "fast_vlm",
        "qwen2",
        {"vision_config": {"model_type": "clip_vision_model", **VISION}},
        method="model.language_model",
    ),
    text_of(
        "perception_lm",
        "llama",
        {"vision_config": {"model_type": "clip_vision_model", **VISION, "model_args": {"embed_dim": 32}}},
        method="model.language_model",
    ),
]


def asked(config: Any, *shape: int) -> dict[str, Any]:
    """Images, and the tokens that the querying model reads with them."""
    return {**image(config, *shape), "qformer_input_ids": tokens(config)["input_ids"]}


def asked_of_frames(config: Any) -> dict[str, Any]:
    """The same of videos of four frames."""
    return asked(config, 4, 3, SIDE, SIDE)


BLIPS = [
    TinyModel(
        name,
        QUERYING,
        sizes={},
        model_class=f"{prefix}ForConditionalGeneration",
        part=part,
        **(fields if part == "text" else {**fields, "method": method, "inputs": inputs}),
    )
    for name, prefix, method, inputs in (
        ("instructblip", "InstructBlip", "get_image_features", asked),
        ("instructblipvideo", "InstructBlipVideo", "get_video_features", asked_of_frames),
    )
    for part, fields in (
        ("text", {"module": "decoder.layers.{layer}.self_attn", "method": "language_model"}),
        ("vision", {"module": VISION_LAYER}),
        (
            "queries",
            {
                "module": f"{QUERY_LAYER}.attention.attention",
                "output": f"{QUERY_LAYER}.attention.output.dense",
            },
        ),
        (
            "cross",
            {
                "module": f"{QUERY_LAYER}.crossattention.attention",
                "output": f"{QUERY_LAYER}.crossattention.output.dense",
                "query_embeddings": "hidden_states",
                "embeddings": "encoder_hidden_states",
            },
        ),
    )
]

SHIELD = [
    TinyModel(
        "shieldgemma2",
        {
            "text_config": {"model_type": "gemma3_text", **LANGUAGE},
            "vision_config": {"model_type": "siglip_vision_model", **VISION},
            "mm_tokens_per_image": 4,
        },
        sizes={},
        model_class="ShieldGemma2ForImageClassification",
        part=part,
        **fields,
    )
    for part, fields in (
        (
            "decoder",
            {"module": TEXT_LAYER, "method": "model", "float32": ROPE, "given": lambda _config: {"mask": "causal"}},
        ),
        ("vision", {"module": VISION_LAYER, "method": "model.model.vision_tower", "inputs": image}),
    )
]

RAG = [
    TinyModel(
        "rag",
        {
            "question_encoder": {"model_type": "dpr", **BERT.config, **SIZES},
            "generator": {"model_type": "bart", **BART.config},
        },
        sizes={},
        model_class="RagModel",
        **fields,
    )
    for fields in (
        {
            **{"part": "question", "method": "question_encoder"},
            "module": "bert_model.encoder.layer.{layer}.attention.self",
            "output": "bert_model.encoder.layer.{layer}.attention.output.dense",
        },
        {
            **{"part": "encoder", "method": "generator", "inputs": target_tokens},
            "module": "generator.model.encoder.layers.{layer}.self_attn",
        },
    )
]
FAMILIES = [*RAG, *BACKBONES, *TEXTS, *BLIPS, *SHIELD]
