"""Files of models that are refused by their suffix, with what makes a file of them that is read."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from attncli.base.errors import AttnError


class _Refusal(NamedTuple):
    """What a file is, and what to do."""

    message: str
    hint: str


_PICKLE = _Refusal(
    "is a pickle of PyTorch's, which can run any code, and is not read",
    "convert it: state = {name: x.clone().contiguous() for name, x in torch.load(FILE, weights_only=True).items()}; "
    "safetensors.torch.save_file(state, 'model.safetensors')",
)
_REFUSED: Mapping[str, _Refusal] = {
    **dict.fromkeys((".bin", ".pt", ".pth", ".ckpt"), _PICKLE),
    ".gguf": _Refusal("is a GGUF file, which attn does not read", "name the model's folder, or file, in safetensors"),
}


def check_is_not_refused(path: Path, name: str | None = None) -> None:
    """Raise AttnError where a file is of a format that is never read; `name` is that of the file in the error."""
    refusal = _REFUSED.get(path.suffix.lower())
    if refusal is not None:
        raise AttnError(refusal.message, where=name or str(path), hint=refusal.hint)
