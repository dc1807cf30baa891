"""The tensors of a checkpoint by the names that a family gives them: where they are, and what is there instead."""

from collections.abc import Sequence
from typing import Any

from attncli.base.dataclasses import dataclass
from attncli.base.errors import AttnError
from attncli.base.text import shorten
from attncli.io.checkpoint.folder import MERGE_HINT, Checkpoint, StoredTensor
from attncli.io.paths import split_slices
from attncli.io.quantized_tensors import TensorPlace, quantized_value

_BASE_LAYER = "base_layer"  # how PEFT calls the module that an adapter changes, in the module's own place
MAX_LISTED = 300  # letters of the names of other tensors in an error


@dataclass(frozen=True)
class TensorReference:
    """A tensor of the checkpoint, or the part of it that slices select."""

    name: str
    slices: str
    stored: StoredTensor

    def __str__(self) -> str:
        return f"{list(self.stored.shape)} {self.stored.type}"


class TensorNames:
    """The names of a checkpoint's tensors, in front of which every library puts a root of its own: `model.`.

    `roots` are those of a part; without them a name may stand behind any root, but no more than one.
    """

    def __init__(self, checkpoint: Checkpoint, roots: Sequence[str]) -> None:
        self._checkpoint = checkpoint
        self._roots = roots

    def find(self, name: str) -> str | None:
        """The full name of a tensor; None where there is none, and AttnError where several end so."""
        names = self._checkpoint.files
        if self._roots:
            return next((root + name for root in self._roots if root + name in names), None)
        found = self._checkpoint.names_with_ending(name)
        if len(found) > 1:
            where = str(self._checkpoint.folder)
            raise AttnError(f"has several tensors {name}", where=where, hint=shorten(", ".join(found), MAX_LISTED))
        return found[0] if found else None

    def has_module(self, name: str) -> bool:
        """Whether there is a tensor beside that of a name: of the same module, whose weights may be quantized."""
        module, dot, _ = split_slices(name)[0].rpartition(".")
        if not dot:
            return self.find(name) is not None
        if self._roots:
            return any(known.startswith(f"{root}{module}.") for root in self._roots for known in self._checkpoint.files)
        return any(f".{module}." in f".{known}" for known in self._checkpoint.files)

    def reference(self, full_name: str, slices: str = "") -> TensorReference:
        """The tensor of a full name."""
        return TensorReference(full_name, slices, self._checkpoint.tensor(full_name))

    def quantized(self, name: str) -> dict[str, dict[str, Any]] | None:
        """What a problem has in place of a tensor that is quantized; None where it is not, or not there.

        Raises AttnError, which names the tensor, where it is stored in a way that is not read.
        """

        def place(known: str) -> TensorPlace | None:
            """A tensor by its full name."""
            found = self.find(known)
            return None if found is None else TensorPlace(found, self._checkpoint.tensor(found).type)

        try:
            found = quantized_value(name, place, self._checkpoint.quantization)
        except AttnError as error:
            has_place = bool(error.path)  # one of a file that can't be read names that file
            raise error if has_place else error.at(str(self._checkpoint.folder)) from None
        names = self._checkpoint.files
        return found and {
            method: {
                key: self.reference(value) if isinstance(value, str) and value in names else value
                for key, value in parameters.items()
            }
            for method, parameters in found.items()
        }

    def missing(self, name: str) -> AttnError:
        """The error of a tensor that is not there, with those that stand where it should."""
        where, parts = str(self._checkpoint.folder), name.split(".")
        wrapped = ".".join(("", *parts[:-1], _BASE_LAYER, ""))
        if any(wrapped in f".{known}" for known in self._checkpoint.files):
            return AttnError(f"has an adapter beside the tensor {name}", where=where, hint=MERGE_HINT)
        others: list[str] = []
        while not others and len(parts) > 1:
            parts.pop()
            prefix = ".".join((*parts, ""))
            others = [known for known in self._checkpoint.files if f".{prefix}" in f".{known}"]
        hint = f"there are {shorten(', '.join(others), MAX_LISTED)}" if others else None
        return AttnError(f"has no tensor {name}", where=where, hint=hint)
