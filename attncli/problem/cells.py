"""The cells of an array by the labels and positions that tables print: `the#2`, `x1`, `head 0`, `0`, `-1`, `*`."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from attncli.base.axes import AXIS_NOUNS, COUNTED_FROM_0, LEGEND, Letters
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array
from attncli.problem.fields import Field
from attncli.problem.labels import EVERY, find_label
from attncli.problem.spec import FIELDS, ProblemSpec, position_axes
from attncli.problem.weights import PACKED, columns_letter, labels_of_packed

_LABEL = re.compile(r"(\D+?) ?([0-9]+)", re.ASCII)

Cells = tuple[int | slice, ...]


@dataclass(frozen=True)
class CellAxis:
    """An axis of an array: its name in messages, its length, and what its entries are called.

    `labels` has the label of each entry; without them entries are called by one of the `letters` and a number from 1,
    or `noun` and a number from 0, as tables print them.
    """

    name: str  # "row", "column", "number", "head", "batch item"
    size: int
    labels: tuple[str, ...] = ()
    letters: tuple[str, ...] = ()
    noun: str = ""

    def is_label(self, text: str) -> bool:
        """Whether a text is a letter of the axis and a number."""
        match = _LABEL.fullmatch(text)
        return match is not None and match[1] in self.letters

    @property
    def entry_labels(self) -> tuple[str, ...]:
        """What each entry is called."""
        if self.labels:
            return self.labels
        if self.noun:
            return tuple(map(str, range(self.size)))
        return tuple(f"{self.letters[0]}{number}" for number in range(1, self.size + 1))

    @property
    def entries(self) -> str:
        """The entries, as a hint has them: `0 to 2, or d1 to d3`."""
        positions = f"0 to {self.size - 1}" if self.size > 1 else "0"
        if not self.letters:
            return positions
        first, last = f"{self.letters[0]}1", f"{self.letters[0]}{self.size}"
        return f"{positions}, or {first} to {last}" if self.size > 1 else f"{positions}, or {first}"


@dataclass(frozen=True)
class CellArray:
    """An array as the user stores it, the key that it is named by, and its axes."""

    key: str
    values: Array
    axes: tuple[CellAxis, ...]
    is_transposed: bool = False  # stored out_in: tables print its axes in the other order
    is_boolean: bool = False

    @property
    def form(self) -> str:
        """How a cell is written: `w_q[ROW,COLUMN]`."""
        return f"{self.key}[{','.join(axis.name.upper().replace(' ', '_') for axis in self.axes)}]"


def token_axis(name: str, size: int, labels: Sequence[str]) -> CellAxis:
    """An axis of tokens; one row or column in place of all is called `all`."""
    return CellAxis(name, size, ("all",) if size == 1 < len(labels) else tuple(labels[:size]))


def counted_axis(name: str, size: int, letters: Sequence[str]) -> CellAxis:
    """An axis of features, batch items or heads, which has one letter, or several under which tables may print it."""
    noun = AXIS_NOUNS[letters[0]] if letters[0] in COUNTED_FROM_0 else ""
    return CellAxis(noun or name, size, letters=() if noun else tuple(letters), noun=noun)


def find_cells(array: CellArray, index: Sequence[str]) -> Cells:
    """The index of the cells that a label or a position on each axis names, or `*` for every entry.

    A label has precedence over a position; of a matrix that is stored out_in, labels may be in the order in which
    tables print them. A single batch item or head need not be named. Raises AttnError where there are too few or too
    many, an axis has no such entry, or several.
    """
    unnamed = array.axes[: max(len(array.axes) - len(index), 0)]
    if all(axis.noun and axis.size == 1 for axis in unnamed):
        index = ("0",) * len(unnamed) + tuple(index)
    if len(index) != len(array.axes):
        count = len(array.axes)
        hint = f"write {array.form}" + (", and a label that has a comma in double quotes" if len(index) > count else "")
        axes, are = "axis" if count == 1 else "axes", "is" if len(index) == 1 else "are"
        raise AttnError(f"{array.key} has {count} {axes}, and {len(index)} {are} named", hint=hint)
    if array.is_transposed and _is_in_order(array.axes[::-1], index) and not _is_in_order(array.axes, index):
        index = index[::-1]
    return tuple(_find(array.key, axis, text) for axis, text in zip(array.axes, index, strict=True))


def _is_in_order(axes: Sequence[CellAxis], index: Sequence[str]) -> bool:
    """Whether each entry is `*` or a label of its axis, and some entry is a label."""
    are_labels = [axis.is_label(text) for axis, text in zip(axes, index, strict=True)]
    return any(are_labels) and all(is_label or text == EVERY for is_label, text in zip(are_labels, index, strict=True))


def _find(key: str, axis: CellAxis, text: str) -> int | slice:
    """The position that a text names on an axis, or all of them."""
    if text == EVERY:
        return slice(None)
    if axis.labels:
        return _find_token(axis, text)
    hint = f"expected {axis.entries}"
    match = _LABEL.fullmatch(text)
    if match is not None and match[1] in axis.letters:
        at = int(match[2]) - 1
    elif match is not None and axis.noun and match[1] == axis.noun:
        at = int(match[2])
    else:
        try:
            at = int(text)
        except ValueError:
            raise AttnError(f"{text!r} is not a {axis.name} of {key}", hint=hint) from None
        at += axis.size if at < 0 else 0
    if not 0 <= at < axis.size:
        raise AttnError(f"{key} has no {axis.name} {text}", hint=hint)
    return at


def _find_token(axis: CellAxis, text: str) -> int:
    """The position of a token; raises AttnError where several have the label."""
    found = find_label(text, axis.labels, where=axis.name)
    if len(found) > 1:
        raise AttnError(f"{text!r} appears {len(found)} times", hint=f"say which one: {text}#1 is the first")
    return found[0]


def axis_name(position: int, count: int, letter: str) -> str:
    """The name of an axis in messages, counted from the first: a row, a column, or the noun of its letter.

    >>> axis_name(0, 2, "x"), axis_name(1, 2, "d"), axis_name(0, 1, "d"), axis_name(0, 3, "b")
    ('row', 'column', 'number', 'batch item')
    """
    if count == 1:
        return "number"
    if position >= count - 2:
        return "column" if position == count - 1 else "row"
    return AXIS_NOUNS.get(letter, LEGEND.get(letter, "position"))


PACKED_LETTERS = tuple({key[-1]: None for keys in PACKED.values() for key in keys})  # of the labels of their columns


def make_cell_array(spec: ProblemSpec, key: str, values: Array, letters: Letters, *, is_transposed: bool) -> CellArray:
    """An array with the axes of its letters, those of a transposed one in the order in which it is stored."""
    if is_transposed:
        letters = (*letters[:-2], *letters[:-3:-1])
    count = len(letters)
    axes = tuple(
        _axis(spec, axis_name(at, count, letter), letter, size)
        for at, (letter, size) in enumerate(zip(letters, values.shape, strict=True))
    )
    is_boolean = key in FIELDS and FIELDS[key].is_boolean
    return CellArray(key, values, axes, is_transposed, is_boolean)


def letters_of_field(spec: ProblemSpec, field: Field, array: Array) -> Letters:
    """The letters of the axes of a field's array: those of batch items and heads, and its own as far as it has them."""
    if field.packs:
        return (*field.letters[:-1], columns_letter(spec, field.name))
    if field.kind != "positions":
        return spec.layout.letters(field, array.ndim)
    axes: Letters = () if position_axes(spec) is None else ("s",)
    rows = tuple(spec.new_key_letter if letter == "m" else letter for letter in field.letters)
    return (*axes, "b", *rows) if array.ndim - len(axes) > 1 else (*axes, *rows)


