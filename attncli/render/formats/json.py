"""JSON: one object, the same names, shapes and numbers next year; written a few rows at a time."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from attncli.base import number_rows
from attncli.base.lazy_numpy import Array, np
from attncli.render.view import View
from attncli.trace.steps import Step, Trace

FORMAT = "attn.result/1"
FIRST = ("query", "key", "value")
SPELLED = {"nan": '"NaN"', "inf": '"Infinity"', "-inf": '"-Infinity"'}


def payload(view: View) -> dict[str, Any]:
    """The object: what was asked, the selected results (arrays) and, to explain, every step."""
    trace = view.result.trace
    found: dict[str, Any] = {
        "format": FORMAT,
        "pipeline": dict(trace.pipeline),
        "query_tokens": list(trace.labels["n"]),
        "key_tokens": list(trace.labels["m"]),
    }
    found |= {name: trace[name].value for name in view.result.select}
    if view.explain:
        # A script finds query, key and value first, even where positions were added to embeddings before.
        steps = sorted(trace.computed, key=lambda step: step.name not in FIRST)
        found["steps"] = [_step(trace, step) for step in steps]
    return found


def _step(trace: Trace, step: Step) -> dict[str, Any]:
    """One step, with the labels of its last two axes."""
    return {
        "name": step.name,
        "symbol": step.symbol,
        "formula": step.formula,
        "shape": list(step.value.shape),
        "rows": list(trace.labels_of(step, -2)),
        "columns": list(trace.labels_of(step, -1)),
        "value": step.value,
    }


def plain(value: Any) -> Any:
    """The object with lists for its arrays."""
    if isinstance(value, dict):
        return {key: plain(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [plain(entry) for entry in value]
    return value.tolist() if isinstance(value, np.ndarray) else value


def render(view: View, *, ascii_only: bool = False) -> Iterator[str]:
    """The object as text, a row a line; what JSON can't hold is a string."""
    yield from text(payload(view), ascii_only=ascii_only)
    yield "\n"


def text(value: Any, indent: str = "", *, ascii_only: bool = False) -> Iterator[str]:
    """A value as JSON, in pieces: mappings and lists of lists over several lines, a list of numbers on one."""
    inner = indent + "  "
    if isinstance(value, Mapping):
        for number, (key, entry) in enumerate(value.items()):
            yield f"{',' if number else '{'}\n{inner}{_scalar(key, ascii_only)}: "
            yield from text(entry, inner, ascii_only=ascii_only)
        yield f"\n{indent}}}"
    elif isinstance(value, np.ndarray):
        yield from _array(value, indent)
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for number, entry in enumerate(value):
            yield f"{',' if number else '['}\n{inner}"
            yield from text(entry, inner, ascii_only=ascii_only)
        yield f"\n{indent}]"
    elif isinstance(value, list):
        yield f"[{', '.join(_scalar(entry, ascii_only) for entry in value)}]"
    else:
        yield _scalar(value, ascii_only)


def _array(array: Array, indent: str) -> Iterator[str]:
    """Numbers, the last axis on one line."""
    if array.ndim < 2:
        ((row,),) = number_rows.rows(array.reshape(1, -1), SPELLED)
        yield f"[{row}]" if array.ndim else row
        return
    inner = indent + "  "
    if array.ndim > 2:
        for number, part in enumerate(array):
            yield f"{',' if number else '['}\n{inner}"
            yield from _array(part, inner)
    else:
        before, between = f"[\n{inner}[", f"],\n{inner}["
        for rows in number_rows.rows(array, SPELLED):
            yield before
            yield between.join(rows)
            before = between
        yield "]"
    yield f"\n{indent}]"


def _scalar(value: Any, ascii_only: bool) -> str:
    """A number or a string."""
    return json.dumps(value, ensure_ascii=ascii_only)
