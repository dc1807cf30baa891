"""Edits: replace single numbers of a problem's arrays, `w_q[0,1]=3`, and check the problem again."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

from attncli.base.axes import Letters
from attncli.base.errors import AttnError
from attncli.base.labels import Cells, LabelledArray, labelled_axis, split_labels
from attncli.base.lazy_numpy import Array, np
from attncli.base.memory import missing_memory
from attncli.base.text import shorten
from attncli.numbers.parsing import number_hint
from attncli.ops.norms import USES
from attncli.ops.records import Operator
from attncli.problem.arrays import ArrayOrigin
from attncli.problem.build import check_name, replace_values
from attncli.problem.convert import to_field
from attncli.problem.fields import RESULTS, Field, option_name
from attncli.problem.inputs import is_read, unread_keys
from attncli.problem.labels import labelled_array, letters_of_field
from attncli.problem.mask_expressions import MaskExpression
from attncli.problem.numbers import is_number, read_number
from attncli.problem.spec import FIELDS, OPERATOR_FIELDS, ProblemSpec
from attncli.problem.tokens import embed
from attncli.problem.weights import stored_values

VOCABULARY, EMBEDDINGS = "vocabulary", "embeddings"
_CELL = re.compile(r"([^\[\]]*)\[(.*)\]", re.DOTALL)  # a label may have brackets
FORM = "KEY[ROW,COLUMN]=X"
EXAMPLE = "'w_q[0,1]=3'"


def check_has_cells(key: str, text: str = "X") -> None:
    """Raise UnknownNameError for an unknown key, AttnError for a key that never holds an array.

    `text` is the intended value; the error proposes the key's option with it.
    """
    name, dot, _ = key.partition(".")
    if name not in RESULTS:  # some results are also keys; another error explains results that are computed
        check_name(name)
    if name in FIELDS and not dot and not FIELDS[name].is_array:
        raise _no_array(FIELDS[name], text)


def find_array(spec: ProblemSpec, key: str) -> LabelledArray:
    """The array of a key, as stored; a missing mask or bias is the neutral table.

    Raises UnknownNameError for an unknown key, AttnError if it is missing, unused, or not an array.
    """
    check_has_cells(key)
    name, dot, parameter = key.partition(".")
    if name not in FIELDS:
        raise _not_given(spec, name)
    value = stored_values(spec)[name]
    if dot:
        return _array_of_operator(spec, name, value, parameter)
    field = FIELDS[name]
    if isinstance(value, (Operator, MaskExpression)):
        raise AttnError(f"{name} is {value}, which has no cells", hint=f"give a table by {option_name(name)}")
    _check_is_read(spec, name)
    if name == EMBEDDINGS and spec.embeddings_source != EMBEDDINGS:
        raise _not_given(spec, name)
    if value is None and field.neutral is not None:
        value = _neutral_table(spec, field)
    if value is None:
        raise _not_given(spec, name)
    if name == VOCABULARY:
        rows = np.stack(list(value.values()))
        words, columns = labelled_axis("v", len(rows), tuple(value)), labelled_axis("x", rows.shape[-1], None)
        return LabelledArray(key, rows, (replace(words, name="word"), replace(columns, name="column")))
    letters = letters_of_field(spec, field, value)
    if _is_inverted(spec, name):
        value = np.logical_not(value)
    is_transposed = field.is_weight and spec.weight_layout == "out_in"
    return labelled_array(spec, key, value, letters, is_transposed=is_transposed)


def holds_booleans(key: str) -> bool:
    """Whether the array of a key has booleans."""
    return key in FIELDS and FIELDS[key].is_boolean


def values_with(spec: ProblemSpec, array: LabelledArray) -> dict[str, Any]:
    """The fields' values that differ if one of the arrays, as stored, has other numbers."""
    name, _, parameter = array.name.partition(".")
    values = array.values
    if name == VOCABULARY:
        assert spec.vocabulary is not None
        return _with_vocabulary(spec, dict(zip(spec.vocabulary, values, strict=True)))
    if name == EMBEDDINGS and spec.vocabulary is not None:
        return _with_vocabulary(spec, _vocabulary_of(spec, values))
    if holds_booleans(array.name):
        table = to_field(FIELDS[name], values).array
        return {name: np.logical_not(table) if _is_inverted(spec, name) else table}
    if name == spec.embeddings_source and name != EMBEDDINGS:
        return {name: values, EMBEDDINGS: values}
    in_out = values.swapaxes(-1, -2) if array.is_transposed else values
    if parameter:
        operator = getattr(spec, name)
        return {name: Operator(operator.record, {**operator.given, parameter: in_out})}
    return {name: in_out}


