"""The code of operators, run on the examples of their records."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from attncli.code.literals import MODULES, in_torch
from attncli.code.steps import filled, template_of
from attncli.ops.code import CodeCall, Library
from attncli.ops.derivatives import DerivativeRecord
from attncli.ops.recording.code import code_of
from attncli.ops.recording.derivatives import recording_of
from attncli.ops.recording.guard import numbers_for
from attncli.ops.records import OperatorRecord
from attncli.ops.registry import is_recorded

WHOLE = ("positions", "rows", "lengths", "sequences", "mask", "starts", "tokens", "ids")  # ends of names


def result_of_code(
    record: OperatorRecord, library: Library, module: Any, array: Callable[[np.ndarray], Any]
) -> np.ndarray | None:
    """What the code of an operator gives for the example of its record; None without code."""
    return run_code(record, call_of_example(record), library, module, array, function=record.function)


def run_code(
    record: OperatorRecord | DerivativeRecord,
    call: CodeCall,
    library: Library = "numpy",
    module: Any = np,
    array: Callable[[np.ndarray], Any] = np.asarray,
    *,
    is_known: bool = True,
    function: Any = None,
) -> np.ndarray | None:
    """What the code of a call gives, written with or without its numbers; None without code.

    Of a `function` without a rule, or the derivative of one, it is read off.
    """
    written = call if is_known else replace(call, values={})
    template = template_of(record, written, library)
    if template is None and function is not None and is_recorded(record):
        lines = _read_off(function, written, library)
    elif isinstance(template, str):
        ranks = {name: len(shape) for name, shape in call.shapes.items()}
        lines = filled(template, record, call, library, ranks)
    else:
        return None
    *before, value = lines
    space = {MODULES[library]: module, **{name: array(found) for name, found in call.values.items()}}
    with np.errstate(all="ignore"):
        exec("\n".join([*before, f"result = {value}"]), space)
    return np.asarray(space["result"])


def _read_off(function: Any, call: CodeCall, library: Library) -> list[str]:
    """The lines of a record of a function, of any numbers where none are known."""
    shapes = call.shapes.items()
    arrays = {name: call.values[name] if name in call.values else numbers_for(name, x, 0) for name, x in shapes}
    made = recording_of(function, arrays, call.options)
    lines = [f"0 * {function.argument}"] if made is None else code_of(made, call.variables)
    return list(map(in_torch, lines)) if library == "torch" else lines


def call_of(
    given: Mapping[str, Any], shape: tuple[int, ...], defaults: Mapping[str, Any] = MappingProxyType({})
) -> CodeCall:
    """The call of a function with these arguments, whose result has this shape."""
    values = {name: np.asarray(value) for name, value in given.items() if np.ndim(value)}
    options = {**defaults, **{name: value for name, value in given.items() if name not in values}}
    return CodeCall(
        {name: name for name in values}, {name: x.shape for name, x in values.items()}, options, shape, values
    )


def call_of_example(record: OperatorRecord) -> CodeCall:
    """The call of an operator with the arrays and numbers of its example."""
    given = {name: value for name, value in record.example.items() if name != "gives"}
    letters = {**record.shapes.arrays}
    values = {name: _array(name, value) for name, value in given.items() if letters.get(name) and np.ndim(value)}
    values |= {name: np.full(1, 0.5) for name in letters if name == "draws" and name not in values}
    others = {name: value for name, value in given.items() if name not in values}
    options: Mapping[str, Any] = {**record.defaults, **others}
    shapes = {name: value.shape for name, value in values.items()}
    return CodeCall({name: name for name in values}, shapes, options, np.shape(record.example["gives"]), values)


def _array(name: str, value: Any) -> np.ndarray:
    """An array of the example: real numbers, but of positions and lengths."""
    found = np.asarray(value)
    return found if name.endswith(WHOLE) or found.dtype.kind == "b" else found.astype(np.float64)
