"""YAML and JSON: an array in a file or in one of its entries, or the values of a problem; and JSON, read and written.

JSON is as in `json.loads`, except that duplicate keys and numbers beyond all floats are errors.
"""

import json
import math
import re
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from attncli.base.errors import AttnError, UnknownNameError
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import escape_overrides, first_duplicate, shorten
from attncli.io.entries import describe_array, describe_value, hint_to_name_one, split_entry, take_labelled
from attncli.io.formats import ArrayDescription, Lines, Reader
from attncli.io.inputs import Input
from attncli.io.problem_files import Origin
from attncli.io.results import problem_of_result
from attncli.numbers.formatting import MAX_WHOLE, format_rows
from attncli.numbers.parsing import TypedNumber
from attncli.ops.records import Operator, ParameterMapping
from attncli.problem.arrays import GivenArray, is_row, nested_lists_to_array, to_array
from attncli.problem.fields import EXPECTED
from attncli.problem.mask_expressions import MaskExpression
from attncli.problem.spec import FIELDS

# The keys whose values stay text, even if they look like numbers.
TEXT_KEYS = frozenset(name for name, field in FIELDS.items() if field.kind in ("labels", "text", "tokenizer"))
TYPED_KEYS = frozenset({EXPECTED})  # the keys whose numbers know their typed digits
NO_ARRAY_HINT = "expected lists of numbers"
# The names in embedding services' answers and files for the vector, its text, and the list of both.
RECORD_VECTOR, RECORD_LABELS, RECORDS = "embedding", ("text", "input", "word", "token", "label"), "data"
_LARGE = re.compile(r"[0-9][eE]\+?[0-9]{3}|[0-9]{300}")  # a number that may be beyond all floats

# From a text, its name, the keys whose values are texts, and those whose numbers know their digits (None: all).
Read = Callable[[str, str, Container[str], Container[str] | None], tuple[Any, Lines]]
NON_FINITE = {"nan": '"NaN"', "inf": '"Infinity"', "-inf": '"-Infinity"'}
_NUMBERS_PER_PIECE = 2**12  # in a line that may be long
FormatTable = Callable[[Array], Iterator[list[str]]]


class _DocumentReader(Reader):
    """Reads texts of one syntax; `read` returns values and lines."""

    def __init__(self, read: Read) -> None:
        self._read = read

    def array(self, source: Input, entry: str) -> GivenArray:
        """The array in a document: all of it, its only entry, the named entry, or a row for each key; or a slice."""
        value, lines = self._read(source.text(), source.name, (), ())
        entry, index = split_entry(entry, value if isinstance(value, Mapping) else (), source.name)
        found = array_in_document(_filled(value, source.name), lines, source.name, entry)
        return take_labelled(found, index, source.name)

    def problem(self, source: Input) -> tuple[Mapping[str, Any], Lines]:
        """The values of a document's mapping, and their lines."""
        value, lines = self._read(source.text(), source.name, TEXT_KEYS, TYPED_KEYS)
        if not isinstance(_filled(value, source.name), Mapping):
            if isinstance(value, str):
                from attncli.io.yaml_errors import check_first_key  # noqa: PLC0415 - only a bare text needs it

                check_first_key(source.text(), source.name)
            hint = "expected keys such as embeddings: and w_q:; a matrix alone is given as --embeddings"
            raise AttnError("is not a problem", where=source.name, hint=hint)
        return problem_of_result(value, source.name, source.path.parent), lines

    def descriptions(self, source: Input) -> list[ArrayDescription]:
        """The description of each entry of a mapping, or of a document's array."""
        value = _filled(self._read(source.text(), source.name, TEXT_KEYS, ())[0], source.name)
        if records := _records(value):
            return [_describe_records(records, key, Origin(source.name)) for key in records[0]]
        entries = value if isinstance(value, Mapping) else {"": value}
        return [describe_value(str(key), entry) for key, entry in entries.items()]

    def expected(self, source: Input) -> Any:
        """The value of a document, whose numbers know their typed digits."""
        return _filled(self._read(source.text(), source.name, (), None)[0], source.name)


