"""A checkpoint's layer as a problem file, each key with a comment on the source of its value.

Also a summary of layers before one is chosen: which attend alike, and which inputs no checkpoint has.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from attncli.base.errors import AttnError
from attncli.base.text import escape_control
from attncli.io.paths import name_of_path
from attncli.io.problem_files import Document, Origin, RawValue
from attncli.io.yaml import quoted, yaml_text
from attncli.models.checkpoint import Checkpoint
from attncli.models.config import ModelPart
from attncli.models.layer import Entry, LayerRows, find_layer, find_part
from attncli.models.tensors import TensorReference
from attncli.ops.registry import look_up
from attncli.problem.fields import MASKS, NEEDED, PROJECTIONS, STAGES
from attncli.problem.spec import FIELDS

QUERIES, POSITIONS, MASK = "query_embeddings", "positions", "mask"
COMMENT_COLUMN = 40  # column of a comment, unless the value is longer
_PANELS = (PROJECTIONS, STAGES, MASKS)  # keys that vary over the layers of a model

_Line = tuple[str, str]  # a line of YAML, and its comment


def layer_document(checkpoint: Checkpoint, layer: int, part: str | None) -> Document:
    """The raw values of one layer's problem; raises AttnError if there is no such layer or part."""
    rows = find_layer(find_part(checkpoint, part), layer)
    origin = Origin(f"{checkpoint.folder}, layer {rows.layer}", inputs=checkpoint.inputs)
    return {key: RawValue(entry_value(entry, Path()), origin) for key, entry in rows.entries().items()}


def entry_value(entry: Entry, folder: Path) -> Any:
    """An entry's value for YAML, in a file of the folder."""
    if isinstance(entry.value, TensorReference):
        return reference(entry.value, folder)
    if isinstance(entry.value, Path):
        return file_name(entry.value, folder)
    if isinstance(entry.value, list):
        return [reference(x, folder) if isinstance(x, TensorReference) else x for x in entry.value]
    if isinstance(entry.value, Mapping):
        return {
            name: entry_value(inner, folder) if isinstance(inner, Entry) else inner
            for name, inner in entry.value.items()
        }
    return entry.value


def reference(tensor: TensorReference, folder: Path) -> str:
    """The file and the entry of a tensor, as a problem in the folder names it."""
    return f"{file_name(tensor.stored.file, folder)}#{tensor.name}{tensor.slices}"


def file_name(file: Path, folder: Path) -> str:
    """The name of a file, as a problem in the folder names it."""
    path = os.path.relpath(file, folder)
    if path.startswith(os.pardir):  # a link's parent folder is its target's
        path = os.path.relpath(file, folder.resolve())
    return name_of_path(Path(path))


def layer_text(entries: Mapping[str, Entry], head: Sequence[str], folder: Path) -> str:
    """The text of a problem in YAML; file names are relative to `folder`, the problem file's folder."""
    lines = [f"# {escape_control(line)}".rstrip() for line in head]
    for panel, keys in groupby(entries, key=_panel):
        lines += ["", f"# {panel}"]
        lines += _aligned([line for key in keys for line in _lines(key, entries[key], folder)])
    return "".join(f"{line}\n" for line in lines)


def _panel(key: str) -> str:
    """The title above a key."""
    return FIELDS[key].panel if key in FIELDS else "Other keys"


def _lines(name: str, entry: Entry, folder: Path) -> Iterator[_Line]:
    """The lines of a value, the first with its comment, a mapping's indented."""
    value = entry.value
    if isinstance(value, (TensorReference, Path)):
        yield f"{name}: {quoted(entry_value(entry, folder))}", entry.origin
    elif isinstance(value, Mapping) and value and all(isinstance(inner, Entry) for inner in value.values()):
        if len(value) == 1 and next(iter(value.values())).value == {}:
            yield f"{name}: {next(iter(value))}", entry.origin
            return
        yield f"{name}:", entry.origin
        for key, inner in value.items():
            yield from ((f"  {line}", comment) for line, comment in _lines(key, inner, folder))
    else:
        first, *others = "".join(yaml_text({name: entry_value(entry, folder)})).removesuffix("\n").split("\n")
        yield first, entry.origin
        yield from ((line, "") for line in others)


def _aligned(lines: Sequence[_Line]) -> list[str]:
    """The lines with their comments in one column, and long lines' in a second one."""
    longest = max((len(line) for line, comment in lines if comment and len(line) > COMMENT_COLUMN), default=0)
    columns = (longest if len(line) > COMMENT_COLUMN else COMMENT_COLUMN for line, _ in lines)
    return [
        f"{line:{column}}  # {comment}" if comment else line
        for (line, comment), column in zip(lines, columns, strict=True)
    ]


def needed_inputs(entries: Mapping[str, Entry]) -> list[str]:
    """The keys of arrays that no checkpoint has, and without which the attention is different or impossible."""
    queries = [QUERIES] if QUERIES in entries else []
    positions = [POSITIONS] if "position" in entries and _needs_positions(entries["position"]) else []
    mask = entries[MASK].value if MASK in entries else None
    return queries + positions + ([MASK] if isinstance(mask, Mapping) and NEEDED in mask else [])


def _needs_positions(entry: Entry) -> bool:
    """Whether a scheme reads positions that can't be counted, such as a patch's row and column."""
    value = entry_value(entry, Path())
    if not isinstance(value, Mapping):
        return False
    ((name, given),) = value.items()
    record = look_up("position", name)
    try:
        mappings = {
            parameter.name: parameter.mapping.read(given[parameter.name])
            for parameter in record.parameters
            if parameter.mapping is not None and isinstance(given.get(parameter.name), Mapping)
        }
    except AttnError:  # the command that computes the file reports the mistake
        return False
    axes = None if record.position_axes is None else record.position_axes(mappings)
    return axes is not None and axes.are_needed


@dataclass(frozen=True)
class LayerGroup:
    """Layers that attend alike: their numbers, and their keys without tensors.

    If no problem can express them, `unsupported` describes them. Groups with the same keys are equal.
    """

    layers: tuple[int, ...] = field(compare=False)
    layer_type: str | None
    entries: dict[str, Entry]
    unsupported: str | None


def layer_groups(part: ModelPart) -> list[LayerGroup]:
    """The layers of a part grouped by their keys, in the order of each group's first layer."""
    groups: list[LayerGroup] = []
    for number in range(part.layer_count):
        rows = LayerRows(part, number)
        found = {} if rows.unsupported else rows.entries(with_tensors=False)
        entries = {key: entry for key, entry in found.items() if _says_how(key)}
        group = LayerGroup((number,), rows.layer_type, entries, rows.unsupported)
        if group not in groups:
            groups.append(group)
            continue
        at = groups.index(group)
        groups[at] = replace(group, layers=(*groups[at].layers, number))
    return groups


def _says_how(key: str) -> bool:
    """Whether a key describes how a layer attends: it is neither an array nor a storage format."""
    field = FIELDS.get(key)
    return field is not None and field.panel in _PANELS and field.kind not in ("matrix", "vector", "word")
