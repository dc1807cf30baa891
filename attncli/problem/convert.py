"""The value of one field of a problem, converted and checked by the field's kind."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from attncli.base.dtypes import HELD_AS_SINGLE, NAMES
from attncli.base.errors import AttnError, ErrorPath, did_you_mean
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import count_of, first_duplicate, json_excerpt, repr_excerpt, shorten
from attncli.ops.records import Operator
from attncli.problem.arrays import (
    LIST_OF_NUMBERS,
    MATRIX,
    AxisLabels,
    EncodedArray,
    GivenArray,
    frame_labels,
    is_array_with_axes,
    to_lists,
)
from attncli.problem.fields import NEEDED, Field
from attncli.problem.layout import LAID_OUT
from attncli.problem.mask_expressions import MaskExpression, MaskLeaf, column_path
from attncli.problem.numbers import (
    MAX_COUNT,
    is_number,
    to_boolean,
    to_booleans,
    to_counts,
    to_finite,
    to_integer,
    to_number_above,
    to_window,
    to_word,
)
from attncli.problem.operators import (
    PendingRandom,
    check_has_no_bits,
    check_spelling,
    chooses_operator,
    form_of,
    named_masks,
    to_array_or_generator,
    to_operator,
)
from attncli.problem.tokens import to_splitter
from attncli.problem.vocabularies import SMALL_NAME, small_vocabulary

FLOATING_TYPES = frozenset(NAMES) - {*HELD_AS_SINGLE}  # of NumPy's own arrays
MAX_DECIMALS = 15  # of a rounded step: float64 has no more
_NO_LETTER = re.compile("[\ud800-\udfff\0]")  # not allowed in a label


def to_field(field: Field, value: Any) -> Any:
    """Convert a value by its field's kind.

    Raises AttnError whose path begins with the field's name; its `subject` is the wrong list or mapping.
    """
    convert = CONVERTERS.get(field.kind)
    return to_operator(field.kind, value, (field.name,)) if convert is None else convert(field, value)


def floating_type(field: Field, value: Any) -> str | None:
    """The type of a value that needs no conversion: a floating-point matrix with an allowed number of axes.

    None for any other value.
    """
    if type(value) is not np.ndarray or field.kind != "matrix" or value.ndim not in field.allowed_axis_counts:
        return None
    name: str = value.dtype.type.__name__  # "longdouble" on every machine
    return name if name in FLOATING_TYPES else None


def _to_matrix(field: Field, value: Any) -> GivenArray | PendingRandom | EncodedArray:
    """An array, or a generator if the field may be drawn; a table of rows stays in its file's form."""
    if isinstance(value, EncodedArray):
        _check_axis_count(len(value.shape), field, value)
        return value
    return _to_array(field, value, "numbers or a file")


def _to_array(field: Field, value: Any, expected: str) -> GivenArray | PendingRandom:
    """An array with an allowed number of axes, or a generator if the field may be drawn.

    Booleans are not numbers; `expected` says what to give instead of a generator.
    """
    noun = LIST_OF_NUMBERS if field.allowed_axis_counts == (1,) or field.trailing else MATRIX
    if type(value) is not np.ndarray and field.is_random_fill:
        check_spelling("generator", value, (field.name,))
    converted = to_array_or_generator(value, (field.name,), noun)
    if isinstance(converted, PendingRandom):
        if field.is_random_fill:
            return converted
        raise AttnError("can't be drawn", where=field.name, hint=f"give {expected}", subject=value)
    if field.name in LAID_OUT:  # such as caches
        check_has_no_bits(
            converted, (field.name,), lambda dtype: f'{field.name}={{"{dtype}": {{"bits": {field.name}}}}}'
        )
    array = converted.array
    if array.dtype.kind == "b" and not field.is_boolean:
        message, hint = "true and false are not numbers", "write 1 and 0"
        raise AttnError(message, where=field.name, hint=hint, subject=value)
    if field.allowed_axis_counts == (1,) and array.ndim == 2 and 1 in array.shape:
        array = array.reshape(-1)
    _check_axis_count(array.ndim, field, value)
    return converted if array is converted.array else replace(converted, array=array)


def _given(field: Field, value: Any, expected: str) -> Array:
    """An array that is not drawn."""
    given = _to_array(field, value, expected)
    assert isinstance(given, GivenArray)
    return given.array


def _check_axis_count(count: int, field: Field, value: Any) -> None:
    """Raise AttnError if a field's array has too few or too many axes."""
    allowed = field.allowed_axis_counts
    if count not in allowed:
        smallest = {1: "one row of numbers", 2: "rows of numbers"}[allowed[0]]
        expected = smallest if count < allowed[0] or len(allowed) == 1 else f"at most {count_of(allowed[-1], 'axis')}"
        message = f"has {count} {'axis' if count == 1 else 'axes'}"
        raise AttnError(message, where=field.name, hint=f"expected {expected}", subject=value)


