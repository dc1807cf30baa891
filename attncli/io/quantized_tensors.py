"""Quantized tensors of a checkpoint: what a problem file has in place of one, or why it can't be read."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attncli.base.dataclasses import dataclass
from attncli.base.errors import AttnError

_WEIGHT = ".weight"
_FP8_SCALES = ("weight_scale_inv", "weight_scale")  # by the names of DeepSeek and of compressed-tensors
_FLOAT8 = "F8_"  # how the types of 8 bits begin in a file
_NUMBERS = ("F", "BF")  # how the types of plain numbers begin
# The values of `quantization_config` by which a format differs from what is read; None: not given.
_READ_VALUES: Mapping[str, Mapping[str, Sequence[Any]]] = {
    "gptq": {"bits": (2, 3, 4, 8), "checkpoint_format": (None, "gptq", "gptq_v2"), "dynamic": (None, {})},
    "awq": {"bits": (4,), "version": (None, "gemm", "GEMM"), "zero_point": (None, True)},
}
_HINT = "load the model in transformers, call its dequantize() and save_pretrained(), and name that folder"


@dataclass(frozen=True)
class TensorPlace:
    """Where a tensor is, as a problem file names it (`model.safetensors#NAME`), and its type as its file names it."""

    reference: str
    type: str


def quantized_value(
    name: str, find: Callable[[str], TensorPlace | None], config: Mapping[str, Any]
) -> dict[str, dict[str, Any]] | None:
    """What stands in a problem file in place of a tensor that is quantized; None of one that has plain numbers.

    `find` gives the place of a tensor of the checkpoint, None where there is no such tensor; `config` is the
    `quantization_config` of its config.json. The value is a matrix [o i], also where the model itself stores [i o].
    Raises AttnError that names the tensor and the method where the method, or its format, is not read.

    >>> places = {"q.weight": TensorPlace("m#q.weight", "F8_E4M3"), "q.weight_scale": TensorPlace("m#s", "F32")}
    >>> quantized_value("q.weight", places.get, {"quant_method": "fbgemm_fp8"})
    {'fp8': {'weight': 'm#q.weight', 'scale': 'm#s'}}
    """
    plain, stem = find(name), name.removesuffix(_WEIGHT)
    if plain is not None and plain.type.startswith(_FLOAT8):
        return _fp8(plain, stem, find, config)
    if plain is not None and plain.type.startswith(_NUMBERS):
        return None
    method = config.get("quant_method")
    packed = find(f"{stem}.qweight")
    if packed is not None and method in _READ_VALUES:
        _check_config(name, str(method), config)
        return {str(method): _packed(packed, stem, find, config)}
    if method is None and plain is None and packed is None:
        return None  # there is no such tensor
    if plain is None and packed is None and not _has_parts(stem, find):
        return None
    kind = f"by {method}" if method is not None else f"as {plain.type if plain is not None else 'packed integers'}"
    raise AttnError(f"{name} is quantized {kind}, which attn does not read", hint=_HINT)


def _fp8(
    weight: TensorPlace, stem: str, find: Callable[[str], TensorPlace | None], config: Mapping[str, Any]
) -> dict[str, dict[str, Any]] | None:
    """A tensor of 8-bit numbers with its scale; None where there is no scale, and they are the numbers themselves."""
    scale = next((place for word in _FP8_SCALES if (place := find(f"{stem}.{word}")) is not None), None)
    if scale is None:
        return None
    block = config.get("weight_block_size")
    return {"fp8": {"weight": weight.reference, "scale": scale.reference, **({"block": block} if block else {})}}


def _packed(
    packed: TensorPlace, stem: str, find: Callable[[str], TensorPlace | None], config: Mapping[str, Any]
) -> dict[str, Any]:
    """The keys of a tensor that is packed in integers."""
    value: dict[str, Any] = {"qweight": packed.reference}
    for word in ("qzeros", "scales", "g_idx"):
        place = find(f"{stem}.{word}")
        if place is not None:
            value[word] = place.reference
        elif word != "g_idx":
            raise AttnError(f"{stem}.{word} is missing beside {stem}.qweight")
    if config["quant_method"] == "gptq":
        value["bits"] = config["bits"]
        if config.get("checkpoint_format") == "gptq_v2":
            value["checkpoint_format"] = "gptq_v2"
    return value


def _check_config(name: str, method: str, config: Mapping[str, Any]) -> None:
    """Raise AttnError where a checkpoint has a format of a method that is not read."""
    for key, allowed in _READ_VALUES[method].items():
        found = config.get(key)
        if found not in allowed:
            message = f"{name} is quantized by {method} with {key} {found!r}, which attn does not read"
            raise AttnError(message, hint=_HINT)


def _has_parts(stem: str, find: Callable[[str], TensorPlace | None]) -> bool:
    """Whether a tensor is stored in parts of some other method."""
    words = ("weight_packed", "weight_blocks", "W_q", "qweight_0", "weight_scale")
    return any(find(f"{stem}.{word}") is not None for word in words)
