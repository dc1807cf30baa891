"""The models that write sound, and decoders of speech: a row for each part."""

from typing import Any

from tests.peers.audio_families import SAMPLES, drawn
from tests.peers.encoder_families import three_parts
from tests.peers.tiny_models import ITEMS, LENGTH, VOCABULARY, TinyModel, tokens

ROPE = "rope"
LAYERS = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 16}
SMALL = {**LAYERS, "num_key_value_heads": 2, "head_dim": 8, "vocab_size": VOCABULARY}


def codes(count: int, name: str = "input_ids") -> Any:
    """Two items of rows of codes, so many at each step."""

    def drawn_codes(_config: Any) -> dict[str, Any]:
        import torch

        shape = (ITEMS, LENGTH, count)
        return {name: torch.randint(3, 15, shape, generator=torch.Generator().manual_seed(7))}

    return drawn_codes


def sound(_config: Any) -> dict[str, Any]:
    """Samples of one channel."""
    return {"input_values": drawn(1, 4 * SAMPLES)}


CODEC = {
    **SMALL,
    **{"num_filters": 4, "upsampling_ratios": [4, 2], "codebook_dim": 8, "vector_quantization_hidden_dimension": 8},
    **{
        "codebook_size": 16,
        "num_quantizers": 2,
        "num_semantic_quantizers": 1,
        "upsample_groups": 4,
        "sliding_window": 3,
    },
}
MIMI = [
    TinyModel(
        "mimi",
        CODEC,
        sizes={},
        model_class="AutoModel",
        part=part,
        module=f"{part}_transformer.layers.{{layer}}.self_attn",
        block=f"{part}_transformer.layers.{{layer}}",
        inputs=sound,
        float32=ROPE,
    )
    for part in ("encoder", "decoder")
]

CSM = TinyModel(
    "csm",
    {
        **SMALL,
        **{"num_codebooks": 3, "text_vocab_size": VOCABULARY, "codebook_pad_token_id": 2, "codec_config": CODEC},
        "depth_decoder_config": {**SMALL, "backbone_hidden_size": 32, "num_codebooks": 3},
    },
    model_class="AutoModelForTextToWaveform",
    part="decoder",
    module="backbone_model.layers.{layer}.self_attn",
    block="backbone_model.layers.{layer}",
    inputs=codes(3),
    float32=ROPE,
)

MOSHI = TinyModel(
    "moshi",
    {
        **SMALL,
        **{
            "sliding_window": 3,
            "ffn_dim": 32,
            "num_codebooks": 2,
            "audio_vocab_size": 16,
            "audio_encoder_config": CODEC,
        },
        "depth_decoder_config": {**SMALL, "ffn_dim": 32, "num_codebooks": 2, "input_size": 32, "audio_vocab_size": 16},
    },
    model_class="AutoModel",
    block="layers.{layer}",
    kernel="eager",
    float32=ROPE,
)
KYUTAI = TinyModel(
    "kyutai_speech_to_text",
    {
        **SMALL,
        "sliding_window": 3,
        "ffn_dim": 32,
        "num_codebooks": 2,
        "codebook_vocab_size": 16,
        "audio_pad_token_id": 2,
        "audio_bos_token_id": 1,
        "codec_config": CODEC,
    },
    model_class="AutoModel",
    block="layers.{layer}",
    kernel="eager",
    float32=ROPE,
    inputs=codes(3),
)

DIA = three_parts(
    TinyModel(
        "dia",
        {
            "encoder_config": {**SMALL, "head_dim": 8},
            "decoder_config": {
                **SMALL,
                **{"cross_hidden_size": 32, "cross_num_attention_heads": 4, "cross_num_key_value_heads": 2},
                **{"cross_head_dim": 8, "num_channels": 3},
            },
            "delay_pattern": [0, 1, 2],
        },
        sizes={},
        model_class="AutoModel",
        part="encoder",
        module="encoder.layers.{layer}.self_attention",
        inputs=lambda config: {**tokens(config), **codes(3, "decoder_input_ids")(config), "use_cache": False},
        float32=ROPE,
    ),
    "decoder.layers.{layer}.self_attention",
    "decoder.layers.{layer}.cross_attention",
    "cross_attention_states",
)

SPEECHT5 = three_parts(
    TinyModel(
        "speecht5",
        {
            **{f"{part}_layers": 2 for part in ("encoder", "decoder")},
            **{f"{part}_attention_heads": 4 for part in ("encoder", "decoder")},
            **{f"{part}_ffn_dim": 16 for part in ("encoder", "decoder")},
            **{"hidden_size": 32, "vocab_size": VOCABULARY, "encoder_max_relative_position": 4},
            "conv_dim": [32] * 7,
        },
        sizes={},
        model_class="AutoModelForSpeechSeq2Seq",
        part="encoder",
        module="wrapped_encoder.layers.{layer}.attention",
        inputs=lambda config: {
            "input_values": drawn(SAMPLES * 10),
            "decoder_input_ids": tokens(config)["input_ids"],
        },
        kernel="eager",
    ),
    "wrapped_decoder.layers.{layer}.self_attn",
    "wrapped_decoder.layers.{layer}.encoder_attn",
)

FAMILIES = [CSM, KYUTAI, MOSHI, *DIA, *MIMI, *SPEECHT5]
