"""JSON: one object of a documented, stable form; written a few rows at a time."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from attncli.base.lazy_numpy import Array, np
from attncli.base.number_rows import format_rows
from attncli.render.result_object import result_object
from attncli.render.target import TEXT_FILE, TextTarget
from attncli.render.view import View

NON_FINITE = {"nan": '"NaN"', "inf": '"Infinity"', "-inf": '"-Infinity"'}


def render(view: View, target: TextTarget = TEXT_FILE) -> Iterator[str]:
    """The object as text, a row of numbers on each line; numbers that JSON can't hold are strings."""
    yield from json_text(result_object(view), ascii_only=not target.has_unicode)
    yield "\n"


def json_text(value: Any, indent: str = "", *, ascii_only: bool = False) -> Iterator[str]:
    """A value as JSON, in chunks: mappings and lists of mappings over several lines, a list of scalars on one."""
    inner = indent + "  "
    if isinstance(value, Mapping):
        for number, (key, entry) in enumerate(value.items()):
            yield f"{',' if number else '{'}\n{inner}{_scalar(key, ascii_only)}: "
            yield from json_text(entry, inner, ascii_only=ascii_only)
        yield f"\n{indent}}}"
    elif isinstance(value, np.ndarray):
        yield from _array(value, indent)
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for number, entry in enumerate(value):
            yield f"{',' if number else '['}\n{inner}"
            yield from json_text(entry, inner, ascii_only=ascii_only)
        yield f"\n{indent}]"
    elif isinstance(value, list):
        yield f"[{', '.join(_scalar(entry, ascii_only) for entry in value)}]"
    else:
        yield _scalar(value, ascii_only)


def _array(array: Array, indent: str) -> Iterator[str]:
    """An array as nested lists, its last axis on one line."""
    if array.ndim < 2:
        ((row,),) = format_rows(array.reshape(1, -1), NON_FINITE)
        yield f"[{row}]" if array.ndim else row
        return
    inner = indent + "  "
    if array.ndim > 2:
        for number, subarray in enumerate(array):
            yield f"{',' if number else '['}\n{inner}"
            yield from _array(subarray, inner)
    else:
        before, between = f"[\n{inner}[", f"],\n{inner}["
        for rows in format_rows(array, NON_FINITE):
            yield before
            yield between.join(rows)
            before = between
        yield "]"
    yield f"\n{indent}]"


def _scalar(value: Any, ascii_only: bool) -> str:
    """A number or a string."""
    return json.dumps(value, ensure_ascii=ascii_only)
