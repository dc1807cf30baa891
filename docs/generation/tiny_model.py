"""The checkpoint samples/tiny_model: a Llama of two layers, so small that each number of it can be followed."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parent.parent.parent / "samples" / "tiny_model"
WORDS = ("the", "cat", "sat", "because", "it", "was", "tired")  # of the tokens 0 to 6

_FEATURES, _INNER, _LAYERS, _HEADS, _HEAD_DIM = 8, 12, 2, 2, 4
_SEED = 17

CONFIG: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "vocab_size": len(WORDS),
    "hidden_size": _FEATURES,
    "intermediate_size": _INNER,
    "num_hidden_layers": _LAYERS,
    "num_attention_heads": _HEADS,
    "num_key_value_heads": 1,
    "head_dim": _HEAD_DIM,
    "hidden_act": "silu",
    "rms_norm_eps": 1e-05,
    "max_position_embeddings": 128,
    "rope_theta": 10000.0,
    "rope_scaling": {
        "rope_type": "llama3",
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 16,
    },
    "tie_word_embeddings": True,
    "bos_token_id": 0,
    "eos_token_id": 6,
    "torch_dtype": "float32",
}


def shapes() -> dict[str, tuple[int, ...]]:
    """The shape of each tensor, as `nn.Linear` and `nn.Embedding` store them, by its name in a Llama's checkpoint."""
    of_layer = {
        "input_layernorm": (_FEATURES,),
        "self_attn.q_proj": (_HEADS * _HEAD_DIM, _FEATURES),
        "self_attn.k_proj": (_HEAD_DIM, _FEATURES),
        "self_attn.v_proj": (_HEAD_DIM, _FEATURES),
        "self_attn.o_proj": (_FEATURES, _HEADS * _HEAD_DIM),
        "post_attention_layernorm": (_FEATURES,),
        "mlp.gate_proj": (_INNER, _FEATURES),
        "mlp.up_proj": (_INNER, _FEATURES),
        "mlp.down_proj": (_FEATURES, _INNER),
    }
    layers = {
        f"model.layers.{layer}.{name}.weight": shape for layer in range(_LAYERS) for name, shape in of_layer.items()
    }
    return {"model.embed_tokens.weight": (len(WORDS), _FEATURES), **layers, "model.norm.weight": (_FEATURES,)}


def tensors() -> dict[str, np.ndarray]:
    """The numbers of each tensor, which have one or two decimals; gains of norms are about 1."""
    random = np.random.default_rng(_SEED)
    drawn = {}
    for name, shape in shapes().items():
        numbers = random.normal(size=shape)
        drawn[name] = np.round(1 + numbers / 5, 1) if len(shape) == 1 else np.round(numbers / 2, 2)
    return {name: numbers.astype("<f4") for name, numbers in drawn.items()}


def safetensors_bytes() -> bytes:
    """The file of the tensors: the length of the header, the header with their places, and the numbers."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, shape in shapes().items():
        begin, end = end, end + 4 * math.prod(shape)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # the numbers begin at a multiple of their size
    return b"".join([len(text).to_bytes(8, "little"), text, *(numbers.tobytes() for numbers in tensors().values())])


def config_text() -> str:
    """The text of config.json."""
    return json.dumps(CONFIG, indent=2) + "\n"


def write() -> None:
    """Write the checkpoint anew."""
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / "config.json").write_text(config_text(), encoding="utf-8")
    (FOLDER / "model.safetensors").write_bytes(safetensors_bytes())
