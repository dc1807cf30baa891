"""Models that hear and speak, of 2024 to 2026: language models, encoders and decoders, a row for each part."""

from dataclasses import replace
from typing import Any

from tests.peers.audio_families import WAV2VEC, drawn, waves
from tests.peers.encoder_families import like_bart, target_tokens, three_parts, with_encoder_vectors
from tests.peers.image_language_families import AUDIO, OMNI_AUDIO, heard
from tests.peers.multimodal_families import LANGUAGE, QWEN_TEXT, ROPE, TEXT_LAYER
from tests.peers.sound_families import SMALL
from tests.peers.tiny_models import LENGTH, VOCABULARY, TinyModel

MODEL = "AutoModel"


def hearing(model_type: str, text: str, audio: dict[str, Any], **fields: Any) -> TinyModel:
    """The row of a language model that is fed with an audio encoder."""
    config = {"text_config": {"model_type": text, **LANGUAGE}, **audio}
    row = {"sizes": {}, "model_class": MODEL, "part": "text", "module": TEXT_LAYER, "float32": ROPE}
    return TinyModel(model_type, config, **{**row, **fields})


def crossed(row: TinyModel, module: str, keys: str = "encoder_hidden_states") -> TinyModel:
    """The row of the cross-attention of a decoder."""
    return replace(row, part="cross", module=module, block=None, query_embeddings="hidden_states", embeddings=keys)


