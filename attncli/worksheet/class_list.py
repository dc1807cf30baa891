"""The names of a class in a CSV file, and the file names for each."""

import csv
import re
from collections.abc import Sequence

from attncli.base.errors import AttnError
from attncli.base.text import first_duplicate, shorten
from attncli.io.inputs import Inputs

HEADINGS = ("name", "names", "student", "students")  # the column of names, in a first row
FIRST_NAMES = ("first name", "first names", "given name", "firstname")
LAST_NAMES = ("last name", "surname", "family name", "lastname")
MAX_NAME_BYTES = 200  # bytes of a name: systems allow 255 for a file name, with its suffixes
# Characters with a special meaning in a file name on some system.
_UNSAFE = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|]')


def read_names(file: str, inputs: Inputs) -> list[str]:
    """The names in a file, one per row: below a heading of HEADINGS, otherwise in the first column.

    First and last names in two columns, as learning platforms export them, are one name.

    Raises AttnError if there are none, if one is too long, or if two would share a file name.
    """
    source = inputs.open(file)
    text = source.text()
    first = text.lstrip().partition("\n")[0]
    delimiter = next((mark for mark in "\t;," if mark in first), ",")
    try:
        rows = [[cell.strip() for cell in row] for row in csv.reader(text.splitlines(), delimiter=delimiter)]
    except csv.Error as error:
        raise AttnError(f"is not a list of names ({error})", where=source.name, hint="write one a row") from None
    rows = [row for row in rows if any(row)]
    columns = _columns(rows[0]) if rows else []
    names = [" ".join(row[at] for at in columns or [0] if at < len(row)).strip() for row in rows[bool(columns) :]]
    if not names:
        raise AttnError("has no names", where=source.name, hint="write one a row")
    if not all(names):
        raise AttnError("a row has no name", where=source.name)
    stems = [stem.casefold() for stem in file_stems(names)]
    for name in names:
        if len(name.encode()) > MAX_NAME_BYTES:
            message, hint = f"{shorten(name)!r} is too long for the name of a file", f"expected {MAX_NAME_BYTES} bytes"
            raise AttnError(message, where=source.name, hint=f"{hint} at most")
    if len({*stems}) < len(stems):
        name = names[stems.index(first_duplicate(stems))]
        raise AttnError(f"{name!r} is there twice", where=source.name, hint="tell both apart")
    return names


def _columns(row: Sequence[str]) -> list[int]:
    """The columns of the names by the first row of a file; none if that row has no headings."""
    headings = [cell.casefold() for cell in row]
    for groups in ((HEADINGS,), (FIRST_NAMES, LAST_NAMES)):
        found = [next((at for at, text in enumerate(headings) if text in group), None) for group in groups]
        if None not in found:
            return [at for at in found if at is not None]
    return []


def file_stems(names: Sequence[str]) -> list[str]:
    """The name of each student's files, without suffix: no path to another folder, and not hidden.

    >>> file_stems(["Ann Lee", "../Bo", "a/b"])
    ['Ann Lee', '_Bo', 'a_b']
    """
    return [_UNSAFE.sub("_", name).strip().lstrip(".") or "_" for name in names]