def _axis(spec: ProblemSpec, name: str, letter: str, size: int) -> CellAxis:
    """An axis of a letter: of queries and keys by their labels, of others by letters and numbers.

    An axis may be called by the letter of the field and by that which plans print: the features of keys that are
    compared with those of queries have their letter, features that queries are projected from are those of the first
    sequence where there is no second one, and those of heads side by side are value features.
    """
    labels = axis_labels(spec).get("q" if letter == "n" else letter)
    if labels is not None and "+" in letter:
        return CellAxis(name, size, labels, PACKED_LETTERS)
    if labels is not None:
        return token_axis(name, size, labels)
    printed = {"h·e": "e", "c": spec.key_feature_letter, "y": "x" if spec.query_embeddings is None else "y"}
    return counted_axis(name, size, tuple(dict.fromkeys((printed.get(letter, letter), letter))))


def axis_labels(spec: ProblemSpec) -> dict[str, tuple[str, ...]]:
    """The names of the entries along axes, by letter: of queries and keys, of a vocabulary (v), of packed columns."""
    keys, past = spec.key_labels, spec.past_count
    labels = {
        "n": spec.selected_query_labels,
        "q": spec.query_labels,
        "m": keys,
        "p": keys[:past],
        "k": keys[past:],
    }
    if spec.vocabulary is not None:
        labels["v"] = tuple(spec.vocabulary)
    if spec.sink is not None:
        labels["m+1"] = (*keys, "sink")
    return labels | labels_of_packed(spec)
