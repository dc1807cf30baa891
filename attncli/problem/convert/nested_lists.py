"""Nested lists to an array: every cell a number (or every cell a boolean), every row of one length and one depth."""

from collections.abc import Callable
from itertools import chain
from typing import Any

from attncli.base.errors import AttnError, ErrorPath
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import json_excerpt, most_common
from attncli.numbers.parsing import TypedNumber, number_hint, number_of_text
from attncli.problem.convert.foreign_arrays import to_numpy

Index = tuple[int, ...]  # of a row or a cell, counted from 1
ConvertCell = Callable[[Any, Any, Index, ErrorPath], Any]

MAX_AXES = 8


def nested_lists_to_array(value: Any, path: ErrorPath) -> Array:
    """Nested lists as float64, or as booleans where all cells are true or false.

    Raises AttnError where a row is longer than the others, or a cell is no number; its `subject` is the row.

    >>> nested_lists_to_array([[1, 2.5], [3, "Infinity"]], ("w_q",)).tolist()
    [[1.0, 2.5], [3.0, inf]]
    >>> nested_lists_to_array([[1, 2], [3]], ("w_q",))
    Traceback (most recent call last):
        ...
    attncli.base.errors.AttnError: w_q, row 2: 1 numbers where the other rows have 2
    """
    if not isinstance(value, (list, tuple)):
        raise AttnError(f"{json_excerpt(value)} is no matrix", where=path, subject=value)
    array = _plain_lists_to_array(value)
    if array is not None:
        return array
    if isinstance(_first_cell(value), bool):
        return np.array(_convert_rows(value, (), path, _to_boolean), dtype=bool)
    return np.array(_convert_rows(value, (), path, _to_number), dtype=np.float64)


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
    """The first cell of nested lists; some list in it where they are nested too deep, or contain themselves."""
    for _ in range(MAX_AXES):
        if isinstance(value, (list, tuple)) and value:
            value = value[0]
    return value


def _convert_rows(value: Any, index: Index, path: ErrorPath, convert_cell: ConvertCell) -> list[Any]:
    """The lists with every cell converted; raises AttnError where rows differ in length or depth."""
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
            raise AttnError(f"{json_excerpt(row)} is no row", where=(*path, f"row {number}"), subject=value)
        rows.append(_convert_rows(row, (*index, number), path, convert_cell))
        if _depth(rows[-1]) != _depth(rows[0]):
            raise AttnError("is nested otherwise than row 1", where=(*path, f"row {number}"), subject=row)
    lengths = [len(row) for row in rows]
    common_length = most_common(lengths)
    for number, length in enumerate(lengths, 1):
        if length != common_length:
            message = f"{length} numbers where the other rows have {common_length}"
            raise AttnError(message, where=(*path, f"row {number}"), subject=value[number - 1])
    return rows


def is_array_with_axes(value: Any) -> bool:
    """Whether a value is an array or tensor of any library, of one axis or more; its class, with its names, is none."""
    return not isinstance(value, type) and bool(getattr(value, "ndim", 0))


def to_lists(value: Any) -> Any:
    """The cells of an array or tensor of any library as lists; any other value as it is."""
    if isinstance(value, type) or not (hasattr(value, "tolist") or hasattr(value, "__array__")):
        return value
    return value.tolist() if hasattr(value, "tolist") else to_numpy(value).tolist()


def _depth(rows: list[Any]) -> int:
    """The number of axes of lists whose rows were checked."""
    return 1 + (_depth(rows[0]) if rows and isinstance(rows[0], list) else 0)


def _to_number(cell: Any, row: Any, index: Index, path: ErrorPath) -> float:
    """A cell as a float, also one written as `1/2`; what is no number, or is beyond all floats, is refused."""
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
    """The number that a cell's text is, such as `nan` or `1/2`; None where it is none."""
    try:
        return number_of_text(cell)
    except AttnError as error:
        error.subject = row
        raise error.at(*_cell_path(index, path)) from None


def to_python_number(value: Any) -> Any:
    """A scalar of NumPy's, or a tensor without axes, as a number of Python's; any other value as it is."""
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
    message, hint = f"{json_excerpt(cell)} stands among true and false", "write 1 and 0, or true and false"
    raise AttnError(message, where=_cell_path(index, path), hint=hint, subject=row)


def _cell_path(index: Index, path: ErrorPath) -> ErrorPath:
    """The path of a cell: `w_q`, `row 2`, `number 3`."""
    names = ("row", "number") if len(index) > 1 else ("number",)
    return (*path, *(f"{name} {number}" for name, number in zip(names, index[-2:], strict=False)))
