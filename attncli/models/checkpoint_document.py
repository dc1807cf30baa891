"""The contents of a checkpoint as text: the layers and how they attend, or the tensors."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from attncli.base.text import count_of
from attncli.io.inputs import Inputs
from attncli.io.paths import is_there, path_of
from attncli.models.checkpoint import CONFIG, Checkpoint, read_checkpoint
from attncli.models.config import model_parts
from attncli.models.families import read_family
from attncli.models.layer import Entry, has_tensors
from attncli.models.layer_file import LayerGroup, layer_groups
from attncli.render.formats.text_page import TextPage
from attncli.render.target import TextTarget

_MIN_SERIES = 4  # numbers with equal steps are written as a series: the first two and the last


def render_checkpoint(checkpoint: Checkpoint, name: str, target: TextTarget) -> str:
    """The parts of a checkpoint's model with their layers, and the command that writes the file of one.

    Raises UnknownNameError if the model's family is unknown.
    """
    page = TextPage(target)
    parts = model_parts(checkpoint)
    about = read_family(checkpoint.model_type, checkpoint.config_name).about
    page.print((checkpoint.model_type, "bold"), f" ({about}), {count_of(len(checkpoint.files), 'tensor')}")
    command = ""
    for part in parts.values():
        groups, is_there = layer_groups(part), has_tensors(part)
        page.skip_line()
        missing = "" if is_there else ", whose tensors are not here"
        page.print((part.name, "bold"), f", {count_of(part.layer_count, 'layer')}{missing}")
        page.print_pairs([(_numbers(group.layers), _group_text(group)) for group in groups], "cyan")
        option = f" --part {part.name}" if len(parts) > 1 else ""
        layer = next((group.layers[0] for group in groups if group.unsupported is None), None)
        if layer is not None and is_there and not command:
            command = f"attn model {shlex.quote(name)} --layer {layer}{option} -o layer.yaml"
    if command:
        page.skip_line()
        page.print(command, is_wrapped=False)
    return page.text


def lines_of_folder(name: str, inputs: Inputs) -> Sequence[str]:
    """The lines of the tensors of a checkpoint's folder; empty for anything else."""
    return list(tensor_lines(read_checkpoint(name, inputs))) if is_there(path_of(name) / CONFIG) else ()


def tensor_lines(checkpoint: Checkpoint) -> Iterator[str]:
    """A line for each name of tensors; names that differ only in numbers share one: `h.{0…11}.attn.bias [8] F32`.

    A model may be downloaded in part: tensors in missing files have no shapes.
    """
    groups: dict[tuple[str, ...], list[str]] = {}
    for name in checkpoint.files:
        groups.setdefault(tuple(re.split(r"(?<=\.)\d+(?=\.)", name)), []).append(name)
    for pieces, names in groups.items():
        there = next((name for name in names if checkpoint.files[name].exists()), None)
        stored = f"in {checkpoint.files[names[0]].name}, which is not there"
        if there is not None:
            tensor = checkpoint.tensor(there)
            stored = f"{list(tensor.shape)} {tensor.type}"
        yield f"{_folded(pieces, names)} {stored}"


def _folded(pieces: Sequence[str], names: Sequence[str]) -> str:
    """One name for tensors that differ in numbers: each number becomes its smallest and largest value."""
    numbers = [[int(number) for number in re.findall(r"(?<=\.)\d+(?=\.)", name)] for name in names]
    text = pieces[0]
    for piece, column in zip(pieces[1:], zip(*numbers, strict=True), strict=True):
        first, last = min(column), max(column)
        text += (f"{{{first}…{last}}}" if first < last else str(first)) + piece
    return text


def _numbers(layers: Sequence[int]) -> str:
    """Numbers of layers, as ranges or a series: `0–4, 6–9`; `0, 2, … 24`."""
    steps = {after - before for before, after in pairwise(layers)}
    if len(layers) >= _MIN_SERIES and len(steps) == 1 and steps != {1}:
        return f"{layers[0]}, {layers[1]}, … {layers[-1]}"
    ranges: list[list[int]] = []
    for number in layers:
        if ranges and ranges[-1][-1] == number - 1:
            ranges[-1].append(number)
        else:
            ranges.append([number])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in ranges)


def _group_text(group: LayerGroup) -> str:
    """How layers attend: `heads 8, kv_heads 4, causal, window 4095,0, position rope:base=10000`."""
    if group.unsupported is not None:
        return f"{group.unsupported}: not read"
    keys = ", ".join(_key_text(key, entry.value) for key, entry in group.entries.items() if entry.value is not False)
    return f"{group.layer_type}: {keys}" if group.layer_type else keys


def _key_text(key: str, value: Any) -> str:
    return key if value is True else f"{key} {_value_text(value)}"


def _value_text(value: Any) -> str:
    """A value in command-line form; for a mapping in parameters, such as rope's scaling, its first word."""
    if isinstance(value, Mapping):
        name, inner = next(iter(value.items()))
        parameters = _plain(inner)
        if not isinstance(parameters, Mapping):
            return str(name)
        given = ",".join(f"{key}={_parameter_text(_plain(entry))}" for key, entry in parameters.items())
        return f"{name}:{given}" if given else str(name)
    if isinstance(value, list):
        return ",".join(map(_value_text, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _parameter_text(value: Any) -> str:
    """The value of a parameter."""
    if isinstance(value, Mapping):
        return next((word for word in map(_plain, value.values()) if isinstance(word, str)), "…")
    return "…" if isinstance(value, list) else _value_text(value)


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Entry) else value