PARAKEET = {
    "encoder_config": {
        **{"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4, "intermediate_size": 16},
        **{"num_mel_bins": 16, "subsampling_conv_channels": 8},
    }
}
ASKING = {"sizes": {}, "model_class": MODEL, "part": "decoder", "inputs": with_encoder_vectors}
CANARY = TinyModel(
    "canary",
    {**PARAKEET, "decoder_config": SMALL, "vocab_size": VOCABULARY, "pad_token_id": 0},
    **{**ASKING, "inputs": lambda config: with_encoder_vectors(config, 32)},
    module="decoder.layers.{layer}.self_attn",
    method="decoder",
)
COHERE = TinyModel(
    "cohere_asr", {**SMALL, **PARAKEET}, **ASKING, module="decoder.layers.{layer}.self_attn", method="decoder"
)
CANARIES = [
    *(
        row
        for decoder in (CANARY, COHERE)
        for row in (decoder, crossed(decoder, "decoder.layers.{layer}.encoder_attn"))
    ),
]

HIGGS = TinyModel(
    "higgs_audio_v2",
    {**SMALL, "pad_token_id": 0, "codebook_size": 16, "num_codebooks": 2},
    sizes={},
    model_class="HiggsAudioV2ForConditionalGeneration",
    block="layers.{layer}",
    float32=ROPE,
)
TALKERS = [
    TinyModel(
        name,
        {**QWEN_TEXT, "embedding_size": 32, "num_code_groups": 2},
        sizes={},
        model_class=model_class,
        part="text",
        module="layers.{layer}.self_attn",
        block="layers.{layer}",
        inputs=lambda config: {"inputs_embeds": drawn(LENGTH, 32)},
        float32=ROPE,
    )
    for name, model_class in (
        ("qwen2_5_omni_talker", "Qwen2_5OmniTalkerModel"),
        ("qwen3_omni_moe_talker_text", "Qwen3OmniMoeTalkerModel"),
    )
]
BYTES = TinyModel(
    "blt_patcher",
    SMALL,
    sizes={},
    model_class="BltPatcher",
    block="layers.{layer}",
    module="layers.{layer}.self_attn",
    float32=ROPE,
)
SPEECH_DECODER = {**SMALL, "num_mel_attn_blocks": 1, "max_position_embeddings": 40}
CLVP_DECODER = TinyModel(
    "clvp_decoder",
    SPEECH_DECODER,
    sizes={},
    model_class="ClvpForCausalLM",
    kernel="eager",
    module="layers.{layer}.attn",
    block="layers.{layer}",
)
CLVP = replace(
    CLVP_DECODER,
    model_type="clvp",
    config={"text_config": SMALL, "speech_config": SMALL, "decoder_config": SPEECH_DECODER, "projection_dim": 32},
    model_class="ClvpModelForConditionalGeneration",
    module="speech_decoder_model.model.decoder.layers.{layer}.attn",
    block="speech_decoder_model.model.decoder.layers.{layer}",
    method="speech_decoder_model",
)
PERCEPTION = TinyModel(
    "pe_audio_encoder",
    {
        **SMALL,
        "dac_config": {
            **{"model_type": "dac", "encoder_hidden_size": 4, "decoder_hidden_size": 16, "codebook_dim": 4},
            **{"downsampling_ratios": [4, 2], "upsampling_ratios": [2, 4], "hidden_size": 16, "codebook_size": 8},
        },
    },
    sizes={},
    model_class="PeAudioEncoder",
    block="layers.{layer}",
    float32=ROPE,
    inputs=lambda config: {"input_values": drawn(1, 96)},
)


def like_seamless(model_type: str) -> list[TinyModel]:
    """The rows of the model of text within a model of speech and text."""
    config = {
        **like_bart(model_type, {})[0].config,
        **{"hidden_size": 32, "max_position_embeddings": 40, "speech_encoder_layers": 1, "num_adapter_layers": 1},
        **{"speech_encoder_attention_heads": 4, "speech_encoder_intermediate_size": 16, "t2u_encoder_layers": 1},
        **{"t2u_decoder_layers": 1, "t2u_encoder_ffn_dim": 16, "t2u_decoder_ffn_dim": 16, "t2u_vocab_size": 20},
        **{"t2u_encoder_attention_heads": 4, "t2u_decoder_attention_heads": 4, "decoder_attention_heads": 4},
    }
    row = TinyModel(
        model_type,
        config,
        sizes={},
        model_class={
            "seamless_m4t": "SeamlessM4TForTextToText",
            "seamless_m4t_v2": "SeamlessM4Tv2ForTextToText",
        }[model_type],
        part="encoder",
        module="text_encoder.layers.{layer}.self_attn",
        inputs=target_tokens,
    )
    decoder = "text_decoder.layers.{layer}"
    return three_parts(row, f"{decoder}.self_attn", f"{decoder}.cross_attention", "encoder_hidden_states")


QWEN_ASR_AUDIO = {"audio_config": {**OMNI_AUDIO, "max_source_positions": 32}}
HEARING = [
    hearing("qwen3_asr", "qwen3", QWEN_ASR_AUDIO),
    hearing("moss_transcribe_diarize", "qwen3", {"audio_config": AUDIO}),
    hearing(
        "granite_speech_plus",
        "granite",
        {
            "encoder_config": {
                **{"hidden_dim": 32, "num_layers": 1, "num_heads": 4, "dim_head": 8, "input_dim": 16, "output_dim": 8},
                **{"context_size": 4, "max_pos_emb": 8},
            },
            "projector_config": {
                **{"model_type": "blip_2_qformer", "hidden_size": 32, "num_hidden_layers": 1},
                **{"num_attention_heads": 4, "intermediate_size": 16, "encoder_hidden_size": 32},
            },
        },
    ),
]
MOSS_AUDIO = replace(
    HEARING[1],
    part="audio",
    module="audio_tower.layers.{layer}.self_attn",
    method="audio_tower",
    inputs=heard,
    float32="",
)

DAC = {
    **{"model_type": "dac", "encoder_hidden_size": 4, "decoder_hidden_size": 16, "codebook_dim": 4},
    **{"downsampling_ratios": [4, 2], "upsampling_ratios": [2, 4], "hidden_size": 16, "codebook_size": 8},
    "n_codebooks": 2,
}
CODEC = TinyModel(
    "xcodec",
    {"semantic_model_config": {"model_type": "hubert", **WAV2VEC}, "acoustic_model_config": DAC},
    sizes={},
    model_class=MODEL,
    module="semantic_model.encoder.layers.{layer}.attention",
    block="semantic_model.encoder.layers.{layer}",
    inputs=waves,
    method="semantic_model",
    kernel="eager",
)

DISTANCES = {
    "semantic_model_config": {
        **{"model_type": "wav2vec2-bert", "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4},
        **{"intermediate_size": 16, "feature_projection_input_dim": 8, "mask_time_prob": 0.0},
    },
    **{"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8},
    "intermediate_size": 16,
    **{"encoder_hidden_size": 4, "quantization_dim": 16, "quantization_levels": [4, 4]},
}
CODECS = [
    TinyModel(
        name,
        DISTANCES,
        sizes={},
        model_class=MODEL,
        module="semantic_encoder.encoder.layers.{layer}.self_attn",
        inputs=lambda config: {"input_features": drawn(LENGTH, 8)},
        method="semantic_encoder",
    )
    for name in ("xcodec2", "neucodec")
]

TOKENIZER = {"hidden_size": 8, "num_filters": 2, "downsampling_ratios": [2], "depths": [1, 1]}
HEARING += [
    hearing(
        "vibevoice_asr",
        "qwen2",
        {f"{name}_tokenizer_encoder_config": TOKENIZER for name in ("semantic", "acoustic")},
        kernel="eager",
    ),
    hearing(
        "fun_asr_nano",
        "qwen3",
        {
            "adaptor_config": {
                **{"hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 8, "num_hidden_layers": 1},
                "projector_hidden_size": 16,
            },
            "audio_config": {
                **{"num_mel_bins": 8, "hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 16},
                **{"num_hidden_layers": 2, "num_timestamp_prediction_layers": 1, "num_stacked_frames": 1},
            },
        },
    ),
]
STREAMING = TinyModel(
    "moonshine_streaming",
    {**SMALL, "pad_token_id": 0, "num_key_value_heads": 4, "encoder_config": {**SMALL, "num_key_value_heads": 4}},
    **{**ASKING, "inputs": lambda config: with_encoder_vectors(config, 32)},
    module="decoder.layers.{layer}.self_attn",
    block="decoder.layers.{layer}",
    method="decoder",
    float32=ROPE,
)

FAMILIES = [
    STREAMING,
    crossed(STREAMING, "decoder.layers.{layer}.encoder_attn", "key_value_states"),
    *CANARIES,
    HIGGS,
    *TALKERS,
    BYTES,
    CLVP_DECODER,
    CLVP,
    PERCEPTION,
    *like_seamless("seamless_m4t"),
    *like_seamless("seamless_m4t_v2"),
    *HEARING,
    MOSS_AUDIO,
    CODEC,
    *CODECS,
]
