"""Problem files: the values of a problem by their keys, from YAML, JSON or a file of arrays; and those of a folder."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from attncli.base.errors import AttnError
from attncli.io import formats
from attncli.io.entries import expected_entries
from attncli.io.inputs import Input, Inputs
from attncli.io.origin import Origin, RawValue
from attncli.io.paths import STDIN, check_is_not_refused, nearest_file, path_of
from attncli.problem.results import EXPECTED, RESULTS
from attncli.problem.spec import FIELDS

Document = dict[str, RawValue]

_KEYS = {EXPECTED, "parts"}  # a file with one of them may expect something
_INPUTS = FIELDS.keys() - RESULTS

# The keys of a worked example that are not keys of its problem; `attn compute` ignores them. Those that are shown, and
# what is expected, hold for every part where they are at the top of the file.
SHOWN_KEYS = ("show", "cell", "numpy", "arrows")
PART_KEYS = (*SHOWN_KEYS, "title", "about", EXPECTED)
ABOUT_KEYS = ("title", "about", "topic", "teaches", "paper", "source")
EXAMPLE_KEYS = (*SHOWN_KEYS, *ABOUT_KEYS, "precision", EXPECTED, "parts", "together", "curve")


def read_document(name: str, inputs: Inputs | None = None) -> Document:
    """The values of a problem file by their keys, or those of standard input for `-`.

    Files are opened through `inputs`. Raises AttnError where the file is not a problem, or its format can't hold one.
    """
    inputs = inputs or Inputs()
    path = path_of(name)
    check_is_not_refused(path, name)
    is_known = name == STDIN or formats.format_of_suffix(path) is not None or os.path.lexists(path)
    if not is_known and nearest_file(path) is None:
        raise AttnError("is not a problem file", where=name, hint=f"expected {formats.expected('problem')} or -")
    source = inputs.open(name)
    return _document(*formats.read_problem(source), Origin(source.name, path.parent, inputs=inputs))


def parse_document(text: str, name: str) -> Document:
    """The values of a text by their keys; its format is that of the name's suffix, or told by the text itself."""
    inputs = Inputs()
    return _document(*formats.read_problem(inputs.of_text(text, name)), Origin(name, inputs=inputs))


def _document(values: Mapping[str, Any], lines: Mapping[int, int], origin: Origin) -> Document:
    """Each value with its origin."""
    origin = replace(origin, lines=lines)
    return {key: RawValue(value, origin) for key, value in values.items()}


def files_of_problems(folder: str) -> list[str]:
    """The files in a folder, and in the folders in it, whose suffix a problem may have, sorted.

    Hidden ones are left out, and pipes, which would be waited for; links to nothing are not.
    Raises AttnError where a folder can't be read.
    """

    def fail(error: OSError) -> None:
        raise AttnError(f"can't be read ({error.strerror})", where=str(error.filename)) from None

    found: list[str] = []
    for parent, folders, names in os.walk(folder, onerror=fail):
        folders[:] = [name for name in folders if not name.startswith(".")]
        paths = (Path(parent) / name for name in names if not name.startswith("."))
        problems = (path for path in paths if path.suffix.lower() in formats.suffixes("problem"))
        found += [str(path) for path in problems if path.is_file() or not path.exists()]
    return sorted(found)


def expects_something(file: str, inputs: Inputs) -> bool:
    """Whether a file is a problem with the key `expected`, with parts, or, an archive, with entries of results.

    An archive of results alone does not: it may be what another file expects.
    """
    source = inputs.open(file)
    names = _names(source)
    if formats.formats_of(source)[-1].is_archive:
        return bool(expected_entries(names)) and not names.isdisjoint(_INPUTS)
    return not _KEYS.isdisjoint(names)


def is_problem(file: str, inputs: Inputs) -> bool:
    """Whether a file has parts, or a key of a problem that is not a result."""
    return not _names(inputs.open(file)).isdisjoint({*_INPUTS, *_KEYS})


def _names(source: Input) -> set[str]:
    """The names of the keys or entries of a file."""
    return {array.name for array in formats.list_arrays(source)}


def to_text(value: Any) -> str:
    """A value as text; nothing where it is not given."""
    return "" if value is None else str(value)
