"""Documents: the keys of a problem file as they were written, from YAML, JSON, or a file of arrays."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attncli.base.errors import AttnError
from attncli.io.origin import STDIN, Origin, RawValue, path_of, read_text
from attncli.io.parse import matrix
from attncli.io.parse.matrix import LabelledArray
from attncli.io.readers import array_files, json
from attncli.problem.spec import FIELDS

# What a worked example says beside its problem; `attn compute` passes over it.
EXAMPLE_KEYS = ("title", "about", "source", "expected", "parts", "together")

Document = dict[str, RawValue]


def read_document(name: str) -> Document:
    """The keys of a YAML or JSON file, or of standard input for `-`, as they were written."""
    if name == STDIN:
        return parse_document(read_text("standard input"), "standard input")
    path = path_of(name)
    suffix = path.suffix.lower()
    if suffix in matrix.TABLES:
        hint = f"give it as an option: --embeddings {name}"
        raise AttnError("is a table, not a problem", where=name, hint=hint)
    if suffix in (array_files.NPZ, array_files.SAFETENSORS):
        return _arrays(name, path)
    if suffix not in matrix.DOCUMENTS:
        expected = ", ".join((*matrix.DOCUMENTS, array_files.NPZ, array_files.SAFETENSORS))
        raise AttnError("is no problem file", where=name, hint=f"expected {expected} or -")
    return parse_document(read_text(name, path), name, path.parent)


def _arrays(name: str, path: Path) -> Document:
    """The keys of a file of arrays; an array of no axes is a number, a word is one."""
    there = array_files.names(path)
    if there and not set(there) & set(FIELDS):  # a checkpoint: met before any of it is read
        hint = f"name the entry where it belongs, as in --w-q '{name}#{there[0]}'"
        raise AttnError("has no entry with the name of a key", where=name, hint=hint)
    origin = Origin(name, path.parent)
    document = {}
    for key, entry in array_files.entries(path).items():
        value: Any = entry
        if isinstance(entry, array_files.Typed):
            value = _unpacked(entry, FIELDS[key].kind if key in FIELDS else "")
        document[key] = RawValue(value, origin)
    return document


def _unpacked(entry: array_files.Typed, kind: str) -> Any:
    """An array as its key takes it: numbers and short lists as Python has them, matrices as they are."""
    if entry.array.ndim and kind not in ("labels", "window"):
        return LabelledArray(entry.array, dtype=entry.dtype)
    found = entry.array.tolist()
    return [int(x) if float(x).is_integer() else x for x in found] if isinstance(found, list) else found


def parse_document(text: str, name: str, folder: Path = Path()) -> Document:
    """The keys of a YAML or JSON text, as they were written; paths in it are relative to the folder."""
    value, lines = _parse(text, name)
    if value is None:
        raise AttnError("is empty", where=name)
    if not isinstance(value, Mapping):
        hint = "expected keys such as embeddings: and w_q:; a matrix alone is given as --embeddings"
        raise AttnError("is no problem", where=name, hint=hint)
    origin = Origin(name, folder, lines=lines)
    return {key: RawValue(entry, origin) for key, entry in value.items()}


def _parse(text: str, name: str) -> tuple[Any, dict[int, int]]:
    """JSON where it looks like JSON and is; YAML otherwise."""
    if name.lower().endswith(".json"):
        return json.read(text, name), {}
    from attncli.io.readers import yaml  # noqa: PLC0415 - a problem may be JSON, or all options

    if text.lstrip()[:1] == "{":
        try:
            return json.read(text, name), {}
        except AttnError:
            return yaml.read(text, name)
    return yaml.read(text, name)
