"""What `attn compute` writes as JSON or YAML: its results and steps, as arrays with all their digits."""

from collections.abc import Mapping
from typing import Any

from attncli.base.lazy_numpy import np
from attncli.problem.arrays import LabelledArray

RESULT_FORMAT = "attn.result/"  # how the `format` of such a file begins


def results_of(content: Any) -> Any:
    """The results and the steps of an object that `attn compute` wrote, by name; any other content as it is.

    They are lists that are no labels. Numbers of arrays have every digit: `0.5` is 0.5, not 0.5 to one decimal. Steps
    that somebody has changed to what is none are left out.
    """
    if not isinstance(content, Mapping) or not str(content.get("format")).startswith(RESULT_FORMAT):
        return content
    lists = {name: value for name, value in content.items() if isinstance(value, list) and name != "steps"}
    results = {name: value for name, value in lists.items() if not all(isinstance(label, str) for label in value)}
    steps = content.get("steps")
    for step in steps if isinstance(steps, list) else ():
        match step:
            case {"name": str(name), "value": list(value)}:
                results[name] = value
    return {name: _array(value) for name, value in results.items()}


def _array(value: Any) -> Any:
    """Nested lists as an array; the lists themselves where somebody has changed them to what is none."""
    try:
        return LabelledArray(np.array(value, dtype=np.float64))
    except (TypeError, ValueError):
        return value
