"""The values of config.json that say how a layer rotates: `rope_parameters`, or `rope_theta` and `rope_scaling`."""

from collections.abc import Mapping
from typing import Any

from attncli.base.errors import AttnError
from attncli.base.text import json_excerpt

_PLACES = ("rope_parameters", "rope_scaling")  # where newer and older files say it
_OF_ROPE = ("rope_theta", "partial_rotary_factor")  # values of rope, whatever its scaling is
_PROPORTIONAL = "proportional"  # a scaling that reads partial_rotary_factor itself
_LENGTHS = ("max_position_embeddings", "original_max_position_embeddings")  # they may stand beside the scaling


def rope_of_layer(config: Mapping[str, Any], layer_type: str | None) -> dict[str, Any]:
    """What a layer rotates by: `rope`, everything that the config says, and `rope_theta` … `rope_scaling` of it.

    They are None where the config does not say, and where nothing is scaled. Newer files have one mapping
    `rope_parameters`, or one for each type of layer in it.

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
    """Raise AttnError where what should say how layers rotate is no mapping; `where` is the name of config.json."""
    for name in _PLACES:
        found = config.get(name)
        if found is not None and not isinstance(found, Mapping):
            message = f"must be a mapping such as {{rope_type: linear, factor: 2}}, not {json_excerpt(found)}"
            raise AttnError(message, where=(where, name))


def rope_names(config: Mapping[str, Any], layer_type: str | None) -> dict[str, tuple[str, ...]]:
    """The names in the config of what `rope_of_layer` gives.

    >>> rope_names({"rope_parameters": {"rope_type": "default", "rope_theta": 5e5}}, None)["rope_theta"]
    ('rope_parameters.rope_theta',)
    """
    path, of_layer = _mapping_of_layer(config, layer_type)
    own = {name: (f"{path}.{name}" if name in of_layer else name,) for name in _OF_ROPE}
    lengths = (name for name in _LENGTHS if config.get(name) is not None and of_layer.get(name) is None)
    return {**own, "rope": (path,), "rope_scaling": (path, *lengths)}


def _mapping_of_layer(config: Mapping[str, Any], layer_type: str | None) -> tuple[str, Mapping[str, Any]]:
    """The mapping that says how a layer rotates, and its place in the config; an empty one where there is none."""
    path = next((name for name in _PLACES if config.get(name)), _PLACES[-1])
    of_layer = config.get(path) or {}
    kind = layer_type or "full_attention"
    if isinstance(of_layer.get(kind), Mapping):
        return f"{path}.{kind}", of_layer[kind]
    return path, of_layer