def _array_of_operator(spec: ProblemSpec, name: str, operator: Any, parameter_name: str) -> LabelledArray:
    """The array of an operator's parameter."""
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
        raise AttnError(f"{key} is not an array", hint=hint)
    is_transposed = parameter.is_weight and spec.weight_layout == "out_in"
    is_of_key_heads = name in USES and USES[name].letters_of(parameter_name)[0] == "g"
    heads: Letters = spec.leading.with_kv_heads(("h",)) if is_of_key_heads else ("h",)
    leading = parameter.leading or heads
    letters = (leading if array.ndim > len(parameter.letters) else ()) + parameter.letters
    return labelled_array(spec, key, array, letters, is_transposed=is_transposed)


def _is_inverted(spec: ProblemSpec, name: str) -> bool:
    """Whether a 1 in the user's mask hides, by the problem's convention."""
    if spec.convention is None:
        return False
    from attncli.problem.conventions import hides  # noqa: PLC0415 - most problems have no convention

    return hides(spec.convention, name)


def _check_is_read(spec: ProblemSpec, name: str) -> None:
    """Raise AttnError if a key is unused, with the reason."""
    if not is_read(spec, name):
        reasons = unread_keys({key: getattr(spec, key) for key in FIELDS})
        raise AttnError(f"nothing reads {name}: {reasons.get(name) or spec.not_computed[FIELDS[name].used_by]}")


def _neutral_table(spec: ProblemSpec, field: Field) -> Array:
    """The neutral table of a field, which equals no table at all."""
    sizes = {"n": spec.query_count, "m": spec.lengths["m"], "b": spec.leading.batch}
    shape = [size for letter in field.letters if (size := sizes[letter]) is not None]
    return np.full(shape, field.neutral, dtype=np.bool_ if field.is_boolean else np.float64)


def _vocabulary_of(spec: ProblemSpec, embeddings: Array) -> dict[str, Array]:
    """The vocabulary for these vectors of the sentence's words; `the#2` if the second "the" has its own."""
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
    """The vocabulary of a problem, and its sentence's embeddings."""
    assert spec.sentence is not None
    return {VOCABULARY: vocabulary, EMBEDDINGS: embed(spec.sentence, vocabulary)[1]}


def _no_array(field: Field, text: str) -> AttnError:
    """The error for a key without an array, with its option."""
    option = option_name(field.name)
    if field.kind == "flag":
        return AttnError(f"{field.name} is true or false", hint=f"write {option} or --no-{option.removeprefix('--')}")
    if field.kind in ("number", "integer"):
        return AttnError(f"{field.name} is one number", hint=f"write {option} {text}")
    return AttnError(f"{field.name} is not an array of numbers", hint=f"it is given by {option}")


def _not_given(spec: ProblemSpec, name: str) -> AttnError:
    """The error for a missing array, with the arrays that can be set."""
    has_embeddings = spec.embeddings is not None or spec.query_embeddings is not None
    is_projected = name in ("query", "key", "value", EMBEDDINGS) and has_embeddings
    is_computed = (name in RESULTS or is_projected) and not spec.not_computed.get(name)
    reason = "is computed" if is_computed else "is not given"
    return AttnError(f"{name} {reason}", hint=f"set a number of {', '.join(editable_keys(spec))}")


def editable_keys(spec: ProblemSpec) -> Sequence[str]:
    """The keys of the arrays that a problem has and uses; an operator's are `score.w1`."""
    keys = []
    for name, field in FIELDS.items():
        value = getattr(spec, name)
        if value is None or not is_read(spec, name) or (name == EMBEDDINGS != spec.embeddings_source):
            continue
        if isinstance(value, Operator):
            keys += [f"{name}.{parameter}" for parameter in value.arrays] if name in OPERATOR_FIELDS else []
        elif field.is_array and not isinstance(value, MaskExpression):
            keys.append(name)
    return keys


