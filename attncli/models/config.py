"""The configuration of a checkpoint: its parts, their values in config.json, and the rotation of layers."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from attncli.base.errors import AttnError
from attncli.base.text import json_excerpt
from attncli.models.checkpoint import Checkpoint
from attncli.models.expressions import Names, evaluate
from attncli.models.families import CROSS, Family, Part, config_defaults, read_family

MAX_LAYERS = 10_000  # more are a mistake
_LAYER_COUNT = re.compile(r"(?:^|(?<!window)_)layers?$")  # max_window_layers is the first layer without windows
_PLACES = ("rope_parameters", "rope_scaling")  # keys for it in newer and older files
_OF_ROPE = ("rope_theta", "partial_rotary_factor")  # values of rope, whatever its scaling
_PROPORTIONAL = "proportional"  # a scaling that itself reads partial_rotary_factor
_LENGTHS = ("max_position_embeddings", "original_max_position_embeddings")  # they may be next to the scaling


@dataclass(frozen=True)
class ModelPart:
    """One part of a checkpoint's model: its name, its rows, the values of config.json, and those it leaves out."""

    checkpoint: Checkpoint
    family: Family
    name: str
    part: Part
    given: Mapping[str, Any]
    defaults: Mapping[str, Any] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """Its name in a sentence."""
        return "cross-attention" if self.name == CROSS else self.name

    @property
    def config(self) -> Mapping[str, Any]:
        """The values that rows read."""
        return {**self.defaults, **self.given}

    @property
    def left_out(self) -> frozenset[str]:
        """The names of values that no file has."""
        return frozenset(self.defaults.keys() - self.given.keys())

    @property
    def layer_count(self) -> int:
        """Its number of layers; raises AttnError if the configuration does not say."""
        where = self.checkpoint.config_name
        count = evaluate(self.part.layers, Names(self.config, where, self.left_out))
        if count is None:
            raise AttnError(f"has no {self.part.layers}", where=where, hint="expected the config of a whole model")
        if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count <= MAX_LAYERS:
            raise _not_a_layer_count(self.part.layers, count, where)
        return count


def check_layer_counts(config: Mapping[str, Any], where: str) -> None:
    """Raise AttnError if a number of layers in a configuration, or in one of its parts, is impossible."""
    for name, value in config.items():
        if isinstance(value, Mapping):
            check_layer_counts(value, where)
        elif _LAYER_COUNT.search(name) and isinstance(value, int) and value > MAX_LAYERS:
            raise _not_a_layer_count(name, value, where)


def _not_a_layer_count(name: str, value: Any, where: str) -> AttnError:
    message = f"{name} is {json_excerpt(value)}, which is not a number of layers"
    return AttnError(message, where=where, hint=f"expected 1 to {MAX_LAYERS}")


def model_parts(checkpoint: Checkpoint) -> dict[str, ModelPart]:
    """The parts by name, without parts that this model lacks.

    Raises UnknownNameError if the model's family is unknown.
    """
    family = read_family(checkpoint.model_type, checkpoint.config_name)
    parts = {name: _model_part(checkpoint, family, name, part) for name, part in family.parts.items()}
    return {name: part for name, part in parts.items() if part.layer_count}


def _model_part(checkpoint: Checkpoint, family: Family, name: str, part: Part) -> ModelPart:
    """A part with its configuration, or the family's that it names, with its own rows replacing that family's."""
    own = _part_of_config(checkpoint, part.config)
    if part.model is not None:
        config = {**part.defaults, **own}
        inner = read_family(str(evaluate(part.model, Names(config, checkpoint.config_name))), checkpoint.config_name)
        first = next(iter(inner.parts.values()))
        family, part = inner, replace(first, roots=part.roots or first.roots, keys={**first.keys, **part.keys})
    defaults = config_defaults().get(family.name, {}).get(part.config or "", {})
    return ModelPart(checkpoint, family, name, part, own, {**defaults, **part.defaults})


def _part_of_config(checkpoint: Checkpoint, key: str | None) -> Mapping[str, Any]:
    """The values of config.json for a part; raises AttnError if they are not an object.

    Older files have the values of the text next to the images' object (Qwen2-VL), not in their own.
    """
    found: Any = checkpoint.config
    for name in key.split(".") if key else ():
        found = found.get(name) or found
        if not isinstance(found, dict):
            raise AttnError("is not an object", where=(checkpoint.config_name, name))
    config: Mapping[str, Any] = found
    return config


def rope_of_layer(config: Mapping[str, Any], layer_type: str | None) -> dict[str, Any]:
    """The rotation of a layer: `rope`, everything in the config, and `rope_theta` … `rope_scaling` from it.

    They are None if the config lacks them, or nothing is scaled. Newer files have one mapping `rope_parameters`, or one
    for each type of layer in it.

    >>> rope_of_layer({"rope_parameters": {"rope_type": "default", "rope_theta": 5e5}}, None)["rope_theta"]
    500000.0
    """
    _, of_layer = _mapping_of_layer(config, layer_type)
    own = {name: of_layer.get(name, config.get(name)) for name in _OF_ROPE}
    kind = of_layer.get("rope_type", of_layer.get("type", "default"))
    others = _OF_ROPE[:1] if kind == _PROPORTIONAL else _OF_ROPE
    scaling = {name: value for name, value in of_layer.items() if name not in others and value is not None}
    scaling |= {name: config[name] for name in _LENGTHS if config.get(name) is not None and name not in scaling}
    return {**own, "rope": {**own, **of_layer}, "rope_scaling": None if kind == "default" else scaling}


def check_rope(config: Mapping[str, Any], where: str) -> None:
    """Raise AttnError if the value for a rotation is not a mapping; `where` is the name of config.json."""
    for name in _PLACES:
        found = config.get(name)
        if found is not None and not isinstance(found, Mapping):
            message = f"must be a mapping such as {{rope_type: linear, factor: 2}}, not {json_excerpt(found)}"
            raise AttnError(message, where=(where, name))


def rope_names(config: Mapping[str, Any], layer_type: str | None) -> dict[str, tuple[str, ...]]:
    """The names in the config for the values of `rope_of_layer`.

    >>> rope_names({"rope_parameters": {"rope_type": "default", "rope_theta": 5e5}}, None)["rope_theta"]
    ('rope_parameters.rope_theta',)
    """
    path, of_layer = _mapping_of_layer(config, layer_type)
    own = {name: (f"{path}.{name}" if name in of_layer else name,) for name in _OF_ROPE}
    lengths = (name for name in _LENGTHS if config.get(name) is not None and of_layer.get(name) is None)
    return {**own, "rope": (path,), "rope_scaling": (path, *lengths)}


def _mapping_of_layer(config: Mapping[str, Any], layer_type: str | None) -> tuple[str, Mapping[str, Any]]:
    """The mapping for a layer's rotation, and its location in the config; empty if there is none."""
    path = next((name for name in _PLACES if config.get(name)), _PLACES[-1])
    of_layer = config.get(path) or {}
    kind = layer_type or "full_attention"
    if isinstance(of_layer.get(kind), Mapping):
        return f"{path}.{kind}", of_layer[kind]
    return path, of_layer
