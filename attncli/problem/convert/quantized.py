"""Arrays that are given quantized: `{gptq: {qweight: …, qzeros: …, scales: …, bits: 4}}` in place of a matrix."""

from collections.abc import Callable, Mapping
from typing import Any

from attncli.base.dataclasses import dataclass
from attncli.base.errors import AttnError, ErrorPath, UnknownNameError
from attncli.base.lazy_numpy import Array
from attncli.ops import quantized
from attncli.problem.convert.arrays import LabelledArray, to_array
from attncli.problem.convert.numbers import to_integer, to_word

BITS = (2, 3, 4, 8)
FORMATS = ("gptq", "gptq_v2")


@dataclass(frozen=True)
class QuantizedForm:
    """One form: the arrays that it needs, those that it may have, how its other values are converted, and its function.

    The first array has the numbers themselves.
    """

    function: Callable[..., Array]
    arrays: tuple[str, ...]
    optional_arrays: tuple[str, ...] = ()
    options: Mapping[str, Callable[[Any, ErrorPath], Any]] | None = None
    required_options: tuple[str, ...] = ()

    @property
    def all_arrays(self) -> tuple[str, ...]:
        """The arrays that it may have."""
        return (*self.arrays, *self.optional_arrays)


def _to_bits(value: Any, path: ErrorPath) -> int:
    """The bits of an integer."""
    bits = to_integer(value, path, 2)
    if bits not in BITS:
        raise AttnError(f"{bits} bits are not read", where=path, hint=f"expected {', '.join(map(str, BITS))}")
    return bits


def _gptq(*, checkpoint_format: str = FORMATS[0], **given: Any) -> Array:
    """The matrix of GPTQ, whose zeros are stored in one of two ways."""
    return quantized.gptq(**given, is_v2=checkpoint_format == "gptq_v2")


def _to_format(value: Any, path: ErrorPath) -> str:
    """The format of a checkpoint of GPTQ."""
    return to_word(value, FORMATS, path)


FORMS: Mapping[str, QuantizedForm] = {
    "fp8": QuantizedForm(quantized.scaled, ("weight", "scale"), ("block",)),
    "gptq": QuantizedForm(
        _gptq,
        ("qweight", "qzeros", "scales"),
        ("g_idx",),
        {"bits": _to_bits, "checkpoint_format": _to_format},
        ("bits",),
    ),
    "awq": QuantizedForm(quantized.awq, ("qweight", "qzeros", "scales")),
}


def form_of(value: Any) -> str | None:
    """The name of the form that a value is given in; None where it is no quantized array.

    >>> form_of({"fp8": {"weight": "w.npy", "scale": 2}}), form_of({"fp8": [1, 2]})
    ('fp8', None)
    """
    if not isinstance(value, Mapping) or len(value) != 1:
        return None
    ((name, given),) = value.items()
    return name if isinstance(given, Mapping) and name in FORMS else None


def to_numbers(value: Mapping[str, Mapping[str, Any]], path: ErrorPath) -> LabelledArray:
    """The matrix [o i] of a quantized array in float32; its type is that of the other arrays of the problem.

    Raises AttnError where an array or an option is missing or unknown, or where shapes do not fit each other.

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
    arrays = {key: _to_array(entry, (*path, key)) for key, entry in present.items() if key not in options}
    try:
        numbers = form.function(**{key: found.array for key, found in arrays.items()}, **converted)
    except AttnError as error:
        raise error.at(*path) from None
    return LabelledArray(numbers, origin=arrays[form.arrays[0]].origin)


def _to_array(value: Any, path: ErrorPath) -> LabelledArray:
    """An array; one number is an array without axes."""
    return to_array([value] if isinstance(value, (int, float)) else value, path)
