"""Labels from texts, between commas or in a list, and from files: a list, an array's numbers, or one label per line."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attncli.base.errors import AttnError, ErrorPath
from attncli.base.labels import split_labels
from attncli.base.text import shorten
from attncli.io import formats
from attncli.io.documents import TEXT_KEYS, read_json
from attncli.io.inputs import Input
from attncli.io.paths import STDIN, locate
from attncli.io.problem_files import Origin
from attncli.problem.arrays import GivenArray, to_lists

_DOCUMENTS = ("JSON", "YAML")  # the formats that hold lists
_NUMBERS = "input_ids"  # tokenizers' name for the numbers of tokens
_QUOTED = re.compile(r"""'[^']*'|"(?:[^"\\]|\\.)*\"""")
# A list, ignoring quoted text: neither the single label `[CLS]` nor the labels `[CLS],the,[SEP]`.
_LIST = re.compile(r"\s*\[(?:\s*\d+\s*|[^\[\]]*[,'][^\[\]]*|\[.*\])\]\s*", re.DOTALL)


def labels_of_text(text: str, path: ErrorPath) -> list[Any]:
    """The labels in the text of an option: a YAML list, or labels between commas.

    >>> labels_of_text("[CLS],the,cat", ()), labels_of_text('["[CLS]", ","]', ()), labels_of_text('the,",",cat', ())
    (['[CLS]', 'the', 'cat'], ['[CLS]', ','], ['the', ',', 'cat'])
    """
    if _LIST.fullmatch(_QUOTED.sub("''", text)) is None:
        return split_labels(text)
    from attncli.io import yaml  # noqa: PLC0415 - most labels are words

    try:
        found: list[Any] = yaml.read(f"tokens: {text}", "", TEXT_KEYS)[0]["tokens"]
    except AttnError as error:
        error.path = path  # without the line: there is only one
        raise
    return list(_of_one_item(found))


def names_file(text: str, origin: Origin) -> bool:
    """Whether a text instead of labels names a file, by its suffix; in an option `-` is standard input."""
    if not origin.opens_files or not text.strip() or {"\n", "\0"} & {*text}:
        return False
    path, entry = locate(text, origin.folder)
    is_stream = path == STDIN and origin.options and text.startswith((STDIN, f"{STDIN}#")) and entry == text[2:]
    return is_stream or formats.format_of_suffix(Path(path)) is not None


def read_labels(text: str, origin: Origin) -> Any:
    """The labels in a named file, or in an entry of it: `ids.json#input_ids`."""
    name, entry = locate(text, origin.folder)
    source = origin.inputs.open(name, origin.folder)
    row = formats.formats_of(source)[0]
    if row.name in _DOCUMENTS:
        return _of_one_item(_entry_of(_document(source, row.name), entry, source.name))
    if row.is_table:
        return _lines(source.text(), source.name)
    found = formats.read_array(source, entry)
    assert isinstance(found, GivenArray)  # `are_rows_read` is false
    numbers = found.array
    return _of_one_item(to_lists(numbers.astype(int) if (numbers == numbers.round()).all() else numbers))


def _document(source: Input, name: str) -> Any:
    """The value of a document."""
    if name == "JSON":
        return read_json(source.text(), source.name)
    from attncli.io import yaml  # noqa: PLC0415 - most labels are words

    return yaml.read(source.text(), source.name)[0]


def _of_one_item(value: Any) -> Any:
    """The labels of a batch's only item, tokenizers' [1 n]; any other value unchanged."""
    return value[0] if isinstance(value, list) and len(value) == 1 and isinstance(value[0], list) else value


def _entry_of(value: Any, entry: str, where: str) -> Any:
    """The list in a document: all of it, the named entry, its only entry, or a tokenizer's numbers.

    Raises AttnError if there is none.
    """
    if not isinstance(value, Mapping):
        if entry:
            raise AttnError(f"has no entry {entry!r}: it is a list", where=where)
        return value
    entry = entry or (_NUMBERS if _NUMBERS in value else next(iter(value), "") if len(value) == 1 else "")
    if entry not in value:
        names = shorten(", ".join(map(str, value)), 80)
        message = f"has no entry {entry!r}" if entry else "has several entries"
        raise AttnError(message, where=where, hint=f"name one of {names}: {where}#{next(iter(value), 'NAME')}")
    return value[entry]


def _lines(text: str, where: str) -> list[str]:
    """One label per line; from a single line the labels between commas, else between spaces."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        raise AttnError("has no labels", where=where, hint="expected one in each line, or a list in JSON")
    parts = [split_labels(line) for line in lines]
    if len(lines) > 1:
        return [part[0] if len(part) == 1 else line for part, line in zip(parts, lines, strict=True)]
    return parts[0] if len(parts[0]) > 1 else lines[0].split()
