"""Values given by a name and parameters: operators, generators that draw arrays, and quantized arrays."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from types import FunctionType
from typing import Any

from attncli.base.errors import AttnError, ErrorPath, UnknownNameError, did_you_mean
from attncli.base.lazy_numpy import import_object, np
from attncli.base.text import json_excerpt, repr_excerpt
from attncli.ops.decorators import registered_function
from attncli.ops.records import Operator, OperatorRecord, Parameter, ParameterMapping, ReadsMapping
from attncli.ops.registry import is_operator, kind_of, look_up, operators
from attncli.problem.arrays import FLOATS_IN_INTEGERS, LIST_OF_NUMBERS, MATRIX, GivenArray, to_array
from attncli.problem.numbers import (
    MAX_COUNT,
    is_number,
    read_number,
    to_boolean,
    to_counts,
    to_finite,
    to_integer,
    to_number,
    to_word,
)

# The operator, by kind, for a number instead of a name, and its parameter.
NUMBERS_IN_PLACE: Mapping[str, tuple[str, str]] = {"difference": ("differential", "lambda_full")}
BITS = (2, 3, 4, 8)
FORMATS = ("gptq", "gptq_v2")


@dataclass(frozen=True, eq=False)
class QuantizedForm:
    """One encoding of a quantized array: its required and optional arrays, converters of its options, and its function.

    The first array has the numbers themselves.
    """

    function: str  # "module:function", imported only if needed
    arrays: tuple[str, ...]
    optional_arrays: tuple[str, ...] = ()
    options: Mapping[str, Callable[[Any, ErrorPath], Any]] | None = None
    required_options: tuple[str, ...] = ()
    constants: Mapping[str, str] = field(default_factory=dict)  # further arguments of the function

    @property
    def all_arrays(self) -> tuple[str, ...]:
        """All arrays, required and optional."""
        return (*self.arrays, *self.optional_arrays)


def _to_bits(value: Any, path: ErrorPath) -> int:
    """The bits of an integer."""
    bits = to_integer(value, path, 2)
    if bits not in BITS:
        raise AttnError(f"{bits} bits are not supported", where=path, hint=f"expected {', '.join(map(str, BITS))}")
    return bits


FORMS: Mapping[str, QuantizedForm] = {
    "fp8": QuantizedForm("attncli.ops.quantized:scaled", ("weight", "scale"), ("block",)),
    "gptq": QuantizedForm(
        "attncli.ops.quantized:gptq",
        ("qweight", "qzeros", "scales"),
        ("g_idx",),
        {"bits": _to_bits, "checkpoint_format": lambda value, path: to_word(value, FORMATS, path)},
        ("bits",),
    ),
    "awq": QuantizedForm("attncli.ops.quantized:awq", ("qweight", "qzeros", "scales")),
    **{
        dtype: QuantizedForm("attncli.ops.quantized:of_bits", ("bits",), ("scale", "block"), constants={"dtype": dtype})
        for dtype in dict.fromkeys(chain.from_iterable(FLOATS_IN_INTEGERS.values()))
    },
}


def check_has_no_bits(given: Any, path: ErrorPath, typed: Callable[[str], str]) -> None:
    """Raise AttnError if integers may be the bits of floats, whose type must then be named.

    `typed` turns the name of a type into the text to type.
    """
    integers = given.integers if isinstance(given, GivenArray) else None
    if integers is not None:
        types = FLOATS_IN_INTEGERS[integers]
        hint = f"type {' or '.join(map(typed, types))}; save integers as another type, such as int64"
        raise AttnError(f"{integers} may be the bits of {' or '.join(types)}", where=path, hint=hint)


def form_of(value: Any) -> str | None:
    """The name of a value's encoding; None if it is not a quantized array.

    >>> form_of({"fp8": {"weight": "w.npy", "scale": 2}}), form_of({"fp8": [1, 2]})
    ('fp8', None)
    """
    if not isinstance(value, Mapping) or len(value) != 1:
        return None
    ((name, given),) = value.items()
    return name if isinstance(given, Mapping) and name in FORMS else None


def to_numbers(value: Mapping[str, Mapping[str, Any]], path: ErrorPath) -> GivenArray:
    """The matrix [o i] of a quantized array in float32; it takes the type of the problem's other arrays.

    Raises AttnError if an array or an option is missing or unknown, or if shapes don't match.

    >>> to_numbers({"fp8": {"weight": [[1, 2], [3, 4]], "scale": [10, 100]}}, ("w_q",)).array.tolist()
    [[10.0, 20.0], [300.0, 400.0]]
    """
    ((name, given),) = value.items()
    form, path = FORMS[name], (*path, name)
    options = form.options or {}
    for key in given:
        if key not in form.all_arrays and key not in options:
            raise UnknownNameError(f"key of {name}", key, (*form.all_arrays, *options), where=path)
    missing = [key for key in (*form.arrays, *form.required_options) if given.get(key) is None]
    if missing:
        raise AttnError(
            f"needs {missing[0]}", where=path, hint=f"give {', '.join((*form.arrays, *form.required_options))}"
        )
    present = {key: entry for key, entry in given.items() if entry is not None}
    converted = {key: options[key](entry, (*path, key)) for key, entry in present.items() if key in options}
    arrays = {
        key: to_array([entry] if isinstance(entry, (int, float)) else entry, (*path, key))
        for key, entry in present.items()
        if key not in options
    }
    if name == "fp8":
        check_has_no_bits(arrays["weight"], (*path, "weight"), lambda dtype: f"{{{dtype}: {{bits: …, scale: …}}}}")
    try:
        values = {key: found.array for key, found in arrays.items()}
        numbers = import_object(form.function)(**values, **converted, **form.constants)
    except AttnError as error:
        raise error.at(*path) from None
    return GivenArray(numbers, origin=arrays[form.arrays[0]].origin)


@dataclass(frozen=True)
class PendingRandom:
    """An array that a generator makes once the lengths of its axes are known."""

    generator: Operator


def to_operator(kind: str, value: Any, path: ErrorPath) -> Operator:
    """The operator of a kind that a value names, with its given parameters converted and checked.

    `value` is a name, `{name: {parameter: value}}`, a function that is registered as an operator, or an Operator.
    Raises AttnError with the parameter, or with the nearest name.

    >>> str(to_operator("score", {"gaussian": {"sigma": 2}}, ("score",)))
    'gaussian:sigma=2'
    >>> to_operator("score", {"gaussian": {"sigma": -1}}, ("score",))
    Traceback (most recent call last):
        ...
    attncli.base.errors.AttnError: score, gaussian, sigma: -1 is out of range; expected > 0
    """
    name, given = _name_and_parameters(kind, value, path)
    try:
        record = look_up(kind, name)
        if given and not record.parameters:
            raise AttnError(f"{name} has no parameters")
        parameters = {name: record.parameter(name) for name in given}
    except AttnError as error:
        error.subject = value
        raise error.at(*path) from None
    converted = {name: _to_parameter(record, parameters[name], given[name], path) for name in given}
    if record.flatten is None:
        return Operator(record, converted)
    try:
        return Operator(record, record.flatten(converted))
    except AttnError as error:
        raise error.at(*path, record.name) from None


def to_array_or_generator(value: Any, path: ErrorPath, noun: str = MATRIX) -> GivenArray | PendingRandom:
    """An array, also quantized, or the generator that will make it: `normal`, `{normal: {std: 2}}`.

    Errors call it `noun`.
    """
    if isinstance(value, PendingRandom):
        return value
    if form_of(value) is not None:
        return to_numbers(value, path)
    is_array = isinstance(value, GivenArray) or hasattr(value, "__array__")
    if not is_array and chooses_operator("generator", value):
        return PendingRandom(to_operator("generator", value, path))
    return to_array(value, path, noun)


def _name_and_parameters(kind: str, value: Any, path: ErrorPath) -> tuple[str, Mapping[str, Any]]:
    """The name of a value's operator, and its given parameters; a function is registered."""
    if isinstance(value, FunctionType) and not hasattr(value, "record"):
        value = registered_function(kind_of(kind), value)
    record = value if isinstance(value, OperatorRecord) else getattr(value, "record", None)
    if isinstance(record, OperatorRecord):
        if record.kind not in (kind, kind_of(kind)):
            raise AttnError(f"{record.name} is a {record.kind}", where=path, hint=f"expected a {kind}")
        return record.name, value.given if isinstance(value, Operator) else {}
    if kind in NUMBERS_IN_PLACE:
        number = read_number(value, path) if isinstance(value, str) else value
        if is_number(number):
            name, parameter = NUMBERS_IN_PLACE[kind]
            return name, {parameter: number}
    if isinstance(value, str):
        return value, {}
    if isinstance(value, Mapping) and len(value) == 1:
        ((name, parameters),) = value.items()
        parameters = {} if parameters is None else parameters
        if isinstance(parameters, Mapping) and all(isinstance(word, str) for word in (name, *parameters)):
            return name, parameters
    hint = _hint_of_mapping(value, path) or "write NAME, NAME:key=value or {NAME: {key: value}}"
    raise AttnError(f"{json_excerpt(value)} is not a name", where=path, hint=hint, subject=value)


