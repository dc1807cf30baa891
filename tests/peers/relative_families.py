"""The models with vectors of distances in their scores that are compared: Transformer-XL's and DeBERTa's."""

from collections.abc import Mapping
from typing import Any

from tests.peers.audio_families import WAV2VEC, drawn, waves
from tests.peers.tiny_models import LENGTH, VOCABULARY, TinyModel

MODEL = "AutoModel"
SINES = "sines"
SCORES = "scores"

PARAKEET = {
    **{"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 16},
    **{"num_mel_bins": 16, "subsampling_conv_channels": 8, "layerdrop": 0.0},
}
CONFORMERS = [
    TinyModel(
        "wav2vec2-conformer",
        {"conv_depthwise_kernel_size": 3},
        sizes=WAV2VEC,
        model_class=MODEL,
        module="encoder.layers.{layer}.self_attn",
        inputs=waves,
        float32=SINES,
    ),
    TinyModel(
        "wav2vec2-bert",
        {
            **{"intermediate_size": 16, "feature_projection_input_dim": 8, "mask_time_prob": 0.0},
            "position_embeddings_type": "relative",
        },
        model_class=MODEL,
        module="encoder.layers.{layer}.self_attn",
        inputs=lambda config: {"input_features": drawn(LENGTH, 8)},
        variant="relative",
        float32=SINES,
    ),
    TinyModel(
        "parakeet_encoder",
        PARAKEET,
        sizes={},
        model_class=MODEL,
        module="layers.{layer}.self_attn",
        inputs=lambda config: {"input_features": drawn(56, 16)},
        float32=SINES,
    ),
    TinyModel(
        "parakeet_ctc",
        {"encoder_config": PARAKEET, "vocab_size": VOCABULARY},
        sizes={},
        model_class="ParakeetForCTC",
        module="encoder.layers.{layer}.self_attn",
        inputs=lambda config: {"input_features": drawn(56, 16)},
        float32=SINES,
    ),
]


def like_deberta(model_type: str, variant: str, config: Mapping[str, Any], **fields: Any) -> TinyModel:
    """The row of a family whose attention is like DeBERTa's."""
    place = "encoder.layer.{layer}.attention"
    more = {"model_class": MODEL, "module": f"{place}.self", "output": f"{place}.output.dense"}
    config = {"intermediate_size": 16, "relative_attention": True, **config}
    row = {"float32": SCORES, "kernel": "eager", **more, **fields}
    return TinyModel(model_type, config, variant=variant, **row)


BUCKETS = {"position_buckets": 4, "max_relative_positions": 8, "norm_rel_ebd": "layer_norm", "vocab_size": VOCABULARY}
BOTH = {"pos_att_type": ["c2p", "p2c"]}
DEBERTAS = [
    like_deberta("deberta", "both", {**BOTH, "max_relative_positions": 4, "vocab_size": VOCABULARY}),
    like_deberta("deberta", "c2p", {"pos_att_type": ["c2p"], "vocab_size": VOCABULARY}),
    like_deberta("deberta-v2", "buckets", {**BUCKETS, **BOTH, "share_att_key": True}),
    like_deberta("deberta-v2", "p2c", {"pos_att_type": ["p2c"], "vocab_size": VOCABULARY}),
    like_deberta(
        "sew-d",
        "buckets",
        {**BUCKETS, **BOTH, "share_att_key": True, "squeeze_factor": 1},
        sizes=WAV2VEC,
        inputs=waves,
        module="encoder.encoder.layer.{layer}.attention.self",
        output="encoder.encoder.layer.{layer}.attention.output.dense",
    ),
]
FAMILIES = [*CONFORMERS, *DEBERTAS]
