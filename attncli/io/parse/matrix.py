"""Texts in place of arrays: nested lists, a generator, a file, an entry of a file, standard input."""

from dataclasses import replace
from typing import Any

from attncli.base.errors import AttnError, ErrorPath, UnknownNameError
from attncli.io import formats
from attncli.io.origin import STDIN, Origin, path_of, read_text
from attncli.io.parse import grammar
from attncli.io.readers import documents, tables
from attncli.ops.registry import is_operator, operators
from attncli.problem.convert.arrays import LabelledArray
from attncli.problem.convert.operators import named_masks
from attncli.problem.origins import ArrayOrigin


def read_text_array(text: str, path: ErrorPath, origin: Origin, *, may_be_mask: bool = False) -> Any:
    """The value of a text in place of an array, as `attncli.problem.build.build` converts it.

    `[[1, 0], [0, 1]]` is read to nested lists, `normal:std=2` to `{normal: {std: 2}}` (so is a mask), and the name of
    a file to its array; where the origin opens no files, any other text stays as it is. `path` is that of an error.

    Raises AttnError that names the file and line, or the key.
    """
    text = text.strip()
    if text[:1] in ("[", "{"):
        return grammar.inline(text, origin.path(*path))
    name = text.partition(":")[0].strip()
    if is_operator("generator", name) or (may_be_mask and is_operator("mask", name)):
        name, parameters = grammar.parse(text, origin.path(*path))
        return {name: parameters}
    return _read_file(text, path, origin, may_be_mask=may_be_mask) if origin.opens_files else text


def _read_file(text: str, path: ErrorPath, origin: Origin, *, may_be_mask: bool) -> LabelledArray:
    """The array in a file: `words.csv`, `weights.json#w_q`, `-`."""
    name, _, entry = text.partition("#")
    if name == STDIN:
        return _array_in_text(read_text("standard input"), "standard input", entry)
    file = origin.folder / path_of(name)
    file_format = formats.format_of(file)
    read = file_format.reader("array") if file_format is not None else None
    if read is None:
        if file.suffix:
            expected = ", ".join(formats.suffixes("array"))
            message = f"{text!r} is no file that can be read"
            raise AttnError(message, where=origin.path(*path), hint=f"expected {expected}")
        what, names = ("file or mask", named_masks()) if may_be_mask else ("file or generator", operators("generator"))
        raise UnknownNameError(what, text, names, where=origin.path(*path))
    array: LabelledArray = read(file, entry)
    lines = array.origin.lines if array.origin is not None else ()
    return replace(array, origin=ArrayOrigin(text, lines))


def _array_in_text(text: str, name: str, entry: str) -> LabelledArray:
    """The array in a text whose format its content shows: brackets or `key: value` are JSON or YAML, else a table."""
    if text.lstrip()[:1] in ("[", "{"):
        try:
            return documents.array_in_text(text, name, entry, is_json=True)
        except AttnError:
            return documents.array_in_text(text, name, entry, is_json=False)
    first = next((line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")), "")
    if first.startswith(("- ", "---", "%")) or ": " in f"{first.rstrip()} ":
        return documents.array_in_text(text, name, entry, is_json=False)
    return tables.read_table_text(text, name)
