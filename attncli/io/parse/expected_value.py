"""The numbers that are expected of one result: in a text, in a file or in one of its entries, with the digits typed."""

from collections.abc import Mapping
from typing import Any

from attncli.base.errors import AttnError, ErrorPath, UnknownNameError
from attncli.base.lazy_numpy import np
from attncli.io import formats
from attncli.io.inputs import Input
from attncli.io.origin import Origin
from attncli.io.parse.matrix import open_file
from attncli.io.parse.typed_matrix import read_digits, read_typed_matrix
from attncli.io.paths import is_there
from attncli.io.readers.entries import Entry, hint_to_name_one
from attncli.io.readers.result_object import results_of
from attncli.io.readers.slices import WHOLE, Index, split_entry, take, take_labelled
from attncli.numbers.parsing import TypedNumber, number_of_text
from attncli.problem.convert.arrays import LabelledArray, is_row
from attncli.problem.convert.numbers import is_number


def read_expected_value(value: Any, name: str, key: str, origin: Origin) -> Any:
    """What is expected of the result of that name: an array, or lists and mappings whose numbers are TypedNumbers.

    A text is rows of numbers, nested lists, or a file, in which an entry of the result's own name needs no `#`. `key`
    is that under which the value was given. Raises AttnError where a text is none of these, or can't be read.
    """
    path = origin.path(key, name)
    if isinstance(value, Entry):
        return value.read()
    if isinstance(value, str):
        value = _read_text(value.strip(), name, key, origin)
    try:
        return _with_numbers(value)
    except AttnError as error:
        raise error.at(*path) from None


def _read_text(text: str, name: str, key: str, origin: Origin) -> Any:
    """The numbers that a text is, or those of the file that it names."""
    path = origin.path(key, name)
    typed = None if is_there(origin.folder / text) else read_typed_matrix(text, path, read_digits)
    if typed is not None:
        return [[typed]] if is_number(typed) else typed
    if text[:1] in ("[", "{"):
        return _read_inline(text, path)
    source, entry = open_file(text, (key, name), origin, None)
    return _select(results_of(formats.read_expected(source)), entry, name, source)


def _read_inline(text: str, path: ErrorPath) -> Any:
    """Nested lists and mappings as YAML reads them."""
    from attncli.io.readers import yaml  # noqa: PLC0415 - most numbers are in files

    try:
        return yaml.read(text, "", typed_keys=None)[0]
    except AttnError as error:
        error.path = path  # the line is left out: there is but one
        raise


def _select(content: Any, text: str, name: str, source: Input) -> Any:
    """One result of all that a file holds: the entry that a text names, the one of its own name, or everything."""
    entries = content if isinstance(content, Mapping) else {}
    entry, index = split_entry(text, entries, source.name)
    if entry and not entries:
        raise AttnError(f"has no entries, so #{entry} names nothing", where=source.name)
    if entry and entry not in entries:
        raise UnknownNameError("entry", entry, entries, where=source.name)
    if entry or name in entries:
        return _part(entries[entry or name], index, source.name)
    if entries and all(isinstance(value, Entry) for value in entries.values()):
        if len(entries) > 1:
            hint = hint_to_name_one(source.name, entries)
            raise AttnError(f"has {len(entries)} entries and none is {name}", where=source.name, hint=hint)
        return _part(next(iter(entries.values())), index, source.name)
    return _part(content, index, source.name)


def _part(value: Any, index: Index, where: str) -> Any:
    """The part of an entry, an array or nested lists that slices select; raises AttnError where it can't be sliced."""
    if isinstance(value, Entry):
        return value.read(index)
    if isinstance(value, LabelledArray):
        return take_labelled(value, index, where)
    if index == WHOLE:
        return value
    rows = list(value.values()) if isinstance(value, Mapping) and all(map(is_row, value.values())) else value
    if not isinstance(rows, list):
        raise AttnError("is no list of rows, and can't be sliced", where=where)
    return take(np.array(rows, dtype=object), index, where).tolist()


def _with_numbers(value: Any) -> Any:
    """Nested lists and mappings with their texts that are numbers, such as `1/2` and `NaN`, as numbers.

    A list without such a text stays the same object, by which errors find its line.
    """
    if isinstance(value, Mapping):
        return {label: _with_numbers(part) for label, part in value.items()}
    if isinstance(value, list):
        parts = [_with_numbers(part) for part in value]
        return value if all(part is old for part, old in zip(parts, value, strict=True)) else parts
    number = number_of_text(value) if isinstance(value, str) else None
    return value if number is None else TypedNumber(value, number)
