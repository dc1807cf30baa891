"""A matrix from whatever it was written as: nested lists, a file, an entry of a file, or a generator."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attncli.base.dtypes import BFLOAT16
from attncli.base.errors import AttnError, UnknownNameError
from attncli.base.lazy_numpy import Array, np
from attncli.io.origin import STDIN, Origin, opening, path_of, read_text
from attncli.io.parse import grammar
from attncli.io.parse.nested_lists import array
from attncli.io.parse.operator_choice import choose
from attncli.io.readers import array_files, json
from attncli.ops.registry import Operator, is_operator, operators

TABLES = (".csv", ".tsv", ".txt")
DOCUMENTS = (".yaml", ".yml", ".json")


@dataclass(frozen=True)
class LabelledArray:
    """Numbers and, where they have them, the labels of the rows and the floating type they were stored in."""

    array: Array
    labels: tuple[str, ...] | None = None
    dtype: str | None = None  # None for text, whole numbers and booleans: they take what the others have


@dataclass(frozen=True)
class PendingRandom:
    """A matrix that is still to be made, once its shape is known."""

    chosen: Operator


def read(written: Any, key: str, origin: Origin) -> LabelledArray | PendingRandom:
    """What a matrix was written as, read.

    Raises AttnError that names the file and line, or the key.
    """
    where = origin.where(key, written)
    if isinstance(written, LabelledArray):
        return written
    if isinstance(written, str):
        text = written.strip()
        if text[:1] in ("[", "{"):
            return _value(grammar.inline(text, where), key, Origin(options=origin.options), None)
        if is_operator("generator", text.partition(":")[0].strip()):
            return PendingRandom(choose("generator", text, origin, key))
        return _file(text, origin, where)
    if _is_generator(written):
        return PendingRandom(choose("generator", written, origin, key))
    return _value(written, key, origin, None)


def _is_generator(written: Any) -> bool:
    """Whether it is `{normal: {std: 2}}` and not a row that has the name of a generator, `{normal: [1, 2]}`."""
    if not isinstance(written, Mapping) or len(written) != 1:
        return False
    ((name, parameters),) = written.items()
    return isinstance(name, str) and is_operator("generator", name) and not isinstance(parameters, (list, tuple))


def _file(text: str, origin: Origin, where: str) -> LabelledArray:
    """The matrix in a file: `words.csv`, `weights.json#w_q`, `-`."""
    name, _, entry = text.partition("#")
    if name == STDIN:
        return _text(read_text("standard input"), "standard input", entry)
    path = origin.folder / path_of(name)
    suffix = path.suffix.lower()
    if suffix in array_files.SUFFIXES:
        typed = array_files.read(path, entry)
        return LabelledArray(typed.array, dtype=typed.dtype)
    if suffix not in TABLES + DOCUMENTS:
        raise _no_matrix(text, path, where)
    if suffix in TABLES:
        if entry:
            raise AttnError(f"a table has no entries, so #{entry} names nothing", where=str(path))
        return _table_file(path, "\t" if suffix == ".tsv" else None)
    return _document(read_text(str(path), path), str(path), entry, suffix == ".json")


def _table_file(path: Path, delimiter: str | None) -> LabelledArray:
    """The numbers of a table in a file: a large one of plain numbers a part at a time, any other with care."""
    from attncli.io.readers import fast_csv  # noqa: PLC0415 - most problems have no table

    with opening(str(path)):
        table = fast_csv.read(path, delimiter) if path.is_file() else None
    if table is None:
        return _table(read_text(str(path), path), str(path), delimiter)
    return LabelledArray(table.numbers, table.labels)


def _no_matrix(text: str, path: Path, where: str) -> AttnError:
    """The error for a word that is neither a file that can be read nor a generator."""
    if path.suffix:
        expected = ", ".join(TABLES + DOCUMENTS + array_files.SUFFIXES)
        return AttnError(f"{text!r} is no file that can be read", where=where, hint=f"expected {expected}")
    return UnknownNameError("file or generator", text, operators("generator"), where=where)


def _text(contents: str, name: str, entry: str) -> LabelledArray:
    """Numbers whose format is told by their content: brackets or `key: value` lines are YAML or JSON, else a table."""
    if contents.lstrip()[:1] in ("[", "{"):
        try:
            return _document(contents, name, entry, is_json=True)
        except AttnError:
            return _document(contents, name, entry, is_json=False)
    first = next((line for line in contents.splitlines() if line.strip() and not line.lstrip().startswith("#")), "")
    if first.startswith(("- ", "---", "%")) or ": " in f"{first.rstrip()} ":
        return _document(contents, name, entry, is_json=False)
    return _table(contents, name)


def _table(contents: str, name: str, delimiter: str | None = None) -> LabelledArray:
    """The numbers of a table, with its labels; without a delimiter it is told by the content."""
    from attncli.io.readers import csv  # noqa: PLC0415 - most problems have no table

    table = csv.read(contents, name, delimiter)
    return LabelledArray(table.numbers, table.labels)


def _document(contents: str, name: str, entry: str, is_json: bool) -> LabelledArray:
    """The numbers in a YAML or JSON text: all of it, its one entry, the entry named, or a row for each key."""
    value, lines = (json.read(contents, name), {}) if is_json else _yaml(contents, name)
    origin = Origin(name, lines=lines)
    if entry:
        if not isinstance(value, Mapping):
            raise AttnError(f"has no entries, so #{entry} names nothing", where=name)
        if entry not in value:
            raise UnknownNameError("entry", entry, value, where=name)
        return _value(value[entry], entry, origin, None)
    if isinstance(value, Mapping) and len(value) == 1 and not _is_row(next(iter(value.values()))):
        ((key, value),) = value.items()
        return _value(value, key, origin, None)
    return _value(value, "", origin, name)


def _yaml(contents: str, name: str) -> tuple[Any, dict[int, int]]:
    """The value of a YAML text and its lines."""
    from attncli.io.readers import yaml  # noqa: PLC0415 - most matrices are no YAML of their own

    return yaml.read(contents, name)


def _is_row(value: Any) -> bool:
    return isinstance(value, list) and not any(isinstance(cell, list) for cell in value)


def _value(value: Any, key: str, origin: Origin, file: str | None) -> LabelledArray:
    """Lists of numbers as an array; a mapping from labels to rows as an array with labels."""
    where = origin.where(key, value)
    if isinstance(value, Mapping):
        if not value or not all(_is_row(row) for row in value.values()):
            hint = f"name one: {file}#{next(iter(value))}" if file and value else "expected lists of numbers"
            raise AttnError("has several entries" if file else "is no matrix", where=where, hint=hint)
        return LabelledArray(array(list(value.values()), key, origin), tuple(str(label) for label in value))
    if hasattr(value, "__array__"):
        return given(value, key, origin)
    return LabelledArray(array(value, key, origin))


def given(value: Any, key: str, origin: Origin) -> LabelledArray:
    """An array of NumPy's, or of another library that NumPy can read."""
    bfloat16 = not isinstance(value, np.ndarray) and str(getattr(value, "dtype", "")) == f"torch.{BFLOAT16}"
    try:
        found = np.asarray(value.float() if bfloat16 else value)
    except (TypeError, RuntimeError) as error:  # a tensor of a type that NumPy has not, or one that keeps gradients
        raise AttnError(f"can't be read ({error})", where=origin.where(key, value)) from None
    name = found.dtype.type.__name__  # longdouble by that name on every machine
    if bfloat16 or name == BFLOAT16:  # a tensor, or a type that another package has registered
        return LabelledArray(found.astype(np.float32), dtype=BFLOAT16)
    if found.dtype.kind in "iu":
        return LabelledArray(found.astype(np.float64))
    if found.dtype.kind not in "bf":
        raise AttnError(f"{json.said(value)} is no matrix", where=origin.where(key, value))
    return LabelledArray(found, dtype=name if found.dtype.kind == "f" else None)
