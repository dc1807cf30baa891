"""The attention of one layer of a checkpoint, as the keys of a problem: the rows of its family, filled in."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from attncli.base.errors import AttnError, UnknownNameError
from attncli.base.text import json_excerpt
from attncli.io.paths import split_slices
from attncli.models.checkpoint import CONFIG, TOKENIZER, Checkpoint
from attncli.models.config import ModelPart, check_rope, model_parts, rope_names, rope_of_layer
from attncli.models.expressions import Names, evaluate, fill
from attncli.models.families import CROSS
from attncli.models.tensors import TensorNames, TensorReference
from attncli.problem.spec import FIELDS

# The attention's input until the user gives one.
_TRIAL_ROWS: Mapping[str, Any] = {
    "embeddings": {"value": "normal", "note": "drawn from --seed, unless embeddings are given"},
    "token_count": {"value": 5, "note": "how many are drawn"},
}
_TRIAL_QUERIES: Mapping[str, Any] = {
    "query_embeddings": {"value": "normal", "note": "drawn from --seed, unless query_embeddings are given"},
}

_ALL = "all"  # the layers of a part that a problem can express
_LAYERS = re.compile(r"\s*(-?[0-9]{1,9})(?:-(-?[0-9]{1,9}))?\s*", re.ASCII)  # one number, or the first and the last
OF_THE_MODEL = "the model's code"  # source of a value that every model of the family has
_HEADS = "heads"
_HEAD_COUNTS = ("num_attention_heads", "n_head", "n_heads", "num_heads")  # its names in config.json
_WEIGHTS = "w_"  # beginning of the keys of projections

# The required type of a key's value, if config.json has it.
_TYPES: Mapping[str, tuple[type, ...]] = {"integer": (int,), "number": (int, float), "flag": (bool,), "word": (str,)}


@dataclass(frozen=True)
class Origins:
    """The names in config.json behind the names that rows read, and those that config.json leaves out."""

    names: Mapping[str, tuple[str, ...]]
    left_out: frozenset[str]

    def names_of(self, read: Iterable[str]) -> tuple[str, ...]:
        """The names in config.json of these names, without duplicates."""
        return tuple(dict.fromkeys(found for name in read for found in self.names.get(name, (name,))))

    def comment(self, read: Iterable[str], note: str = "") -> str:
        """The source of a value made from these names, and a note.

        >>> origins = Origins({"head_count": ("n_head",), "layer": ()}, frozenset({"eps"}))
        >>> origins.comment(["head_count", "layer", "eps"], "query heads")
        'config.json: n_head; default of eps, not in config.json; query heads'
        """
        found = self.names_of(read)
        defaults = [name for name in found if name.partition(".")[0] in self.left_out]
        given = [name for name in found if name not in defaults]
        texts = (
            f"{CONFIG}: {', '.join(given)}" if given else "",
            f"default of {', '.join(defaults)}, not in {CONFIG}" if defaults else "",
            note,
        )
        return "; ".join(filter(None, texts)) or OF_THE_MODEL


@dataclass(frozen=True)
class Entry:
    """The value of a key, or of a parameter in it, and its source.

    The value is a TensorReference, a list of them, the Path of a file, a mapping of Entries, or a value of YAML.
    """

    value: Any
    origin: str = ""


class LayerRows:
    """One layer of a part: the names for its rows, and the values of these rows.

    Raises AttnError if the configuration lacks something they need.
    """

    def __init__(self, part: ModelPart, layer: int) -> None:
        self.part, self.layer = part, layer
        self._tensors = TensorNames(part.checkpoint, part.part.roots)
        where = part.checkpoint.config_name
        check_rope(part.config, where)
        _check_heads(part.config, where)
        values: dict[str, Any] = {**part.config, "layer": layer}
        of_config = Names(values, where, part.left_out)
        listed = _listed_type(part, layer)
        self.layer_type = listed or evaluate(part.part.layer_type, of_config)
        kind = ("layer_types",) if listed else tuple(of_config.read)
        values |= {"layer_type": self.layer_type, **rope_of_layer(part.config, self.layer_type)}
        rope = rope_of_layer(part.given, self.layer_type)
        left_out = part.left_out - {name for name, value in rope.items() if value is not None}
        self._names = Names(values, where, left_out, {"has": self._has})
        in_config = {"layer": (), "layer_type": kind, **rope_names(part.config, self.layer_type)}
        self._origins = Origins(in_config, part.left_out)
        for name, template in part.part.names.items():
            names = self._names.unread()
            values[name] = fill(template, names)
            in_config[name] = self._origins.names_of(names.read)

    @property
    def unsupported(self) -> str | None:
        """A description of a layer that no problem can express, such as one without attention; otherwise None."""
        rows = self.part.part.unsupported
        return next((row["what"] for row in rows if self._evaluate(row["when"])), None)

    @property
    def has_weights(self) -> bool:
        """Whether the checkpoint has a tensor of the layer's projections, plain or quantized; it opens no file."""
        rows = [row for key, row in self.part.part.keys.items() if key.startswith(_WEIGHTS)]
        templates = [template for row in rows for template in self._templates(row)]
        return any(self._tensors.has_module(fill(template, self._names.unread())) for template in templates)

    def entries(self, *, with_tensors: bool = True) -> dict[str, Entry]:
        """The keys that apply to this layer, in the order of a problem; without tensors it opens no file."""
        queries = _TRIAL_QUERIES if self.part.name == CROSS else {}
        rows = {**_TRIAL_ROWS, **queries, **self.part.part.keys}
        tokenizer = self.part.checkpoint.folder / TOKENIZER
        if rows.get("token_table") is not None and tokenizer.is_file():
            rows["tokenizer"] = {"value": tokenizer, "note": "splits --sentence, with pip install 'attncli[models]'"}
        in_order = sorted(rows, key=[*FIELDS, *rows].index)
        found = {key: self._entry(rows[key], with_tensors=with_tensors) for key in in_order}
        entries = {key: entry for key, entry in found.items() if entry is not None}
        if rows.get(_HEADS) is not None and _HEADS not in entries:  # one head would be another attention
            hint = f"expected {' or '.join(_HEAD_COUNTS)}"
            raise AttnError("does not say the number of heads", where=self.part.checkpoint.config_name, hint=hint)
        for key, entry in entries.items():
            self._check_type(key, entry.value)
        return entries

    def _evaluate(self, text: str) -> Any:
        """The value of an expression that gets no comment."""
        return evaluate(text, self._names.unread())

    def _has(self, template: str) -> bool:
        """Whether the checkpoint has a tensor."""
        return self._tensors.full_name(fill(template, self._names.unread())) is not None

    def _templates(self, given: Any) -> Iterator[str]:
        """The names of tensors in the rows that apply."""
        if isinstance(given, list):
            for row in given:
                yield from self._templates(row)
        elif isinstance(given, Mapping) and "tensor" in given and self._evaluate(given.get("when", "True")):
            yield given["tensor"]

    def _entry(self, given: Any, *, with_tensors: bool) -> Entry | None:
        """The value of a row; None if the row does not apply, or its source is missing."""
        if isinstance(given, list) and any(isinstance(row, Mapping) for row in given):
            return next((entry for row in given if (entry := self._entry(row, with_tensors=with_tensors))), None)
        if not isinstance(given, Mapping):
            return None if given is None else Entry(given, OF_THE_MODEL)
        is_in_force = "when" not in given or self._evaluate(given["when"])
        return self._row(given, with_tensors=with_tensors) if is_in_force else None

    def _row(self, given: Mapping[str, Any], *, with_tensors: bool) -> Entry | None:
        """The value of a row that applies; None if its source is missing."""
        note = given.get("note", "")
        if "tensor" in given:
            is_optional = given.get("optional", False)
            return self._tensor(given["tensor"], note, is_optional=is_optional) if with_tensors else None
        if "tensors" in given:
            return self._stacked(given) if with_tensors else None
        if "is" in given:
            names = self._names.unread()
            value = evaluate(given["is"], names)
            return None if value is None else Entry(value, self._origins.comment(names.read, note))
        value = given.get("value", given)
        if not isinstance(value, Mapping):
            return Entry(value, note or OF_THE_MODEL)
        inner = {name: self._entry(row, with_tensors=with_tensors) for name, row in value.items()}
        return Entry({name: entry for name, entry in inner.items() if entry is not None}, note)

    def _tensor(self, template: str, note: str, *, is_optional: bool) -> Entry | None:
        """The tensor of a name; raises AttnError if there is none, unless it is optional."""
        name, slices = split_slices(fill(template, self._names.unread()))
        quantized = self._tensors.quantized(name)
        if quantized is not None:
            return self._quantized(name, slices, quantized, note)
        tensor = self._tensors.find(name, slices)
        if tensor is None:
            if is_optional:
                return None
            raise self._tensors.missing(name)
        return Entry(tensor, f"{tensor}; {note}" if note else str(tensor))

    def _stacked(self, given: Mapping[str, Any]) -> Entry:
        """The tensors of a module's list, one for each `index` below `count`, as entries of one array."""
        found = []
        for index in range(self._evaluate(given["count"])):
            name = fill(given["tensors"].replace("{index}", str(index)), self._names.unread())
            tensor = self._tensors.find(name)
            if tensor is None:
                raise self._tensors.missing(name)
            found.append(tensor)
        return Entry(found, f"{len(found)} of {found[0]}")

    def _quantized(self, name: str, slices: str, value: Mapping[str, Mapping[str, Any]], note: str) -> Entry:
        """A quantized matrix; raises AttnError if the family takes slices of it, or its transpose."""
        layout = self._entry(self.part.part.keys.get("weight_layout"), with_tensors=False)
        if slices or layout is None or layout.value != "out_in":
            message = f"{name} is quantized; attn reads only whole quantized matrices [out in]"
            raise AttnError(message, where=str(self.part.checkpoint.folder))
        ((method, given),) = value.items()
        parameters = {
            key: Entry(found, str(found) if isinstance(found, TensorReference) else "") for key, found in given.items()
        }
        return Entry({method: Entry(parameters)}, note)

    def _check_type(self, key: str, value: Any) -> None:
        """Raise AttnError if the configuration has a value of another type than the key."""
        expected = _TYPES.get(FIELDS[key].kind, ()) if key in FIELDS else ()
        is_number_as_flag = isinstance(value, bool) and bool not in expected
        if expected and (not isinstance(value, expected) or is_number_as_flag):
            message = f"{key} would be {json_excerpt(value)}, which is not of the kind {FIELDS[key].kind}"
            raise AttnError(message, where=self.part.checkpoint.config_name)


