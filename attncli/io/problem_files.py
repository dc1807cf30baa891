"""Problem files: the values of a problem by their keys, from YAML, JSON, or a file of arrays."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from attncli.base.errors import AttnError
from attncli.io import formats
from attncli.io.origin import STDIN, Origin, RawValue, path_of, read_text
from attncli.io.readers import documents

Document = dict[str, RawValue]


@dataclass(frozen=True)
class ExampleKeys:
    """The keys of a worked example that are not keys of its problem, with their values; `attn compute` ignores them."""

    title: Any = None
    about: Any = None
    source: Any = None
    expected: Any = None
    parts: Any = None
    together: Any = None


EXAMPLE_KEYS = tuple(key.name for key in fields(ExampleKeys))


def read_document(name: str) -> Document:
    """The values of a problem file by their keys, or those of standard input for `-`.

    Raises AttnError where the file is no problem, or its format can hold none.
    """
    if name == STDIN:
        return parse_document(read_text("standard input"), "standard input")
    path = path_of(name)
    file_format = formats.format_of(path)
    if file_format is not None and file_format.is_table:
        hint = f"give it as an option: --embeddings {name}"
        raise AttnError("is a table, not a problem", where=name, hint=hint)
    read = file_format.reader("problem") if file_format is not None else None
    if read is None:
        expected = ", ".join(formats.suffixes("problem"))
        raise AttnError("is no problem file", where=name, hint=f"expected {expected} or -")
    values, lines = read(path, name)
    return _document(values, lines, Origin(name, path.parent))


def parse_document(text: str, name: str, folder: Path = Path()) -> Document:
    """The values of a YAML or JSON text by their keys; paths in it are relative to the folder."""
    values, lines = documents.problem_in_text(text, name)
    return _document(values, lines, Origin(name, folder))


def _document(values: Mapping[str, Any], lines: Mapping[int, int], origin: Origin) -> Document:
    """Each value with its origin."""
    origin = Origin(origin.name, origin.folder, lines=lines)
    return {key: RawValue(value, origin) for key, value in values.items()}
