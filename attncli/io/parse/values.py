"""Values of some keys that are more than a number and less than a matrix: truths, counts, windows, short lists."""

from typing import Any

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import shorten
from attncli.io.parse import grammar
from attncli.io.parse.operator_choice import is_number

UNLIMITED = float("inf")


def listed(written: Any) -> Any:
    """One number, or `3,5` on the command line, as a list; anything else as it is."""
    if is_number(written):
        return [written]
    if isinstance(written, str):
        parts = [_number(part) for part in written.split(",")]
        if None not in parts:
            return parts
    return written


def _number(text: str) -> int | float | None:
    """The number that a word is, if it is one."""
    try:
        value = grammar.inline(text, "")
    except AttnError:
        return None
    return value if is_number(value) else None


def truths(array: Array, where: str) -> Array:
    """Ones and zeros as true and false."""
    if array.dtype.kind == "b":
        return array
    other = array[(array != 0) & (array != 1)]
    if other.size:
        hint = "1 attends and 0 does not; numbers that are added to the scores are a bias"
        raise AttnError(f"{other.flat[0]:g} is neither 0 nor 1", where=where, hint=hint)
    visible: Array = array == 1
    return visible


def counts(array: Array, where: str) -> Array:
    """Whole numbers from 0."""
    array = array.astype(np.float64)
    wrong = array[~((array >= 0) & (array == np.floor(array)) & (array < 2**53))]
    if wrong.size:
        raise AttnError(f"{wrong.flat[0]:g} is not a whole number from 0", where=where)
    return array.astype(np.int64)


def window(written: Any, where: str) -> tuple[float, float]:
    """`LEFT,RIGHT`: how many keys on either side; −1 and inf are no limit."""
    sides = written.split(",") if isinstance(written, str) else written
    if not isinstance(sides, (list, tuple)) or len(sides) != 2:
        raise AttnError(f"{shorten(repr(written))} is no window", where=where, hint="expected LEFT,RIGHT, such as 2,0")
    left, right = (_side(side, where) for side in sides)
    return left, right


def _side(written: Any, where: str) -> float:
    """How many keys on one side."""
    side = grammar.inline(written, where) if isinstance(written, str) else written
    if side in ("inf", "Infinity", UNLIMITED, -1):
        return UNLIMITED
    if not is_number(side) or not float(side).is_integer() or side < 0:
        hint = "expected a whole number, or inf or -1 for no limit"
        raise AttnError(f"{shorten(str(written))} is no side of a window", where=where, hint=hint)
    return int(side)
