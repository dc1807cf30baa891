"""The arrays of a problem of which single numbers can be replaced, by their keys: `w_q`, `vocabulary`, `score.w1`."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from attncli.base.axes import Letters
from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.ops.records import Operator
from attncli.problem.array_cells import CellArray, CellAxis, axis_name, counted_axis, token_axis
from attncli.problem.build import check_name
from attncli.problem.conventions.hiding_masks import hides
from attncli.problem.fields import Field, option_name
from attncli.problem.layout import SEQUENCES, Layout
from attncli.problem.results import RESULTS
from attncli.problem.sentence import embed
from attncli.problem.spec import FIELDS, OPERATOR_FIELDS, ProblemSpec
from attncli.problem.unread import is_read, unread_keys
from attncli.problem.weights import stored_values

BOOLEAN_KINDS = ("boolean_matrix", "booleans")
ARRAY_KINDS = ("matrix", "vector", *BOOLEAN_KINDS, "counts", "vocabulary")
VOCABULARY, EMBEDDINGS = "vocabulary", "embeddings"


def check_has_cells(key: str, text: str = "X") -> None:
    """Raise UnknownNameError where there is no such key, AttnError where it never holds an array.

    `text` is the value that it was to have, with which the option of the key is proposed.
    """
    name, dot, _ = key.partition(".")
    if name not in RESULTS:  # some results can be given too; what a problem computes is said with what it is made of
        check_name(name)
    if name in FIELDS and not dot and FIELDS[name].kind not in ARRAY_KINDS:
        raise _no_array(FIELDS[name], text)


def find_array(spec: ProblemSpec, key: str) -> CellArray:
    """The array of a key, as it is stored; a table that is not given, and that every cell of has one effect, is made.

    Raises UnknownNameError where there is no such key, AttnError where the problem does not have it, or does not read
    it, or where it is no array.
    """
    check_has_cells(key)
    name, dot, parameter = key.partition(".")
    if name not in FIELDS:
        raise _not_given(spec, name)
    value = stored_values(spec)[name]
    if dot:
        return _array_of_operator(spec, name, value, parameter)
    field = FIELDS[name]
    if isinstance(value, Operator):
        raise AttnError(f"{name} is {value}, which has no cells", hint=f"give a table by {option_name(name)}")
    _check_is_read(spec, name)
    if value is None and field.neutral is not None:
        value = _neutral_table(spec, field.neutral)
    if value is None:
        raise _not_given(spec, name)
    if field.kind == VOCABULARY:
        rows = np.stack(list(value.values()))
        axes = (token_axis("word", len(rows), tuple(value)), counted_axis("column", rows.shape[-1], ("x",)))
        return CellArray(key, rows, axes)
    is_inverted = hides(spec.convention, name)
    value = np.logical_not(value) if is_inverted else value
    letters = _letters_of_field(spec.layout, field, value.ndim)
    if name in SEQUENCES:
        letters = tuple(spec.new_key_letter if letter == "m" else letter for letter in letters)
    is_transposed = field.is_weight and spec.weight_layout == "out_in"
    return replace(_cell_array(spec, key, value, letters, is_transposed=is_transposed), is_inverted=is_inverted)


def values_with(spec: ProblemSpec, array: CellArray) -> dict[str, Any]:
    """The values of the fields of a problem that differ where one of its arrays, as it is stored, has other numbers."""
    name, _, parameter = array.key.partition(".")
    values = array.values
    if name == VOCABULARY:
        assert spec.vocabulary is not None
        return _with_vocabulary(spec, dict(zip(spec.vocabulary, values, strict=True)))
    if name == EMBEDDINGS and spec.vocabulary is not None:
        return _with_vocabulary(spec, _vocabulary_of(spec, values))
    in_out = values.swapaxes(-1, -2) if array.is_transposed else 1 - values if array.is_inverted else values
    if parameter:
        operator = getattr(spec, name)
        return {name: Operator(operator.record, {**operator.given, parameter: in_out})}
    return {name: in_out}


def _array_of_operator(spec: ProblemSpec, name: str, operator: Any, parameter_name: str) -> CellArray:
    """The array that is a parameter of an operator."""
    if not isinstance(operator, Operator):
        raise AttnError(f"{name} has no parameters")
    parameter = operator.record.parameter(parameter_name)
    _check_is_read(spec, name)
    key = f"{name}.{parameter_name}"
    array = operator.arrays.get(parameter_name)
    if array is None and parameter.kind == "array":
        raise AttnError(f"{key} is not given")
    if array is None:
        hint = f"write {option_name(name)} {operator.record.name}:{parameter_name}=X"
        raise AttnError(f"{key} is no array", hint=hint)
    is_transposed = parameter.is_weight and spec.weight_layout == "out_in"
    letters = (("h",) if array.ndim > len(parameter.letters) else ()) + parameter.letters
    return _cell_array(spec, key, array, letters, is_transposed=is_transposed)


def _check_is_read(spec: ProblemSpec, name: str) -> None:
    """Raise AttnError where nothing reads a key, because of what is given or missing."""
    if not is_read(spec, name):
        reasons = unread_keys({key: getattr(spec, key) for key in FIELDS})
        raise AttnError(f"nothing reads {name}: {reasons.get(name) or spec.not_computed[FIELDS[name].last_result]}")


def _cell_array(spec: ProblemSpec, key: str, values: Array, letters: Letters, *, is_transposed: bool) -> CellArray:
    """An array with the axes of its letters, those of a transposed one in the order in which it is stored."""
    if is_transposed:
        letters = (*letters[:-2], *letters[:-3:-1])
    count = len(letters)
    axes = tuple(
        _axis(spec, axis_name(at, count, letter), letter, size)
        for at, (letter, size) in enumerate(zip(letters, values.shape, strict=True))
    )
    is_boolean = key in FIELDS and FIELDS[key].kind in BOOLEAN_KINDS
    return CellArray(key, values, axes, is_transposed, is_boolean)


def _axis(spec: ProblemSpec, name: str, letter: str, size: int) -> CellAxis:
    """An axis of a letter: of queries and keys by their labels, of others by letters and numbers."""
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

    Without a second sequence the features that queries are projected from are those of the first.
    """
    if letter == "y":
        return "x" if spec.query_embeddings is None else "y"
    return spec.score.record.shapes.arrays.get("key", ("m", "c"))[-1] if letter == "c" else letter


