"""JSON: one object, the same names, shapes and numbers next year."""

import json
import math
from typing import Any

from attncli.arrays import np
from attncli.render.view import View
from attncli.trace import Step, Trace

FORMAT = "attn.result/1"
FIRST = ("query", "key", "value")


def payload(view: View) -> dict[str, Any]:
    """The object: what was asked, the selected results and, to explain, every step."""
    trace = view.result.trace
    found: dict[str, Any] = {
        "format": FORMAT,
        "pipeline": dict(trace.pipeline),
        "query_tokens": list(trace.labels["n"]),
        "key_tokens": list(trace.labels["m"]),
    }
    found |= {name: trace[name].value.tolist() for name in view.result.select}
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
        "value": step.value.tolist(),
    }


def render(view: View, *, ascii_only: bool = False) -> str:
    """The object as text, a row a line; what JSON can't hold is a string."""
    return text(payload(view), ascii_only=ascii_only) + "\n"


def text(value: Any, indent: str = "", *, ascii_only: bool = False) -> str:
    """A value as JSON: mappings and lists of lists over several lines, a list of numbers on one."""
    inner = indent + "  "
    if isinstance(value, dict):
        items = (
            f"{inner}{_scalar(key, ascii_only)}: {text(entry, inner, ascii_only=ascii_only)}"
            for key, entry in value.items()
        )
        return "{\n" + ",\n".join(items) + f"\n{indent}}}"
    if isinstance(value, list) and value and isinstance(value[0], (list, dict)):
        return "[\n" + ",\n".join(inner + text(entry, inner, ascii_only=ascii_only) for entry in value) + f"\n{indent}]"
    if isinstance(value, list):
        return f"[{', '.join(_scalar(entry, ascii_only) for entry in value)}]"
    return _scalar(value, ascii_only)


def _scalar(value: Any, ascii_only: bool) -> str:
    """A number or a string."""
    if isinstance(value, (float, np.floating)) and not math.isfinite(value):
        return '"NaN"' if math.isnan(value) else ('"Infinity"' if value > 0 else '"-Infinity"')
    if isinstance(value, np.floating):  # a longdouble: Python has no number as long
        return str(value)
    return json.dumps(value, ensure_ascii=ascii_only)