def _check_heads(config: Mapping[str, Any], where: str) -> None:
    """Raise AttnError if the number of heads is invalid; rows handle a list with a number for each layer."""
    for name in _HEAD_COUNTS:
        value = config.get(name)
        is_number = isinstance(value, int) and not isinstance(value, bool) and value > 0
        if value is not None and not isinstance(value, list) and not is_number:
            raise AttnError(f"is {json_excerpt(value)}", where=(where, name), hint="expected a whole number from 1")


def find_layer(part: ModelPart, layer: int) -> LayerRows:
    """A layer by its number, negative from the end; raises AttnError if no problem can express it."""
    count = part.layer_count
    if not -count <= layer < count:
        hint = f"expected 0 to {count - 1}, or -1 for the last"
        raise AttnError(f"the {part.label} has no layer {layer}", hint=hint)
    found = LayerRows(part, layer % count)
    if found.unsupported is not None:
        layers = (LayerRows(part, number) for number in range(count))
        others = ", ".join(str(other.layer) for other in layers if other.unsupported is None)
        hint = f"attn reads layers {others}" if others else "attn reads none of its layers"
        raise AttnError(f"layer {found.layer} is {found.unsupported}", hint=hint)
    return found


def find_layers(part: ModelPart, text: str) -> list[LayerRows]:
    """The layers that a text names, each once: numbers as in `find_layer`, ranges, both between commas, or all.

    Raises AttnError if an item is neither, or there is no such layer.
    """
    if text.strip() == _ALL:
        layers = [LayerRows(part, number) for number in range(part.layer_count)]
        return [layer for layer in layers if layer.unsupported is None] or [find_layer(part, 0)]
    numbers: dict[int, LayerRows] = {}
    for word in text.split(","):
        match = _LAYERS.fullmatch(word)
        if match is None:
            hint = f"type 3, -1 for the last, 0-5, 0,3,5, or {_ALL}"
            raise AttnError(f"{word.strip()!r} is not a layer", where="--layer", hint=hint)
        first, last = (find_layer(part, int(number)).layer for number in (match[1], match[2] or match[1]))
        if last < first:
            message = f"{word.strip()!r} ends before it begins"
            raise AttnError(message, where="--layer", hint=f"type {last}-{first}")
        numbers |= {number: find_layer(part, number) for number in range(first, last + 1)}
    return list(numbers.values())


