"""Axes in letters: `query[n d], key[m d] -> [n m]` is parsed, and bound to the lengths of arrays."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from attncli.base.errors import AttnError, ErrorPath

LEGEND = {
    "b": "batch items",
    "h": "query heads",
    "g": "key and value heads",
    "n": "queries",
    "q": "queries, before some are chosen",
    "m": "keys",
    "p": "cached keys",
    "k": "new keys",
    "d": "query features",
    "c": "key features",
    "e": "value features",
    "a": "hidden units",
    "f": "rotated pairs",
    "r": "relative positions",
    "s": "axes of positions",
    "t": "positions in the table",
    "x": "embedding features",
    "y": "query embedding features",
    "o": "output features",
    "u": "gates",
    "v": "features of the result",
    "z": "bounds of packed sequences",
    "l": "pages of a batch item",
    "w": "entries of a list",
    "λ": "latent features",
    "μ": "query latent features",
    "ρ": "shared rope features",
    "ι": "heads of the indexer",
    "η": "features of a head of the indexer",
    "ζ": "query features of the indexer",
}

# The noun for one entry along an axis; batch items and heads are counted from 0.
AXIS_NOUNS = {"b": "batch item", "h": "head", "g": "key head", "n": "query", "m": "key"}
COUNTED_FROM_0 = ("b", "h", "g")

# The symbols of arrays in the formulas of records, capitals, by the name of an operator's argument or the role of a
# result. In a plan an array may have another symbol: Sᵐ.
SYMBOLS: Mapping[str, str] = {
    "query": "Q",
    "key": "K",
    "value": "V",
    "scores": "S",
    "weights": "A",
    "context": "C",
}

# The role of an operator's result, by its kind.
RESULT_OF_KIND: Mapping[str, str] = {
    "score": "scores",
    "normalize": "weights",
    "context": "context",
    "recurrence": "context",
}

Letters = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Signature:
    """The letters of each named array, and of the result."""

    arrays: Mapping[str, Letters]
    result: Letters


@dataclass(frozen=True, eq=False)
class Length:
    """The length of a letter's axis, and the array that has it, in an error's words: `key has 3 rows (m)`.

    `key` is the array's key, if a problem gives it.
    """

    size: int
    owner: str
    key: str = ""


def parse(text: str) -> Signature:
    """Parse the axes of an operator's arrays and of its result.

    >>> parse("query[n d], key[m d] -> [n m]").arrays
    {'query': ('n', 'd'), 'key': ('m', 'd')}
    """
    left, _, right = text.partition("->")
    arrays = {name: tuple(axes.split()) for name, axes in re.findall(r"(\w+)\[([^\]]*)\]", left)}
    return Signature(arrays, tuple(right.strip(" []").split()))


def legend(axes: Iterable[str]) -> str:
    """The meaning of the axes' letters, also in `e+d` and `h·e`, in the order of LEGEND.

    >>> legend(["m", "n"]), legend(["h·e", "o"])
    ('n queries, m keys', 'h query heads, e value features, o output features')
    """
    letters = set[str]().union(*(re.split("[+·]", axis) for axis in axes))
    return ", ".join(f"{letter} {meaning}" for letter, meaning in LEGEND.items() if letter in letters)


def format_lengths(lengths: Iterable[int]) -> str:
    """The lengths of axes as a text.

    >>> format_lengths((3, 4))
    '3 × 4'
    """
    return " × ".join(map(str, lengths))


def count_entries(letters: Iterable[str], lengths: Iterable[int]) -> str:
    """The lengths of axes with the nouns of their entries.

    >>> count_entries("nm", (1, 4)), count_entries(["h", "n", "e"], (2, 3, 1))
    ('1 query × 4 keys', '2 heads × 3 queries × 1 value feature')
    """
    return " × ".join(map(_count, letters, lengths))


def _count(letter: str, length: int) -> str:
    """`3 queries`, `1 head`."""
    noun = AXIS_NOUNS.get(letter, "")
    plural = f"{noun}s" if letter in COUNTED_FROM_0 else LEGEND.get(letter, "features")
    return f"{length} {plural if length != 1 else noun or plural.removesuffix('s')}"


def bind_axes(
    lengths: dict[str, Length],
    path: str | ErrorPath,
    letters: Letters,
    shape: tuple[int, ...],
    *,
    leading: Letters = (),
) -> None:
    """Bind the letters of one array to the lengths of its last axes, in `lengths`.

    A letter that is already bound must agree; `e+d` must be the sum of two bound letters. The axes in `leading` (batch,
    heads) may come before the array's own. `path` is the array's name, or a key and a parameter.

    Raises AttnError, which names both arrays, if two of them disagree.

    >>> lengths = {}
    >>> bind_axes(lengths, "query", ("n", "d"), (3, 7))
    >>> bind_axes(lengths, "key", ("m", "d"), (5, 2))
    Traceback (most recent call last):
        ...
    attncli.base.errors.AttnError: key has 2 columns (d); query has 7 columns (d)
    """
    path = (path,) if isinstance(path, str) else path
    if not len(letters) <= len(shape) <= len(letters) + len(leading):
        expected = f"{len(letters)} ({' '.join(letters)})" if letters else "none, a single number"
        raise AttnError(f"has {len(shape)} {'axis' if len(shape) == 1 else 'axes'}; expected {expected}", where=path)
    letters = (*leading, *letters)[len(leading) + len(letters) - len(shape) :]
    for axis, (letter, size) in enumerate(zip(letters, shape, strict=True)):
        if "+" in letter:
            parts = [lengths[part] for part in letter.split("+")]
            known = Length(sum(part.size for part in parts), " + ".join(part.owner for part in parts))
        elif letter in lengths:
            known = lengths[letter]
        else:
            known = lengths[letter] = Length(size, _describe_axis(path, letters, axis, size), path[0])
        if known.size != size:
            message = f"{_describe_axis(path, letters, axis, size)}; {known.owner}"
            raise AttnError(message, keys=(path[0], known.key))


def _describe_axis(path: ErrorPath, letters: Letters, axis: int, size: int) -> str:
    """`key has 3 rows (m)`."""
    noun = _axis_noun(letters, axis)
    return f"{', '.join(path)} has {size} {noun.removesuffix('s') if size == 1 else noun} ({letters[axis]})"


def _axis_noun(letters: Letters, axis: int) -> str:
    """The noun for the entries along an axis, in the plural."""
    if len(letters) == 1:
        return "numbers"
    if letters[axis] in COUNTED_FROM_0:
        return LEGEND[letters[axis]]
    return "columns" if axis == len(letters) - 1 else "rows"
