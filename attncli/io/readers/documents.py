"""YAML and JSON: an array in a file or in one of its entries, or the values of a problem."""

from collections.abc import Container, Mapping
from dataclasses import replace
from typing import Any

from attncli.base.errors import AttnError, UnknownNameError
from attncli.io.inputs import Input
from attncli.io.origin import Origin
from attncli.io.readers import json
from attncli.io.readers.descriptions import ArrayDescription, describe_value
from attncli.io.readers.entries import hint_to_name_one
from attncli.io.readers.slices import split_entry, take_labelled
from attncli.problem.arrays import LabelledArray, is_row, nested_lists_to_array, to_array
from attncli.problem.results import EXPECTED
from attncli.problem.spec import FIELDS

# The keys whose values are text as it is written, also where it looks like a number.
TEXT_KEYS = frozenset(name for name, field in FIELDS.items() if field.kind in ("labels", "text"))
TYPED_KEYS = frozenset({EXPECTED})  # the keys whose numbers know the digits that were typed
NO_ARRAY_HINT = "expected lists of numbers"
Lines = Mapping[int, int]  # the first line of each list and mapping, by the object's id


def read_yaml_array(source: Input, entry: str) -> LabelledArray:
    """The array in a YAML text, or in one of its entries."""
    return _array_in_document(*_read_yaml(source.text(), source.name), source.name, entry)


def read_json_array(source: Input, entry: str) -> LabelledArray:
    """The array in a JSON text, or in one of its entries."""
    return _array_in_document(json.read(source.text(), source.name), {}, source.name, entry)


def read_yaml_problem(source: Input) -> tuple[Mapping[str, Any], Lines]:
    """The values of a problem in a YAML text, and their lines."""
    return _values(*_read_yaml(source.text(), source.name, TEXT_KEYS, TYPED_KEYS), source.name)


def read_json_problem(source: Input) -> tuple[Mapping[str, Any], Lines]:
    """The values of a problem in a JSON text."""
    return _values(json.read(source.text(), source.name, TEXT_KEYS, TYPED_KEYS), {}, source.name)


def read_typed_yaml(source: Input) -> Any:
    """The value of a YAML text, whose numbers know the digits that were typed."""
    return _filled(_read_yaml(source.text(), source.name, typed_keys=None)[0], source.name)


def read_typed_json(source: Input) -> Any:
    """The value of a JSON text, whose numbers know the digits that were typed."""
    return _filled(json.read(source.text(), source.name, typed_keys=None), source.name)


def list_yaml(source: Input) -> list[ArrayDescription]:
    """The description of each entry of a YAML text, or of the array that it is."""
    return _describe(_read_yaml(source.text(), source.name, TEXT_KEYS)[0], source.name)


def list_json(source: Input) -> list[ArrayDescription]:
    """The description of each entry of a JSON text, or of the array that it is."""
    return _describe(json.read(source.text(), source.name, TEXT_KEYS), source.name)


def _describe(value: Any, name: str) -> list[ArrayDescription]:
    """The descriptions of the entries of a mapping, or that of an array alone."""
    if isinstance(_filled(value, name), Mapping):
        return [describe_value(str(key), entry) for key, entry in value.items()]
    return [describe_value("", value)]


def _filled(value: Any, name: str) -> Any:
    """The value of a document; raises AttnError where it is empty."""
    if value is None:
        raise AttnError("is empty", where=name)
    return value


def _values(value: Any, lines: Lines, name: str) -> tuple[Mapping[str, Any], Lines]:
    """The mapping that a document is."""
    value = _filled(value, name)
    if not isinstance(value, Mapping):
        hint = "expected keys such as embeddings: and w_q:; a matrix alone is given as --embeddings"
        raise AttnError("is no problem", where=name, hint=hint)
    return value, lines


def _array_in_document(value: Any, lines: Lines, name: str, entry: str) -> LabelledArray:
    """The array in a document: all of it, its one entry, the entry named, or a row for each key; or a part of it."""
    entry, index = split_entry(entry, value if isinstance(value, Mapping) else (), name)
    return take_labelled(_whole_array_in_document(_filled(value, name), lines, name, entry), index, name)


def _whole_array_in_document(value: Any, lines: Lines, name: str, entry: str) -> LabelledArray:
    """The array in a document, without slices."""
    origin = Origin(name, lines=lines)
    if entry:
        if not isinstance(value, Mapping):
            raise AttnError(f"has no entries, so #{entry} names nothing", where=name)
        if entry not in value:
            raise UnknownNameError("entry", entry, value, where=name)
        return _array(value[entry], entry, origin)
    if isinstance(value, Mapping) and len(value) == 1 and not is_row(next(iter(value.values()))):
        ((key, value),) = value.items()
        return _array(value, key, origin)
    if isinstance(value, Mapping) and not (value and all(map(is_row, value.values()))):
        arrays = [key for key, part in value.items() if _may_be_array(part)]
        noun = "is a problem" if set(value) & set(FIELDS) else "has several entries"
        hint = hint_to_name_one(name, arrays) if arrays else NO_ARRAY_HINT
        raise AttnError(noun, where=origin.path(subject=value), hint=hint)
    return _array(value, "", origin)


def _may_be_array(value: Any) -> bool:
    """Whether a value is a mapping, or a list of lists or of numbers."""
    return bool(value) and (isinstance(value, Mapping) or (isinstance(value, list) and not isinstance(value[0], str)))


def _array(value: Any, key: str, origin: Origin) -> LabelledArray:
    """Nested lists or labelled rows as an array; errors name the line."""
    path = (key,) if key else ()
    try:
        is_labelled = isinstance(value, Mapping)
        array = to_array(value, path) if is_labelled else LabelledArray(nested_lists_to_array(value, path))
        return replace(array, origin=origin.of_array(value))
    except AttnError as error:
        error.path = origin.path(*error.path, subject=error.subject)
        raise


def _read_yaml(
    text: str, name: str, text_keys: Container[str] = (), typed_keys: Container[str] | None = ()
) -> tuple[Any, Lines]:
    """The value of a YAML text and its lines."""
    from attncli.io.readers import yaml  # noqa: PLC0415 - a problem may be JSON, or all options

    return yaml.read(text, name, text_keys, typed_keys)