def _to_row(value: Any) -> Any:
    """A single number as a row of length 1; other values unchanged."""
    return [value] if is_number(value) else value


def _to_mask(field: Field, value: Any) -> GivenArray | Operator | MaskExpression:
    """A table of booleans, or of 1 and 0; a mask's operator; or an expression of them."""
    if not isinstance(value, MaskExpression):
        return _to_one_mask(field, value, (field.name,))

    def converted(leaf: MaskLeaf) -> Array | Operator:
        if isinstance(leaf.value, Operator) or type(leaf.value) is np.ndarray:
            return leaf.value
        path = column_path(field.name, leaf)
        try:
            one = _to_one_mask(field, leaf.value, path)
        except AttnError as error:
            if error.path[: len(path)] != path:  # a table's error
                error.path = (*path, *error.path[1:])
            raise
        return one.array if isinstance(one, GivenArray) else one

    return value.map(converted)


def _to_one_mask(field: Field, value: Any, path: ErrorPath) -> GivenArray | Operator:
    """A table of booleans, or of 1 and 0; or a mask's operator."""
    if isinstance(value, Mapping) and [*value] == [NEEDED]:
        raise AttnError(f"is needed: {value[NEEDED]}", where=path, hint="give --mask FILE, or a rule", subject=value)
    if chooses_operator("mask", value):
        return to_operator("mask", value, path)
    check_spelling("mask", value, path)
    if isinstance(value, str) and not chooses_operator("generator", value):
        message = f"{shorten(repr(value))} is neither an array nor a mask"
        hint = did_you_mean(value, named_masks()) or f"give an array, or one of {', '.join(named_masks())}"
        raise AttnError(message, where=path, hint=hint)
    hint = "1 attends and 0 does not; numbers that are added to the scores are a bias"
    return _to_booleans(field, value, hint)


def _to_booleans(field: Field, value: Any, hint: str = "1 is a real key and 0 is padding") -> GivenArray:
    """An array of booleans, or of 1 and 0; `hint` says what they mean."""
    return GivenArray(to_booleans(_given(field, value, "a table of 1 and 0"), (field.name,), value, hint))


def _to_positions(field: Field, value: Any) -> GivenArray:
    """Positions, whole numbers as integers; a table of one row has one axis."""
    array = _given(field, _to_row(value), "numbers").astype(np.float64)
    array = array[0] if array.ndim == 2 and len(array) == 1 else array
    if not np.isfinite(array).all():
        raise AttnError("a position is not a finite number", where=field.name, subject=value)
    is_whole = bool((array == np.floor(array)).all()) and bool((abs(array) < MAX_COUNT).all())
    return GivenArray(array.astype(np.int64) if is_whole else array)


def _to_vocabulary(field: Field, value: Any) -> dict[str, Array]:
    """A vector for each word: a vocabulary's name, a mapping, or a table with labels."""
    if isinstance(value, str) and value == SMALL_NAME:
        return small_vocabulary()
    converted = to_array_or_generator(value, (field.name,))
    if isinstance(converted, PendingRandom) or not converted.labels:
        hint = f"expected a vector for each word, as in {{cat: [.4, .5]}}, or {SMALL_NAME}"
        raise AttnError("has no words", where=field.name, hint=hint, subject=value)
    words = converted.labels
    if len(set(words)) < len(words):
        duplicate = first_duplicate(words)
        raise AttnError(f"the word {duplicate!r} appears twice", where=field.name, subject=value)
    return dict(zip(words, converted.array, strict=True))


def _to_decimals_of_steps(field: Field, value: Any) -> dict[str, int]:
    """A number of decimals for each name of a step."""
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        hint = f"expected the decimals of each step, such as {field.example}"
        raise AttnError(f"{repr_excerpt(value)} has no names of steps", where=field.name, hint=hint, subject=value)
    decimals = {name: to_integer(count, (field.name, name), 0) for name, count in value.items()}
    name, largest = max(decimals.items(), key=lambda item: item[1], default=("", 0))
    if largest > MAX_DECIMALS:
        raise AttnError(f"{largest} is out of range", where=(field.name, name), hint=f"expected 0 to {MAX_DECIMALS}")
    return decimals


def _to_labels(field: Field, value: Any) -> tuple[str, ...]:
    """Labels from a list of words or numbers, or from a single one; an array of one row counts as that row."""
    items = to_lists(value)
    items = items if isinstance(items, (list, tuple)) else [items]
    if items is not value and len(items) == 1 and isinstance(items[0], list):  # `input_ids` of tokenizers, [1 n]
        items = items[0]
    for entry, label in enumerate(items):
        if label is None or isinstance(label, (bool, list, dict)) or is_array_with_axes(label):
            message = f"{json_excerpt(label)} is not a label"
            hint = "give one list of labels" if isinstance(label, list) else "put the word in quotes"
            raise AttnError(message, where=field.name, hint=hint, subject=value, entry=entry)
    if not items:
        raise AttnError("has no labels", where=field.name, subject=value)
    try:
        texts = list(map(str, items))
    except ValueError:  # an integer of many thousand digits
        raise AttnError("a number has too many digits for a label", where=field.name, subject=value) from None
    return to_unicode_labels(texts, (field.name,), value)


