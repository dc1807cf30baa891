"""The value of one key of a problem as the builder takes it: texts are read, everything else stays as it is."""

from collections.abc import Mapping
from typing import Any

from attncli.base.errors import AttnError, ErrorPath
from attncli.io.origin import Origin, RawValue
from attncli.io.parse import grammar
from attncli.io.parse.matrix import read_text_array
from attncli.ops.registry import is_operator, kinds, look_up
from attncli.problem.convert.numbers import is_number
from attncli.problem.convert.operators import chooses_operator
from attncli.problem.fields import Field

ARRAY_KINDS = ("matrix", "vector", "boolean_matrix", "counts", "vocabulary")


def read_value(field: Field, raw: RawValue) -> Any:
    """The value of a key with the texts in it read: files, generators, `NAME:key=value`, numbers between commas.

    Raises AttnError that names the file and line, the key, or the option.
    """
    value, origin, path = raw.value, raw.origin, (field.name,)
    if field.kind in kinds():
        return _read_operator(field.kind, value, path, origin)
    if field.kind == "boolean_matrix" and isinstance(value, Mapping) and chooses_operator("mask", value):
        return _read_operator("mask", value, path, origin)
    if not isinstance(value, str):
        return value
    if field.kind in ("vector", "counts"):
        numbers = _read_numbers(value)
        if numbers is not None:
            return numbers
    if field.kind in ARRAY_KINDS:
        array = read_text_array(value, path, origin, may_be_mask=field.kind == "boolean_matrix")
        is_mask = field.kind == "boolean_matrix" and isinstance(array, Mapping)
        return _read_operator("mask", array, path, origin) if is_mask else array
    if field.kind == "window" and value.count(",") == 1:
        return [grammar.inline(side, origin.path(*path)) for side in value.split(",")]
    return value


def _read_operator(kind: str, value: Any, path: ErrorPath, origin: Origin) -> Any:
    """`NAME:key=value` as `{NAME: {key: value}}`, and the texts among array parameters read."""
    if isinstance(value, str):
        name, given = grammar.parse(value, origin.path(*path))
        value = {name: given} if given else name
    if not isinstance(value, Mapping) or len(value) != 1:
        return value
    ((name, given),) = value.items()
    if not isinstance(given, Mapping) or not isinstance(name, str) or not is_operator(kind, name):
        return value  # the builder says what is wrong with it
    arrays = {parameter.name for parameter in look_up(kind, name).parameters if parameter.kind == "array"}
    texts = {key: text for key, text in given.items() if key in arrays and isinstance(text, str)}
    if not texts:
        return value
    read = {key: read_text_array(text, (*path, name, key), origin) for key, text in texts.items()}
    return {name: {**given, **read}}


def _read_numbers(text: str) -> list[int | float] | None:
    """The numbers of `3,5`; None where a part is no number."""
    numbers = []
    for part in text.split(","):
        try:
            number = grammar.inline(part, ())
        except AttnError:
            return None
        if not is_number(number):
            return None
        numbers.append(number)
    return numbers