def _hint_of_mapping(value: Any, path: ErrorPath) -> str | None:
    """The hint for a mapping with the name as an entry, other programs' form; None if it has none.

    >>> _hint_of_mapping({"name": "softmax"}, ("p.yaml", "normalize"))
    'write normalize: softmax'
    >>> _hint_of_mapping({"type": "gaussian", "sigma": 2}, ("--score",))
    'write {gaussian: {sigma: 2}}'
    """
    word = next((word for word in ("name", "type", "kind") if isinstance(value, Mapping) and word in value), None)
    if word is None or not isinstance(value[word], str):
        return None
    parameters = {key: parameter for key, parameter in value.items() if key != word}
    written = json_excerpt({value[word]: parameters}).replace('"', "") if parameters else value[word]
    key = f"{path[-1]}: " if path and not path[-1].startswith("-") else ""
    return f"write {key}{written}"


def chooses_operator(kind: str, value: Any) -> bool:
    """Whether a value names an operator of a kind; `{normal: [1, 2]}` is a labelled row, not a generator."""
    if isinstance(value, str):
        return is_operator(kind, value)
    if isinstance(value, Mapping):
        ((name, parameters),) = value.items() if len(value) == 1 else (("", ()),)
        return not isinstance(parameters, (list, tuple)) and isinstance(name, str) and is_operator(kind, name)
    record = getattr(value, "record", None)
    return isinstance(record, OperatorRecord) and record.kind in (kind, kind_of(kind))


