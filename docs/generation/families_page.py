"""The page of families: the models whose checkpoints `attn model` reads, and which keys their layers have."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from attncli.models.families import Part, family_names, read_family
from attncli.problem.fields import MASKS, PROJECTIONS, STAGES
from attncli.problem.spec import FIELDS

from .markdown import table

PAGE = "families.md"

HEAD = """# Supported model families

Generated from the files in `attncli/models/families`. [`attn model`](models.md) reads the models of {count} families,
by the `model_type` in config.json. The last column has the parts of a model, as `--part` takes them, and what their
attention has beside heads, weights and biases: keys of a problem, with the operators and the switches that are the same
in every checkpoint; the numbers are in config.json. *or* is between what a checkpoint or a layer has one of. *Not read*
says which layers no problem can say.
"""

_PANELS = (PROJECTIONS, STAGES, MASKS)  # the keys that say how a layer attends
_OF_ALL = re.compile(r"[wb]_(q|k|v|o|qkv|kv)|heads|weight_layout")  # keys that every family has
_WHAT = ("is", "value", "tensor")  # where the value of a row is from


def generate() -> str:
    """The page as Markdown."""
    names = family_names()
    rows = [(f"`{name}`", read_family(name, name).about, "<br>".join(_lines(name))) for name in names]
    return "\n".join([HEAD.format(count=len(names)), table(("`model_type`", "models", "parts"), rows), ""])


def _lines(name: str) -> Iterator[str]:
    """A line for each part of a family, or for parts that have the same, one after the other."""
    texts = [(part, _part_text(value)) for part, value in read_family(name, name).parts.items()]
    for text, parts in groupby(texts, key=lambda pair: pair[1]):
        yield f"*{', '.join(part for part, _ in parts)}*: {text}"


def _part_text(part: Part) -> str:
    """What a part has, or where its family stands."""
    if part.model is not None:
        default = part.defaults.get("model_type")
        return f"a family of its own, by `{part.config}`" + (f" (`{default}` where it says none)" if default else "")
    has = [f"`{text}`" for key, row in part.keys.items() if _says_how(key) for text in [_key_text(key, row)] if text]
    not_read = [f"not read: {row['what']}" for row in part.unsupported]
    return "; ".join([", ".join(has) or "no more", *not_read])


def _says_how(key: str) -> bool:
    """Whether a key says how a layer attends, in another way than every family has it."""
    return FIELDS[key].panel in _PANELS and not _OF_ALL.fullmatch(key)


def _key_text(key: str, row: Any) -> str:
    """A key with what is the same in all checkpoints; "" where the family has none."""
    rows = row if isinstance(row, Sequence) and not isinstance(row, str) and _are_rows(row) else [row]
    texts = list(dict.fromkeys(text for one in rows if (text := _value_text(one)) is not None))
    if not texts:
        return ""
    values = " or ".join(filter(None, texts))
    return f"{key}: {values}" if values else key


def _are_rows(rows: Sequence[Any]) -> bool:
    """Whether a list has alternatives, of which the first that holds is taken, and is no value itself."""
    return any(isinstance(row, Mapping) for row in rows)


def _value_text(row: Any) -> str | None:
    """What a row says for all checkpoints: a word, an operator; "" where it is read, None where there is none."""
    value = next((row[what] for what in _WHAT if what in row), row) if isinstance(row, Mapping) else row
    if isinstance(row, Mapping) and ("is" in row or "tensor" in row):
        return None if value in ("None", "False") else ""
    if isinstance(value, Mapping):
        return _operator_text(value)
    return _constant(value)


def _operator_text(operator: Mapping[str, Any]) -> str:
    """The name of an operator, and the parameters that are the same in all checkpoints: `rope:interleaved`."""
    name, parameters = next(iter(operator.items()))
    if isinstance(parameters, str):  # the scaling of rope, as config.json has it
        return f"{{{name}: {parameters}}}"
    given = parameters.get("value", parameters) if isinstance(parameters, Mapping) else {}
    constants = {key: _value_text(row) for key, row in given.items() if not isinstance(row, list)}
    words = ",".join(f"{key}={text}" for key, text in constants.items() if text)
    flags = ",".join(key for key, row in given.items() if row is True or _is_true(row))
    inner = ",".join(filter(None, (flags, words)))
    return f"{name}:{inner}" if inner else name


def _is_true(row: Any) -> bool:
    """Whether a row switches something on, whatever the checkpoint."""
    return isinstance(row, Mapping) and row.get("value") is True


def _constant(value: Any) -> str | None:
    """A value of YAML: "" of a flag that is on."""
    if value is None or value is False:
        return None
    return "" if value is True else str(value)
