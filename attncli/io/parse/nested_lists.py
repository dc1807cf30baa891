"""Cells: nested lists as an array, every cell a number (or every cell true or false), every row of one length."""

from collections.abc import Callable
from itertools import chain
from typing import Any

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.io.origin import Origin
from attncli.io.readers import json

ReadCell = Callable[[Any, str, Origin, Any, tuple[int, ...]], Any]

MOST_AXES = 8
SPELLED = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


def array(value: Any, key: str, origin: Origin) -> Array:
    """Nested lists as floating-point numbers, or as booleans where all of them are true or false.

    Raises AttnError where a row is longer than the others, or a cell is no number.
    """
    if not isinstance(value, (list, tuple)):
        raise AttnError(f"{json.said(value)} is no matrix", where=origin.where(key, value))
    plain = _plain(value)
    if plain is not None:
        return plain
    if isinstance(_first(value), bool):
        return np.array(_numbers(value, key, origin, (), _truth), dtype=bool)
    return np.array(_numbers(value, key, origin, (), _number), dtype=np.float64)


def _plain(value: Any) -> Array | None:
    """Lists of numbers and nothing else, in one step; None where something takes a closer look."""
    rows = value if value and isinstance(value[0], (list, tuple)) else [value]
    if not all(isinstance(row, (list, tuple)) for row in rows) or len(set(map(len, rows))) > 1:
        return None
    if not set(map(type, chain.from_iterable(rows))) <= {float, int}:
        return None
    try:
        return np.array(value, dtype=np.float64)
    except OverflowError:  # a whole number beyond all floats
        return None


def _first(value: Any) -> Any:
    """The first cell of nested lists."""
    while isinstance(value, (list, tuple)) and value:
        value = value[0]
    return value


def _numbers(value: Any, key: str, origin: Origin, at: tuple[int, ...], read_cell: ReadCell) -> list[Any]:
    """The lists with every cell checked: numbers only, and rows of one length and one depth."""
    if len(at) == MOST_AXES:
        raise AttnError("lists are nested too deep", where=origin.where(key, value))
    if any(getattr(row, "ndim", 0) for row in value):
        value = [row.tolist() if getattr(row, "ndim", 0) else row for row in value]
    if not isinstance(value[0] if value else None, (list, tuple)):
        if not set(map(type, value)) <= {float}:
            return [read_cell(cell, key, origin, value, (*at, column)) for column, cell in enumerate(value, 1)]
        return list(value)
    rows = []
    for number, row in enumerate(value, 1):
        if not isinstance(row, (list, tuple)):
            raise AttnError(f"{json.said(row)} is no row", where=f"{origin.where(key, value)}, row {number}")
        rows.append(_numbers(row, key, origin, (*at, number), read_cell))
        if _depth(rows[-1]) != _depth(rows[0]):
            raise AttnError("is nested otherwise than row 1", where=f"{origin.where(key, row)}, row {number}")
    lengths = [len(row) for row in rows]
    usual = max(lengths, key=lengths.count)  # of equals the first
    for number, length in enumerate(lengths, 1):
        if length != usual:
            raise AttnError(
                f"{length} numbers where the other rows have {usual}",
                where=f"{origin.where(key, value[number - 1])}, row {number}",
            )
    return rows


def _depth(rows: list[Any]) -> int:
    """How many lists are nested in one another, in lists whose rows have been checked."""
    return 1 + (_depth(rows[0]) if rows and isinstance(rows[0], list) else 0)


def _number(cell: Any, key: str, origin: Origin, row: Any, at: tuple[int, ...]) -> float:
    """A cell as a float; booleans, words, nulls and numbers too large are none."""
    if type(cell) is int or type(cell) is float or (hasattr(cell, "dtype") and cell.dtype.kind in "iuf"):
        try:
            return float(cell)
        except OverflowError:
            problem = "is too large for a floating-point number"
    elif isinstance(cell, str) and cell in SPELLED:
        return SPELLED[cell]
    else:
        problem = "is not a number"
    raise AttnError(f"{json.said(cell)} {problem}", where=_place(key, origin, row, at))


def _truth(cell: Any, key: str, origin: Origin, row: Any, at: tuple[int, ...]) -> bool:
    """A cell among others that are true or false."""
    if isinstance(cell, bool):
        return cell
    where = _place(key, origin, row, at)
    raise AttnError(
        f"{json.said(cell)} stands among true and false", where=where, hint="write 1 and 0, or true and false"
    )


def _place(key: str, origin: Origin, row: Any, at: tuple[int, ...]) -> str:
    """`p.yaml, line 5, w_q, row 2, number 3`."""
    names = ("row", "number") if len(at) > 1 else ("number",)
    counted = [f"{name} {number}" for name, number in zip(names, at[-2:], strict=False)]
    return ", ".join([origin.where(key, row), *counted])