def _letters_of_field(layout: Layout, field: Field, count: int) -> Letters:
    """The letters of the axes of a field's array: those of batch items and heads, and its own as far as it has them."""
    extra = count - len(field.letters)
    leading = ("b", "h") if extra == 2 else ("h",) if layout.batch is None else ("b",)
    return (*leading[: max(extra, 0)], *field.letters[-count:])


def _neutral_table(spec: ProblemSpec, number: float) -> Array:
    """The table [n m] of a number for each query and key, which is what no table at all is."""
    return np.full((spec.query_count, spec.lengths["m"]), number)


def _vocabulary_of(spec: ProblemSpec, embeddings: Array) -> dict[str, Array]:
    """The vocabulary that gives the words of the sentence these vectors; `the#2` where the second "the" has its own."""
    assert spec.sentence is not None
    assert spec.vocabulary is not None
    vocabulary = dict(spec.vocabulary)
    words, vectors = embed(spec.sentence, vocabulary)
    for at in np.flatnonzero((vectors != embeddings).any(axis=-1)):
        word = words[at]
        own = f"{word}#{words[: at + 1].count(word)}"
        vocabulary[own if words.count(word) > 1 or own in vocabulary else word] = embeddings[at]
    return vocabulary


def _with_vocabulary(spec: ProblemSpec, vocabulary: Mapping[str, Array]) -> dict[str, Any]:
    """The vocabulary of a problem, and the embeddings that its sentence has by it."""
    assert spec.sentence is not None
    return {VOCABULARY: vocabulary, EMBEDDINGS: embed(spec.sentence, vocabulary)[1]}


def _no_array(field: Field, text: str) -> AttnError:
    """The error for a key that holds no array: the option that gives it."""
    option = option_name(field.name)
    if field.kind == "flag":
        return AttnError(f"{field.name} is true or false", hint=f"write {option} or --no-{option.removeprefix('--')}")
    what = {"number": "one number", "integer": "one number"}.get(field.kind, "no array of numbers")
    return AttnError(f"{field.name} is {what}", hint=f"write {option} {text}")


def _not_given(spec: ProblemSpec, name: str) -> AttnError:
    """The error for an array that the problem does not have: what has numbers that can be set."""
    is_computed = name in RESULTS or name in ("query", "key", "value")
    reason = "is computed" if is_computed and not spec.not_computed.get(name) else "is not given"
    return AttnError(f"{name} {reason}", hint=f"set a number of {', '.join(editable_keys(spec))}")


def editable_keys(spec: ProblemSpec) -> Sequence[str]:
    """The keys of the arrays that a problem has and reads, those of operators as `score.w1`."""
    keys = []
    for name, field in FIELDS.items():
        value = getattr(spec, name)
        if value is None or not is_read(spec, name):
            continue
        if isinstance(value, Operator):
            keys += [f"{name}.{parameter}" for parameter in value.arrays] if name in OPERATOR_FIELDS else []
        elif field.kind in ARRAY_KINDS:
            keys.append(name)
    return keys