def to_unicode_labels(labels: Iterable[str], path: ErrorPath, subject: Any = None) -> tuple[str, ...]:
    """The labels; raises AttnError for NUL, which ends a text in many programs, and for surrogates.

    Bytes that are not UTF-8 become surrogates, which UTF-8 files can't hold.
    """
    checked = tuple(labels)
    if _NO_LETTER.search("".join(checked)) is None:  # one search, since there may be very many
        return checked
    for label in checked:
        if any("\ud800" <= letter <= "\udfff" for letter in label):
            raise AttnError(f"{label!a} is not Unicode text", where=path, hint="write it in UTF-8", subject=subject)
        if "\0" in label:
            raise AttnError(f"{label!a} has the character NUL", where=path, hint="leave it out", subject=subject)
    return checked


def labels_of_value(value: Any) -> AxisLabels:
    """The labels of the rows and columns of an unconverted array; None if it has none."""
    if isinstance(value, GivenArray):
        return value.axis_labels
    if isinstance(value, Mapping) and not (form_of(value) or chooses_operator("generator", value)):
        return tuple(str(label) for label in value), None
    return frame_labels(value)


def _to_text(field: Field, value: Any) -> str:
    """A text, unchanged."""
    if not isinstance(value, str):
        raise AttnError(f"{repr_excerpt(value)} is not a text", where=field.name, subject=value)
    return value


def _to_number(field: Field, value: Any) -> float:
    """A finite number in the field's range."""
    path = (field.name,)
    return to_finite(value, path) if field.above is None else to_number_above(value, path, field.above)


def _to_counts(field: Field, value: Any) -> GivenArray:
    """Integers from 0."""
    return GivenArray(to_counts(_given(field, _to_row(value), "whole numbers"), (field.name,), value))


def _alias_of(field: Field, value: Any) -> Any:
    """The choice for an alias; any other value unchanged."""
    return field.word_aliases.get(value, value) if isinstance(value, str) else value


def _to_page_numbers(field: Field, value: Any) -> GivenArray:
    """The numbers of pages, from 0, with −1 for none; one row belongs to one batch item."""
    array = np.atleast_2d(_given(field, value, "numbers of pages")).astype(np.float64)
    numbers = to_counts(np.where(array == -1, 0, array), (field.name,), value)
    return GivenArray(np.where(array == -1, -1, numbers))


def _to_sequence_bounds(field: Field, value: Any) -> GivenArray:
    """The start of each sequence, and the end of the last: non-decreasing integers from 0."""
    bounds = _to_counts(field, value).array
    if bounds.size < 2:
        hint = "give the first row of each sequence, and the number of all rows: 0,3,5"
        raise AttnError("has no sequence", where=field.name, hint=hint, subject=value)
    if bounds[0] != 0:
        hint = "sequence i has the rows from number i to number i + 1"
        raise AttnError(f"begins with {bounds[0]}, not with 0", where=field.name, hint=hint, subject=value)
    if (wrong := np.flatnonzero(np.diff(bounds) < 0)).size:
        message = f"decreases from {bounds[wrong[0]]} to {bounds[wrong[0] + 1]}"
        hint = "expected cumulative lengths, 0,3,5 of sequences of 3 and 2 rows"
        raise AttnError(message, where=field.name, hint=hint, subject=value)
    return GivenArray(bounds)


CONVERTERS: Mapping[str, Callable[[Field, Any], Any]] = {
    "matrix": _to_matrix,
    "vector": lambda field, value: _to_matrix(field, _to_row(value)),
    "boolean_matrix": _to_mask,
    "booleans": _to_booleans,
    "counts": _to_counts,
    "positions": _to_positions,
    "sequence_bounds": _to_sequence_bounds,
    "page_numbers": _to_page_numbers,
    "vocabulary": _to_vocabulary,
    "labels": _to_labels,
    "decimals_of_steps": _to_decimals_of_steps,
    "text": _to_text,
    "tokenizer": lambda _field, value: to_splitter(value),
    "number": _to_number,
    "integer": lambda field, value: to_integer(value, (field.name,), field.least),
    "flag": lambda field, value: to_boolean(value, (field.name,)),
    "window": lambda field, value: to_window(value, (field.name,)),
    "word": lambda field, value: to_word(_alias_of(field, value), field.words, (field.name,)),
}
