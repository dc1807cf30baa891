"""Models that are made of others: a row for each part; the families of the others have rows of their own elsewhere."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tests.peers.audio_families import WAV2VEC, decoder_tokens, drawn, waves
from tests.peers.encoder_families import BERT, target_tokens
from tests.peers.tiny_models import SIZES, VOCABULARY, TinyModel
from tests.peers.vision_families import SIDE, VISION, image, image_and_text

ROPE = "rope"
LANGUAGE = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "intermediate_size": 16,
    "vocab_size": VOCABULARY,
    "pad_token_id": 0,
}
TEXT_LAYER = "language_model.layers.{layer}.self_attn"
VISION_LAYER = "encoder.layers.{layer}.self_attn"
ALL = "AutoModelForImageTextToText"


def parent(module: str) -> str:
    """The module that has this one, whose input is the residual stream."""
    return module.rpartition(".")[0]


def like_llava(
    model_type: str,
    text: str,
    vision: str,
    *,
    settings: Mapping[str, Any] | None = None,
    images: Any = image,
    module: str = TEXT_LAYER,
    tower: str = VISION_LAYER,
    **fields: Any,
) -> list[TinyModel]:
    """The rows of a language model of one family that is fed by a vision encoder of another."""
    config = {
        "text_config": {"model_type": text, **LANGUAGE},
        "vision_config": {"model_type": vision, **VISION},
        "image_token_id": 4,
        "image_token_index": 4,
        **(settings or {}),
    }
    row = {"sizes": {}, "model_class": ALL, **fields}
    called = {"inputs": images, "method": "get_image_features"}
    return [
        TinyModel(model_type, config, part="text", module=module, block=parent(module), float32=ROPE, **row),
        TinyModel(model_type, config, part="vision", module=tower, block=parent(tower), **{**row, **called}),
    ]


def tiles(config: Any) -> dict[str, Any]:
    """Two items of one tile of an image each."""
    return {"pixel_values": image(config)["pixel_values"][:, None]}


LLAVAS = [
    *like_llava("llava", "llama", "clip_vision_model"),
    *like_llava("vipllava", "llama", "clip_vision_model", settings={"vision_feature_layers": [-1]}),
    *like_llava("paligemma", "gemma", "siglip_vision_model"),
    *like_llava("aya_vision", "cohere2", "siglip_vision_model"),
    *like_llava("internvl", "qwen2", "internvl_vision", tower="encoder.layer.{layer}.attention"),
    *(
        like_llava(name, "llama", f"{name}_vision", module="text_model.layers.{layer}.self_attn", images=tiles)[k]
        for name in ("idefics2", "idefics3", "smolvlm")
        for k in (0, 1)
    ),
]

EXPERTS = {
    "num_experts": 2,
    "num_experts_per_tok": 1,
    "moe_intermediate_size": 16,
    "shared_expert_intermediate_size": 16,
}
QWEN_TEXT = {
    **LANGUAGE,
    **EXPERTS,
    "rope_parameters": {"rope_type": "default", "rope_theta": 5e4, "mrope_section": [2, 1, 1]},
}
QWEN_VISION = {"depth": 2, "num_heads": 4, "patch_size": 4, "spatial_merge_size": 1, "temporal_patch_size": 2}
QWENS = [
    TinyModel(
        name,
        {"text_config": QWEN_TEXT, "vision_config": {**QWEN_VISION, **vision}},
        sizes={},
        model_class=ALL,
        part="text",
        module=TEXT_LAYER,
        float32=ROPE,
    )
    for name, vision in (
        ("qwen2_vl", {"embed_dim": 32, "hidden_size": 32}),
        ("qwen2_5_vl", {"hidden_size": 32, "out_hidden_size": 32, "intermediate_size": 16}),
        ("qwen3_vl", {"hidden_size": 32, "out_hidden_size": 32, "intermediate_size": 16}),
    )
]

SPOKEN = [
    TinyModel(
        name,
        {
            "text_config": {"model_type": text, **LANGUAGE},
            "audio_config": {
                **{"d_model": 32, "encoder_layers": 2, "encoder_attention_heads": 4, "encoder_ffn_dim": 16},
                **{"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 16},
                **{"num_mel_bins": 8, "max_source_positions": 12},
            },
        },
        sizes={},
        part=part,
        **{"model_class": "AutoModelForMultimodalLM", **fields},
    )
    for name, text in (("qwen2_audio", "qwen2"), ("voxtral", "llama"))
    for part, fields in (
        ("text", {"module": TEXT_LAYER, "float32": ROPE}),
        (
            "audio",
            {
                "module": "audio_tower.layers.{layer}.self_attn",
                "method": "audio_tower",
                "model_class": "AutoModel",
                "inputs": lambda config: {"input_features": drawn(8, 24)},
            },
        ),
    )
]

QUERYING = {
    **{"vision_config": VISION, "num_query_tokens": 3, "image_token_index": 4},
    "qformer_config": {**LANGUAGE, "encoder_hidden_size": 32, "cross_attention_frequency": 1},
    "text_config": {"model_type": "opt", **LANGUAGE, "ffn_dim": 16, "word_embed_proj_dim": 32},
}
QUERY_LAYER = "qformer.encoder.layer.{layer}"
BLIP2 = [
    TinyModel("blip-2", QUERYING, sizes={}, model_class=ALL, part=part, **fields)
    for part, fields in (
        ("text", {"module": "decoder.layers.{layer}.self_attn", "method": "language_model"}),
        ("vision", {"module": VISION_LAYER, "inputs": image, "method": "get_image_features"}),
        (
            "queries",
            {
                "module": f"{QUERY_LAYER}.attention.attention",
                "output": f"{QUERY_LAYER}.attention.output.dense",
                "inputs": image,
                "method": "get_image_features",
            },
        ),
        (
            "cross",
            {
                "module": f"{QUERY_LAYER}.crossattention.attention",
                "output": f"{QUERY_LAYER}.crossattention.output.dense",
                "query_embeddings": "hidden_states",
                "embeddings": "encoder_hidden_states",
                "inputs": image,
                "method": "get_image_features",
            },
        ),
    )
]

KOSMOS = [
    TinyModel(
        "kosmos-2",
        {
            "text_config": {
                "embed_dim": 32,
                "layers": 2,
                "attention_heads": 4,
                "ffn_dim": 16,
                "vocab_size": VOCABULARY,
            },
            "vision_config": VISION,
            "latent_query_num": 3,
        },
        sizes={},
        model_class="AutoModel",
        part=part,
        **fields,
    )
    for part, fields in (
        ("text", {"module": "text_model.model.layers.{layer}.self_attn", "method": "text_model"}),
        ("vision", {"module": VISION_LAYER, "inputs": image, "method": "get_image_features"}),
    )
]


def text_of(model_type: str, text: str, others: Mapping[str, Any] | None = None, **fields: Any) -> TinyModel:
    """The row of a language model within another model, whose other parts have few numbers too."""
    config = {"text_config": {"model_type": text, **LANGUAGE}, **(others or {"vision_config": VISION})}
    row = {"sizes": {}, "model_class": ALL, "module": TEXT_LAYER, "float32": ROPE}
    return TinyModel(model_type, config, part="text", **{**row, **fields})


GRANITE_SPEECH = {
    "encoder_config": {"hidden_dim": 32, "num_layers": 1, "num_heads": 4, "dim_head": 8},
    "projector_config": {"model_type": "blip_2_qformer", **LANGUAGE, "encoder_hidden_size": 32},
}
TEXTS = [
    *(text_of(name, "llama") for name in ("llava_next", "llava_next_video", "deepseek_vl")),
    text_of("llava_onevision", "qwen2"),
    text_of("got_ocr2", "qwen2", kernel="eager"),
    text_of("mistral3", "mistral"),
    text_of("lighton_ocr", "qwen3"),
    text_of("cohere2_vision", "cohere2"),
    text_of("granite_speech", "granite", GRANITE_SPEECH, model_class="AutoModelForMultimodalLM"),
    text_of("fuyu", "persimmon", {"image_size": SIDE}, model_class="AutoModelForCausalLM"),
]

BERT_PART = {"model_type": "bert", **BERT.config, **SIZES}
BERT_DECODER = {**BERT_PART, "is_decoder": True, "add_cross_attention": True}
SOUND_ENCODER = {"model_type": "wav2vec2", **WAV2VEC}
BERT_LAYER = "encoder.layer.{layer}.attention.self"
WRAPPED = [
    TinyModel(
        model_type,
        {"encoder": encoder, "decoder": BERT_DECODER},
        sizes={},
        model_class=model_class,
        part=part,
        module=f"{part}.{module}",
        output=f"{part}.{output}",
        inputs=inputs,
        tokens="decoder_input_ids" if part == "decoder" else "input_ids",
    )
    for model_type, model_class, encoder, inputs, encoder_module in (
        ("encoder-decoder", "AutoModelForSeq2SeqLM", BERT_PART, target_tokens, BERT_LAYER),
        (
            "vision-encoder-decoder",
            ALL,
            {"model_type": "vit", **VISION},
            lambda config: {**image(config), **decoder_tokens()},
            "layers.{layer}.attention",
        ),
        (
            "speech-encoder-decoder",
            "AutoModelForSpeechSeq2Seq",
            SOUND_ENCODER,
            lambda config: {**waves(config), **decoder_tokens()},
            "encoder.layers.{layer}.attention",
        ),
    )
    for part, module in (("encoder", encoder_module), ("decoder", f"bert.{BERT_LAYER}"))
    for output in (module.replace(".attention.self", ".attention.output.dense"),)
]

BLIP = TinyModel(
    "blip",
    {"text_config": {**LANGUAGE, "encoder_hidden_size": 32}, "vision_config": VISION},
    sizes={},
    model_class=ALL,
    part="decoder",
    module="text_decoder.bert.encoder.layer.{layer}.attention.self",
    output="text_decoder.bert.encoder.layer.{layer}.attention.output.dense",
    kernel="eager",
    inputs=image_and_text,
)
BLIPS = [
    BLIP,
    replace(
        BLIP,
        part="cross",
        module="text_decoder.bert.encoder.layer.{layer}.crossattention.self",
        output="text_decoder.bert.encoder.layer.{layer}.crossattention.output.dense",
        query_embeddings="hidden_states",
        embeddings="encoder_hidden_states",
    ),
]

FAMILIES = [*TEXTS, *WRAPPED, *BLIPS, *BLIP2, *KOSMOS, *LLAVAS, *QWENS, *SPOKEN]
