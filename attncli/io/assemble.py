"""A problem from files, options or Python keywords: it reads texts, and `problem.build` makes the problem."""

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

MOST_NAMED = 3  # parts in an error
NOTHING = ("none", "no", "off", "null")  # instead of an operator's name


def is_nothing(field: Field, value: Any) -> bool:
    """Whether a value means that its key is not given: None, or `none` for an optional operator.

    >>> is_nothing(FIELDS["position"], "none"), is_nothing(FIELDS["normalize"], "none")
    (True, False)
    """
    is_optional = field.name in OPERATOR_FIELDS and DEFAULTS[field.name] is None
    return value is None or (is_optional and isinstance(value, str) and value.strip().casefold() in NOTHING)


def assemble(document: Mapping[str, RawValue], convention: str | None = None) -> ProblemSpec:
    """The problem from raw values by key, read according to a convention's framework.

    Raises AttnError whose path begins with the value's file and line, or its option.
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
    """The error for a file whose problems are only in its parts, with the name of one."""
    parts = raw.value if isinstance(raw.value, list) else []
    titles = [to_text(part.get("title")) for part in parts if isinstance(part, Mapping)]
    names = [shlex.quote(f"{raw.origin.name}#{name}") for name in names_of_parts(titles)]
    some = f"{', '.join(names[:2])} … {names[-1]}" if len(names) > MOST_NAMED else ", ".join(names)
    return AttnError(f"has {count_of(len(parts), 'problem')}", where=raw.origin.name, hint=f"name one: {some}")


def _array_origin(key: str, raw: RawValue) -> ArrayOrigin:
    """The origin of an array's value: an option, or a file."""
    if raw.origin.options:
        return ArrayOrigin(raw.origin.path(key)[0], is_option=True)
    return raw.origin.of_array(raw.value)


def _path(error: AttnError, values: Mapping[str, Any], given: Mapping[str, RawValue]) -> tuple[str, ...]:
    """The path of a builder's error, with the value's file and line or option."""
    options = [key for key in error.keys if key in given and given[key].origin.options]
    if options and error.path[:1] not in [(key,) for key in options]:  # the option caused the contradiction
        return given[options[0]].origin.path(options[0])
    if error.path and error.path[0] in given:
        raw = given[error.path[0]]
        is_whole_value = error.entry is not None or error.subject is values[error.path[0]]
        subject = raw.value if is_whole_value else error.subject
        return raw.origin.path(*error.path, subject=subject, entry=error.entry)
    files = {raw.origin.name for raw in given.values() if raw.origin.name}
    return (*files, *error.path) if len(files) == 1 else error.path


def _prefer_overriding_labels(values: dict[str, Any], given: Mapping[str, RawValue]) -> None:
    """Replace a file's labels by those of an array that is given as an option, or over the file in Python."""
    overriding = {key for key, raw in given.items() if raw.origin.options or raw.origin.overrides}
    if not overriding:
        return
    for name, axes in LABELLED_AXES.items():
        owners = [(owner, axis) for owner, axis in axes if owner in overriding and name not in overriding]
        found = [labels for owner, axis in owners if (labels := labels_of_value(values[owner])[axis])]
        if found:
            values[name] = found[0]


def read_value(field: Field, raw: RawValue) -> Any:
    """The value of a key with its texts read: files, generators, `NAME:key=value`, numbers between commas."""
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
    """Raise AttnError, with the text to type, if an array of a file may be the bits of floats."""
    name, origin = field.name, raw.origin
    if name not in LAID_OUT or not origin.opens_files:  # from Python: `build` raises it
        return
    entry = next((alias for alias, key in origin.aliases.items() if key == name), name)
    file = raw.value if isinstance(raw.value, str) else f"{origin.name}#{entry}"
    is_key = isinstance(raw.value, str) and not origin.options  # from a file with this text

    def typed(dtype: str) -> str:
        text = f"{dtype}:bits={file}"
        return f"{name}: {text}" if is_key else f"{option_name(name)} {shlex.quote(text)}"

    check_has_no_bits(value, origin.path(name), typed)


def _read_quantized(value: Any, path: ErrorPath, origin: Origin) -> dict[str, Any]:
    """A quantized array, with its texts read."""
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
    """The arrays that a list names, stacked along a new first axis."""
    read = (read_text_array(text, path, origin, kind=None) for text in value)
    return [found.array if isinstance(found, GivenArray) else found for found in read]


def _read_array(text: str, field: Field, origin: Origin) -> Any:
    """The array, or for a drawn field the generator, of a text; one number is one row."""
    name, colon, _ = text.partition(":")
    if colon and name.strip() in FORMS:
        name, parameters = read_named(text, origin.path(field.name))
        return _read_quantized({name: parameters}, (field.name,), origin)
    kind = "generator" if field.is_random_fill else None
    value = read_text_array(text, (field.name,), origin, kind, are_rows_read=field.is_row_table)
    return [[value]] if is_number(value) else value