def _read_yaml(text: str, name: str, text_keys: Container[str], typed_keys: Container[str] | None) -> tuple[Any, Lines]:
    """The value of a YAML text, and its lines."""
    from attncli.io import yaml  # noqa: PLC0415 - a problem may be JSON, or all options

    return yaml.read(text, name, text_keys, typed_keys)


def _read_json_lines(text: str, name: str, *keys: Container[str] | None) -> tuple[Any, Lines]:
    """The values of the lines of a text, each of which is JSON; empty lines are left out."""
    values = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            values += [read_json(line, name)] if line.strip() else []
        except AttnError as error:
            error.path = (name, f"line {number}")  # instead of the line's own
            raise
    return values, {}


YAML_READER, JSON_READER = _DocumentReader(_read_yaml), _DocumentReader(lambda *text: (read_json(*text), {}))


class _JsonLinesReader(_DocumentReader):
    """Reads lines of JSON, which are objects, never a problem."""

    problem = Reader.problem


JSON_LINES_READER = _JsonLinesReader(_read_json_lines)


def _filled(value: Any, name: str) -> Any:
    """The value of a document; raises AttnError if it is empty."""
    if value is None:
        raise AttnError("is empty", where=name)
    return value


def array_in_document(value: Any, lines: Lines, name: str, entry: str) -> GivenArray:
    """The array in a document, without slices."""
    origin = Origin(name, lines=lines)
    records = _records(value)
    if records:
        return _of_records(records, entry or RECORD_VECTOR, origin)
    if entry:
        if not isinstance(value, Mapping):
            raise AttnError(f"has no entries, so #{entry} names nothing", where=name)
        if entry not in value:
            raise UnknownNameError("entry", entry, value, where=name)
        found = value[entry]
        if isinstance(found, Mapping) and len(found) == 1 and not is_row(inner := next(iter(found.values()))):
            found = inner  # a service's answer: {"float": [[…]]}
        return _array(found, entry, origin)
    if isinstance(value, Mapping) and len(value) == 1 and not is_row(next(iter(value.values()))):
        ((key, value),) = value.items()
        return _array(value, key, origin)
    if isinstance(value, Mapping) and not (value and all(map(is_row, value.values()))):
        arrays = [key for key, part in value.items() if _may_be_array(part)]
        if len(arrays) == 1 and not isinstance(value[arrays[0]], Mapping):
            return _array(value[arrays[0]], arrays[0], origin)
        noun = "is a problem" if set(value) & set(FIELDS) else "has several entries"
        hint = hint_to_name_one(name, arrays) if arrays else NO_ARRAY_HINT
        raise AttnError(noun, where=origin.path(subject=value), hint=hint)
    return _array(value, "", origin)


def _records(value: Any) -> list[Mapping[str, Any]]:
    """The objects in a list, as in JSON Lines, or in the `data` of a service's answer; otherwise none."""
    is_answer = isinstance(value, Mapping) and value.keys() != {RECORDS} and isinstance(value.get(RECORDS), list)
    records = value[RECORDS] if is_answer else value
    return records if isinstance(records, list) and all(isinstance(record, Mapping) for record in records) else []


def _of_records(records: list[Mapping[str, Any]], entry: str, origin: Origin) -> GivenArray:
    """The same entry of each object as a row, with the objects' texts, if any, as labels.

    Raises AttnError if an object lacks the entry.
    """
    for number, record in enumerate(records, 1):
        if entry not in record:
            where = (origin.name, f"object {number}")
            raise UnknownNameError("entry", entry, [key for key in record if _may_be_array(record[key])], where=where)
    found = _array([record[entry] for record in records], entry, origin)
    texts = ([record.get(name) for record in records] for name in RECORD_LABELS)
    labels = next((each for each in texts if all(isinstance(text, str) for text in each)), None)
    return found if labels is None else replace(found, labels=tuple(map(str, labels)))


def _describe_records(records: list[Mapping[str, Any]], key: str, origin: Origin) -> ArrayDescription:
    """The description of all objects' entry: an array with a row for each, otherwise their texts."""
    if _may_be_array(records[0][key]):
        try:
            return describe_array(key, _of_records(records, key, origin))
        except AttnError:  # of different lengths, or missing in one
            pass
    return describe_value(key, ", ".join(str(record.get(key)) for record in records))


