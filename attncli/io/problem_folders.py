"""The problem files of a folder, and those in which something is expected."""

import os
from collections.abc import Iterator
from pathlib import Path

from attncli.base.errors import AttnError
from attncli.io import formats
from attncli.io.inputs import Input, Inputs
from attncli.io.readers.entries import expected_entries
from attncli.problem.results import EXPECTED, RESULTS
from attncli.problem.spec import FIELDS

_KEYS = {EXPECTED, "parts"}  # a file with one of them may expect something
_INPUTS = FIELDS.keys() - RESULTS


def files_of_problems(folder: str) -> list[str]:
    """The files in a folder, and in the folders in it, whose suffix a problem may have, sorted.

    Hidden ones are left out, and what is no file, such as a pipe, which would be waited for; not links to nothing.

    Raises AttnError where a folder can't be read.
    """
    return sorted(_files(folder))


def _files(folder: str) -> Iterator[str]:
    """The same, in the order of the system."""

    def fail(error: OSError) -> None:
        raise AttnError(f"can't be read ({error.strerror})", where=str(error.filename)) from None

    for parent, folders, names in os.walk(folder, onerror=fail):
        folders[:] = [name for name in folders if not name.startswith(".")]
        paths = (Path(parent) / name for name in names if not name.startswith("."))
        found = (path for path in paths if path.suffix.lower() in formats.suffixes("problem"))
        yield from (str(path) for path in found if path.is_file() or not path.exists())


def expects_something(file: str, inputs: Inputs) -> bool:
    """Whether a file is a problem with the key `expected`, with parts, or, an archive, with entries of results.

    An archive of results alone is none: it may be what another file expects. Raises AttnError where it can't be read.
    """
    source = inputs.open(file)
    names = _names(source)
    if formats.formats_of(source, "list")[-1].is_archive:
        return bool(expected_entries(names)) and not names.isdisjoint(_INPUTS)
    return not _KEYS.isdisjoint(names)


def is_problem(file: str, inputs: Inputs) -> bool:
    """Whether a file has a key of a problem that is no result, or parts. Raises AttnError where it can't be read."""
    return not _names(inputs.open(file)).isdisjoint({*_INPUTS, *_KEYS})


def _names(source: Input) -> set[str]:
    """The names of the keys or entries of a file."""
    return {array.name for array in formats.list_arrays(source)}
