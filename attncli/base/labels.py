"""Labels: names for the entries along an array's axes, and the entries that a text selects."""

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

EVERY = "*"  # instead of a label or a position: every one
BATCH, HEAD, FEATURE = "batch", "head", "feature"
# The column of an axis in a long table, by its letter; other axes count features.
COLUMNS: Mapping[str, str] = {"b": BATCH, "h": HEAD, "g": HEAD, "n": "query", "q": "query"} | dict.fromkeys(
    ("m", "m+1", "p", "k"), "key"
)
_COUNTED = re.compile(r"(\D+?) ?([0-9]+)", re.ASCII)

# A label or a position, and the comma after it; within quotes a quote is doubled.
_PART = re.compile(r'\s*(?:"((?:[^"]|"")+)"|([^,]*?))\s*,')

Cells = tuple[int | slice, ...]


@lru_cache(maxsize=32)  # every step and table reads the labels, up to a hundred thousand
def numbered_labels(word: str, count: int) -> tuple[str, ...]:
    """Labels counted from 1.

    >>> numbered_labels("token_", 2)
    ('token_1', 'token_2')
    """
    return tuple(f"{word}{number}" for number in range(1, count + 1))


def number_equal_labels(labels: Sequence[str]) -> tuple[str, ...]:
    """The labels; a repeated one gets its number, as options accept it.

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
    """The labels or positions between commas; one in double quotes may contain commas.

    >>> split_labels("the, cat"), split_labels('the,",",cat'), split_labels('5" pipe')
    (['the', 'cat'], ['the', ',', 'cat'], ['5" pipe'])
    """
    return [match[1].replace('""', '"') if match[1] else match[2] for match in _PART.finditer(f"{text},")]


def find_label(text: str, labels: Sequence[str], *, where: str | ErrorPath) -> list[int]:
    """The positions that a label or a position selects: `cat`, `the` (every one), `the#2` (the second), `0`, `-1`.

    A label has precedence over a position. Raises AttnError if there is neither.

    >>> find_label("the", ["the", "cat", "the"], where="only")
    [0, 2]
    >>> find_label("the#2", ["the", "cat", "the"], where="only")
    [2]
    >>> find_label("-2", ["the", "cat", "the"], where="only")
    [1]
    """
    if text in labels:  # mostly false, when many positions are looked up
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
    """The one position that a text selects; raises AttnError if several entries have the label."""
    found = find_label(text, labels, where=where)
    if len(found) > 1:
        hint = f"say which one: {text}#1 is the first"
        raise AttnError(f"{text!r} appears {len(found)} times", where=where, hint=hint)
    return found[0]


def column_of_axis(letter: str) -> str:
    """The column for the entries of an axis in a long table, by its letter.

    >>> column_of_axis("h"), column_of_axis("e")
    ('head', 'feature')
    """
    return COLUMNS.get(letter, FEATURE)


@dataclass(frozen=True, eq=False)
class LabelledAxis:
    """An axis of an array, or a slice of one: its letter, the labels of its entries, and the first one's position.

    Entries are tokens, or counted: batch items and heads from 0, others from 1 after the letter. `letters` may name
    counted entries, if tables print them with several. Messages call the axis `name`.
    """

    letter: str
    labels: tuple[str, ...]
    start: int = 0
    name: str = ""
    letters: tuple[str, ...] = ()
    are_tokens: bool = False

    @property
    def size(self) -> int:
        """The number of entries."""
        return len(self.labels)

    @property
    def noun(self) -> str:
        """The noun before an entry's number, if they are counted from 0."""
        return AXIS_NOUNS[self.letter] if self.letter in COUNTED_FROM_0 else ""

    @property
    def column(self) -> str:
        """The column for its entries in a long table."""
        return column_of_axis(self.letter)

    @property
    def entries(self) -> Sequence[str] | range:
        """Its entries in a long table: the positions of batch items and heads, other entries by their labels."""
        return range(self.start, self.start + self.size) if self.noun else self.labels

    def take(self, part: slice) -> "LabelledAxis":
        """A slice of it."""
        return replace(self, labels=self.labels[part], start=self.start + (part.start or 0))

    def is_counted_label(self, text: str) -> bool:
        """Whether a text is a letter of the axis and a number."""
        match = _COUNTED.fullmatch(text)
        return match is not None and match[1] in self.letters

    def find(self, text: str, key: str) -> int | slice:
        """The position that a text names, or all of them; raises AttnError with the name of the axis of `key`."""
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
        """The valid entries: `expected 0 to 2, or d1 to d3`."""
        last = self.size - 1
        forms = [("0", str(last)), *([] if self.noun else [(self.labels[0], self.labels[-1])])]
        return f"expected {', or '.join(first if last == 0 else f'{first} to {end}' for first, end in forms)}"


def labelled_axis(letter: str, size: int, tokens: tuple[str, ...] | None) -> LabelledAxis:
    """An axis of so many entries: the first of these tokens, or counted if there are none.

    One row or column that broadcasts to all is called `all`.

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
    """An array, the name before its cells, and its axes.

    An array stored out_in `is_transposed`: tables print its last two axes in the other order.
    """

    name: str
    values: Array
    axes: tuple[LabelledAxis, ...]
    is_transposed: bool = False

    def take(self, parts: Sequence[slice]) -> "LabelledArray":
        """The slice that is selected on each axis."""
        axes = tuple(axis.take(part) for axis, part in zip(self.axes, parts, strict=True))
        index: tuple[slice | EllipsisType, ...] = (..., *parts)  # the ellipsis makes an array even of no axes
        return replace(self, values=self.values[index], axes=axes)

    def cell(self, at: int) -> tuple[tuple[int, ...], tuple[str, ...]]:
        """A cell's positions on the whole axes, and its labels, from its index in the flattened array."""
        index = tuple(map(int, np.unravel_index(at, self.values.shape)))
        positions = (axis.start + own for axis, own in zip(self.axes, index, strict=True))
        return tuple(positions), self.labels_of_cell(index)

    def labels_of_cell(self, index: Sequence[int]) -> tuple[str, ...]:
        """The label of a cell on each axis."""
        return tuple(axis.labels[at] for axis, at in zip(self.axes, index, strict=True))

    @property
    def form(self) -> str:
        """The form of a cell's name: `w_q[ROW,COLUMN]`."""
        return f"{self.name}[{','.join(axis.name.upper().replace(' ', '_') for axis in self.axes)}]"

    def find(self, index: Sequence[str]) -> Cells:
        """The index of the cells that a label, a position or `*` (every entry) on each axis selects.

        A label has precedence over a position. For a matrix stored out_in, labels may be in the order of its printed
        table. A single batch item or head may be left out. Raises AttnError for too few or too many labels, or if an
        axis has no such entry, or several.
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
    """The columns of an array's long table, by name: a row for each combination of their entries.

    Batch items and heads come first; they are 0 without such an axis.
    """
    return {BATCH: (0,), HEAD: (0,)} | {axis.column: axis.entries for axis in axes}
