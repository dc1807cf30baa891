"""The keys of a checkpoint's layer as a problem file has them: tensors as the names of their files and entries."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attncli.io.checkpoint.chosen_part import find_part
from attncli.io.checkpoint.folder import Checkpoint
from attncli.io.checkpoint.layer import Entry, find_layer
from attncli.io.checkpoint.tensors import TensorReference
from attncli.io.origin import Origin, RawValue
from attncli.io.paths import name_of_path
from attncli.io.problem_files import Document


def layer_document(checkpoint: Checkpoint, layer: int, part: str | None) -> Document:
    """The raw values of one layer's problem; raises AttnError where there is no such layer or part."""
    rows = find_layer(find_part(checkpoint, part), layer)
    origin = Origin(f"{checkpoint.folder}, layer {rows.layer}", inputs=checkpoint.inputs)
    return {key: RawValue(plain_value(entry, Path()), origin) for key, entry in rows.entries().items()}


def plain_value(entry: Entry, folder: Path) -> Any:
    """The value of an entry as YAML has it, in a file of the folder."""
    if isinstance(entry.value, TensorReference):
        return reference(entry.value, folder)
    if isinstance(entry.value, Mapping):
        return {
            name: plain_value(inner, folder) if isinstance(inner, Entry) else inner
            for name, inner in entry.value.items()
        }
    return entry.value


def reference(tensor: TensorReference, folder: Path) -> str:
    """The file and the entry of a tensor as a problem in the folder names it."""
    path = os.path.relpath(tensor.stored.file, folder)
    if path.startswith(os.pardir):  # the folder above a link is that of what it leads to
        path = os.path.relpath(tensor.stored.file, folder.resolve())
    return f"{name_of_path(Path(path))}#{tensor.name}{tensor.slices}"