def _read_tokenizer(text: str, field: Field, origin: Origin) -> Any:
    """The tokenizer in a file, which opens only to split a sentence; an option's file must exist."""
    if origin.options and not (text.strip() and is_there(origin.folder / path_of(text))):
        hint = "name the tokenizer.json of a model"
        raise AttnError(f"there is no file {text!r}", where=origin.path(field.name), hint=hint)
    return TokenizerFile(text, origin.folder, origin.inputs) if origin.opens_files else text


def _read_vocabulary(text: str, field: Field, origin: Origin) -> Any:
    """The name of a vocabulary, unchanged, or the array of a text."""
    if text == SMALL_NAME:
        return text
    try:
        return _read_array(text, field, origin)
    except AttnError as error:
        if error.message.startswith("unknown file") and not str(error.hint).startswith("did you mean"):
            error.hint = f"give {SMALL_NAME}, which is built in, or a file with a vector for each word"
        raise


def _read_mask(value: Any, field: Field, origin: Origin) -> Any:
    """A table, a mask's operator with its arrays read, or an expression of them; a file has precedence."""
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
    """A mask of an expression; raises AttnError at its column, also for a missing file."""
    try:
        return _read_one_mask(leaf.value, path, origin)
    except AttnError as error:
        raise error if path[-1] in error.path else error.at(*origin.path(*path)) from None


def _read_one_mask(value: Any, path: ErrorPath, origin: Origin) -> Any:
    """A table, or a mask's operator with its arrays read."""
    if isinstance(value, str):
        text = import_operator("mask", value, origin.path(*path)) if origin.options else value
        value = read_text_array(text, path, origin, kind="mask")
    is_mask = isinstance(value, Mapping) and chooses_operator("mask", value)
    return _read_operator("mask", value, path, origin) if is_mask else value


def _read_window(text: str, field: Field, origin: Origin) -> Any:
    """Two sides from `LEFT,RIGHT`; any other text unchanged."""
    if text.count(",") != 1:
        return text
    sides = text.split(",")
    numbers = [read_inline(side, origin.path(field.name)) for side in sides]
    return [side if number is None else number for side, number in zip(sides, numbers, strict=True)]


def _read_decimals_of_steps(text: str, field: Field, origin: Origin) -> Any:
    """`weights=1,scores=2` as `{weights: 1, scores: 2}`; any other text unchanged."""
    entries = [entry.partition("=") for entry in text.split(",")]
    if not all(sign for _, sign, _ in entries):
        return text
    numbers = {name.strip(): read_inline(number, origin.path(field.name)) for name, _, number in entries}
    return text if None in numbers.values() else numbers


def _read_operator(kind: str, value: Any, path: ErrorPath, origin: Origin) -> Any:
    """`NAME:key=value` as `{NAME: {key: value}}`, with the texts of array parameters read.

    An option may name a module's function, which imports the module; a problem file never runs code.
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
    """The value of an option in a problem file's form; `path` is for errors.

    The value is a text, for a flag true or false, for labels a list of texts: each is a list in brackets, or has
    several labels between commas; a single text may name a file.
    """
    if field.kind == "labels":
        if len(value) == 1 and names_file(value[0], Origin(options=True)):
            return value[0]
        return [label for text in value for label in labels_of_text(text, path)]
    if field.kind in ("integer", "number"):
        number = read_inline(value, path)
        return value if number is None else number  # `--seed ''` is neither a number nor a missing value
    return value


def convert_value(field: Field, raw: RawValue) -> RawValue:
    """The converted value of a key, with its texts and their files read."""
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
        value = replace(value, origin=raw.origin.of_array(raw.value))  # only lists have lines
    return replace(raw, value=value)


def convert_document(document: Mapping[str, RawValue]) -> Document:
    """The converted values of a problem's keys; a vocabulary is only read, because its words stay labels."""
    converted = dict(document)
    for key, raw in document.items():
        field = FIELDS.get(key)
        if field is not None:
            is_read_alone = field.kind == "vocabulary"
            converted[key] = replace(raw, value=read_value(field, raw)) if is_read_alone else convert_value(field, raw)
    return converted


def names_of_columns(document: Mapping[str, RawValue], problem: ProblemSpec) -> dict[str, tuple[str, ...]]:
    """The column names in the files of sequences, by the letter of the features.

    `document` is the problem's, converted. Features that are split into heads have no names.
    """
    owners = ("embeddings", "query", "key", "value")[: None if problem.heads in (None, 1) else 1]
    found: dict[str, tuple[str, ...]] = {}
    for key in owners:
        value = document[key].value if key in document else None
        if isinstance(value, GivenArray) and value.columns is not None:
            found.setdefault(FIELDS[key].letters[-1], value.columns)
    return found