def _listed_type(part: ModelPart, layer: int) -> str | None:
    """The kind of a layer by `layer_types`; None without that list, AttnError if the layer is not in it."""
    listed = part.config.get("layer_types")
    if listed is None:
        return None
    kind = listed[layer] if isinstance(listed, list) and layer < len(listed) else None
    if not isinstance(kind, str):
        raise AttnError(f"does not say the kind of layer {layer}", where=(part.checkpoint.config_name, "layer_types"))
    return kind


def find_part(checkpoint: Checkpoint, name: str | None) -> ModelPart:
    """The named part, or the first one with tensors, or the first; raises UnknownNameError if there is none."""
    parts = model_parts(checkpoint)
    if name is not None and name not in parts:
        raise UnknownNameError("part", name, parts)
    if not parts:
        raise AttnError("has no layers", where=checkpoint.config_name)
    if name is not None:
        return parts[name]
    return next((part for part in parts.values() if has_tensors(part)), next(iter(parts.values())))


def has_tensors(part: ModelPart) -> bool:
    """Whether the checkpoint has weights of the part's first expressible layer; it opens no file.

    True if there is no such layer: a later error says why.
    """
    layers = (LayerRows(part, layer) for layer in range(part.layer_count))
    first = next((layer for layer in layers if layer.unsupported is None), None)
    return first is None or first.has_weights
