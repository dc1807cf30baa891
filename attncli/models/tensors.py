"""The tensors of a checkpoint by a family's names for them: their locations, and their replacements."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from attncli.base.errors import AttnError
from attncli.base.text import shorten
from attncli.io.paths import split_slices
from attncli.models.checkpoint import MERGE_HINT, Checkpoint, StoredTensor

_BASE_LAYER = "base_layer"  # PEFT's name for the module that an adapter changes, in the module's own location
MAX_LISTED = 300  # letters of other tensors' names in an error


_WEIGHT = ".weight"
_FP8_SCALES = ("weight_scale_inv", "weight_scale")  # names of DeepSeek and of compressed-tensors
_FLOAT8 = "F8_"  # beginnings of 8-bit types in a file
_NUMBERS = ("F", "BF")  # beginnings of plain types
# The values of `quantization_config` that mark an unreadable format; None: not given.
_READ_VALUES: Mapping[str, Mapping[str, Sequence[Any]]] = {
    "gptq": {"bits": (2, 3, 4, 8), "checkpoint_format": (None, "gptq", "gptq_v2"), "dynamic": (None, {})},
    "awq": {"bits": (4,), "version": (None, "gemm", "GEMM"), "zero_point": (None, True)},
}
_PARTS = ("weight_packed", "weight_blocks", "W_q", "qweight_0", "weight_scale")  # other methods
_HINT = "load the model in transformers, call its dequantize() and save_pretrained(), and name that folder"


@dataclass(frozen=True)
class TensorReference:
    """A tensor of the checkpoint, or the slice of it that slices select."""

    name: str
    slices: str
    stored: StoredTensor

    def __str__(self) -> str:
        return f"{list(self.stored.shape)} {self.stored.type}"


# A problem's replacement for a tensor: the method, and its parameters, some of them tensors.
QuantizedTensor = dict[str, dict[str, Any]]


class TensorNames:
    """The names of a checkpoint's tensors, each after a library's own root: `model.`.

    `roots` belong to a part; without them a name may follow any root, but only one.
    """

    def __init__(self, checkpoint: Checkpoint, roots: Sequence[str]) -> None:
        self._checkpoint = checkpoint
        self._roots = roots

    def full_name(self, name: str) -> str | None:
        """The full name of a tensor; None if there is none, AttnError if several end so."""
        names = self._checkpoint.files
        if self._roots:
            return next((root + name for root in self._roots if root + name in names), None)
        found = self._checkpoint.names_with_ending(name)
        if len(found) > 1:
            where = str(self._checkpoint.folder)
            raise AttnError(f"has several tensors {name}", where=where, hint=shorten(", ".join(found), MAX_LISTED))
        return found[0] if found else None

    def has_module(self, name: str) -> bool:
        """Whether another tensor of the same module exists, whose weights may be quantized."""
        module, dot, _ = split_slices(name)[0].rpartition(".")
        if not dot:
            return self.full_name(name) is not None
        if self._roots:
            return any(known.startswith(f"{root}{module}.") for root in self._roots for known in self._checkpoint.files)
        return any(f".{module}." in f".{known}" for known in self._checkpoint.files)

    def find(self, name: str, slices: str = "") -> TensorReference | None:
        """The tensor of a name, described by its file's header; None if there is none."""
        found = self.full_name(name)
        return None if found is None else TensorReference(found, slices, self._checkpoint.tensor(found))

    def quantized(self, name: str) -> QuantizedTensor | None:
        """A problem's replacement for a quantized tensor; None if it is not quantized, or missing.

        Raises AttnError, which names the tensor, if attn does not read its format.
        """
        try:
            return quantized_value(name, self.find, self._checkpoint.quantization)
        except AttnError as error:
            has_place = bool(error.path)  # an error in one file names that file
            raise error if has_place else error.at(str(self._checkpoint.folder)) from None

    def missing(self, name: str) -> AttnError:
        """The error for a missing tensor, with the tensors in its location."""
        where, parts = str(self._checkpoint.folder), name.split(".")
        if has_adapter(self._checkpoint, name):
            return AttnError(f"has an adapter next to the tensor {name}", where=where, hint=MERGE_HINT)
        others: list[str] = []
        while not others and len(parts) > 1:
            parts.pop()
            prefix = ".".join((*parts, ""))
            others = [known for known in self._checkpoint.files if f".{prefix}" in f".{known}"]
        hint = f"there are {shorten(', '.join(others), MAX_LISTED)}" if others else None
        return AttnError(f"has no tensor {name}", where=where, hint=hint)