@dataclass(frozen=True, eq=False)
class EditedCell:
    """An edit's effect: the cell as named, the number (or list of numbers) before, and the number after."""

    cell: str
    before: Any
    after: float | bool


@dataclass(frozen=True, eq=False)
class ProblemPart:
    """A part of a worked example: its title, its topic, its problem, and the results that it shows.

    `command` has the tokens of a command line that gives its problem, if there is one.
    """

    title: str
    about: str
    problem: ProblemSpec
    show: tuple[str, ...]
    command: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class EditedProblem:
    """A problem before and after some edits, and their effects; without edits both are the same.

    `title`, `about` and `parts` come from its file, if it has them; `command` has the tokens of a command line that
    gives the problem, if there is one.
    """

    before: ProblemSpec
    after: ProblemSpec
    cells: tuple[EditedCell, ...] = ()
    title: str = ""
    about: str = ""
    parts: tuple[ProblemPart, ...] = ()
    command: tuple[str, ...] = ()

    def with_gradient(self) -> "EditedProblem":
        """Both problems, and the parts' problems, with a gradient of the output."""
        parts = tuple(replace(part, problem=part.problem.with_gradient()) for part in self.parts)
        return replace(self, before=self.before.with_gradient(), after=self.after.with_gradient(), parts=parts)


@dataclass(frozen=True, eq=False)
class Edit:
    """A new number for a cell, a row or a column of an array: `w_q[0,1]=3`, `w_q[*,1]=0`.

    `key` is a field with an array, or `score.w1` for an operator's. `index` has a label or a position for each axis of
    the stored array, or `*` for every entry. `place` is the edit's name in errors.
    """

    key: str
    index: tuple[str, ...]
    value: float | bool
    place: str

    @property
    def cell(self) -> str:
        """The edited cells: `w_q[0,1]`; a label with a comma is in quotes."""
        parts = (f'"{part}"' if "," in part else part for part in self.index)
        return f"{self.key}[{','.join(parts)}]"


def apply_edits(spec: ProblemSpec, edits: Sequence[Edit]) -> ProblemSpec:
    """The problem after some edits, in order; labels, types and origins of arrays stay.

    Drawn arrays are edited after drawing, weights as `weight_layout` stores them; a missing mask or bias starts as the
    neutral table. Raises AttnError if a key has no numbers, a cell does not exist, or the problem rejects its new
    number.

    >>> from attncli.problem.build import build
    >>> spec = build({"query": [[1, 0]], "key": [[1, 0], [0, 1]]})
    >>> apply_edits(spec, [Edit("key", ("key_2", "d1"), 3.0, "key[key_2,d1]=3")]).key.tolist()
    [[1.0, 0.0], [3.0, 1.0]]
    """
    return edit_problem(spec, edits).after


def edit_problem(spec: ProblemSpec, edits: Sequence[Edit]) -> EditedProblem:
    """The problem before and after some edits, as in `apply_edits`, and their effects."""
    cells, arrays, places = list[EditedCell](), dict[str, LabelledArray](), dict[tuple[str, str], str]()
    for edit in edits:
        try:
            array = arrays.get(edit.key) or find_array(spec, edit.key)
            at = array.find(edit.index)
            if (edit.key, str(at)) in places:
                raise AttnError("is set twice", hint="set it once")
            cells.append(EditedCell(edit.cell, _plain(array.values[at]), _plain(edit.value)))
            arrays[edit.key] = replace(array, values=_with_number(array, at, edit.value))
        except AttnError as error:
            raise error.at(edit.place) from None
        places[edit.key, str(at)] = edit.place
    if {VOCABULARY, EMBEDDINGS} <= arrays.keys():
        raise AttnError(f"{EMBEDDINGS} and {VOCABULARY} are both set", hint="set numbers of one of them")
    # Warnings trace non-finite numbers to their origin; a table that was not given comes from the first edit.
    from_edits = (edit for edit in reversed(edits) if not isfinite(edit.value) or getattr(spec, edit.key, "") is None)
    origins = {edit.key: ArrayOrigin(edit.place, is_option=True) for edit in from_edits}
    values: dict[str, Any] = {}
    try:
        for array in arrays.values():
            values |= values_with(replace(spec, **values), array)  # two of the arrays may belong to one operator
        edited = replace_values(replace(spec, origins={**spec.origins, **origins}), values)
        return EditedProblem(spec, edited, tuple(cells))
    except AttnError as error:
        error.path = error.path[1:] if error.path[:1] in {(key,) for key in arrays} else error.path
        raise error.at(", ".join(edit.place for edit in edits)) from None


