"""Record a function: call it with arrays that record their operations."""

import sys
from collections.abc import Callable, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import np
from attncli.ops.recording.arrays import NotRecordedError, Recorded, line_of
from attncli.ops.recording.expression import Expression, argument, constant, ordered
from attncli.ops.records import TAP


@dataclass(frozen=True, eq=False)
class Recording:
    """The record of a call, down to the arguments.

    `names` has the inner quantities passed to `tap`, and the values of the function's variables when it returned;
    `inner_names` has the variables of functions that it called. `branches` are the lines that branched on numbers: for
    other numbers the record may differ.
    """

    result: Expression
    arguments: Mapping[str, Expression]
    names: Mapping[Expression, str]
    taps: Mapping[str, Expression]
    branches: tuple[str, ...]
    inner_names: Mapping[Expression, str] = field(default_factory=dict)


def record(
    function: Callable[..., Any], arrays: Mapping[str, Any], options: Mapping[str, Any], *, has_names: bool = True
) -> Recording:
    """Call a function with recorded arrays, by the names of its arguments, and with plain options.

    Without names it has only the names of taps.

    Raises NotRecordedError if the function does something that can't be recorded.

    >>> made = record(lambda x, *, power: x**power, {"x": np.array([2.0, 3.0])}, {"power": 2})
    >>> made.result.function, made.result.value
    ('power', array([4., 9.]))
    """
    branches = list[str]()
    arguments = {name: argument(name, value) for name, value in arrays.items()}
    given: dict[str, Any] = {name: Recorded(found, branches) for name, found in arguments.items()}
    taps, variables, inner = dict[str, Expression](), dict[str, Any](), dict[Expression, str]()

    def tap(name: str, value: Any) -> Any:
        taps[name] = value.expression if isinstance(value, Recorded) else constant(value)
        return value

    if TAP in (getattr(function, "__kwdefaults__", None) or {}):
        given[TAP] = tap
    names_of = _variables_of(function, variables, inner) if has_names and sys.getprofile() is None else nullcontext()
    with np.errstate(all="ignore"), names_of:
        try:
            found = function(**given, **options)
        except (AttnError, MemoryError):
            raise
        except Exception as error:  # a recorded array lacks some features of a NumPy array
            message = f"it can't be followed ({type(error).__name__}: {error})"
            raise NotRecordedError(message, where=line_of(error, function) or None) from error
    result = found.expression if isinstance(found, Recorded) else constant(found)
    named = {value.expression: name for name, value in variables.items() if isinstance(value, Recorded)}
    named |= {expression: expression.label for expression in ordered(result) if expression.label}
    names = named | {expression: name for name, expression in taps.items()}
    own = set(arguments.values())
    return Recording(
        result,
        arguments,
        {expression: name for expression, name in names.items() if expression not in own},
        taps,
        tuple(dict.fromkeys(branches)),
        {expression: name for expression, name in inner.items() if expression not in own},
    )


@contextmanager
def _variables_of(function: Callable[..., Any], found: dict[str, Any], inner: dict[Expression, str]) -> Any:
    """A block that adds the variables of a function, when it returns, to `found`.

    It adds the variables of called functions of the same package to `inner`, by their values.
    """
    code = getattr(function, "__code__", None)
    folder = None if code is None else Path(code.co_filename).parent

    def at_return(frame: Any, event: str, _argument: Any) -> None:
        if event != "return" or code is None:
            return
        if frame.f_code is code:
            found.update(frame.f_locals)
        elif frame.f_code.co_name.isidentifier() and Path(frame.f_code.co_filename).parent == folder:
            for name, value in frame.f_locals.items():
                if isinstance(value, Recorded) and len(name) > 1:
                    inner[value.expression] = name

    sys.setprofile(at_return)
    try:
        yield
    finally:
        sys.setprofile(None)
