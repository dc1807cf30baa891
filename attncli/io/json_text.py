"""JSON: values as mappings, lists, numbers and text, and these as JSON, in chunks, a row of an array on each line."""

import json
import math
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

from attncli.base.lazy_numpy import Array, np
from attncli.numbers.formatting import MAX_WHOLE, format_rows
from attncli.numbers.parsing import TypedNumber
from attncli.ops.records import Operator, ParameterMapping

NON_FINITE = {"nan": '"NaN"', "inf": '"Infinity"', "-inf": '"-Infinity"'}
_NUMBERS_PER_PIECE = 2**12  # of a line that may be long


def plain_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values by their keys, without operators and tuples."""
    return {name: plain_value(value) for name, value in values.items()}


def plain_value(value: Any) -> Any:
    """A value as mappings, lists, arrays, numbers and text; whole numbers without a point."""
    if isinstance(value, Operator):
        return {value.record.name: plain_values(value.given)} if value.given else value.record.name
    if isinstance(value, ParameterMapping):
        return plain_values(value.as_mapping())
    if isinstance(value, np.ndarray) and value.ndim < 2:
        return plain_value(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain_value(entry) for entry in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < MAX_WHOLE and str(value) != "-0.0":
        return int(value)
    return value


def json_text(
    value: Any, indent: str = "", *, ascii_only: bool = False, format_finite: Callable[[Any], str] | None = None
) -> Iterator[str]:
    """A value as JSON, in chunks: mappings and lists of mappings or lists over several lines, one of scalars on one.

    An array has a row on each line. `format_finite` writes its finite numbers; those that JSON can't hold are strings.

    >>> print("".join(json_text({"heads": 2, "w_q": np.array([[1.5, 0.0], [0.0, np.inf]])})))
    {
      "heads": 2,
      "w_q": [
        [1.5, 0.0],
        [0.0, "Infinity"]
      ]
    }
    """
    inner = indent + "  "
    if isinstance(value, Mapping) and value:
        for number, (key, entry) in enumerate(value.items()):
            yield f"{',' if number else '{'}\n{inner}{_scalar(key, ascii_only)}: "
            yield from json_text(entry, inner, ascii_only=ascii_only, format_finite=format_finite)
        yield f"\n{indent}}}"
    elif isinstance(value, np.ndarray):
        yield from _array(value, indent, format_finite)
    elif isinstance(value, list) and value and isinstance(value[0], (list, Mapping)):
        for number, entry in enumerate(value):
            yield f"{',' if number else '['}\n{inner}"
            yield from json_text(entry, inner, ascii_only=ascii_only, format_finite=format_finite)
        yield f"\n{indent}]"
    elif isinstance(value, list):
        if set(map(type, value)) <= {str}:  # there may be a label for each of very many rows
            yield _encoder(ascii_only).encode(value)
        else:
            yield f"[{', '.join(_scalar(entry, ascii_only) for entry in value)}]"
    else:
        yield _scalar(value, ascii_only)


def _array(array: Array, indent: str, format_finite: Callable[[Any], str] | None) -> Iterator[str]:
    """An array as nested lists, its last axis on one line."""
    if not array.ndim:
        yield from _numbers(array.reshape(1), format_finite)
        return
    if array.ndim == 1:
        yield "["
        for first in range(0, len(array), _NUMBERS_PER_PIECE):
            yield ", " if first else ""
            yield from _numbers(array[first : first + _NUMBERS_PER_PIECE], format_finite)
        yield "]"
        return
    inner = indent + "  "
    if array.ndim > 2:
        for number, subarray in enumerate(array):
            yield f"{',' if number else '['}\n{inner}"
            yield from _array(subarray, inner, format_finite)
    else:
        before, between = f"[\n{inner}[", f"],\n{inner}["
        for rows in format_rows(array, NON_FINITE, format_finite=format_finite):
            yield before
            yield between.join(rows)
            before = between
        yield "]"
    yield f"\n{indent}]"


def _numbers(array: Array, format_finite: Callable[[Any], str] | None) -> Iterator[str]:
    """The numbers of an array of one axis on one line."""
    ((row,),) = format_rows(array.reshape(1, -1), NON_FINITE, format_finite=format_finite)
    yield row


def _scalar(value: Any, ascii_only: bool) -> str:
    """A number or a string; a string also for a number that JSON can't hold. The digits of a number are those typed."""
    is_non_finite = isinstance(value, float) and not math.isfinite(value)
    if is_non_finite:
        return NON_FINITE[str(float(value))]
    if isinstance(value, TypedNumber) and value.decimal is not None:
        return str(value.decimal)
    return _encoder(ascii_only).encode(value)


@cache
def _encoder(ascii_only: bool) -> json.JSONEncoder:
    """What writes a text or a number."""
    return json.JSONEncoder(ensure_ascii=ascii_only)
