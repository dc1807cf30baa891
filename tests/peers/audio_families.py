"""The audio models that are compared: a row for each part of a family."""

from collections.abc import Mapping
from typing import Any

from tests.peers.encoder_families import three_parts
from tests.peers.tiny_models import ITEMS, LENGTH, VOCABULARY, TinyModel

ROPE = "rope"
MODEL = "AutoModel"
SAMPLES = 400


def drawn(*shape: int) -> Any:
    """Random numbers of this shape, for each item."""
    import torch

    return torch.randn(ITEMS, *shape, generator=torch.Generator().manual_seed(9), dtype=torch.float64)


def waves(_config: Any) -> dict[str, Any]:
    """Random samples of sound."""
    return {"input_values": drawn(SAMPLES)}


def decoder_tokens() -> dict[str, Any]:
    """Random tokens for a decoder."""
    import torch

    ids = torch.randint(3, VOCABULARY, (ITEMS, LENGTH), generator=torch.Generator().manual_seed(8))
    return {"decoder_input_ids": ids, "use_cache": False}


WAV2VEC = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 16,
    "conv_dim": [8, 8],
    "conv_kernel": [10, 3],
    "conv_stride": [5, 4],
    "num_conv_pos_embeddings": 4,
    "num_conv_pos_embedding_groups": 2,
    "mask_time_prob": 0.0,
    "vocab_size": VOCABULARY,
}


def like_wav2vec(model_type: str, config: Mapping[str, Any] | None = None, **fields: Any) -> TinyModel:
    """The row of a family whose attention is like wav2vec 2.0's."""
    row = {"sizes": WAV2VEC, "model_class": MODEL, "module": "encoder.layers.{layer}.attention", "inputs": waves}
    return TinyModel(model_type, config or {}, block="encoder.layers.{layer}", **{**row, **fields})


ENCODERS = [
    like_wav2vec("wav2vec2"),
    like_wav2vec("wav2vec2", {"do_stable_layer_norm": True}, variant="norm-before"),
    *(like_wav2vec(name) for name in ("hubert", "unispeech", "unispeech-sat", "data2vec-audio")),
    like_wav2vec("sew", {"squeeze_factor": 1}),
    TinyModel(
        "audio-spectrogram-transformer",
        {"intermediate_size": 16, "patch_size": 4, "num_mel_bins": 16, "max_length": 24},
        model_class=MODEL,
        module="layers.{layer}.attention",
        inputs=lambda config: {"input_values": drawn(24, 16)},
    ),
]

SPEECH = {
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 16,
    "decoder_ffn_dim": 16,
    "vocab_size": VOCABULARY,
    "max_source_positions": 12,
    "max_target_positions": 20,
    "pad_token_id": 0,
}
SPEECH_MODULES = ("decoder.layers.{layer}.self_attn", "decoder.layers.{layer}.encoder_attn")


def like_whisper(model_type: str, config: Mapping[str, Any], features: tuple[int, int], **fields: Any) -> TinyModel:
    """The row of an encoder-decoder of speech, whose encoder takes features of this shape."""
    row = {"sizes": SPEECH, "model_class": MODEL, "part": "encoder", "module": "encoder.layers.{layer}.self_attn"}
    inputs = lambda _config: {"input_features": drawn(*features), **decoder_tokens()}  # noqa: E731
    return TinyModel(model_type, config, inputs=inputs, **{**row, **fields})


SPEECH_TO_TEXT = [
    *three_parts(like_whisper("whisper", {"num_mel_bins": 8}, (8, 24)), *SPEECH_MODULES),
    *three_parts(
        like_whisper("speech_to_text", {"input_feat_per_channel": 8, "conv_channels": 16}, (24, 8), kernel="eager"),
        *SPEECH_MODULES,
    ),
    *three_parts(
        TinyModel(
            "moonshine",
            {
                "hidden_size": 32,
                "encoder_num_hidden_layers": 2,
                "decoder_num_hidden_layers": 2,
                "encoder_num_attention_heads": 2,
                "decoder_num_attention_heads": 2,
                "intermediate_size": 16,
                "partial_rotary_factor": 0.75,
                "vocab_size": VOCABULARY,
            },
            sizes={},
            model_class=MODEL,
            part="encoder",
            module="encoder.layers.{layer}.self_attn",
            float32=ROPE,
            inputs=lambda config: {**{"input_values": drawn(2000)}, **decoder_tokens()},
        ),
        *SPEECH_MODULES,
    ),
]

DISTANCES = TinyModel(
    "wav2vec2-bert",
    {
        "intermediate_size": 16,
        "feature_projection_input_dim": 8,
        "left_max_position_embeddings": 4,
        "right_max_position_embeddings": 2,
        "mask_time_prob": 0.0,
    },
    model_class=MODEL,
    module="encoder.layers.{layer}.self_attn",
    inputs=lambda config: {"input_features": drawn(LENGTH, 8)},
)

FAMILIES = [DISTANCES, *ENCODERS, *SPEECH_TO_TEXT]
