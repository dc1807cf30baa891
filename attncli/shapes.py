"""Shapes in letters: `query[n d], key[m d] -> [n m]` is read, and bound to the lengths of real arrays."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from attncli.errors import AttnError

LEGEND = {
    "b": "batch items",
    "h": "query heads",
    "g": "key and value heads",
    "n": "queries",
    "m": "keys",
    "d": "query features",
    "c": "key features",
    "e": "value features",
    "a": "hidden units",
    "x": "embedding features",
    "y": "query embedding features",
    "o": "output features",
}

Letters = tuple[str, ...]


@dataclass(frozen=True)
class Signature:
    """The letters of each named array, and of the result."""

    arrays: Mapping[str, Letters]
    result: Letters


@dataclass(frozen=True)
class Length:
    """How long a letter's axis is, and which array said so."""

    size: int
    owner: str


def parse(text: str) -> Signature:
    """Read `query[n d], key[m d] -> [n m]`."""
    left, _, right = text.partition("->")
    arrays = {name: tuple(axes.split()) for name, axes in re.findall(r"(\w+)\[([^\]]*)\]", left)}
    return Signature(arrays, tuple(right.strip(" []").split()))


def bind(
    lengths: dict[str, Length],
    name: str,
    letters: Letters,
    shape: tuple[int, ...],
    *,
    leading: Iterable[str] = (),
) -> None:
    """Bind the letters of one array to the lengths of its last axes, in `lengths`.

    A letter that is bound already must agree; `e+d` must be the sum of two bound letters. The array may have
    the axes named in `leading` (batch, heads) before its own.

    Raises AttnError that names both arrays where two of them disagree.
    """
    allowed = (len(letters), len(letters) + len(tuple(leading)))
    if not allowed[0] <= len(shape) <= allowed[1]:
        wanted = f"{len(letters)} ({' '.join(letters)})" if letters else "none, a single number"
        raise AttnError(f"has {len(shape)} {'axis' if len(shape) == 1 else 'axes'}; expected {wanted}", where=name)
    own = shape[len(shape) - len(letters) :]
    for axis, (letter, size) in enumerate(zip(letters, own, strict=True)):
        if "+" in letter:
            parts = [lengths[part] for part in letter.split("+")]
            known = Length(sum(part.size for part in parts), " + ".join(part.owner for part in parts))
        else:
            known = lengths.setdefault(letter, Length(size, f"{name} has {size} {_axis(own, axis)} ({letter})"))
        if known.size != size:
            raise AttnError(f"{name} has {size} {_axis(own, axis)} ({letter}); {known.owner}")


def _axis(shape: tuple[int, ...], axis: int) -> str:
    """What the entries along an axis are called."""
    if len(shape) == 1:
        return "numbers"
    return "columns" if axis == len(shape) - 1 else "rows"
