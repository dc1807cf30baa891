"""The value of one key of a problem for `problem.build`: texts are parsed, other values stay as they are."""

from collections.abc import Callable, Mapping
from typing import Any

from attncli.base.errors import ErrorPath
from attncli.base.lazy_numpy import np
from attncli.io.origin import Origin, RawValue
from attncli.io.parse import grammar
from attncli.io.parse.matrix import read_text_array
from attncli.ops.registry import is_operator, look_up, taken_kinds
from attncli.problem.fields import Field
from attncli.problem.numbers import is_number
from attncli.problem.operators import FORMS, chooses_operator, form_of


def read_value(field: Field, raw: RawValue) -> Any:
    """The value of a key with the texts in it read: files, generators, `NAME:key=value`, numbers between commas.

    Raises AttnError that names the file and line, the key, or the option.
    """
    if type(raw.value) is np.ndarray or not isinstance(raw.value, (str, Mapping)):  # to ask for a mapping takes longer
        return raw.value
    value: Any = raw.value
    origin = raw.origin
    if field.kind in taken_kinds():
        return _read_operator(field.kind, value, field, origin)
    if field.kind == "boolean_matrix":
        return _read_mask(value, field, origin)
    if field.is_array and form_of(value) is not None:
        return _read_quantized(value, (field.name,), origin)
    read = TEXT_READERS.get(field.kind) if isinstance(value, str) else None
    return value if read is None else read(value, field, origin)


def _read_quantized(value: Any, path: ErrorPath, origin: Origin) -> dict[str, Any]:
    """A quantized array with the texts among its arrays read."""
    ((name, given),) = value.items()
    arrays = FORMS[name].all_arrays
    read = {
        key: read_text_array(text, (*path, name, key), origin, kind=None)
        for key, text in given.items()
        if key in arrays and isinstance(text, str)
    }
    return {name: {**given, **read}}


def _read_array(text: str, field: Field, origin: Origin) -> Any:
    """A text in place of an array, which may be a generator where the field is drawn; one number is one row."""
    kind = "generator" if field.is_random_fill else None
    value = read_text_array(text, (field.name,), origin, kind, are_rows_read=field.is_row_table)
    return [[value]] if is_number(value) else value


def _read_mask(value: Any, field: Field, origin: Origin) -> Any:
    """A table, or the operator of a mask with its array parameters read."""
    if isinstance(value, str):
        value = read_text_array(value, (field.name,), origin, kind="mask")
    is_mask = isinstance(value, Mapping) and chooses_operator("mask", value)
    return _read_operator("mask", value, field, origin) if is_mask else value


def _read_window(text: str, field: Field, origin: Origin) -> Any:
    """Two sides between a comma; any other text stays as it is."""
    if text.count(",") != 1:
        return text
    sides = text.split(",")
    numbers = [grammar.inline(side, origin.path(field.name)) for side in sides]
    return [side if number is None else number for side, number in zip(sides, numbers, strict=True)]


def _read_operator(kind: str, value: Any, field: Field, origin: Origin) -> Any:
    """`NAME:key=value` as `{NAME: {key: value}}`, and the texts among array parameters read."""
    if isinstance(value, str):
        name, given = grammar.parse(value, origin.path(field.name))
        value = {name: given} if given else name
    if not isinstance(value, Mapping) or len(value) != 1:
        return value
    ((name, given),) = value.items()
    if not isinstance(given, Mapping) or not isinstance(name, str) or not is_operator(kind, name):
        return value  # `problem.build` raises the error
    arrays = {parameter.name for parameter in look_up(kind, name).parameters if parameter.kind == "array"}
    texts = {key: text for key, text in given.items() if key in arrays and isinstance(text, str)}
    quantized = {key: entry for key, entry in given.items() if key in arrays and form_of(entry) is not None}
    if not texts and not quantized:
        return value
    read = {key: read_text_array(text, (field.name, name, key), origin) for key, text in texts.items()}
    numbers = {key: _read_quantized(entry, (field.name, name, key), origin) for key, entry in quantized.items()}
    return {name: {**given, **read, **numbers}}


TEXT_READERS: Mapping[str, Callable[[str, Field, Origin], Any]] = {
    "matrix": _read_array,
    "vocabulary": _read_array,
    "vector": _read_array,
    "counts": _read_array,
    "positions": _read_array,
    "booleans": _read_array,
    "window": _read_window,
}