def _may_be_array(value: Any) -> bool:
    """Whether a value is a mapping, or a list of lists or of numbers."""
    return bool(value) and (isinstance(value, Mapping) or (isinstance(value, list) and not isinstance(value[0], str)))


def _array(value: Any, key: str, origin: Origin) -> GivenArray:
    """Nested lists or labelled rows as an array; errors name the line."""
    path = (key,) if key else ()
    try:
        is_labelled = isinstance(value, Mapping)
        array = to_array(value, path) if is_labelled else GivenArray(nested_lists_to_array(value, path))
        return replace(array, origin=origin.of_array(value))
    except AttnError as error:
        error.path = origin.path(*error.path, subject=error.subject)
        raise


def read_json(text: str, name: str, text_keys: Container[str] = (), typed_keys: Container[str] | None = ()) -> Any:
    """The value of a JSON text; raises AttnError with the line.

    Numbers under a key in `text_keys`, and in the list under it, keep their spelling: `1.50` is the text `1.50`.
    Numbers anywhere under a key in `typed_keys` (None: all of the text) are TypedNumbers, which know their digits.
    """

    def too_large(digits: str) -> AttnError:
        """The error for a number, whose line must be searched, because `json` does not tell it."""
        line = text.count("\n", 0, text.index(digits)) + 1
        message = f"{shorten(digits)} is too large for a floating-point number"
        return AttnError(message, where=(name, f"line {line}"))

    def check_number(digits: str) -> None:
        """Raise AttnError for a number beyond all floats; `json` itself reads 1e999 as infinity."""
        if math.isinf(float(digits)):
            raise too_large(digits)

    try:
        value = json.loads(text, object_pairs_hook=_unique_keys)
        if _may_be_too_large(value) and _LARGE.search(text):
            json.loads(text, parse_float=check_number, parse_int=check_number)
        if _any_under(text_keys, value, _has_number):
            texts = json.loads(text, parse_float=str, parse_int=str, parse_constant=str)
            value = _with_values_of(texts, value, text_keys)
        if typed_keys is None or _any_under(typed_keys, value, lambda _: True):
            typed = json.loads(text, parse_float=TypedNumber, parse_int=TypedNumber)
            return typed if typed_keys is None else _with_values_of(typed, value, typed_keys)
        return value
    except json.JSONDecodeError as error:
        raise AttnError(f"is not JSON: {error.msg}", where=(name, f"line {error.lineno}")) from None
    except RecursionError:
        raise AttnError("lists are nested too deep", where=name) from None
    except AttnError as error:
        raise error if error.path else error.at(name) from None
    except ValueError:  # an integer with more digits than Python reads
        raise too_large(max(re.findall(r"[0-9]+", text), key=len)) from None


def _may_be_too_large(value: Any) -> bool:
    """Whether a number in a value is beyond all floats, or `Infinity` in the text."""
    if isinstance(value, dict):
        return any(map(_may_be_too_large, value.values()))
    if isinstance(value, list):
        try:
            return not math.isfinite(sum(value))
        except OverflowError:
            return True
        except TypeError:  # lists in the list, or words
            return any(map(_may_be_too_large, value))
    try:
        return isinstance(value, (int, float)) and not math.isfinite(value)
    except OverflowError:
        return True


def _any_under(keys: Container[str], value: Any, test: Callable[[Any], bool]) -> bool:
    """Whether a test holds for a value under one of the keys, in a mapping or in a list of mappings."""
    if isinstance(value, list):
        return any(isinstance(entry, dict) and _any_under(keys, entry, test) for entry in value)
    return isinstance(value, dict) and any(
        test(entry) if key in keys else _any_under(keys, entry, test) for key, entry in value.items()
    )


def _has_number(labels: Any) -> bool:
    """Whether a value is a number, or a list with one."""
    return any(type(label) in (int, float) for label in (labels if isinstance(labels, list) else [labels]))


