"""Models of time series, of music and of speech that are made of BART's, T5's and Llama's attention: a row for each."""

from dataclasses import replace
from typing import Any

from tests.peers.audio_families import drawn
from tests.peers.encoder_families import MODEL, like_bart, like_t5, with_encoder_vectors
from tests.peers.tiny_models import LENGTH, VOCABULARY, TinyModel, tokens

SERIES = {
    **{"prediction_length": 4, "context_length": 8, "lags_sequence": [1, 2], "d_model": 32},
    **dict.fromkeys(("encoder_layers", "decoder_layers"), 2),
    **dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads"), 4),
    **dict.fromkeys(("encoder_ffn_dim", "decoder_ffn_dim"), 16),
}


def series(_config: Any) -> dict[str, Any]:
    """Random numbers of ten steps, and of the four steps to come."""
    past, future = drawn(10), drawn(4)
    return {
        "past_values": past,
        "past_time_features": past[..., None],
        "past_observed_mask": past * 0 + 1,
        "future_values": future,
        "future_time_features": future[..., None],
    }


TIME_SERIES = [
    replace(row, config={**SERIES, "num_time_features": 1}, inputs=series, tokens="", kernel="eager")
    for row in like_bart("time_series_transformer", {})
]
PATCHTST = TinyModel(
    "patchtst",
    {
        **{"d_model": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "ffn_dim": 16},
        **{"context_length": 32, "num_input_channels": 1},
    },
    sizes={},
    model_class=MODEL,
    module="encoder.layers.{layer}.self_attn",
    inputs=lambda config: {"past_values": drawn(32, 1)},
)


def asking(config: Any) -> dict[str, Any]:
    """Tokens, what an encoder gives, and the mask: the one that the model makes does not exist in float64."""
    import torch

    given = with_encoder_vectors(config)
    del given["use_cache"]
    mask = torch.full((LENGTH, LENGTH), -torch.inf, dtype=torch.float64).triu(1)
    paddings = dict.fromkeys(("encoder_padding_mask", "decoder_padding_mask"))
    return {**given, **paddings, "decoder_causal_mask": mask}


FSMT = like_bart(
    "fsmt", {"src_vocab_size": VOCABULARY, "tgt_vocab_size": VOCABULARY, "langs": ["en", "de"]}, kernel="eager"
)
FSMT = [
    replace(
        row,
        config={name: value for name, value in row.config.items() if name != "vocab_size"},
        items=1,
        block=None,
        method="encoder" if row.part == "encoder" else "decoder",
        inputs=tokens if row.part == "encoder" else asking,
        tokens="input_ids",
        query_embeddings="query" if row.part == "cross" else None,
        embeddings="key" if row.part == "cross" else "query",
    )
    for row in FSMT
]
PIX2STRUCT = TinyModel(
    "pix2struct_vision_model",
    {
        **{"hidden_size": 32, "patch_embed_hidden_size": 12, "d_ff": 16, "d_kv": 8},
        **{"num_hidden_layers": 2, "num_attention_heads": 4, "seq_len": 16},
    },
    sizes={},
    model_class="Pix2StructVisionModel",
    module="encoder.layer.{layer}.attention",
    block="encoder.layer.{layer}",
    kernel="eager",
    float32="softmax",
    inputs=lambda config: {"flattened_patches": drawn(9, 14).abs() + 1},
)
POP2PIANO = like_t5("pop2piano", {}, model_class="Pop2PianoForConditionalGeneration")


def codes_and_vectors(config: Any) -> dict[str, Any]:
    """Tokens of two codebooks, and what an encoder gives."""
    given = with_encoder_vectors(config)
    return {**given, "input_ids": given["input_ids"].repeat_interleave(2, dim=0)}


MUSICGEN = [
    TinyModel(
        "musicgen_decoder",
        {
            **{"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "ffn_dim": 16},
            **{"vocab_size": VOCABULARY, "num_codebooks": 2, "pad_token_id": 2},
        },
        sizes={},
        model_class="MusicgenForCausalLM",
        inputs=codes_and_vectors,
        tokens="",
        part=part,
        **fields,
    )
    for part, fields in (
        ("decoder", {"module": "decoder.layers.{layer}.self_attn", "block": "decoder.layers.{layer}"}),
        (
            "cross",
            {
                "module": "decoder.layers.{layer}.encoder_attn",
                "query_embeddings": "hidden_states",
                "embeddings": "key_value_states",
            },
        ),
    )
]
LASR = TinyModel(
    "lasr_encoder",
    {
        **{"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 4},
        **{"intermediate_size": 16, "num_mel_bins": 16, "subsampling_conv_channels": 8},
    },
    sizes={},
    model_class="LasrEncoder",
    module="layers.{layer}.self_attn",
    float32="rope",
    inputs=lambda config: {"input_features": drawn(60, 16)},
)
MELODY = replace(MUSICGEN[0], model_type="musicgen_melody_decoder", model_class="MusicgenMelodyForCausalLM")
LAYERS = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 16}
SMALL = {**LAYERS, "num_key_value_heads": 2, "head_dim": 8, "vocab_size": VOCABULARY}
PREDICTOR = TinyModel(
    "qwen3_omni_moe_talker_code_predictor",
    SMALL,
    sizes={},
    model_class="Qwen3OmniMoeTalkerCodePredictorModel",
    block="layers.{layer}",
    float32="rope",
    inputs=lambda config: {"inputs_embeds": drawn(LENGTH, 32)},
)

FAMILIES = [MELODY, PREDICTOR, *TIME_SERIES, PATCHTST, *FSMT, PIX2STRUCT, *POP2PIANO, *MUSICGEN, LASR]
