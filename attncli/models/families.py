"""Families of models: the attention of a `model_type`, as data in `families/MODEL_TYPE.yaml`.

A family has parts (decoder, encoder, cross …), each with rows: a key of a problem, and the source of its value. A
family that is `like` another has its parts, with its own rows replacing that family's; a row or a part that is null is
left out. A part may also be `like: FAMILY.PART`. In a part named `cross` queries and keys come from different
sequences. A file begins with the lines `about: …` and `source: …`.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import resources
from importlib.resources.abc import Traversable
from itertools import zip_longest
from typing import Any

from attncli.base.errors import UnknownNameError

SUFFIX = ".yaml"
CROSS = "cross"
DEFAULTS_FILE = "config_defaults.json"  # written by tests/peers/config_defaults.py
_TYPO = 0.82  # similarity, of 1, of two names with the same numbers above which one is the other mistyped


@dataclass(frozen=True)
class Part:
    """A part of a model: its number of layers, and the rows of their keys.

    `names` are templates for its tensors' names, `defaults` the values that config.json leaves out, `config` the key
    (`text_config`, or `a.b`) that holds its values, `roots` the beginnings of its tensors' names (without them whatever
    the file has). `layer_type` is an expression on one layer, for a config.json without `layer_types`; `unsupported`
    has, for layers that rows can't express, an expression `when` and the words `what` they are. With `model`, an
    expression, the part is the first one of the family of that name.
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


class Family:
    """The models of one `model_type`: their name, the source of their attention, and their parts.

    Only parts need the whole file: a list of all families reads the first lines of each.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def about(self) -> str:
        """The name of the models."""
        return self._line("about")

    @property
    def source(self) -> str:
        """The file of transformers with their attention."""
        return self._line("source")

    @cached_property
    def parts(self) -> Mapping[str, Part]:
        """The parts by name, with the rows of the families that this one is like."""
        return {name: Part(**values) for name, values in _parts(self.name).items()}

    def _line(self, key: str) -> str:
        """The value of a line at the head of the file; a quoted one is JSON."""
        with _file(self.name).open(encoding="utf-8") as lines:
            text = next(line for line in lines if line.startswith(key)).removeprefix(f"{key}: ").rstrip()
        return str(json.loads(text)) if text.startswith('"') else text


@cache
def family_names() -> list[str]:
    """The known model types, in alphabetical order."""
    files = (file.name for file in models_folder().joinpath("families").iterdir() if file.name.endswith(SUFFIX))
    return sorted((name.removesuffix(SUFFIX) for name in files), key=str.casefold)


def summaries_of_families() -> Iterator[tuple[str, str]]:
    """The model type of each family, and its summary."""
    yield from ((name, read_family(name, "model").about) for name in family_names())


def read_family(name: str, where: str) -> Family:
    """The family of a model type; raises UnknownNameError if there is none."""
    names = family_names()
    if name not in names:
        error = UnknownNameError("model_type", name, names, where=where)
        nearest = nearest_family(name, names)
        error.hint = f"did you mean {nearest!r}?" if nearest else "attn list models has the known ones"
        raise error
    return Family(name)


@cache
def models_folder() -> Traversable:
    """The folder of the families, and of the defaults of their configurations."""
    return resources.files("attncli").joinpath("models")


@cache
def config_defaults() -> Mapping[str, Mapping[str, Mapping[str, Any]]]:
    """The values that a config.json may leave out: by family, and by the key that holds a part's values ("": none)."""
    text = models_folder().joinpath(DEFAULTS_FILE).read_text(encoding="utf-8")
    found: Mapping[str, Mapping[str, Mapping[str, Any]]] = json.loads(text)
    return found


def _file(name: str) -> Traversable:
    """The file of a family."""
    return models_folder().joinpath("families", f"{name}{SUFFIX}")


@cache
def _document(name: str) -> Mapping[str, Any]:
    """The file of a family as written."""
    import yaml  # noqa: PLC0415 - `attn list models` does not need it

    text = _file(name).read_text(encoding="utf-8")
    document: Mapping[str, Any] = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return document


def _parts(name: str) -> dict[str, dict[str, Any]]:
    """The parts of a family over those of the family that it is like."""
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
    """The fields of a part over another's: mappings are merged entry by entry, other fields replaced."""
    merged = dict(base)
    for name, value in values.items():
        merged[name] = {**base[name], **value} if isinstance(value, Mapping) and name in base else value
    return merged


def nearest_family(name: str, known: Collection[str]) -> str | None:
    """The nearest known family; None if none is near, as a few letters in common mean nothing.

    >>> nearest_family("qwen4_moe", ["qwen2_moe", "qwen3_moe", "qwen3"])
    'qwen3_moe'
    >>> nearest_family("GPT2-xl", ["gpt2", "gptj"]), nearest_family("mamba", ["jamba"])
    ('gpt2', None)
    """
    word, numbers = name.casefold(), _numbers(name)
    versions = [other for other in known if _letters(other) == _letters(word)]
    if versions:  # of the nearest numbers; a name without one is version 1
        differences = {other: zip_longest(numbers, _numbers(other), fillvalue=1) for other in versions}
        return min(versions, key=lambda other: [abs(a - b) for a, b in differences[other]])
    bases = [other for other in known if re.match(rf"{re.escape(other)}[^a-z0-9]", word)]
    if bases:  # `gpt2` of `gpt2-xl`
        return max(bases, key=len)
    from difflib import get_close_matches  # noqa: PLC0415 - only a wrong name needs it

    alike = [other for other in known if _numbers(other) == numbers]
    return next(iter(get_close_matches(word, alike, n=1, cutoff=_TYPO)), None)


def _letters(word: str) -> str:
    """The letters of a name, without its numbers and separators."""
    return re.sub("[^a-z]", "", word.casefold())


def _numbers(word: str) -> list[int]:
    """The numbers in a name, usually of a version."""
    return [int(digits) for digits in re.findall(r"[0-9]{1,9}", word)]
