"""Record a function: call it with arrays that write down what is done to them."""

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
    """What a call of a function computed, from its arguments down.

    `names` has what passed through `tap` and what the function's variables held when it returned, as they are named
    there, `inner_names` what those of the functions held that it called. `branches` are the lines that asked for the
    truth of numbers: with other numbers the record may be another.
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
    """Call a function with arrays that are recorded, by the names of its arguments, and with options that are not.

    Without names it has those of taps alone.

    Raises NotRecordedError where it does something that can't be followed.

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
        except Exception as error:  # an array that is recorded is not all that one of NumPy's is
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
    """A block in which the variables of a function, when it returns, are added to `found`.

    Those of the functions of its package that it calls are added to `inner`, by what they hold.
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
