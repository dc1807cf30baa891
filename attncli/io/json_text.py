"""JSON: values as mappings, lists, numbers and text, and these as JSON, in chunks, a row of an array on each line."""

import json
import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from attncli.base.lazy_numpy import Array, np
from attncli.base.text import escape_overrides
from attncli.numbers.formatting import MAX_WHOLE, format_rows
from attncli.numbers.parsing import TypedNumber
from attncli.ops.records import Operator, ParameterMapping

NON_FINITE = {"nan": '"NaN"', "inf": '"Infinity"', "-inf": '"-Infinity"'}
_NUMBERS_PER_PIECE = 2**12  # of a line that may be long

FormatTable = Callable[[Array], Iterator[list[str]]]


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
    value: Any, *, ascii_only: bool = False, format_finite: Callable[[Any], str] | None = None
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
    encode_text = json.JSONEncoder(ensure_ascii=ascii_only).encode

    def encode(value: Any) -> str:
        return escape_overrides(encode_text(value))

    return _chunks(value, "", encode, partial(format_rows, non_finite=NON_FINITE, format_finite=format_finite))


def _chunks(value: Any, indent: str, encode: Callable[[Any], str], format_table: FormatTable) -> Iterator[str]:
    """A value as JSON behind an indentation."""
    inner = indent + "  "
    if isinstance(value, np.ndarray) and value.ndim < 3:
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
    else:  # of texts there may be one for each of very many rows
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
    """A number or a string; a string also for a number that JSON can't hold. The digits of a number are those typed."""
    if isinstance(value, float) and not math.isfinite(value):
        return NON_FINITE[str(float(value))]
    if isinstance(value, TypedNumber) and value.decimal is not None:
        return str(value.decimal)
    return encode(value)
