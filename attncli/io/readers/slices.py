"""Slices: the part of an array that `[:, 0:768]` after its name selects, by NumPy's rules for basic slices."""

import re
from collections.abc import Container
from dataclasses import replace
from types import EllipsisType

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array
from attncli.io.paths import split_slices
from attncli.problem.arrays import LabelledArray
from attncli.problem.origins import ArrayOrigin

AxisIndex = int | slice | EllipsisType
Index = tuple[AxisIndex, ...]

WHOLE: Index = ()
HINT = "expected NumPy's slices, such as [:, 0:768] or [0]"
_SLICE = re.compile(r"\s*(-?[0-9]*)\s*:\s*(-?[0-9]*)\s*(?::\s*(-?[0-9]*)\s*)?", re.ASCII)
_POSITION = re.compile(r"\s*-?[0-9]+\s*", re.ASCII)


def split_entry(text: str, entries: Container[str], where: str) -> tuple[str, Index]:
    """The entry that a text names ("": none), and its slices; an entry whose own name has brackets has precedence.

    Raises AttnError where there are no slices between the brackets, `...` stands there more than once, or the brackets
    after an entry are not one pair.

    >>> split_entry("w_q[0, 1:]", {"w_q"}, "weights.npz")
    ('w_q', (0, slice(1, None, None)))
    """
    if text in entries:
        return text, WHOLE
    name, slices = split_slices(f" {text}")  # the blank: slices of a file without entries stand alone
    where = f"{where}{'#' if name.strip() else ''}{text}"
    entry, bracket, rest = text.partition("[")
    if bracket and not slices and entry in entries:
        raise AttnError(f"{bracket}{rest} are no slices", where=where, hint=HINT)
    index = tuple(_parse_axis(part, where) for part in slices[1:-1].split(",")) if slices else WHOLE
    if index.count(...) > 1:
        raise AttnError("'...' stands more than once", where=where, hint=HINT)
    return name[1:], index


def take(array: Array, index: Index, where: str) -> Array:
    """The part of an array, as a view; raises AttnError where it has no such axis or position, or no numbers there."""
    rest = array.ndim - sum(at is not ... for at in index)
    if rest < 0:
        message = f"has {array.ndim} {'axis' if array.ndim == 1 else 'axes'}, and is sliced along {len(index)}"
        raise AttnError(message, where=where, hint=f"its shape is {array.shape}")
    every_axis = [at for axis in index for at in ([slice(None)] * rest if axis is ... else [axis])]
    for axis, at in enumerate(every_axis):
        length = array.shape[axis]
        if isinstance(at, int) and not -length <= at < length:
            raise AttnError(f"there is no position {at} on axis {axis}", where=where, hint=f"its length is {length}")
    part: Array = array[index]
    if array.size and not part.size:
        raise AttnError("the slices select no numbers", where=where, hint=f"its shape is {array.shape}")
    return part


def take_labelled(labelled: LabelledArray, index: Index, where: str) -> LabelledArray:
    """The part of a table with labels: those of the rows and columns that are left, and the lines of these rows."""
    if not index:
        return labelled
    rows = slice(None) if index[0] is ... else index[0]
    columns = index[-1] if len(index) == labelled.array.ndim and index[-1] is not ... else slice(None)
    names = labelled.columns[columns] if labelled.columns is not None and isinstance(columns, slice) else None
    part = replace(labelled, array=take(labelled.array, index, where), columns=names)
    if isinstance(rows, int):  # one row, which is no row of a table any more
        return replace(part, labels=None, origin=None)
    lines = () if labelled.origin is None else labelled.origin.lines
    has_lines = len(lines) == len(labelled.array)
    return replace(
        part,
        labels=labelled.labels and labelled.labels[rows],
        origin=labelled.origin and ArrayOrigin(labelled.origin.name, lines[rows] if has_lines else ()),
    )


def _parse_axis(text: str, where: str) -> AxisIndex:
    """A slice or a position of one axis, or the ellipsis, which is every axis that is not named."""
    if text.strip() == "...":
        return ...
    if _POSITION.fullmatch(text):
        return int(text)
    match = _SLICE.fullmatch(text)
    if match is None or match[3] in ("0", "-0"):
        raise AttnError(f"{text.strip()!r} is no slice", where=where, hint=HINT)
    start, stop, step = (int(number) if number else None for number in match.groups())
    return slice(start, stop, step)
