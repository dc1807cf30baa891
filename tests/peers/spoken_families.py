"""Bark, Voxtral Realtime, and vision encoders that read an image as a sequence: a row for each part."""

from dataclasses import replace
from typing import Any

from tests.peers.audio_families import drawn
from tests.peers.image_language_families import like_voxtral
from tests.peers.multimodal_families import ALL, LANGUAGE, ROPE, TEXT_LAYER
from tests.peers.sound_families import codes
from tests.peers.tiny_models import VOCABULARY, TinyModel
from tests.peers.vision_families import GRID, SIDE, VISION, grid

BARK_PART = {
    **{"num_layers": 2, "num_heads": 4, "hidden_size": 32, "block_size": 32},
    **{"input_vocab_size": VOCABULARY, "output_vocab_size": VOCABULARY},
}
BARK = [
    TinyModel(
        "bark",
        {
            **{f"{name}_config": BARK_PART for name in ("semantic", "coarse_acoustics", "fine_acoustics")},
            "codec_config": {"model_type": "encodec", "num_filters": 4, "hidden_size": 8, "codebook_dim": 8},
        },
        sizes={},
        model_class="AutoModel",
        part=part,
        module=f"{root}.layers.{{layer}}.attn",
        block=f"{root}.layers.{{layer}}",
        kernel="eager",
        method=root,
    )
    for part, root in (("semantic", "semantic"), ("coarse", "coarse_acoustics"))
]
BARK_FINE = replace(
    BARK[0],
    part="fine",
    module="fine_acoustics.layers.{layer}.attn",
    block="fine_acoustics.layers.{layer}",
    method="fine_acoustics",
    inputs=lambda config: {"codebook_idx": 2, **codes(8)(config)},
)


def strip(_config: Any) -> dict[str, Any]:
    """The patches of one image, which are a sequence."""
    import torch

    size = 3 * (SIDE // GRID) ** 2
    pixels = drawn(GRID * GRID // 2, size).reshape(GRID * GRID, size)
    return {
        "pixel_values": pixels,
        "image_grid_thw": torch.tensor([[1, GRID, GRID]]),
        "image_merge_sizes": torch.tensor([1]),
    }


VIDEO_LLAMA = [
    TinyModel(
        "video_llama_3",
        {
            "text_config": {"model_type": "qwen2", **LANGUAGE},
            "vision_config": {**VISION, "spatial_merge_size": 1},
            "image_token_id": 4,
        },
        sizes={},
        model_class=ALL,
        part=part,
        float32=ROPE,
        **fields,
    )
    for part, fields in (
        ("text", {"module": TEXT_LAYER}),
        (
            "vision",
            {
                "module": "vision_model.encoder.layers.{layer}.self_attn",
                "block": "vision_model.encoder.layers.{layer}",
                "method": "get_image_features",
                "inputs": strip,
                "given": grid,
            },
        ),
    )
]

PADDLE = TinyModel(
    "paddleocr_vl",
    {
        "text_config": {
            **LANGUAGE,
            "rope_parameters": {"rope_type": "default", "rope_theta": 5e4, "mrope_section": [2, 1, 1]},
        },
        "vision_config": VISION,
        "image_token_id": 4,
    },
    sizes={},
    model_class=ALL,
    part="text",
    module=TEXT_LAYER,
    float32=ROPE,
)

# The language model of Voxtral Realtime runs only with the sound that it hears.
VOXTRAL = like_voxtral("voxtral_realtime", "voxtral_realtime_text", "voxtral_realtime_encoder")[1]

FAMILIES = [*BARK, BARK_FINE, *VIDEO_LLAMA, PADDLE, VOXTRAL]
