"""The labels of a problem's arrays: the letters of their axes, and the names of the entries along each."""

from dataclasses import replace

from attncli.base.axes import AXIS_NOUNS, LEGEND, Letters
from attncli.base.labels import LabelledArray, LabelledAxis, labelled_axis
from attncli.base.lazy_numpy import Array
from attncli.problem.fields import Field
from attncli.problem.inputs import STATE_ARRAYS
from attncli.problem.recurrences import state_array_letters
from attncli.problem.spec import ProblemSpec, position_axes
from attncli.problem.weights import PACKED, columns_letter, labels_of_packed, letters_of

PACKED_LETTERS = tuple({key[-1]: None for keys in PACKED.values() for key in keys})  # for the labels of their columns


def axis_name(position: int, count: int, letter: str) -> str:
    """The name of an axis, counted from the first, for messages: a row, a column, or the noun of its letter.

    >>> axis_name(0, 2, "x"), axis_name(1, 2, "d"), axis_name(0, 1, "d"), axis_name(0, 3, "b")
    ('row', 'column', 'number', 'batch item')
    """
    if count == 1:
        return "number"
    if position >= count - 2:
        return "column" if position == count - 1 else "row"
    return AXIS_NOUNS.get(letter, LEGEND.get(letter, "position"))


def labelled_array(
    spec: ProblemSpec, key: str, values: Array, letters: Letters, *, is_transposed: bool = False
) -> LabelledArray:
    """An array with its axes by letter; a transposed one keeps its stored order."""
    if is_transposed:
        letters = (*letters[:-2], *letters[:-3:-1])
    axes = (_axis(spec, letter, size) for letter, size in zip(letters, values.shape, strict=True))
    named = (replace(axis, name=axis.noun or axis_name(at, len(letters), axis.letter)) for at, axis in enumerate(axes))
    return LabelledArray(key, values, tuple(named), is_transposed)


def letters_of_field(spec: ProblemSpec, field: Field, array: Array) -> Letters:
    """The letters of the axes of a field's array: batch items and heads, and its own, as far as it has them."""
    own = letters_of(vars(spec), field.name)
    if field.packs:
        return (*own[:-1], columns_letter(spec, field.name))
    if own != field.letters:
        return own
    if field.name in STATE_ARRAYS:
        return state_array_letters(spec, field.name) or spec.leading.letters(field, array.ndim)
    if field.kind != "positions":
        return spec.leading.letters(field, array.ndim)
    axes: Letters = () if position_axes(spec) is None else ("s",)
    rows = tuple(spec.new_key_letter if letter == "m" else letter for letter in field.letters)
    return (*axes, "b", *rows) if array.ndim - len(axes) > 1 else (*axes, *rows)


def _axis(spec: ProblemSpec, letter: str, size: int) -> LabelledAxis:
    """An axis by its letter: queries and keys have labels, other entries letters and numbers.

    An axis may have the field's letter and the one that plans print. Key features that are compared with query features
    have the queries' letter. Without a second sequence, queries are projected from the first one's features. Features
    of heads side by side are value features.
    """
    tokens = axis_labels(spec).get("q" if letter == "n" else letter)
    printed = {"h·e": "e", "c": spec.key_feature_letter, "y": "x" if spec.query_embeddings is None else "y"}
    axis = labelled_axis(letter if tokens is not None else printed.get(letter, letter), size, tokens)
    if tokens is not None:
        return replace(axis, letters=PACKED_LETTERS) if "+" in letter else axis
    return replace(axis, letters=tuple(dict.fromkeys((*axis.letters, letter)))) if axis.letters else axis


def axis_labels(spec: ProblemSpec) -> dict[str, tuple[str, ...]]:
    """The names of entries by the axis's letter: queries, keys, a vocabulary (v), packed columns."""
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
