"""Models of images and of sounds whose layers are in stages, each of another size: a row for each stage."""

from typing import Any

from tests.peers.audio_families import drawn
from tests.peers.tiny_models import TinyModel
from tests.peers.vision_families import MODEL, TEXT, VISION, image, image_and_text

SEGFORMER = {
    **{"depths": [1, 1, 1, 1], "hidden_sizes": [8, 16, 16, 32], "num_attention_heads": [2, 4, 2, 4]},
    **{"num_encoder_blocks": 4, "patch_sizes": [3] * 4, "strides": [1, 2, 1, 2], "mlp_ratios": [2] * 4},
    "decoder_hidden_size": 8,
}
# Where a stage makes the image smaller, its own vectors ask the smaller image; the other rows make it nowhere smaller.
SEGFORMERS = [
    TinyModel(
        "segformer",
        {**SEGFORMER, "sr_ratios": ratios},
        sizes={},
        layers=(0,),
        model_class=MODEL,
        part=f"stage{stage + 1}",
        variant=variant,
        module=f"stages.{stage}.blocks.{{layer}}.attention",
        inputs=image,
        **fields,
    )
    for stage in range(4)
    for variant, ratios, fields in (
        ("", [1, 1, 1, 1], {"block": f"stages.{stage}.blocks.{{layer}}"}),
        ("smaller", [4, 2, 2, 2], {"query_embeddings": "hidden_states", "source": "{module}.k_proj"}),
    )
]

GROUPVIT = [
    TinyModel(
        "groupvit",
        {
            "text_config": TEXT,
            "vision_config": {
                **{**VISION, "depths": [2, 1, 1], "num_group_tokens": [8, 4, 0], "num_output_groups": [8, 4, 0]},
                "assign_mlp_ratio": [0.5, 4],
            },
            **{"projection_dim": 32, "projection_intermediate_dim": 32},
        },
        sizes={},
        layers=(0,),
        model_class=MODEL,
        part=f"vision{stage + 1}",
        module=f"stages.{stage}.layers.{{layer}}.self_attn",
        block=f"stages.{stage}.layers.{{layer}}",
        kernel="eager",
        inputs=image_and_text,
    )
    for stage in range(3)
]


def spectrogram(_config: Any) -> dict[str, Any]:
    """Two items of random spectrograms."""
    return {"input_features": drawn(1, 128, 32)}


CLAP = [
    TinyModel(
        "clap",
        {
            "text_config": TEXT,
            "audio_config": {
                **{"spec_size": 64, "num_mel_bins": 32, "window_size": 2, "hidden_size": 64},
                **{"depths": [1, 1, 1, 1], "num_attention_heads": [2, 4, 4, 8], "patch_embeds_hidden_size": 8},
            },
            "projection_dim": 32,
        },
        sizes={},
        layers=(0,),
        model_class=MODEL,
        part=f"audio{stage + 1}",
        module=f"layers.{stage}.blocks.{{layer}}.attention.self",
        output=f"layers.{stage}.blocks.{{layer}}.attention.output.dense",
        kernel="eager",
        method="audio_model",
        inputs=spectrogram,
    )
    for stage in range(4)
]

FAMILIES = [*SEGFORMERS, *GROUPVIT, *CLAP]
