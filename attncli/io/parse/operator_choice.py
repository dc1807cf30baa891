"""An operator and its parameters, from what people write."""

from collections.abc import Callable
from numbers import Real
from typing import Any

from attncli.base.errors import AttnError, UnknownNameError
from attncli.base.text import shorten
from attncli.io.origin import Origin
from attncli.io.parse import grammar
from attncli.ops import look_up
from attncli.ops.registry import Operator, OperatorRecord, Parameter

ReadArray = Callable[[Any, str, Origin], Any]


def choose(kind: str, written: Any, origin: Origin, key: str, read_array: ReadArray | None = None) -> Operator:
    """The operator that `gaussian:sigma=2` names, with its parameters read and in their ranges.

    Raises AttnError that names the parameter, or suggests the nearest name.
    """
    if isinstance(written, Operator):
        return written
    where = origin.where(key, written)
    name, parameters = grammar.parse(written, where)
    record = look_up(kind, name, where=where)
    read = {}
    for parameter_name, value in parameters.items():
        try:
            parameter = record.parameter(parameter_name)
        except AttnError as error:
            raise error.at(where) from None
        read[parameter_name] = _parameter(record, parameter, value, origin, key, read_array)
    return Operator(record, read)


def _parameter(
    record: OperatorRecord, parameter: Parameter, value: Any, origin: Origin, key: str, read_array: ReadArray | None
) -> Any:
    """One parameter's value."""
    where = f"{origin.where(key)}, {record.name}, {parameter.name}"
    match parameter.kind:
        case "array":
            if is_number(value):
                return finite(value, where)
            assert read_array is not None  # generators have no arrays
            return read_array(value, f"{key}, {record.name}, {parameter.name}", origin)
        case "word":
            return word(value, parameter.words, where)
        case "boolean":
            return flag(value, where)
        case "integer":
            return integer(value, where, parameter.range.least)
        case "number":
            number = finite(value, where)
            if not parameter.range.holds(number):
                raise AttnError(f"{number:g} is out of range", where=where, hint=f"expected {parameter.range}")
            return number


def word(value: Any, words: tuple[str, ...], where: str) -> str:
    """One of some words."""
    if value not in words:
        raise UnknownNameError("word", str(value), words, where=where)
    return str(value)


def flag(value: Any, where: str) -> bool:
    """True or false."""
    if not isinstance(value, bool):
        raise AttnError(f"{shorten(repr(value))} is neither true nor false", where=where)
    return value


def integer(value: Any, where: str, least: float | None) -> int:
    """A whole number, not less than `least`."""
    if not is_number(value) or not _float(value).is_integer():
        raise AttnError(f"{shorten(repr(value))} is not a whole number", where=where)
    if least is not None and value < least:
        raise AttnError(f"{value} is out of range", where=where, hint=f"expected {least:g} or more")
    return int(value)


def finite(value: Any, where: str) -> float:
    """A number that is neither infinite nor NaN."""
    if not is_number(value) or not abs(_float(value)) < float("inf"):
        raise AttnError(f"{shorten(repr(value))} is not a finite number", where=where)
    return float(value)


def above(value: Any, where: str, limit: float) -> float:
    """A finite number greater than a limit."""
    number = finite(value, where)
    if number <= limit:
        raise AttnError(f"{number:g} is out of range", where=where, hint=f"expected a number greater than {limit:g}")
    return number


def is_number(value: Any) -> bool:
    """Whether a value is a number, of Python's or NumPy's types; true and false are none."""
    return isinstance(value, Real) and not isinstance(value, bool)


def _float(value: Any) -> float:
    """A number as a float; an integer beyond all floats is infinite."""
    try:
        return float(value)
    except OverflowError:
        return float("inf")
