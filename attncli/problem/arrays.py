"""Arrays from arrays and tensors of any library, data frames, nested lists and labelled rows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from os import PathLike
from typing import Any

from attncli.base.dtypes import BFLOAT16, FLOAT8, HELD_AS_SINGLE
from attncli.base.errors import AttnError, ErrorPath
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import count_of, json_excerpt, most_common, one_line, shorten
from attncli.numbers.parsing import TypedNumber, number_hint, number_of_text


@dataclass(frozen=True, eq=False)
class ArrayOrigin:
    """The file or option of an array, and the line of each row if the file has lines.

    `is_whole` says that the name reads the array, like `words.csv` or `model.safetensors#w[0:2]`. It is false if a
    problem's file has the numbers among its keys, or if they have changed since.
    """

    name: str
    lines: Sequence[int] = ()
    is_option: bool = False
    is_whole: bool = False

    def path_of_row(self, row: int) -> ErrorPath:
        """The file, and the line of a row, counted from 0.

        >>> ArrayOrigin("words.csv", (2, 3)).path_of_row(1)
        ('words.csv', 'line 3')
        """
        return (self.name, f"line {self.lines[row]}") if row < len(self.lines) else (self.name,)


# PyTorch tensors: detached, on the CPU, and with lazy conjugation and negation resolved.
TENSOR_METHODS = ("detach", "cpu", "resolve_neg")


def is_foreign_array(value: Any) -> bool:
    """Whether a value is an array, a tensor or a data frame that `to_numpy` may read."""
    return not isinstance(value, type) and any(hasattr(value, name) for name in ("__array__", "to_numpy", "__dlpack__"))


def to_numpy(value: Any) -> Array:
    """The numbers of an array, tensor or data frame, without a copy if they are in memory.

    Its library is not imported. A tensor of bfloat16 or float8 becomes float32. The library's errors (TypeError,
    RuntimeError, BufferError) pass through if NumPy lacks the type, or the tensor has no numbers.
    """
    if isinstance(value, np.ndarray):
        return np.asarray(value)
    for name in TENSOR_METHODS:
        method = getattr(value, name, None)
        value = method() if callable(method) else value
    if type_of_tensor(value) is not None:
        value = value.float()
    if hasattr(value, "__cuda_array_interface__") and hasattr(value, "get"):  # CuPy copies only on request
        return np.asarray(value.get())
    if hasattr(value, "__array__"):
        return np.asarray(value)
    return np.asarray(value.to_numpy()) if hasattr(value, "to_numpy") else np.from_dlpack(value)


def type_of_tensor(value: Any) -> str | None:
    """The type of a PyTorch tensor that NumPy lacks, such as bfloat16; None for any other value."""
    name = "" if isinstance(value, np.ndarray) else str(getattr(value, "dtype", "")).removeprefix("torch.")
    return name if name in HELD_AS_SINGLE and hasattr(value, "float") else None


Index = tuple[int, ...]  # a row or a cell, counted from 1
ConvertCell = Callable[[Any, Any, Index, ErrorPath], Any]

MAX_AXES = 8


def nested_lists_to_array(value: Any, path: ErrorPath) -> Array:
    """Nested lists as float64, or as booleans if all cells are true or false.

    Raises AttnError if rows differ in length, or a cell is not a number; its `subject` is the row.

    >>> nested_lists_to_array([[1, 2.5], [3, "Infinity"]], ("w_q",)).tolist()
    [[1.0, 2.5], [3.0, inf]]
    >>> nested_lists_to_array([[1, 2], [3]], ("w_q",))
    Traceback (most recent call last):
        ...
    attncli.base.errors.AttnError: w_q, row 2: 1 number where the other rows have 2
    """
    if not isinstance(value, (list, tuple)):
        raise AttnError(f"{json_excerpt(value)} is not a matrix", where=path, subject=value)
    array = _plain_lists_to_array(value)
    if array is not None:
        return array
    has_booleans = isinstance(_first_cell(value), bool)
    cells = _convert_rows(value, (), path, _to_boolean if has_booleans else _to_number)
    try:
        return np.array(cells, dtype=bool if has_booleans else np.float64)
    except ValueError:  # within a list rows are equally long, but two lists may differ
        hint = "give each matrix in it as many rows and columns"
        raise AttnError("matrices of several sizes", where=path, hint=hint, subject=value) from None


def _plain_lists_to_array(value: Any) -> Array | None:
    """The array of at most two axes whose cells are all int or float; None for any other value."""
    rows = value if value and isinstance(value[0], (list, tuple)) else [value]
    if not all(isinstance(row, (list, tuple)) for row in rows) or len(set(map(len, rows))) > 1:
        return None
    if not set(map(type, chain.from_iterable(rows))) <= {float, int}:
        return None
    try:
        return np.array(value, dtype=np.float64)
    except OverflowError:  # an integer beyond all floats
        return None


def _first_cell(value: Any) -> Any:
    """The first cell of nested lists; a list if they are nested too deep, or contain themselves."""
    for _ in range(MAX_AXES):
        if isinstance(value, (list, tuple)) and value:
            value = value[0]
    return value


def _convert_rows(value: Any, index: Index, path: ErrorPath, convert_cell: ConvertCell) -> list[Any]:
    """The lists with every cell converted; raises AttnError if rows differ in length or depth."""
    if len(index) == MAX_AXES:
        raise AttnError("lists are nested too deep", where=path, subject=value)
    if any(map(is_array_with_axes, value)):
        value = [to_lists(row) if is_array_with_axes(row) else row for row in value]
    if not isinstance(value[0] if value else None, (list, tuple)):
        if not set(map(type, value)) <= {float}:
            return [convert_cell(cell, value, (*index, column), path) for column, cell in enumerate(value, 1)]
        return list(value)
    rows = []
    for number, row in enumerate(value, 1):
        if not isinstance(row, (list, tuple)):
            raise AttnError(f"{json_excerpt(row)} is not a row", where=(*path, f"row {number}"), subject=value)
        rows.append(_convert_rows(row, (*index, number), path, convert_cell))
        if _depth(rows[-1]) != _depth(rows[0]):
            raise AttnError("is nested differently from row 1", where=(*path, f"row {number}"), subject=row)
    lengths = [len(row) for row in rows]
    common_length = most_common(lengths)
    for number, length in enumerate(lengths, 1):
        if length != common_length:
            message = f"{count_of(length, 'number')} where the other rows have {common_length}"
            raise AttnError(message, where=(*path, f"row {number}"), subject=value[number - 1])
    return rows


def is_array_with_axes(value: Any) -> bool:
    """Whether a value is an array or tensor of any library, with at least one axis; not the class itself."""
    return not isinstance(value, type) and bool(getattr(value, "ndim", 0))


def to_lists(value: Any) -> Any:
    """The cells of an array or tensor of any library as lists; any other value unchanged."""
    if isinstance(value, type) or not (hasattr(value, "tolist") or hasattr(value, "__array__")):
        return value
    return value.tolist() if hasattr(value, "tolist") else to_numpy(value).tolist()


def _depth(rows: list[Any]) -> int:
    """The number of axes of lists whose rows were checked."""
    return 1 + (_depth(rows[0]) if rows and isinstance(rows[0], list) else 0)


def _to_number(cell: Any, row: Any, index: Index, path: ErrorPath) -> float:
    """A cell as a float, also one written as `1/2`; raises AttnError for anything else, or a number beyond floats."""
    number = to_python_number(cell)
    if type(number) in (int, float, TypedNumber):
        try:
            return float(number)
        except OverflowError:
            problem = "is too large for a floating-point number"
    elif isinstance(cell, str) and (written := _number_of_text(cell, row, index, path)) is not None:
        return written
    else:
        problem = "is not a number"
    hint = number_hint(cell) if isinstance(cell, str) else None
    raise AttnError(f"{json_excerpt(cell)} {problem}", where=_cell_path(index, path), hint=hint, subject=row)


def _number_of_text(cell: str, row: Any, index: Index, path: ErrorPath) -> float | None:
    """The number of a cell's text, such as `nan` or `1/2`; None for other texts."""
    try:
        return number_of_text(cell)
    except AttnError as error:
        error.subject = row
        raise error.at(*_cell_path(index, path)) from None


