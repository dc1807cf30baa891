"""Labels: what the entries along the axes of an array are called, and which of them a text names."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from types import EllipsisType
from typing import Any

from attncli.base.axes import AXIS_NOUNS, COUNTED_FROM_0
from attncli.base.errors import AttnError, ErrorPath, UnknownNameError
from attncli.base.lazy_numpy import Array, np

EVERY = "*"  # in place of a label or a position: every one
BATCH, HEAD, FEATURE = "batch", "head", "feature"
# The column of an axis in a long table, by its letter; every other axis has features.
COLUMNS: Mapping[str, str] = {"b": BATCH, "h": HEAD, "g": HEAD, "n": "query", "q": "query"} | dict.fromkeys(
    ("m", "m+1", "p", "k"), "key"
)
_COUNTED = re.compile(r"(\D+?) ?([0-9]+)", re.ASCII)

# A label or a position: in quotes, where a quote is doubled, or without; and the comma after it.
_PART = re.compile(r'\s*(?:"((?:[^"]|"")+)"|([^,]*?))\s*,')

Cells = tuple[int | slice, ...]


@lru_cache(maxsize=32)  # every step and every table reads the labels, and there may be a hundred thousand
def numbered_labels(word: str, count: int) -> tuple[str, ...]:
    """Labels counted from 1.

    >>> numbered_labels("token_", 2)
    ('token_1', 'token_2')
    """
    return tuple(f"{word}{number}" for number in range(1, count + 1))


def number_equal_labels(labels: Sequence[str]) -> tuple[str, ...]:
    """The labels; one that occurs several times has its number after it, as options take it.

    >>> number_equal_labels(("the", "cat", "the"))
    ('the#1', 'cat', 'the#2')
    """
    counts, numbers = Counter(labels), Counter[str]()
    if len(counts) == len(labels):
        return tuple(labels)
    numbered = []
    for label in labels:
        numbers[label] += 1
        numbered.append(f"{label}#{numbers[label]}" if counts[label] > 1 else label)
    return tuple(numbered)


def split_labels(text: str) -> list[str]:
    """The labels or positions between commas; one in double quotes may have commas itself.

    >>> split_labels("the, cat"), split_labels('the,",",cat'), split_labels('5" pipe')
    (['the', 'cat'], ['the', ',', 'cat'], ['5" pipe'])
    """
    return [match[1].replace('""', '"') if match[1] else match[2] for match in _PART.finditer(f"{text},")]


def find_label(text: str, labels: Sequence[str], *, where: str | ErrorPath) -> list[int]:
    """The positions that a label or a position selects: `cat`, `the` (every one), `the#2` (the second), `0`, `-1`.

    A label has precedence over a position. Raises AttnError where there is neither.

    >>> find_label("the", ["the", "cat", "the"], where="only")
    [0, 2]
    >>> find_label("the#2", ["the", "cat", "the"], where="only")
    [2]
    >>> find_label("-2", ["the", "cat", "the"], where="only")
    [1]
    """
    if text in labels:  # of many positions none is a label, mostly
        return [index for index, label in enumerate(labels) if label == text]
    word, mark, number = text.rpartition("#")
    if mark and number.isdecimal():
        same = [index for index, label in enumerate(labels) if label == word]
        if 1 <= int(number) <= len(same):
            return [same[int(number) - 1]]
    try:
        index = int(text)
    except ValueError:
        raise UnknownNameError("token", text, dict.fromkeys(labels), where=where) from None
    if not -len(labels) <= index < len(labels):
        raise AttnError(f"there is no position {index}", where=where, hint=f"positions go from 0 to {len(labels) - 1}")
    return [index % len(labels)]


def find_one_label(text: str, labels: Sequence[str], *, where: str | ErrorPath) -> int:
    """The one position that a label or a position selects; raises AttnError where several entries have the label."""
    found = find_label(text, labels, where=where)
    if len(found) > 1:
        hint = f"say which one: {text}#1 is the first"
        raise AttnError(f"{text!r} appears {len(found)} times", where=where, hint=hint)
    return found[0]


def column_of_axis(letter: str) -> str:
    """The column that has the entries of an axis in a long table, by its letter.

    >>> column_of_axis("h"), column_of_axis("e")
    ('head', 'feature')
    """
    return COLUMNS.get(letter, FEATURE)


@dataclass(frozen=True, eq=False)
class LabelledAxis:
    """An axis of an array, or a part of one: its letter, what its entries are called, and where the first one is.

    Entries are tokens, or counted: batch items and heads from 0, others from 1 by the letter. `letters` are those by
    which counted entries may be named, where tables print them under several. `name` is that of the axis in messages.
    """

    letter: str
    labels: tuple[str, ...]
    start: int = 0
    name: str = ""
    letters: tuple[str, ...] = ()
    are_tokens: bool = False

    @property
    def size(self) -> int:
        """How many entries it has."""
        return len(self.labels)

    @property
    def noun(self) -> str:
        """What an entry is called before its number, where they are counted from 0."""
        return AXIS_NOUNS[self.letter] if self.letter in COUNTED_FROM_0 else ""

    @property
    def column(self) -> str:
        """The column that has its entries in a long table."""
        return column_of_axis(self.letter)

    @property
    def entries(self) -> Sequence[str] | range:
        """Its entries in a long table: the positions of batch items and heads, other entries by their labels."""
        return range(self.start, self.start + self.size) if self.noun else self.labels

    def take(self, part: slice) -> "LabelledAxis":
        """A part of it."""
        return replace(self, labels=self.labels[part], start=self.start + (part.start or 0))

    def is_counted_label(self, text: str) -> bool:
        """Whether a text is a letter of the axis and a number."""
        match = _COUNTED.fullmatch(text)
        return match is not None and match[1] in self.letters

    def find(self, text: str, key: str) -> int | slice:
        """The position that a text names, or all of them; raises AttnError, which names the axis of `key`."""
        if text == EVERY:
            return slice(None)
        if self.are_tokens:
            return find_one_label(text, self.labels, where=self.name)
        match = _COUNTED.fullmatch(text)
        if match is not None and match[1] in self.letters:
            at = int(match[2]) - 1
        elif match is not None and match[1] == self.noun:
            at = int(match[2])
        else:
            try:
                at = int(text)
            except ValueError:
                raise AttnError(f"{text!r} is not a {self.name} of {key}", hint=self._hint) from None
            at += self.size if at < 0 else 0
        if not 0 <= at < self.size:
            raise AttnError(f"{key} has no {self.name} {text}", hint=self._hint)
        return at

    @property
    def _hint(self) -> str:
        """The entries that there are: `expected 0 to 2, or d1 to d3`."""
        last = self.size - 1
        forms = [("0", str(last)), *([] if self.noun else [(self.labels[0], self.labels[-1])])]
        return f"expected {', or '.join(first if last == 0 else f'{first} to {end}' for first, end in forms)}"


def labelled_axis(letter: str, size: int, tokens: tuple[str, ...] | None) -> LabelledAxis:
    """An axis of so many entries, which are the first of these tokens, or counted where there are none.

    One row or column in place of all is called `all`.

    >>> labelled_axis("h", 2, None).labels, labelled_axis("e", 1, None).labels, labelled_axis("m", 1, ("a", "b")).labels
    (('head 0', 'head 1'), ('e1',), ('all',))
    """
    if tokens is not None:
        return LabelledAxis(letter, ("all",) if size == 1 < len(tokens) else tokens[:size], are_tokens=True)
    if letter in COUNTED_FROM_0:
        return LabelledAxis(letter, tuple(f"{AXIS_NOUNS[letter]} {number}" for number in range(size)))
    return LabelledAxis(letter, numbered_labels(letter, size), letters=(letter,))


@dataclass(frozen=True, eq=False)
class LabelledArray:
    """An array, the name that its cells are written by, and its axes.

    One that is stored out_in `is_transposed`: tables print its last two axes in the other order.
    """

    name: str
    values: Array
    axes: tuple[LabelledAxis, ...]
    is_transposed: bool = False

    def take(self, parts: Sequence[slice]) -> "LabelledArray":
        """The part of it that is selected on each axis."""
        axes = tuple(axis.take(part) for axis, part in zip(self.axes, parts, strict=True))
        index: tuple[slice | EllipsisType, ...] = (..., *parts)  # by the ellipsis an array, also without axes
        return replace(self, values=self.values[index], axes=axes)

    def cell(self, at: int) -> tuple[tuple[int, ...], tuple[str, ...]]:
        """The positions of a cell on the whole axes, and its labels, from its index in the flattened array."""
        index = tuple(map(int, np.unravel_index(at, self.values.shape)))
        positions = (axis.start + own for axis, own in zip(self.axes, index, strict=True))
        return tuple(positions), self.labels_of_cell(index)

    def labels_of_cell(self, index: Sequence[int]) -> tuple[str, ...]:
        """The label of a cell on each axis."""
        return tuple(axis.labels[at] for axis, at in zip(self.axes, index, strict=True))

    @property
    def form(self) -> str:
        """How a cell is written: `w_q[ROW,COLUMN]`."""
        return f"{self.name}[{','.join(axis.name.upper().replace(' ', '_') for axis in self.axes)}]"

    def find(self, index: Sequence[str]) -> Cells:
        """The index of the cells that a label or a position on each axis names, or `*` for every entry.

        A label has precedence over a position; of a matrix that is stored out_in, labels may be in the order in which
        tables print them. A single batch item or head need not be named. Raises AttnError where there are too few or
        too many, an axis has no such entry, or several.
        """
        unnamed = self.axes[: max(len(self.axes) - len(index), 0)]
        if all(axis.noun and axis.size == 1 for axis in unnamed):
            index = ("0",) * len(unnamed) + tuple(index)
        count = len(self.axes)
        if len(index) != count:
            hint = f"write {self.form}"
            hint += ", and a label that has a comma in double quotes" if len(index) > count else ""
            axes, are = "axis" if count == 1 else "axes", "is" if len(index) == 1 else "are"
            raise AttnError(f"{self.name} has {count} {axes}, and {len(index)} {are} named", hint=hint)
        if self.is_transposed and _is_in_order(self.axes[::-1], index) and not _is_in_order(self.axes, index):
            index = index[::-1]
        return tuple(axis.find(text, self.name) for axis, text in zip(self.axes, index, strict=True))


def _is_in_order(axes: Sequence[LabelledAxis], index: Sequence[str]) -> bool:
    """Whether each entry is `*` or a counted label of its axis, and some entry is a label."""
    are_labels = [axis.is_counted_label(text) for axis, text in zip(axes, index, strict=True)]
    return any(are_labels) and all(is_label or text == EVERY for is_label, text in zip(are_labels, index, strict=True))


def long_columns(axes: Iterable[LabelledAxis]) -> dict[str, Sequence[Any]]:
    """The columns of a long table of an array, by name: a row is for each combination of their entries.

    Batch items and heads come first, 0 where there is no such axis.
    """
    return {BATCH: (0,), HEAD: (0,)} | {axis.column: axis.entries for axis in axes}
