"""Families of models: what the attention of a `model_type` is, as data in `attncli/models/MODEL_TYPE.yaml`.

A family has parts (decoder, encoder, cross …), each with rows: a key of a problem, and where its value is from. A
family that is `like` another has its parts, with the rows that it gives in place of those; a row or a part that is
null is left out. A part may also be `like: FAMILY.PART`. In a part named `cross` the queries are of another sequence
than the keys.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

import yaml

from attncli.base.dataclasses import dataclass
from attncli.base.errors import UnknownNameError
from attncli.io.checkpoint.nearest_family import nearest_family

SUFFIX = ".yaml"
CROSS = "cross"
DEFAULTS_FILE = "config_defaults.json"  # written by tests/peers/config_defaults.py


@dataclass(frozen=True)
class Part:
    """A part of a model: how many layers it has, and the rows of their keys.

    `names` are templates that its tensors' names are made of, `defaults` the values that config.json leaves out,
    `config` the key (`text_config`, or `a.b`) under which its values stand there, `roots` what the names of its
    tensors begin with (without them whatever the file has). `layer_type` is an expression on one layer, where
    `layer_types` of config.json does not say it; `unsupported` has for layers that no rows can say an expression `when`
    and the words `what` they are. With `model`, an expression, the part is the first one of the family of that name.
    """

    layers: str = "num_hidden_layers"
    keys: Mapping[str, Any] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    config: str | None = None
    roots: Sequence[str] = ()
    layer_type: str = "None"
    unsupported: Sequence[Mapping[str, str]] = ()
    model: str | None = None


@dataclass(frozen=True)
class Family:
    """The models of one `model_type`: what they are called, where their attention was read, and their parts."""

    name: str
    about: str
    source: str
    parts: Mapping[str, Part]


def family_names() -> list[str]:
    """The model types that are known, in the order of the alphabet."""
    files = (file.name for file in models_folder().iterdir() if file.name.endswith(SUFFIX))
    return sorted((name.removesuffix(SUFFIX) for name in files), key=str.casefold)


def read_family(name: str, where: str) -> Family:
    """The family of a model type; raises UnknownNameError where there is none."""
    names = family_names()
    if name not in names:
        error = UnknownNameError("model_type", name, names, where=where)
        nearest = nearest_family(name, names)
        error.hint = f"did you mean {nearest!r}?" if nearest else "attn list models has those that are known"
        raise error
    document = _document(name)
    parts = {part: Part(**values) for part, values in _parts(name).items()}
    return Family(name, document["about"], document.get("source", ""), parts)


def models_folder() -> Traversable:
    """Where the families are."""
    return resources.files("attncli").joinpath("models")


@cache
def config_defaults() -> Mapping[str, Mapping[str, Mapping[str, Any]]]:
    """What a config.json may leave out: by family, and by the key under which a part's values stand ("": none)."""
    import json  # noqa: PLC0415 - only checkpoints have such files

    text = models_folder().joinpath(DEFAULTS_FILE).read_text(encoding="utf-8")
    found: Mapping[str, Mapping[str, Mapping[str, Any]]] = json.loads(text)
    return found


@cache
def _document(name: str) -> Mapping[str, Any]:
    """The file of a family as it is written."""
    text = models_folder().joinpath(f"{name}{SUFFIX}").read_text(encoding="utf-8")
    document: Mapping[str, Any] = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return document


def _parts(name: str) -> dict[str, dict[str, Any]]:
    """The parts of a family upon those of the family that it is like."""
    document = _document(name)
    parts = _parts(document["like"]) if "like" in document else {}
    for part, given in document.get("parts", {}).items():
        if given is None:
            del parts[part]
            continue
        values = dict(given)
        base = parts.get(part, {})
        if "like" in values:
            family, _, other = values.pop("like").partition(".")
            base = _parts(family)[other]
        parts[part] = _merged(base, values)
    return parts


def _merged(base: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a part upon those of another: mappings are merged entry by entry, other fields replaced."""
    merged = dict(base)
    for name, value in values.items():
        merged[name] = {**base[name], **value} if isinstance(value, Mapping) and name in base else value
    return merged