def to_python_number(value: Any) -> Any:
    """A NumPy scalar, or a tensor without axes, as a Python number; any other value unchanged."""
    if not hasattr(value, "dtype") or isinstance(value, type) or is_array_with_axes(value):
        return value
    kind = getattr(value.dtype, "kind", None)
    if kind in ("i", "u", "f") and value is not np.ma.masked:
        return float(value) if kind == "f" else int(value)
    has_number = kind is None and hasattr(value, "tolist")  # a tensor's type has no kind
    return value.tolist() if has_number else value


def _to_boolean(cell: Any, row: Any, index: Index, path: ErrorPath) -> bool:
    """A cell of a table of booleans."""
    if isinstance(cell, bool):
        return cell
    message, hint = f"{json_excerpt(cell)} is among true and false", "write 1 and 0, or true and false"
    raise AttnError(message, where=_cell_path(index, path), hint=hint, subject=row)


def _cell_path(index: Index, path: ErrorPath) -> ErrorPath:
    """The path of a cell: `w_q`, `row 2`, `number 3`."""
    names = ("row", "number") if len(index) > 1 else ("number",)
    return (*path, *(f"{name} {number}" for name, number in zip(names, index[-2:], strict=False)))


AxisLabels = tuple[tuple[str, ...] | None, tuple[str, ...] | None]  # of rows and columns


