"""Arrays from arrays of any library, data frames, nested lists and labelled rows."""

from collections.abc import Mapping
from os import PathLike
from typing import Any

from attncli.base.dataclasses import dataclass
from attncli.base.dtypes import BFLOAT16
from attncli.base.errors import AttnError, ErrorPath
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import json_excerpt, one_line, shorten
from attncli.problem.convert.foreign_arrays import is_bfloat16_tensor, is_foreign_array, to_numpy
from attncli.problem.convert.frames import AxisLabels, columns_of_words, frame_labels, without_label_column
from attncli.problem.convert.nested_lists import is_array_with_axes, nested_lists_to_array, to_lists
from attncli.problem.origins import ArrayOrigin

# What an error calls the value that was expected.
MATRIX = "matrix"
LIST_OF_NUMBERS = "list of numbers"
FILE_HINT = "give an array; attncli.load reads a problem from files"
MASKED_HINT = "fill them with .filled(), and give mask or key_lengths for keys that are not there"


@dataclass(frozen=True)
class LabelledArray:
    """An array, the labels of its rows and columns where it has them, and its floating type by `base.dtypes`' names.

    `dtype` is None for text, integers and booleans: their type is that of the other arrays. `origin` is where it was
    read.
    """

    array: Array
    labels: tuple[str, ...] | None = None
    dtype: str | None = None
    origin: ArrayOrigin | None = None
    columns: tuple[str, ...] | None = None

    @property
    def axis_labels(self) -> AxisLabels:
        """The labels of the rows, and those of the columns."""
        return self.labels, self.columns


def to_array(value: Any, path: ErrorPath, noun: str = MATRIX) -> LabelledArray:
    """Convert an array or tensor, a data frame, nested lists, or a mapping from labels to rows.

    Arrays of floating types and of booleans stay as they are, without a copy; integers become float64. The words in
    the index of a data frame, or in its one column of words, are its labels. Raises AttnError, which calls what was
    expected `noun`, where a value is none of these, has masked cells, or its numbers are complex, objects or text;
    files are not opened.
    """
    if type(value) is np.ndarray:  # as most are: it has no labels, and is of no other library
        return _of_numbers(value, value, path, noun)
    if isinstance(value, LabelledArray):
        return value
    if isinstance(value, str):
        message = f"{shorten(repr(value))} is neither an array nor a generator"
        raise AttnError(message, where=path, hint=FILE_HINT)
    if is_foreign_array(value):
        return _foreign_array(value, path, noun)
    if isinstance(value, Mapping):
        return _labelled_rows(value, path, noun)
    if not isinstance(value, (list, tuple)):
        hint = FILE_HINT if isinstance(value, PathLike) else None
        raise AttnError(f"{json_excerpt(value)} is no {noun}", where=path, hint=hint, subject=value)
    return LabelledArray(nested_lists_to_array(value, path))


def is_row(value: Any) -> bool:
    """Whether a value is a list without lists in it."""
    return isinstance(value, list) and not any(isinstance(cell, list) for cell in value)


def _labelled_rows(value: Mapping[Any, Any], path: ErrorPath, noun: str) -> LabelledArray:
    """A mapping from labels to rows."""
    rows = [to_lists(row) if is_array_with_axes(row) and row.ndim == 1 else row for row in value.values()]
    if not rows or not all(map(is_row, rows)):
        hint = "expected lists of numbers" if noun == MATRIX else "expected one row of numbers"
        raise AttnError(f"is no {noun}", where=path, hint=hint, subject=value)
    return LabelledArray(nested_lists_to_array(rows, path), tuple(str(label) for label in value))


def _foreign_array(value: Any, path: ErrorPath, noun: str) -> LabelledArray:
    """An array of NumPy's or of another library; without a copy where the type stays."""
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise AttnError("has masked cells", where=path, hint=MASKED_HINT, subject=value)
    labels, columns = frame_labels(value)
    try:
        array = to_numpy(without_label_column(value))
    except (TypeError, RuntimeError, BufferError) as error:  # of a type that NumPy does not have, or without numbers
        raise AttnError(f"can't be read ({one_line(str(error))})", where=path, subject=value) from None
    dtype = BFLOAT16 if is_bfloat16_tensor(value) else None
    return _of_numbers(array, value, path, noun, labels, columns, dtype)


def _of_numbers(
    array: Array,
    value: Any,
    path: ErrorPath,
    noun: str,
    labels: tuple[str, ...] | None = None,
    columns: tuple[str, ...] | None = None,
    dtype: str | None = None,
) -> LabelledArray:
    """The array of a value, integers as float64; raises AttnError where it has neither numbers nor booleans.

    `dtype` is the type of a tensor that NumPy does not have.
    """
    kind, name = array.dtype.kind, dtype or array.dtype.type.__name__  # longdouble by that name on every machine
    if name == BFLOAT16:  # of a tensor, or a type that another package has registered
        return LabelledArray(array.astype(np.float32), labels, BFLOAT16, columns=columns)
    if kind == "f":
        return LabelledArray(array, labels, name, columns=columns)
    if kind in "iu":  # in float64 products of integers don't wrap
        return LabelledArray(array.astype(np.float64), labels, columns=columns)
    if kind != "b":
        hint = _hint_of_objects(value) if kind == "O" else None
        raise AttnError(f"{json_excerpt(value)} is no {noun}", where=path, hint=hint, subject=value)
    return LabelledArray(array, labels, columns=columns)


def _hint_of_objects(value: Any) -> str:
    """What makes numbers of an array of objects, or of a data frame with columns of words."""
    words = columns_of_words(value)
    if words:
        return f"leave out its columns of words: {', '.join(words)}"
    return "make numbers of its objects with .astype(float)"