def has_adapter(checkpoint: Checkpoint, name: str) -> bool:
    """Whether a checkpoint has an adapter, as PEFT saves it, around the module of a tensor."""
    wrapped = ".".join(("", *name.split(".")[:-1], _BASE_LAYER, ""))
    return any(wrapped in f".{known}" for known in checkpoint.files)


def root_of(checkpoint: Checkpoint, names: Sequence[str]) -> str:
    """A library's prefix of a model's tensor names: `_orig_mod.`; "" if they do not share one."""
    found = {(full.removesuffix(name)) for name in names for full in checkpoint.names_with_ending(name)}
    return found.pop() if len(found) == 1 else ""


def quantized_value(
    name: str, find: Callable[[str], TensorReference | None], config: Mapping[str, Any]
) -> QuantizedTensor | None:
    """A problem's replacement for a quantized tensor; None for plain numbers.

    `find` gives a tensor of the checkpoint, None if there is none; `config` is the `quantization_config` of its
    config.json. The value is a matrix [o i], even if the model itself stores [i o]. Raises AttnError, which names the
    tensor and the method, if attn does not read the method or its format.
    """
    plain, stem = find(name), name.removesuffix(_WEIGHT)
    if plain is not None and plain.stored.type.startswith(_FLOAT8):
        return _fp8(plain, stem, find, config)
    if plain is not None and plain.stored.type.startswith(_NUMBERS):
        return None
    method = config.get("quant_method")
    packed = find(f"{stem}.qweight")
    if packed is not None and method in _READ_VALUES:
        _check_config(name, str(method), config)
        return {str(method): _packed(packed, stem, find, config)}
    if method is None and plain is None and packed is None:
        return None  # there is no such tensor
    if plain is None and packed is None and not any(find(f"{stem}.{part}") for part in _PARTS):
        return None
    kind = (
        f"by {method}" if method is not None else f"as {plain.stored.type if plain is not None else 'packed integers'}"
    )
    raise AttnError(f"{name} is quantized {kind}, which attn does not read", hint=_HINT)


def _fp8(
    weight: TensorReference, stem: str, find: Callable[[str], TensorReference | None], config: Mapping[str, Any]
) -> QuantizedTensor | None:
    """A tensor of 8-bit numbers with its scale; None without a scale, as these are the numbers themselves."""
    scale = next((place for word in _FP8_SCALES if (place := find(f"{stem}.{word}")) is not None), None)
    if scale is None:
        return None
    block = config.get("weight_block_size")
    return {"fp8": {"weight": weight, "scale": scale, **({"block": block} if block else {})}}


def _packed(
    packed: TensorReference, stem: str, find: Callable[[str], TensorReference | None], config: Mapping[str, Any]
) -> dict[str, Any]:
    """The keys of a tensor packed in integers."""
    value: dict[str, Any] = {"qweight": packed}
    for word in ("qzeros", "scales", "g_idx"):
        place = find(f"{stem}.{word}")
        if place is not None:
            value[word] = place
        elif word != "g_idx":
            raise AttnError(f"{stem}.{word} is missing next to {stem}.qweight")
    if config["quant_method"] == "gptq":
        value["bits"] = config["bits"]
        if config.get("checkpoint_format") == "gptq_v2":
            value["checkpoint_format"] = "gptq_v2"
    return value


def _check_config(name: str, method: str, config: Mapping[str, Any]) -> None:
    """Raise AttnError if a checkpoint has a format of a method that attn does not read."""
    for key, allowed in _READ_VALUES[method].items():
        found = config.get(key)
        if found not in allowed:
            message = f"{name} is quantized by {method} with {key} {found!r}, which attn does not read"
            raise AttnError(message, hint=_HINT)