def _with_number(array: LabelledArray, at: Cells, value: float | bool) -> Array:
    """A copy of an array with a number in some cells; booleans and counts as numbers, which are checked later."""
    missing = missing_memory(array.values.nbytes)
    if missing is not None:
        raise AttnError(f"a copy of {array.name} {missing}")
    if isinstance(value, bool) and not holds_booleans(array.name):
        raise AttnError(f"{array.name} has numbers", hint="write 1 or 0")
    changed = np.array(array.values, dtype=None if array.values.dtype.kind == "f" else np.float64)
    with np.errstate(over="ignore"):
        changed[at] = value
    if isfinite(value) and not np.isfinite(changed[at]).all():
        raise AttnError(f"{value:g} is too large for {changed.dtype}")
    return changed


def _plain(value: Any) -> Any:
    """A Python number, or a list of numbers; 1 and 0 for true and false."""
    array = np.asarray(value)
    return (array.astype(np.int64) if array.dtype.kind == "b" else array).tolist()


def parse_edit(text: str, option: str = "--set") -> Edit:
    """Parse an edit; a label with a comma is in double quotes, the number may be `1/2` or `sqrt(2)`.

    Raises AttnError, which names the option, if the text is not an edit, or its key does not hold an array.

    >>> edit = parse_edit('embeddings["cat, the", x2]=1/2')
    >>> edit.key, edit.index, edit.value
    ('embeddings', ('cat, the', 'x2'), 0.5)
    """
    place = f"{option} {text.strip()}".strip()
    try:
        return _parse(text, place)
    except AttnError as error:
        raise error.at(place) from None


def _parse(text: str, place: str) -> Edit:
    """The edit; its errors do not name it yet."""
    cell, equals, number = text.rpartition("=")
    if not equals:
        raise AttnError("has no number", hint=f"write {FORM}, such as {EXAMPLE}")
    match = _CELL.fullmatch(cell.strip())
    if match is None or not match[1].strip():
        key = cell.strip()
        if re.fullmatch(r"[\w.]+", key):
            check_has_cells(key, number.strip())
            raise AttnError(f"does not name a cell of {key}", hint=_hint_of_cell(key, number.strip()))
        raise AttnError("does not name a cell", hint=f"write {FORM}, such as {EXAMPLE}")
    key = match[1].strip()
    check_has_cells(key, number.strip())
    return Edit(key, split_index(match[2], f"write {FORM}, such as {EXAMPLE}"), _number(number.strip()), place)


def _hint_of_cell(key: str, number: str) -> str:
    """The form of a cell of a key; for an operator's parameter, which may be one number, also that form."""
    name, dot, parameter = key.partition(".")
    if not dot:
        return f"write {key}[ROW,COLUMN]=X, or {key}[POSITION]=X"
    return f"write {key}[ROW,COLUMN]=X, or where it is one number {option_name(name)} NAME:{parameter}={number or 'X'}"


def split_index(text: str, hint: str) -> tuple[str, ...]:
    """The labels and positions between commas, without the quotes around them; raises AttnError with a hint."""
    parts = split_labels(text)
    if not all(parts):
        raise AttnError("a label or position is empty", hint=hint)
    return tuple(parts)


def _number(text: str) -> float | bool:
    """The new number, or true or false."""
    value = read_number(text, ())
    if is_number(value) or isinstance(value, bool):
        return value if isinstance(value, bool) else float(value)
    problem = f"{shorten(repr(text))} is not a number" if text else "nothing follows the ="
    raise AttnError(problem, hint=number_hint(text))