def frame_labels(value: Any) -> AxisLabels:
    """The labels of a data frame's rows and columns; None for numbers, which only count, and for other values.

    Words in the index are labels; otherwise the words of the only column with words.
    """
    if not _is_frame(value):
        return None, None
    names = list(getattr(value, "columns", ()))
    label_column = _label_column(value)
    if label_column is None:
        return _words(getattr(value, "index", None)), _column_labels(names)
    at, words = label_column
    return words, _column_labels([*names[:at], *names[at + 1 :]])


def without_label_column(value: Any) -> Any:
    """The numbers of a data frame without its column of labels, as an array; any other value unchanged."""
    label_column = _label_column(value) if _is_frame(value) else None
    if label_column is None:
        return value
    names = list(value.columns)
    del names[label_column[0]]
    return np.stack([value[name].to_numpy() for name in names], axis=1)


def columns_of_words(value: Any) -> list[str]:
    """The names of the columns of a data frame that have words, if it is one."""
    names = list(getattr(value, "columns", ())) if _is_frame(value) else []
    return [str(name) for name in names if names.count(name) == 1 and _words_of_column(value[name])]


def _is_frame(value: Any) -> bool:
    """Whether a value is a data frame, or a column of one."""
    return hasattr(value, "to_numpy") and (hasattr(value, "columns") or hasattr(value, "index"))


def _label_column(frame: Any) -> tuple[int, tuple[str, ...]] | None:
    """The position and the words of the only column with words; None if the index has words.

    A frame without another column is not a table of numbers.
    """
    names = list(getattr(frame, "columns", ()))
    if _words(getattr(frame, "index", None)) or len(names) < 2 or len(set(names)) < len(names):
        return None
    columns = [(at, words) for at, name in enumerate(names) if (words := _words_of_column(frame[name]))]
    return columns[0] if len(columns) == 1 else None


def _words_of_column(column: Any) -> tuple[str, ...] | None:
    """The words of a column; None for a numeric one, whose cells are not inspected."""
    return None if column.to_numpy().dtype.kind in "biufc" else _words(column)


def _words(entries: Any) -> tuple[str, ...] | None:
    """The entries of an index or a column if all are words; otherwise None."""
    listed = (
        entries.to_list() if hasattr(entries, "to_list") else entries.tolist() if hasattr(entries, "tolist") else []
    )
    return tuple(listed) if listed and all(isinstance(entry, str) for entry in listed) else None


def _column_labels(names: list[Any]) -> tuple[str, ...] | None:
    """The names of columns if all are words, and not Polars's names for unnamed columns."""
    are_words = names and all(isinstance(name, str) for name in names)
    return tuple(names) if are_words and names != [f"column_{at}" for at in range(len(names))] else None


