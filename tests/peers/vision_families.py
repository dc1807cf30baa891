"""The vision models, and those of text and vision, that are compared: a row for each part of a family."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tests.peers.tiny_models import ITEMS, VOCABULARY, TinyModel, tokens

ROPE = "rope"
SCORES = "scores"
MODEL = "AutoModel"
SIDE = 16  # of an image, in pixels
GRID = 4  # patches on a side
VISION = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 16,
    "image_size": SIDE,
    "patch_size": SIDE // GRID,
}
TEXT = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 16,
    "vocab_size": VOCABULARY,
    "max_position_embeddings": 40,
    "projection_dim": 32,
}


def image(_config: Any, *shape: int) -> dict[str, Any]:
    """Two items of random pixels."""
    import torch

    drawn = torch.Generator().manual_seed(9)
    return {"pixel_values": torch.randn(ITEMS, *(shape or (3, SIDE, SIDE)), generator=drawn, dtype=torch.float64)}


def one_image(config: Any) -> dict[str, Any]:
    """One item: several images make one sequence of patches, in which each sees itself alone."""
    return {"pixel_values": image(config)["pixel_values"][:1]}


def image_and_text(config: Any) -> dict[str, Any]:
    """Two items of random pixels, and of random tokens."""
    given = tokens(config)
    return {**image(config), **given, "attention_mask": given["input_ids"] * 0 + 1}


def patches(config: Any) -> dict[str, Any]:
    """Images whose patches are cut already, and tokens."""
    import torch

    given = image_and_text(config)
    shape = (ITEMS, GRID * GRID, 3 * (SIDE // GRID) ** 2)
    return {
        **given,
        "pixel_values": given["pixel_values"].reshape(shape),
        "pixel_attention_mask": torch.ones(shape[:2], dtype=torch.long),
        "spatial_shapes": torch.full((ITEMS, 2), GRID),
    }


def video(config: Any) -> dict[str, Any]:
    """Two items of four random frames."""
    return image(config, 4, 3, SIDE, SIDE)


def like_vit(model_type: str, config: Mapping[str, Any] | None = None, **fields: Any) -> TinyModel:
    """The row of a family whose attention is like ViT's."""
    row = {"sizes": VISION, "model_class": MODEL, "module": "layers.{layer}.attention", "inputs": image, **fields}
    return TinyModel(model_type, config or {}, block=row["module"].partition(".attention")[0], **row)


LAYER = {"module": "encoder.layer.{layer}.attention"}
BLOCKS = {"module": "encoder.layer.{layer}.attention.attention", "output": "layer.{layer}.attention.output.dense"}

VITS = [
    *(like_vit(name) for name in ("vit", "deit", "vit_msn")),
    like_vit("vit_mae", {"mask_ratio": 0.25}),
    like_vit("ijepa"),
    *(like_vit(name, module="encoder.layer.{layer}.attention") for name in ("dinov2", "dinov2_with_registers")),
    like_vit("yolos", {"image_size": [SIDE, SIDE], "num_detection_tokens": 3}, **BLOCKS),
    like_vit("dpt", {"backbone_out_indices": [0, 1]}, **BLOCKS),
    like_vit("videomae", {"num_frames": 4}, inputs=video, **BLOCKS),
    like_vit("vivit", {"num_frames": 4, "tubelet_size": [2, 4, 4]}, inputs=video),
    like_vit("beit", {"use_relative_position_bias": True}),
    like_vit("beit", {"use_shared_relative_position_bias": True}, variant="shared"),
    like_vit("data2vec-vision", {"use_relative_position_bias": True}, **BLOCKS),
]

WINDOWS = [
    TinyModel(
        name,
        {
            **{"embed_dim": 8, "depths": [2, 1, 1, 1], "num_heads": [2, 4, 4, 8]},
            **{"window_size": 3, "image_size": 48, "patch_size": 2},
        },
        sizes={},
        layers=(0,),
        model_class="AutoModel",
        part=f"stage{stage + 1}",
        module=f"encoder.layers.{stage}.blocks.{{layer}}.attention",
        output="{module}.o_proj" if name == "swin" else "{module}.output.dense",
        inputs=lambda config: image(config, 3, 48, 48),
        kernel="sdpa" if name == "swin" else "eager",
    )
    for name in ("swin", "donut-swin", "maskformer-swin")
    for stage in range(4)
]


def shifted_windows(_config: Any) -> dict[str, Any]:
    """Which patches of a window of 3 × 3 see each other, where windows of 24 × 24 patches are shifted by one."""
    import numpy as np

    regions = np.zeros((24, 24), int)  # of patches that were neighbours before the image was turned around its edges
    regions[-3:] += 1
    regions[-1:] += 1
    regions[:, -3:] += 10
    regions[:, -1:] += 10
    windows = regions.reshape(8, 3, 8, 3).swapaxes(1, 2).reshape(64, 9)
    return {"mask": np.tile(windows[:, :, None] == windows[:, None], (ITEMS, 1, 1))[:, None]}


WINDOWS += [
    replace(row, layers=(1,), given=shifted_windows, variant="shifted")
    for row in WINDOWS
    if row.model_type == "swin" and row.part == "stage1"
]


