"""Keys: the value of one key of a problem, read by its kind."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array
from attncli.io.origin import Origin, RawValue
from attncli.io.parse import matrix, values
from attncli.io.parse.matrix import LabelledArray, PendingRandom
from attncli.io.parse.operator_choice import above, choose, finite, flag, integer, word
from attncli.io.readers import json
from attncli.problem.spec import Field

# Parameters that are vectors: a table of one row or column may stand for them.
VECTORS = (", v", ", b", ", slopes", ", frequencies")


def read_key(key: Field, written: RawValue) -> Any:
    """One value by its key's kind."""
    where = written.origin.where(key.name, written.value)
    if key.kind in READERS:
        return READERS[key.kind](key, written, where)
    return choose(key.kind, written.value, written.origin, key.name, _read_parameter)


def _array(key: Field, written: RawValue, where: str) -> LabelledArray | PendingRandom:
    """A matrix with as many axes as its key may have; booleans are no numbers."""
    found = matrix.read(written.value, key.name, written.origin)
    if isinstance(found, PendingRandom):
        return found
    if found.array.dtype.kind == "b" and key.kind != "truths":
        raise AttnError("true and false are not numbers", where=where, hint="write 1 and 0")
    return LabelledArray(_with_axes(found.array, key, where), found.labels, found.dtype)


def _with_axes(array: Array, key: Field, where: str) -> Array:
    """The array, if it may have that many axes; a table of one row or column may stand for a vector."""
    allowed = key.axes or (len(key.letters),)
    if allowed == (1,) and array.ndim == 2 and 1 in array.shape:
        array = array.reshape(-1)
    if array.ndim not in allowed:
        usual = {1: "one row of numbers", 2: "rows of numbers"}
        few = array.ndim < allowed[0] or len(allowed) == 1
        wanted = usual[allowed[0]] if few else f"at most {allowed[-1]} axes"
        axes = "axis" if array.ndim == 1 else "axes"
        raise AttnError(f"has {array.ndim} {axes}", where=where, hint=f"expected {wanted}")
    return array


def _vector(key: Field, written: RawValue, where: str) -> LabelledArray | PendingRandom:
    """One row of numbers; on the command line also `3,5`, and one number alone."""
    return _array(key, RawValue(values.listed(written.value), written.origin), where)


def _truths(key: Field, written: RawValue, where: str) -> LabelledArray:
    """A table of true and false, or of 1 and 0."""
    found = _array(key, written, where)
    if isinstance(found, PendingRandom):
        raise AttnError("can't be drawn", where=where, hint="give a table of 1 and 0")
    return LabelledArray(values.truths(found.array, where))


def _counts(key: Field, written: RawValue, where: str) -> LabelledArray:
    """Whole numbers from 0."""
    found = _vector(key, written, where)
    if isinstance(found, PendingRandom):
        raise AttnError("can't be drawn", where=where, hint="give whole numbers")
    return LabelledArray(values.counts(found.array, where))


def _read_parameter(value: Any, key: str, origin: Origin) -> Any:
    """A matrix that is a parameter of a score or a context."""
    found = matrix.read(value, key, origin)
    if isinstance(found, PendingRandom):
        return found
    if found.array.ndim == 0:
        return float(found.array)
    vector = found.array.ndim == 2 and 1 in found.array.shape and key.endswith(VECTORS)
    return found.array.reshape(-1) if vector else found.array


def _labels(value: Any, where: str) -> tuple[str, ...]:
    """Labels: a list of words or numbers, or one of them."""
    value = value.tolist() if hasattr(value, "tolist") else value
    listed = value if isinstance(value, (list, tuple)) else [value]
    for label in listed:
        if label is None or isinstance(label, (bool, list, dict)):
            raise AttnError(f"{json.said(label)} is no label", where=where, hint="put the word in quotes")
    if not listed:
        raise AttnError("has no labels", where=where)
    return text_labels(map(str, listed), where)


def text_labels(labels: Iterable[str], where: str) -> tuple[str, ...]:
    """Labels that a file can hold: bytes that are no UTF-8 reach Python as halves of surrogate pairs."""
    found = tuple(labels)
    for label in found:
        if any("\ud800" <= letter <= "\udfff" for letter in label):
            raise AttnError(f"{label!a} is no Unicode text", where=where, hint="save it as UTF-8")
    return found


def _string(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise AttnError(f"{value!r} is no text", where=where)
    return value


def _vocabulary(key: Field, written: RawValue, where: str) -> dict[str, Any]:
    """A vector for each word: a mapping, or a table with labels."""
    found = matrix.read(written.value, key.name, written.origin)
    if isinstance(found, PendingRandom) or not found.labels:
        raise AttnError("has no words", where=where, hint="expected a vector for each word, as in {cat: [.4, .5]}")
    if len(set(found.labels)) < len(found.labels):
        twice = next(label for label in found.labels if found.labels.count(label) > 1)
        raise AttnError(f"the word {twice!r} stands twice", where=where)
    return dict(zip(found.labels, found.array, strict=True))


READERS: Mapping[str, Callable[[Field, RawValue, str], Any]] = {
    "matrix": _array,
    "vector": _vector,
    "truths": _truths,
    "counts": _counts,
    "vocabulary": _vocabulary,
    "labels": lambda key, written, where: _labels(written.value, where),
    "text": lambda key, written, where: _string(written.value, where),
    "integer": lambda key, written, where: integer(written.value, where, key.least),
    "number": lambda key, written, where: (
        finite(written.value, where) if key.above is None else above(written.value, where, key.above)
    ),
    "flag": lambda key, written, where: flag(written.value, where),
    "window": lambda key, written, where: values.window(written.value, where),
    "word": lambda key, written, where: word(written.value, key.words, where),
}