def check_spelling(kind: str, value: Any, path: ErrorPath) -> None:
    """Raise UnknownNameError if a value is `{name: {parameter: value}}` with a name near an operator's."""
    if not isinstance(value, Mapping) or len(value) != 1:
        return
    ((name, parameters),) = value.items()
    if not isinstance(name, str) or not isinstance(parameters, Mapping) or is_operator(kind, name):
        return
    names = named_masks() if kind == "mask" else list(operators(kind))
    if did_you_mean(name, names):
        raise UnknownNameError(kind, name, names, where=path, subject=value)


def named_masks() -> Sequence[str]:
    """The names of masks that `mask` accepts alone: those that need no array from the user."""
    own = {"table", "key_lengths", "query_key_lengths", "key_mask", "query_sequences"}
    return [name for name, record in operators("mask").items() if not own & set(record.shapes.arrays)]


def _to_parameter(record: OperatorRecord, parameter: Parameter, value: Any, path: ErrorPath) -> Any:
    """The value of one parameter, by its kind."""
    inner = (*path, record.name, parameter.name)
    match parameter.kind:
        case "array":
            return _to_array_parameter(parameter, value, inner)
        case "word":
            return to_word(value, parameter.words, inner)
        case "boolean":
            return to_boolean(value, inner)
        case "integer":
            count = to_integer(value, inner, parameter.range.least)
            if abs(count) > MAX_COUNT:  # NumPy computes with integers of 64 bits
                hint = f"expected at most {MAX_COUNT:,}"
                raise AttnError(f"{repr_excerpt(value)} is out of range", where=inner, hint=hint)
            return count
        case "number":
            if parameter.mapping is not None and isinstance(value, (Mapping, ParameterMapping)):
                return _to_mapping(parameter.mapping, value, inner)
            try:
                number = (to_number if parameter.range.allows_infinity else to_finite)(value, inner)
            except AttnError as error:
                if parameter.mapping is not None:
                    error.hint = f"expected a number, or a mapping such as {parameter.mapping.example}"
                raise
            if not parameter.range.holds(number):
                raise AttnError(f"{number:g} is out of range", where=inner, hint=f"expected {parameter.range}")
            return number


def _to_mapping(reads: ReadsMapping, value: Any, path: ErrorPath) -> ParameterMapping:
    """A mapping instead of a number, with its numbers converted."""
    entries = value.as_mapping() if isinstance(value, ParameterMapping) else value
    converted = {name: _to_entry(entry, (*path, str(name))) for name, entry in entries.items()}
    try:
        return reads.read(converted)
    except AttnError as error:
        error.subject = error.subject or value
        raise error.at(*path) from None


def _to_entry(value: Any, path: ErrorPath) -> Any:
    """An entry of a mapping: a finite number, or a list of them; anything else unchanged."""
    if isinstance(value, (list, tuple)):
        return [to_finite(entry, (*path, f"number {number}")) for number, entry in enumerate(value, 1)]
    return value if value is None or isinstance(value, (bool, str, Mapping)) else to_finite(value, path)


def _to_array_parameter(parameter: Parameter, value: Any, path: ErrorPath) -> Any:
    """An array, a number if the array has no axes, or a generator that makes it later."""
    if is_number(value):
        if parameter.is_counts:
            return to_counts(np.array([value]), path, value)
        return to_finite(value, path)
    is_one_row = len(parameter.letters) == 1
    check_spelling("generator", value, path)
    converted = to_array_or_generator(value, path, LIST_OF_NUMBERS if is_one_row else MATRIX)
    if isinstance(converted, PendingRandom):
        if parameter.is_counts:
            raise AttnError("can't be drawn", where=path, hint="give whole numbers", subject=value)
        return converted
    array = converted.array
    if array.ndim == 0:
        return float(array)
    array = array.reshape(-1) if is_one_row and array.ndim == 2 and 1 in array.shape else array
    return to_counts(array, path, value) if parameter.is_counts else array