def text_and_vision(model_type: str, config: Mapping[str, Any] | None = None, **fields: Any) -> list[TinyModel]:
    """The rows of a model with a text encoder and a vision encoder, whose modules may be named."""
    row = {"sizes": {"text_config": TEXT, "vision_config": VISION}, "model_class": MODEL, "inputs": image_and_text}
    modules = {part: f"{part}_model.encoder.layers.{{layer}}.self_attn" for part in ("text", "vision")}
    modules.update({part: fields.pop(part) for part in list(modules) if part in fields})
    outputs = {part: fields.pop(f"{part}_output", "{module}") for part in modules}
    return [
        TinyModel(
            model_type,
            config or {},
            part=part,
            module=module,
            output=outputs[part],
            block=module.rpartition(".")[0],
            **{**row, **fields},
        )
        for part, module in modules.items()
    ]


ALONE = [
    TinyModel(
        f"{name}_{part}_model",
        TEXT if part == "text" else VISION,
        sizes={},
        model_class=MODEL,
        module="encoder.layers.{layer}.self_attn",
        block="encoder.layers.{layer}",
        inputs=tokens if part == "text" else image,
    )
    for name, part in (("clip", "text"), ("clip", "vision"), ("siglip", "vision"))
]
BERT_TEXT = {
    "text": "text_model.encoder.layer.{layer}.attention.self",
    "text_output": "text_model.encoder.layer.{layer}.attention.output.dense",
}

CLIPS = ("clip", "siglip", "owlvit", "owlv2", "metaclip_2", "clipseg")
TWO_ENCODERS = [
    *(row for name in CLIPS for row in text_and_vision(name)),
    *text_and_vision("siglip2", inputs=patches),
    *text_and_vision("chinese_clip", **BERT_TEXT),
    *text_and_vision(
        "altclip",
        text="text_model.roberta.encoder.layers.{layer}.attention.self",
        text_output="text_model.roberta.encoder.layers.{layer}.attention.output.dense",
    ),
    *text_and_vision("blip", kernel="eager", **BERT_TEXT),
    *text_and_vision(
        "aimv2",
        text="text_model.encoder.layers.{layer}.attention",
        vision="vision_model.encoder.layers.{layer}.attention",
        kernel="eager",
        float32="softmax",
    ),
]


def grid(_config: Any) -> dict[str, Any]:
    """The row and the column of each patch."""
    import numpy as np

    return {"positions": np.indices((GRID, GRID)).reshape(2, -1)}


def middles(config: Any) -> dict[str, Any]:
    """2π times the row and the column of each patch's middle, from −1 to 1, and 0 for what is not on the grid."""
    import numpy as np

    middle = (np.arange(GRID) + 0.5) / GRID * 2 - 1
    turned = 2 * np.pi * np.array(np.meshgrid(middle, middle, indexing="ij")).reshape(2, -1)
    return {"positions": np.pad(turned, ((0, 0), (1 + config.num_register_tokens, 0)))}


AXES = [
    like_vit(
        "pixtral",
        {"head_dim": 8},
        module="transformer.layers.{layer}.attention",
        float32=ROPE,
        inputs=one_image,
        given=grid,
    ),
    like_vit(
        "dinov3_vit", {"num_register_tokens": 2}, module="model.layer.{layer}.attention", float32=ROPE, given=middles
    ),
]
INTERNVL = [
    like_vit(
        "internvl_vision",
        {**config, "image_size": [SIDE, SIDE], "patch_size": [4, 4]},
        variant=variant,
        float32=variant,
        **LAYER,
    )
    for variant, config in (("", {"attention_bias": True}), ("norms", {"use_qk_norm": True, "norm_type": "rms_norm"}))
]

TIMESFORMER = [
    TinyModel(
        "timesformer",
        {"num_frames": 4},
        sizes=VISION,
        model_class=MODEL,
        part=part,
        module=f"encoder.layer.{{layer}}.{module}.attention",
        output=f"encoder.layer.{{layer}}.{module}.output.dense",
        inputs=video,
        kernel="eager",
    )
    for part, module in (("space", "attention"), ("time", "temporal_attention"))
]
VILT = like_vit("vilt", {"vocab_size": VOCABULARY}, inputs=image_and_text, kernel="eager", **BLOCKS)

# In layer 0 windows of 2 × 2 patches, in layer 1 all of them.
GRIDS = [
    TinyModel(
        model_type,
        {"window_size": 2, **config},
        sizes=VISION,
        model_class=MODEL,
        module=module,
        inputs=image,
        kernel="eager",
        float32=SCORES,
    )
    for model_type, module, config in (
        (
            "vitdet",
            "encoder.layer.{layer}.attention",
            {"window_block_indices": [0], "use_relative_position_embeddings": True, "pretrain_image_size": SIDE},
        ),
        *(
            (f"{name}_vision_model", "layers.{layer}.attn", {"global_attn_indexes": [1], "output_channels": 8})
            for name in ("sam", "sam_hq")
        ),
    )
]

WITH_VISION = [
    TinyModel(
        model_type,
        {"vision_config": {**VISION, "window_size": 2, "global_attn_indexes": [1]}},
        sizes={},
        model_class=MODEL,
        part="vision",
        module="vision_encoder.layers.{layer}.attn",
        method="get_image_embeddings",
        inputs=image,
        kernel="eager",
        float32=SCORES,
    )
    for model_type in ("sam", "sam_hq")
]

FAMILIES = [*WITH_VISION, *GRIDS, *ALONE, *AXES, VILT, *TIMESFORMER, *VITS, *WINDOWS, *INTERNVL, *TWO_ENCODERS]
