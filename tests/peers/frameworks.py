"""The frameworks of conventions, called with the words of a problem just as they are: nothing is read or converted."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from tests.peers.convention_cases import (
    Case,
    Words,
    of_a_layer,
    of_one_head,
    projected,
    projected_with_heads_third,
)
from tests.peers.onnx_operator import by_onnx

DOUBLE, SINGLE = 1e-12, 1e-5  # numbers of float64, and of float32


@dataclass(frozen=True)
class Framework:
    """A framework that runs here: its package, the function that calls it, what it takes, how exactly it computes."""

    package: str
    run: Callable[[Words], np.ndarray]
    arrays: Callable[[Case], Words]
    tolerance: float


def with_cache(words: Words, axis: int = -2) -> Words:
    """The words where the cache is put before keys and values, along the axis of tokens, as a caller has to."""
    found = {name: value for name, value in words.items() if not name.startswith("past_")}
    for name in ("key", "value"):
        if f"past_{name}" in words:
            found[name] = np.concatenate([words[f"past_{name}"], words[name]], axis=axis)
    return found


def with_key_mask_as_mask(words: Words) -> Words:
    """The words where a mask of keys [b m] is one of queries and keys [b 1 1 m], as a caller has to make it."""
    found = dict(words)
    if "key_mask" in found:
        found["mask"] = found.pop("key_mask")[:, None, None]
    return found


def by_torch_sdpa(words: Words) -> np.ndarray:
    """What torch.nn.functional.scaled_dot_product_attention computes."""
    torch = pytest.importorskip("torch")
    words = with_key_mask_as_mask(with_cache(words))
    arrays = [torch.from_numpy(words.pop(name)) for name in ("query", "key", "value")]
    options = {
        "attn_mask": words.pop("mask", words.pop("bias", None)),
        "is_causal": words.pop("causal", False),
        "scale": words.pop("scale", None),
        "enable_gqa": words.pop("kv_heads", None) is not None,
    }
    if options["attn_mask"] is not None:
        options["attn_mask"] = torch.from_numpy(options["attn_mask"])
    assert not words
    return np.asarray(torch.nn.functional.scaled_dot_product_attention(*arrays, **options))


def by_torch_mha(words: Words) -> np.ndarray:
    """What torch.nn.MultiheadAttention computes; `causal` is the triangle that its hint stands for."""
    torch = pytest.importorskip("torch")
    tensors = {name: torch.from_numpy(value) for name, value in words.items() if isinstance(value, np.ndarray)}
    query, key = tensors.pop("query_embeddings"), tensors.pop("embeddings")
    layer = torch.nn.MultiheadAttention(6, words["heads"], bias=False, batch_first=True, dtype=key.dtype)
    packed = tensors.pop("w_qkv") if "w_qkv" in tensors else torch.cat([tensors.pop(f"w_{name}") for name in "qkv"])
    layer.load_state_dict({"in_proj_weight": packed, "out_proj.weight": tensors.pop("w_o")})
    options = {"attn_mask": tensors.pop("mask", tensors.pop("bias", None))}
    options["key_padding_mask"] = tensors.pop("key_mask", None)
    if words.get("causal"):  # it refuses the hint without a mask
        triangle = torch.ones(query.shape[1], key.shape[1], dtype=torch.bool).triu(1)
        options |= {"attn_mask": triangle, "is_causal": True}
    assert not tensors
    assert all(name in ("heads", "causal") for name, value in words.items() if not isinstance(value, np.ndarray))
    with torch.no_grad():
        return np.asarray(layer(query, key, key, **options)[0])


def by_onnx_attention(words: Words) -> np.ndarray:
    """What the reference implementation of the ONNX operator Attention computes."""
    window = words.pop("window", (-1, -1))
    attributes = {"left_window_size": window[0], "right_window_size": window[1]}
    attributes["is_causal"] = int(words.pop("causal", False))
    attributes |= {name: words.pop(name) for name in ("scale", "softcap") if name in words}
    words.pop("kv_heads", None)  # the shape of key has it
    words["mask"] = words.pop("mask", words.pop("bias", None))
    assert words.keys() <= {"query", "key", "value", "mask", "past_key", "past_value", "key_lengths"}
    return by_onnx({name: array for name, array in words.items() if array is not None}, **attributes)["output"]


def by_jax(words: Words) -> np.ndarray:
    """What jax.nn.dot_product_attention computes, [b n h e], with heads second."""
    jax = pytest.importorskip("jax")
    words = with_key_mask_as_mask(with_cache(words, axis=1))
    words.pop("kv_heads", None)  # the shape of key has it
    names = {"causal": "is_causal", "window": "local_window_size", "key_lengths": "key_value_seq_lengths"}
    arrays = [words.pop(name) for name in ("query", "key", "value")]
    options = {names.get(name, name): value for name, value in words.items()}
    with jax.enable_x64(True):
        return np.swapaxes(np.asarray(jax.nn.dot_product_attention(*arrays, **options)), 1, 2)


def by_keras(words: Words) -> np.ndarray:
    """What keras.layers.MultiHeadAttention computes, called as it is made: no scores are asked for."""
    keras = import_keras()
    query, key, heads = (words.pop(name) for name in ("query_embeddings", "embeddings", "heads"))
    window = words.pop("window", (None, None))
    assert window[0] == window[1]
    matrices = [words.pop(name) for name in ("w_q", "w_k", "w_v", "w_o")]
    layer = keras.layers.MultiHeadAttention(
        heads, key.shape[-1] // heads, use_bias=False, sliding_window=window[0], dtype="float64"
    )
    layer.build(query.shape, key.shape)
    kernels = [matrix.reshape(kernel.shape) for matrix, kernel in zip(matrices, layer.weights, strict=True)]
    layer.set_weights(kernels)
    names = {"mask": "attention_mask", "causal": "use_causal_mask"}
    options = {names.get(name, name): value for name, value in words.items()}
    if "attention_mask" in options:
        options["attention_mask"] = options["attention_mask"][None]
    return np.asarray(layer(query, key, **options).detach())


def by_keras_attention(words: Words) -> np.ndarray:
    """What keras.layers.Attention computes, in float32, its default."""
    keras = import_keras()
    arrays = [words.pop(name).astype(np.float32) for name in ("query", "value", "key")]
    scale = words.pop("scale", None)
    layer = keras.layers.Attention(use_scale=scale is not None, score_mode=words.pop("score", "dot"))
    layer.build([array.shape for array in arrays])
    if scale is not None:
        layer.set_weights([np.float32(scale)])
    mask, causal = [None, words.pop("key_mask", None)], words.pop("causal", False)
    assert not words
    return np.asarray(layer(arrays, mask=mask, use_causal_mask=causal).detach())


def import_keras() -> Any:
    """Keras on PyTorch, whatever the environment says."""
    pytest.importorskip("torch")
    with patch.dict(os.environ, KERAS_BACKEND="torch"):
        return pytest.importorskip("keras")


def by_mlx(words: Words) -> np.ndarray:
    """What mlx.core.fast.scaled_dot_product_attention computes; its scale has no default, and is 1/√d here."""
    mx = pytest.importorskip("mlx.core")
    words = with_key_mask_as_mask(with_cache(words))
    words = {name: mx.array(value) if isinstance(value, np.ndarray) else value for name, value in words.items()}
    arrays = [words.pop(name) for name in ("query", "key", "value")]
    words.pop("kv_heads", None)  # the shape of key has it
    mask = "causal" if words.pop("causal", False) else words.pop("mask", words.pop("bias", None))
    scale, sinks = words.pop("scale", arrays[0].shape[-1] ** -0.5), words.pop("sink", None)
    assert not words
    return np.asarray(mx.fast.scaled_dot_product_attention(*arrays, scale=scale, mask=mask, sinks=sinks, stream=mx.cpu))


FRAMEWORKS: Mapping[str, Framework] = {
    "torch-sdpa": Framework("torch", by_torch_sdpa, projected, DOUBLE),
    "torch-mha": Framework("torch", by_torch_mha, of_a_layer, DOUBLE),
    "onnx": Framework("onnx", by_onnx_attention, projected, DOUBLE),
    "keras": Framework("keras", by_keras, of_a_layer, SINGLE),
    "keras-attention": Framework("keras", by_keras_attention, of_one_head, SINGLE),
    "jax": Framework("jax", by_jax, projected_with_heads_third, SINGLE),
    "mlx": Framework("mlx", by_mlx, projected, SINGLE),
}
