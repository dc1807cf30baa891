"""Small checkpoints: a folder with config.json and safetensors, written byte by byte."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

FEATURES, HEADS = 4, 2

LLAMA: Mapping[str, Any] = {
    "model_type": "llama",
    "hidden_size": FEATURES,
    "num_hidden_layers": 2,
    "num_attention_heads": HEADS,
    "num_key_value_heads": HEADS,
    "rms_norm_eps": 1e-6,
    "rope_theta": 500.0,
    "vocab_size": 5,
}
_TYPES = {"float64": "F64", "float32": "F32", "int32": "I32"}


def llama_tensors(layers: int = 2, root: str = "model.") -> dict[str, np.ndarray]:
    """The tensors of a llama: each filled with numbers of its own."""
    shapes: dict[str, tuple[int, ...]] = {"input_layernorm": (FEATURES,)}
    shapes |= {f"self_attn.{name}_proj": (FEATURES, FEATURES) for name in "qkvo"}
    random = np.random.default_rng(3)
    tensors = {f"{root}embed_tokens.weight": random.normal(size=(5, FEATURES))}
    for layer in range(layers):
        for name, shape in shapes.items():
            tensors[f"{root}layers.{layer}.{name}.weight"] = random.normal(size=shape)
    return tensors


def write_safetensors(path: Path, tensors: Mapping[str, np.ndarray]) -> None:
    """Write a file of safetensors: the length of its header, the header, and the numbers."""
    header, data = dict[str, Any](), b""
    for name, array in tensors.items():
        raw = array.tobytes()
        offsets = [len(data), len(data) + len(raw)]
        header[name] = {"dtype": _TYPES[array.dtype.name], "shape": list(array.shape), "data_offsets": offsets}
        data += raw
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


def write_checkpoint(
    folder: Path, config: Mapping[str, Any] = LLAMA, shards: Sequence[Mapping[str, np.ndarray]] | None = None
) -> Path:
    """Write config.json and the tensors: one file, or with an index several."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    files = [llama_tensors()] if shards is None else shards
    if len(files) == 1:
        write_safetensors(folder / "model.safetensors", files[0])
        return folder
    names = [f"model-{number}-of-{len(files)}.safetensors" for number in range(1, len(files) + 1)]
    for name, tensors in zip(names, files, strict=True):
        write_safetensors(folder / name, tensors)
    weight_map = {tensor: name for name, tensors in zip(names, files, strict=True) for tensor in tensors}
    write_index(folder, weight_map)
    return folder


def write_index(folder: Path, weight_map: Any) -> None:
    """Write the index of a checkpoint."""
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": weight_map}), encoding="utf-8")
