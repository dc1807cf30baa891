"""YAML and JSON: an array in a file or in one of its entries, or the values of a problem."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attncli.base.errors import AttnError, UnknownNameError
from attncli.io.origin import Origin, read_text
from attncli.io.readers import json
from attncli.problem.convert.arrays import LabelledArray, is_row, to_array
from attncli.problem.convert.nested_lists import nested_lists_to_array

Lines = Mapping[int, int]  # the first line of each list and mapping, by the object's id


def read_yaml_array(path: Path, entry: str) -> LabelledArray:
    """The array in a YAML file, or in one of its entries."""
    return array_in_text(read_text(str(path), path), str(path), entry, is_json=False)


def read_json_array(path: Path, entry: str) -> LabelledArray:
    """The array in a JSON file, or in one of its entries."""
    return array_in_text(read_text(str(path), path), str(path), entry, is_json=True)


def read_yaml_problem(path: Path, name: str) -> tuple[Mapping[str, Any], Lines]:
    """The values of a problem in a YAML file, and their lines."""
    return problem_in_text(read_text(name, path), name)


def read_json_problem(path: Path, name: str) -> tuple[Mapping[str, Any], Lines]:
    """The values of a problem in a JSON file."""
    return _values(json.read(read_text(name, path), name), {}, name)


def problem_in_text(text: str, name: str) -> tuple[Mapping[str, Any], Lines]:
    """The values of a problem in a text: JSON where it begins with a brace and is JSON, else YAML.

    Raises AttnError that names the line where it is neither, or where it is no mapping.
    """
    if text.lstrip()[:1] == "{":
        try:
            return _values(json.read(text, name), {}, name)
        except AttnError:
            return _values(*_read_yaml(text, name), name)
    return _values(*_read_yaml(text, name), name)


def _values(value: Any, lines: Lines, name: str) -> tuple[Mapping[str, Any], Lines]:
    """The mapping that a document is."""
    if value is None:
        raise AttnError("is empty", where=name)
    if not isinstance(value, Mapping):
        hint = "expected keys such as embeddings: and w_q:; a matrix alone is given as --embeddings"
        raise AttnError("is no problem", where=name, hint=hint)
    return value, lines


def array_in_text(text: str, name: str, entry: str, *, is_json: bool) -> LabelledArray:
    """The array in a YAML or JSON text: all of it, its one entry, the entry named, or a row for each key."""
    value, lines = (json.read(text, name), {}) if is_json else _read_yaml(text, name)
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
        hint = f"name one: {name}#{next(iter(value))}" if value else "expected lists of numbers"
        raise AttnError("has several entries", where=origin.path(subject=value), hint=hint)
    return _array(value, "", origin)


def _array(value: Any, key: str, origin: Origin) -> LabelledArray:
    """Nested lists or labelled rows as an array; errors name the line."""
    path = (key,) if key else ()
    try:
        if isinstance(value, Mapping):
            return to_array(value, path)
        return LabelledArray(nested_lists_to_array(value, path))
    except AttnError as error:
        error.path = origin.path(*error.path, subject=error.subject)
        raise


def _read_yaml(text: str, name: str) -> tuple[Any, Lines]:
    """The value of a YAML text and its lines."""
    from attncli.io.readers import yaml  # noqa: PLC0415 - a problem may be JSON, or all options

    return yaml.read(text, name)
