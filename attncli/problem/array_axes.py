"""The axes of the arrays of a problem, with the labels and letters that tables print their entries under."""

from attncli.base.axes import Letters
from attncli.base.lazy_numpy import Array
from attncli.problem.array_cells import CellArray, CellAxis, axis_name, counted_axis, token_axis
from attncli.problem.fields import Field
from attncli.problem.given_tables import TABLES
from attncli.problem.layout import SEQUENCES, table_axes
from attncli.problem.packing import PACKED, columns_letter, labels_of_packed
from attncli.problem.positions import position_axes
from attncli.problem.spec import FIELDS, ProblemSpec
from attncli.problem.validate.masks import table_letters

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
    if field.name in TABLES:
        return table_axes(array, spec.heads)
    if field.is_row_table:  # the problem has the rows of the tokens
        return (spec.new_key_letter, field.letters[-1])
    if field.letters == ("n", "m"):
        return table_letters(spec.layout, array.ndim)
    if field.kind == "positions":
        axes: Letters = () if position_axes(spec) is None else ("s",)
        letters = (*axes, "b", *field.letters) if array.ndim - len(axes) > 1 else (*axes, *field.letters)
        return tuple(spec.new_key_letter if letter == "m" else letter for letter in letters)
    extra = array.ndim - len(field.letters)
    if field.packs:
        return (*field.letters[:-1], columns_letter(spec, field.name))
    leading: Letters = ("b", "h") if extra == 2 else ("h",) if spec.layout.batch is None else ("b",)
    if field.letters[0] != "n":  # the heads of queries are their own
        leading = spec.layout.with_kv_heads(leading)
    letters = (*leading[: max(extra, 0)], *field.letters[-array.ndim :])
    return tuple(spec.new_key_letter if letter == "m" and field.name in SEQUENCES else letter for letter in letters)


def _axis(spec: ProblemSpec, name: str, letter: str, size: int) -> CellAxis:
    """An axis of a letter: of queries and keys by their labels, of others by letters and numbers."""
    packed = labels_of_packed(spec) if "+" in letter else {}
    if letter in packed:
        return CellAxis(name, size, packed[letter], PACKED_LETTERS)
    labels = {
        "n": spec.query_labels,
        "m": spec.key_labels,
        "p": spec.key_labels[: spec.past_count],
        "k": spec.key_labels[spec.past_count :],
    }.get(letter)
    if labels is not None:
        return token_axis(name, size, labels)
    return counted_axis(name, size, tuple(dict.fromkeys((_printed_letter(spec, letter), letter))))


def _printed_letter(spec: ProblemSpec, letter: str) -> str:
    """The letter that a plan has for an axis: that of queries for features of keys that are compared with theirs.

    Without a second sequence the features that queries are projected from are those of the first; the features of heads
    side by side are value features.
    """
    if letter == "h·e":
        return "e"
    if letter == "y":
        return "x" if spec.query_embeddings is None else "y"
    return spec.key_feature_letter if letter == "c" else letter
