"""A problem from files, options or keywords of Python: texts are read, and `problem.build` makes the problem."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from attncli.base.errors import AttnError, ErrorPath
from attncli.base.text import count_of
from attncli.io.label_files import labels_of_text, names_file, read_labels
from attncli.io.parse import import_operator, read_inline, read_named, read_text_array
from attncli.io.paths import is_there, path_of
from attncli.io.problem_files import PYTHON, Document, Origin, RawValue, check_keys, names_of_parts, to_text
from attncli.io.tokenizer_file import TokenizerFile
from attncli.ops.registry import is_operator, look_up, taken_kinds
from attncli.problem.arrays import ArrayOrigin, GivenArray
from attncli.problem.build import LABELLED_AXES, build
from attncli.problem.convert import labels_of_value, to_field
from attncli.problem.fields import INPUTS, RANDOM, Field, option_name
from attncli.problem.layout import LAID_OUT
from attncli.problem.mask_expressions import MaskLeaf, column_path, is_mask_expression, parse_mask
from attncli.problem.numbers import is_number
from attncli.problem.operators import FORMS, check_has_no_bits, chooses_operator, form_of
from attncli.problem.spec import DEFAULTS, FIELDS, OPERATOR_FIELDS, ProblemSpec
from attncli.problem.vocabularies import SMALL_NAME

MOST_NAMED = 3  # parts that an error names
NOTHING = ("none", "no", "off", "null")  # in place of the name of an operator


def is_nothing(field: Field, value: Any) -> bool:
    """Whether a value is as if its key were not given: None, or `none` in place of an operator that there need not be.

    >>> is_nothing(FIELDS["position"], "none"), is_nothing(FIELDS["normalize"], "none")
    (True, False)
    """
    is_optional = field.name in OPERATOR_FIELDS and DEFAULTS[field.name] is None
    return value is None or (is_optional and isinstance(value, str) and value.strip().casefold() in NOTHING)


def assemble(document: Mapping[str, RawValue], convention: str | None = None) -> ProblemSpec:
    """The problem of raw values by their keys, read as the framework of a convention reads them.

    Raises AttnError whose path begins with the file and line, or the option, that a value was given in.
    """
    check_keys(document)
    given = {key: raw for key, raw in document.items() if key in FIELDS and not is_nothing(FIELDS[key], raw.value)}
    if "parts" in document and not any(FIELDS[key].panel in (INPUTS, RANDOM) for key in given):
        raise _needs_part(document["parts"])
    values = {key: read_value(FIELDS[key], raw) for key, raw in given.items()}
    for key, value in values.items():
        _check_has_no_bits(FIELDS[key], value, given[key])
    elsewhere = {key: raw for key, raw in given.items() if raw.origin is not PYTHON}
    _prefer_overriding_labels(values, elsewhere)
    origins = {key: _array_origin(key, raw) for key, raw in elsewhere.items() if raw.origin.options or raw.origin.name}
    try:
        return build(values, origins, convention)
    except AttnError as error:
        error.path = _path(error, values, given)
        raise


def _needs_part(raw: RawValue) -> AttnError:
    """The error of a file whose problems are its parts alone, with how one of them is named."""
    parts = raw.value if isinstance(raw.value, list) else []
    titles = [to_text(part.get("title")) for part in parts if isinstance(part, Mapping)]
    names = [shlex.quote(f"{raw.origin.name}#{name}") for name in names_of_parts(titles)]
    some = f"{', '.join(names[:2])} … {names[-1]}" if len(names) > MOST_NAMED else ", ".join(names)
    return AttnError(f"has {count_of(len(parts), 'problem')}", where=raw.origin.name, hint=f"name one: {some}")


def _array_origin(key: str, raw: RawValue) -> ArrayOrigin:
    """Where a value was given that is an array: as an option, or in a file."""
    if raw.origin.options:
        return ArrayOrigin(raw.origin.path(key)[0], is_option=True)
    return raw.origin.of_array(raw.value)


def _path(error: AttnError, values: Mapping[str, Any], given: Mapping[str, RawValue]) -> tuple[str, ...]:
    """The path of an error of the builder, with the file and line or the option where the value was given."""
    options = [key for key in error.keys if key in given and given[key].origin.options]
    if options and error.path[:1] not in [(key,) for key in options]:  # without the option there was no contradiction
        return given[options[0]].origin.path(options[0])
    if error.path and error.path[0] in given:
        raw = given[error.path[0]]
        is_whole_value = error.entry is not None or error.subject is values[error.path[0]]
        subject = raw.value if is_whole_value else error.subject
        return raw.origin.path(*error.path, subject=subject, entry=error.entry)
    files = {raw.origin.name for raw in given.values() if raw.origin.name}
    return (*files, *error.path) if len(files) == 1 else error.path


def _prefer_overriding_labels(values: dict[str, Any], given: Mapping[str, RawValue]) -> None:
    """Replace labels of a file by those of an array that is given as an option, or over the file in Python."""
    overriding = {key for key, raw in given.items() if raw.origin.options or raw.origin.overrides}
    if not overriding:
        return
    for name, axes in LABELLED_AXES.items():
        owners = [(owner, axis) for owner, axis in axes if owner in overriding and name not in overriding]
        found = [labels for owner, axis in owners if (labels := labels_of_value(values[owner])[axis])]
        if found:
            values[name] = found[0]


def read_value(field: Field, raw: RawValue) -> Any:
    """The value of a key with the texts in it read: files, generators, `NAME:key=value`, numbers between commas."""
    if field.kind == "labels" and isinstance(raw.value, str) and names_file(raw.value, raw.origin):
        return read_labels(raw.value, raw.origin)
    if not isinstance(raw.value, (str, Mapping)):
        is_list = field.is_array and _names_entries(raw.value)
        return _read_entries(raw.value, (field.name,), raw.origin) if is_list else raw.value
    value: Any = raw.value
    origin = raw.origin
    if field.kind in taken_kinds():
        return _read_operator(field.kind, value, (field.name,), origin)
    if field.kind == "boolean_matrix":
        return _read_mask(value, field, origin)
    if field.is_array and form_of(value) is not None:
        return _read_quantized(value, (field.name,), origin)
    read = _TEXT_READERS.get(field.kind) if isinstance(value, str) else None
    return value if read is None else read(value, field, origin)


def _check_has_no_bits(field: Field, value: Any, raw: RawValue) -> None:
    """Raise AttnError, which says what to type, where an array of a file may be the bits of floats."""
    name, origin = field.name, raw.origin
    if name not in LAID_OUT or not origin.opens_files:  # of Python: `build` says it
        return
    entry = next((alias for alias, key in origin.aliases.items() if key == name), name)
    file = raw.value if isinstance(raw.value, str) else f"{origin.name}#{entry}"
    is_key = isinstance(raw.value, str) and not origin.options  # of a file, where the text stands

    def typed(dtype: str) -> str:
        text = f"{dtype}:bits={file}"
        return f"{name}: {text}" if is_key else f"{option_name(name)} {shlex.quote(text)}"

    check_has_no_bits(value, origin.path(name), typed)


def _read_quantized(value: Any, path: ErrorPath, origin: Origin) -> dict[str, Any]:
    """A quantized array with the texts among its arrays read."""
    ((name, given),) = value.items()
    arrays = FORMS[name].all_arrays
    read = {
        key: read_text_array(text, (*path, name, key), origin, kind=None)
        for key, text in given.items()
        if key in arrays and isinstance(text, str)
    }
    return {name: {**given, **read}}


def _names_entries(value: Any) -> bool:
    """Whether a value is a list of entries of files, such as `[m.npz#norms.0, m.npz#norms.1]`."""
    is_list = isinstance(value, list) and bool(value)
    return is_list and all(isinstance(text, str) and "#" in text.strip()[1:] for text in value)


def _read_entries(value: Sequence[str], path: ErrorPath, origin: Origin) -> list[Any]:
    """The arrays that a list names, each an entry along the first axis of one array."""
    read = (read_text_array(text, path, origin, kind=None) for text in value)
    return [found.array if isinstance(found, GivenArray) else found for found in read]


def _read_array(text: str, field: Field, origin: Origin) -> Any:
    """A text in place of an array, which may be a generator where the field is drawn; one number is one row."""
    name, colon, _ = text.partition(":")
    if colon and name.strip() in FORMS:
        name, parameters = read_named(text, origin.path(field.name))
        return _read_quantized({name: parameters}, (field.name,), origin)
    kind = "generator" if field.is_random_fill else None
    value = read_text_array(text, (field.name,), origin, kind, are_rows_read=field.is_row_table)
    return [[value]] if is_number(value) else value


def _read_tokenizer(text: str, field: Field, origin: Origin) -> Any:
    """The tokenizer in a file, which is opened where a sentence is split; that of an option must be there."""
    if origin.options and not (text.strip() and is_there(origin.folder / path_of(text))):
        hint = "name the tokenizer.json of a model"
        raise AttnError(f"there is no file {text!r}", where=origin.path(field.name), hint=hint)
    return TokenizerFile(text, origin.folder, origin.inputs) if origin.opens_files else text


def _read_vocabulary(text: str, field: Field, origin: Origin) -> Any:
    """The name of a vocabulary, which stays as it is, or the text of an array."""
    if text == SMALL_NAME:
        return text
    try:
        return _read_array(text, field, origin)
    except AttnError as error:
        if error.message.startswith("unknown file") and not str(error.hint).startswith("did you mean"):
            error.hint = f"give {SMALL_NAME}, which is built in, or a file with a vector for each word"
        raise


def _read_mask(value: Any, field: Field, origin: Origin) -> Any:
    """A table, the operator of a mask with its array parameters read, or an expression of them; a file comes first."""
    is_file = isinstance(value, str) and origin.opens_files and is_there(origin.folder / value.strip())
    if not isinstance(value, str) or is_file or not is_mask_expression(value):
        return _read_one_mask(value, (field.name,), origin)
    try:
        tree = parse_mask(value)
    except AttnError as error:
        raise error.at(*origin.path(field.name)) from None
    if isinstance(tree, MaskLeaf):  # in parentheses
        return _read_one_mask(tree.value, column_path(field.name, tree), origin)
    return tree.map(lambda leaf: _read_leaf(leaf, column_path(field.name, leaf), origin))


def _read_leaf(leaf: MaskLeaf, path: ErrorPath, origin: Origin) -> Any:
    """A mask of an expression; raises AttnError at its column, also where a file is not there."""
    try:
        return _read_one_mask(leaf.value, path, origin)
    except AttnError as error:
        raise error if path[-1] in error.path else error.at(*origin.path(*path)) from None


def _read_one_mask(value: Any, path: ErrorPath, origin: Origin) -> Any:
    """A table, or the operator of a mask with its array parameters read."""
    if isinstance(value, str):
        text = import_operator("mask", value, origin.path(*path)) if origin.options else value
        value = read_text_array(text, path, origin, kind="mask")
    is_mask = isinstance(value, Mapping) and chooses_operator("mask", value)
    return _read_operator("mask", value, path, origin) if is_mask else value


def _read_window(text: str, field: Field, origin: Origin) -> Any:
    """Two sides between a comma; any other text stays as it is."""
    if text.count(",") != 1:
        return text
    sides = text.split(",")
    numbers = [read_inline(side, origin.path(field.name)) for side in sides]
    return [side if number is None else number for side, number in zip(sides, numbers, strict=True)]


def _read_decimals_of_steps(text: str, field: Field, origin: Origin) -> Any:
    """`weights=1,scores=2` as `{weights: 1, scores: 2}`; any other text stays as it is."""
    entries = [entry.partition("=") for entry in text.split(",")]
    if not all(sign for _, sign, _ in entries):
        return text
    numbers = {name.strip(): read_inline(number, origin.path(field.name)) for name, _, number in entries}
    return text if None in numbers.values() else numbers


def _read_operator(kind: str, value: Any, path: ErrorPath, origin: Origin) -> Any:
    """`NAME:key=value` as `{NAME: {key: value}}`, and the texts among array parameters read.

    An option may name a function of a module, which is imported; a problem file never runs code.
    """
    if isinstance(value, str):
        text = import_operator(kind, value, origin.path(*path)) if origin.options else value
        name, given = read_named(text, origin.path(*path))
        value = {name: given} if given else name
    if not isinstance(value, Mapping) or len(value) != 1:
        return value
    ((name, given),) = value.items()
    if not isinstance(given, Mapping) or not isinstance(name, str) or not is_operator(kind, name):
        return value  # `problem.build` raises the error
    arrays = {parameter.name for parameter in look_up(kind, name).parameters if parameter.kind == "array"}
    texts = {key: text for key, text in given.items() if key in arrays and isinstance(text, str)}
    quantized = {key: entry for key, entry in given.items() if key in arrays and form_of(entry) is not None}
    stacked = {key: entry for key, entry in given.items() if key in arrays and _names_entries(entry)}
    read = {key: read_text_array(text, (*path, name, key), origin) for key, text in texts.items()}
    numbers = {key: _read_quantized(entry, (*path, name, key), origin) for key, entry in quantized.items()}
    rows = {key: _read_entries(entry, (*path, name, key), origin) for key, entry in stacked.items()}
    return {name: {**given, **read, **numbers, **rows}}


_TEXT_READERS: Mapping[str, Callable[[str, Field, Origin], Any]] = {
    **dict.fromkeys(("matrix", "vector", "booleans", "counts", "positions"), _read_array),
    **dict.fromkeys(("sequence_bounds", "page_numbers"), _read_array),
    "tokenizer": _read_tokenizer,
    "vocabulary": _read_vocabulary,
    "window": _read_window,
    "decimals_of_steps": _read_decimals_of_steps,
}


def read_option(field: Field, value: Any, path: ErrorPath) -> Any:
    """The value of an option as a problem file would hold it; `path` is that of an error.

    The value is a text, of a flag true or false, of labels a list of texts: each is a list in brackets, or has several
    labels between commas; one alone may name a file.
    """
    if field.kind == "labels":
        if len(value) == 1 and names_file(value[0], Origin(options=True)):
            return value[0]
        return [label for text in value for label in labels_of_text(text, path)]
    if field.kind in ("integer", "number"):
        number = read_inline(value, path)
        return value if number is None else number  # `--seed ''` is not a number; it is not a missing one either
    return value


def convert_value(field: Field, raw: RawValue) -> RawValue:
    """The value of a key as the problem has it: the texts in it are read, from their files too, and it is converted."""
    if is_nothing(field, raw.value):
        return replace(raw, value=None)
    read = read_value(field, raw)
    try:
        value = to_field(field, read)
    except AttnError as error:
        subject = raw.value if error.subject is read else error.subject
        error.path = raw.origin.path(*error.path, subject=subject, entry=error.entry)
        raise
    if isinstance(value, GivenArray) and value.origin is None and raw.origin.name:
        value = replace(value, origin=raw.origin.of_array(raw.value))  # its lines are known from the lists alone
    return replace(raw, value=value)


def convert_document(document: Mapping[str, RawValue]) -> Document:
    """The values of a problem, those of its keys converted; a vocabulary is read alone, for its words stay labels."""
    converted = dict(document)
    for key, raw in document.items():
        field = FIELDS.get(key)
        if field is not None:
            is_read_alone = field.kind == "vocabulary"
            converted[key] = replace(raw, value=read_value(field, raw)) if is_read_alone else convert_value(field, raw)
    return converted


def names_of_columns(document: Mapping[str, RawValue], problem: ProblemSpec) -> dict[str, tuple[str, ...]]:
    """The names that the files of sequences give to their columns, by the letter of these features.

    `document` is that of the problem, converted. Where features are split into heads they have no names.
    """
    owners = ("embeddings", "query", "key", "value")[: None if problem.heads in (None, 1) else 1]
    found: dict[str, tuple[str, ...]] = {}
    for key in owners:
        value = document[key].value if key in document else None
        if isinstance(value, GivenArray) and value.columns is not None:
            found.setdefault(FIELDS[key].letters[-1], value.columns)
    return found
