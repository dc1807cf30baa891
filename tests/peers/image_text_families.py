"""The models of images and text whose vision encoder has positions, or whose text asks it: a row for each part."""

from typing import Any

from tests.peers.multimodal_families import ALL, LANGUAGE, QWEN_TEXT, QWEN_VISION, ROPE, TEXT_LAYER
from tests.peers.tiny_models import TinyModel, tokens
from tests.peers.vision_families import GRID, SIDE, VISION, grid, image

IMAGES = "get_image_features"
BLOCK = {"module": "visual.blocks.{layer}.attn", "block": "visual.blocks.{layer}", "output": "{module}.proj"}


def patches(_config: Any) -> dict[str, Any]:
    """The patches of one image, which are a sequence."""
    import torch

    drawn = torch.Generator().manual_seed(9)
    size = 3 * 2 * (SIDE // GRID) ** 2
    pixels = torch.randn(GRID * GRID, size, generator=drawn, dtype=torch.float64)
    return {"pixel_values": pixels, "image_grid_thw": torch.tensor([[1, GRID, GRID]])}


QWENS = [
    TinyModel(
        name,
        {
            "text_config": QWEN_TEXT,
            "vision_config": {
                **QWEN_VISION,
                "hidden_size": 32,
                "out_hidden_size": 32,
                "intermediate_size": 16,
                **vision,
            },
        },
        sizes={},
        model_class=ALL,
        part="vision",
        float32=ROPE,
        method=IMAGES,
        inputs=patches,
        given=grid,
        **BLOCK,
    )
    for name, vision in (
        ("qwen2_vl", {"embed_dim": 32}),
        ("qwen2_5_vl", {"fullatt_block_indexes": [0], "window_size": SIDE}),
        ("qwen3_vl", {"deepstack_visual_indexes": [1]}),
        ("qwen3_vl_moe", {"deepstack_visual_indexes": [1]}),
        ("qwen3_5", {"rope_parameters": {"rope_type": "axial", "rope_theta": 500.0}}),
        ("qwen3_5_moe", {}),
    )
]

MLLAMA = {
    "text_config": {
        **LANGUAGE,
        "num_hidden_layers": 2,
        "cross_attention_layers": [1],
        "bos_token_id": 1,
        "eos_token_id": 2,
    },
    "vision_config": {
        **{"hidden_size": 32, "num_hidden_layers": 2, "num_global_layers": 2, "attention_heads": 4, "norm_eps": 0.02},
        **{"intermediate_size": 16, "image_size": SIDE, "patch_size": 4, "max_num_tiles": 1, "vision_output_dim": 64},
        **{"intermediate_layers_indices": [0], "supported_aspect_ratios": [[1, 1]]},
    },
}


def tiles(config: Any) -> dict[str, Any]:
    """Tokens, and two images of one tile each."""
    import torch

    ones = torch.ones(2, 1, dtype=torch.long)
    given = tokens(config)
    length = given["input_ids"].shape[1]
    return {
        **given,
        "pixel_values": image(config)["pixel_values"][:, None, None],
        "aspect_ratio_ids": ones,
        "aspect_ratio_mask": ones[:, None],
        "cross_attention_mask": torch.ones(2, length, 1, 1, dtype=torch.long),
    }


def padding(_config: Any) -> dict[str, Any]:
    """What patches see, of which the last ones are padding up to a multiple of 8: padding does not see padding."""
    import numpy as np

    real = np.arange(24) <= GRID * GRID
    return {"mask": real[:, None] | real}


MLLAMAS = [
    TinyModel("mllama", MLLAMA, sizes={}, model_class=ALL, part=part, inputs=tiles, **fields)
    for part, fields in (
        (
            "decoder",
            {"module": TEXT_LAYER, "block": "language_model.layers.{layer}", "layers": (0,), "float32": ROPE},
        ),
        (
            "cross",
            {
                "module": "language_model.layers.{layer}.cross_attn",
                "layers": (1,),
                "query_embeddings": "hidden_states",
                "embeddings": "cross_attention_states",
            },
        ),
        (
            "vision",
            {
                "module": "vision_model.transformer.layers.{layer}.self_attn",
                "block": "vision_model.transformer.layers.{layer}",
                "given": padding,
            },
        ),
        ("global", {"module": "vision_model.global_transformer.layers.{layer}.self_attn", "given": padding}),
    )
]


def places(_config: Any) -> dict[str, Any]:
    """The column and the row of each patch from 1, and 0 for the class token behind them."""
    import numpy as np

    return {"positions": np.pad(np.indices((GRID, GRID)).reshape(2, -1)[::-1] + 1, ((0, 0), (0, 1)))}


LLAMA4 = TinyModel(
    "llama4",
    {
        "text_config": {**LANGUAGE, "intermediate_size_mlp": 16, "num_local_experts": 2},
        "vision_config": {
            **VISION,
            **{"intermediate_size": 128, "projector_input_dim": 32},
            **{"projector_output_dim": 32, "vision_output_dim": 32, "vision_feature_layer": -1},
        },
    },
    sizes={},
    model_class=ALL,
    part="vision",
    module="vision_model.model.layers.{layer}.self_attn",
    inputs=image,
    given=places,
    float32=ROPE,
    method="vision_model",
)

FAMILIES = [*QWENS, *MLLAMAS, LLAMA4]