def _with_values_of(other: Any, value: Any, keys: Container[str]) -> Any:
    """A value, with the values under some keys from another reading of the same text."""
    if isinstance(value, list) and any(isinstance(entry, dict) for entry in value):
        return [_with_values_of(*pair, keys) for pair in zip(other, value, strict=True)]
    if not isinstance(value, dict):
        return value
    return {
        key: other[key] if key in keys else _with_values_of(other[key], entry, keys) for key, entry in value.items()
    }


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A mapping without duplicate keys."""
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        keys = [key for key, _ in pairs]
        duplicate = first_duplicate(keys)
        raise AttnError(f"the key {duplicate!r} is given twice", hint="keep one of them")
    return mapping


def plain_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values by key, without operators and tuples."""
    return {name: plain_value(value) for name, value in values.items()}


def plain_value(value: Any) -> Any:
    """A value as mappings, lists, arrays, numbers and text; whole numbers without a point."""
    if isinstance(value, Operator):
        return {value.record.name: plain_values(value.given)} if value.given else value.record.name
    if isinstance(value, (MaskExpression, ParameterMapping)):
        return str(value) if isinstance(value, MaskExpression) else plain_values(value.as_mapping())
    if isinstance(value, np.ndarray) and value.ndim < 2:
        return plain_value(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain_value(entry) for entry in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < MAX_WHOLE and str(value) != "-0.0":
        return int(value)
    return value


def json_text(
    value: Any, *, ascii_only: bool = False, format_finite: Callable[[Any], str] | None = None
) -> Iterator[str]:
    """A value as JSON, in chunks: a list of scalars is on one line, other lists and mappings are on several.

    An array has a row per line. `format_finite` writes its finite numbers; others are strings.

    >>> print("".join(json_text({"heads": 2, "w_q": np.array([[1.5, 0.0], [0.0, np.inf]])})))
    {
      "heads": 2,
      "w_q": [
        [1.5, 0.0],
        [0.0, "Infinity"]
      ]
    }
    """
    encode_text = json.JSONEncoder(ensure_ascii=ascii_only).encode

    def encode(value: Any) -> str:
        return escape_overrides(encode_text(value))

    return _chunks(value, "", encode, partial(format_rows, non_finite=NON_FINITE, format_finite=format_finite))


def _chunks(value: Any, indent: str, encode: Callable[[Any], str], format_table: FormatTable) -> Iterator[str]:
    """A value as JSON, indented."""
    inner = indent + "  "
    if isinstance(value, np.ndarray) and value.ndim > 1 and not len(value):
        yield "[]"
    elif isinstance(value, np.ndarray) and value.ndim < 3:
        yield from _table(value, indent, format_table)
    elif isinstance(value, Mapping) and value:
        for number, (key, entry) in enumerate(value.items()):
            yield f"{',' if number else '{'}\n{inner}{_scalar(key, encode)}: "
            yield from _chunks(entry, inner, encode, format_table)
        yield f"\n{indent}}}"
    elif isinstance(value, np.ndarray) or (isinstance(value, list) and value and isinstance(value[0], (list, Mapping))):
        for number, entry in enumerate(value):
            yield f"{',' if number else '['}\n{inner}"
            yield from _chunks(entry, inner, encode, format_table)
        yield f"\n{indent}]"
    elif isinstance(value, list) and not set(map(type, value)) <= {str}:
        yield f"[{', '.join(_scalar(entry, encode) for entry in value)}]"
    else:  # there may be a text for each of very many rows
        yield encode(value) if isinstance(value, list) else _scalar(value, encode)


def _table(array: Array, indent: str, format_table: FormatTable) -> Iterator[str]:
    """An array of at most two axes, its last axis on one line."""
    if array.ndim < 2:
        yield "[" if array.ndim else ""
        for first in range(0, array.size, _NUMBERS_PER_PIECE):
            yield ", " if first else ""
            ((row,),) = format_table(array.reshape(1, -1)[:, first : first + _NUMBERS_PER_PIECE])
            yield row
        yield "]" if array.ndim else ""
        return
    before, between = f"[\n{indent}  [", f"],\n{indent}  ["
    for rows in format_table(array):
        yield before
        yield between.join(rows)
        before = between
    yield f"]\n{indent}]"


def _scalar(value: Any, encode: Callable[[Any], str]) -> str:
    """A number with its typed digits, or a string, also for a number that JSON can't represent."""
    if isinstance(value, float) and not math.isfinite(value):
        return NON_FINITE[str(float(value))]
    if isinstance(value, TypedNumber) and value.decimal is not None:
        return str(value.decimal)
    return encode(value)