@dataclass(frozen=True, eq=False)
class EncodedArray:
    """An array that is mapped from its file, and the function that converts it, or some of its rows, to numbers.

    `dtype` is the floating type of the numbers by `base.dtypes`' names, None for integers; `origin` is its file.
    """

    stored: Array
    decode: Callable[[Array], Array]
    dtype: str | None = None
    origin: ArrayOrigin | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of its axes."""
        shape: tuple[int, ...] = self.stored.shape
        return shape

    def rows(self, at: Sequence[int]) -> Array:
        """The numbers of some rows."""
        return self.decode(self.stored[list(at)])


# The names of expected values in errors.
MATRIX = "matrix"
LIST_OF_NUMBERS = "list of numbers"
FILE_HINT = "give an array; attncli.load reads a problem from files"
MASKED_HINT = "fill them with .filled(), and give mask or key_lengths for missing keys"


# The integers in which engines store floats that NumPy lacks, and the types that they may be.
FLOATS_IN_INTEGERS: Mapping[str, tuple[str, ...]] = {"uint8": FLOAT8, "int16": (BFLOAT16,), "uint16": (BFLOAT16,)}
LEAST_OF_FLOATS = 2**13  # integers that are floats reach it: as bfloat16 it is 2⁻⁶³


def integers_of_bits(array: Array) -> str | None:
    """The type of an array of integers that may be the bits of floats; None for others.

    >>> integers_of_bits(np.ones(2, np.uint8)), integers_of_bits(np.array([-7, 7], np.int16))
    ('uint8', None)
    """
    is_small = array.dtype.itemsize > 1 and (not array.size or array.max() < LEAST_OF_FLOATS)
    name: str = array.dtype.name
    return None if is_small or name not in FLOATS_IN_INTEGERS else name


@dataclass(frozen=True, eq=False)
class GivenArray:
    """An array, the labels of its rows and columns if any, and its floating type by `base.dtypes`' names.

    `dtype` is None for text, integers and booleans, which take the other arrays' type. `origin` is its file. `integers`
    is the stored integer type, if engines store floats in it.
    """

    array: Array
    labels: tuple[str, ...] | None = None
    dtype: str | None = None
    origin: ArrayOrigin | None = None
    columns: tuple[str, ...] | None = None
    integers: str | None = None

    @property
    def axis_labels(self) -> AxisLabels:
        """The labels of the rows, and of the columns."""
        return self.labels, self.columns


def to_array(value: Any, path: ErrorPath, noun: str = MATRIX) -> GivenArray:
    """Convert an array or tensor, a data frame, nested lists, or a mapping from labels to rows.

    Arrays of floats and of booleans are returned without a copy; integers become float64. The words in a data frame's
    index, or in its only column of words, are its labels. Raises AttnError, which calls the expected value `noun`, for
    any other value, masked cells, and numbers that are complex, objects or text; files are not opened.
    """
    if type(value) is np.ndarray:  # the common case: no labels, no other library
        return _of_numbers(value, value, path, noun)
    if isinstance(value, GivenArray):
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
        raise AttnError(f"{json_excerpt(value)} is not a {noun}", where=path, hint=hint, subject=value)
    return GivenArray(nested_lists_to_array(value, path))


def is_row(value: Any) -> bool:
    """Whether a value is a list without lists in it."""
    return isinstance(value, list) and not any(isinstance(cell, list) for cell in value)


def _labelled_rows(value: Mapping[Any, Any], path: ErrorPath, noun: str) -> GivenArray:
    """A mapping from labels to rows."""
    rows = [to_lists(row) if is_array_with_axes(row) and row.ndim == 1 else row for row in value.values()]
    if not rows or not all(map(is_row, rows)):
        hint = "expected lists of numbers" if noun == MATRIX else "expected one row of numbers"
        raise AttnError(f"is not a {noun}", where=path, hint=hint, subject=value)
    return GivenArray(nested_lists_to_array(rows, path), tuple(str(label) for label in value))


def _foreign_array(value: Any, path: ErrorPath, noun: str) -> GivenArray:
    """An array of NumPy or another library, without a copy if the type stays."""
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise AttnError("has masked cells", where=path, hint=MASKED_HINT, subject=value)
    labels, columns = frame_labels(value)
    try:
        array = to_numpy(without_label_column(value))
    except (TypeError, RuntimeError, BufferError) as error:  # a type that NumPy lacks, or no numbers
        raise AttnError(f"can't be read ({one_line(str(error))})", where=path, subject=value) from None
    dtype = type_of_tensor(value)
    return _of_numbers(array, value, path, noun, labels, columns, dtype)


def _of_numbers(
    array: Array,
    value: Any,
    path: ErrorPath,
    noun: str,
    labels: tuple[str, ...] | None = None,
    columns: tuple[str, ...] | None = None,
    dtype: str | None = None,
) -> GivenArray:
    """The array of a value, integers as float64; raises AttnError if it has neither numbers nor booleans.

    `dtype` is a tensor's type that NumPy lacks.
    """
    kind, name = array.dtype.kind, dtype or array.dtype.type.__name__  # "longdouble" on every machine
    if name in HELD_AS_SINGLE:  # a tensor's type, or one registered by another package
        return GivenArray(array.astype(np.float32), labels, name, columns=columns)
    if kind == "f":
        return GivenArray(array, labels, name, columns=columns)
    if kind in "iu":  # products of integers could overflow
        return GivenArray(array.astype(np.float64), labels, columns=columns, integers=integers_of_bits(array))
    if kind != "b":
        hint = _hint_of_objects(value) if kind == "O" else None
        raise AttnError(f"{json_excerpt(value)} is not a {noun}", where=path, hint=hint, subject=value)
    return GivenArray(array, labels, columns=columns)


def _hint_of_objects(value: Any) -> str:
    """The hint for an array of objects, or for a data frame with columns of words."""
    words = columns_of_words(value)
    if words:
        return f"leave out its columns of words: {', '.join(words)}"
    return "convert its objects with .astype(float)"
