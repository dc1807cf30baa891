"""Tables in text files, `.csv`, `.tsv` and `.txt`, as arrays with labels."""

from pathlib import Path

from attncli.base.errors import AttnError
from attncli.io.origin import opening, read_text
from attncli.problem.convert.arrays import LabelledArray
from attncli.problem.origins import ArrayOrigin


def read_table_file(path: Path, entry: str) -> LabelledArray:
    """The numbers and row labels of a table; the delimiter is the first one that its rows have.

    Raises AttnError that names the line of a cell that is no number, or where an entry is named.
    """
    return _read(path, entry, None)


def read_tab_table_file(path: Path, entry: str) -> LabelledArray:
    """The numbers and row labels of a table whose cells are separated by tabs."""
    return _read(path, entry, "\t")


def read_table_text(text: str, name: str, delimiter: str | None = None) -> LabelledArray:
    """The numbers and row labels of a table in a text."""
    from attncli.io.readers import csv  # noqa: PLC0415 - large tables do not need it

    table = csv.read(text, name, delimiter)
    return LabelledArray(table.numbers, table.labels, origin=ArrayOrigin(name, table.lines))


def _read(path: Path, entry: str, delimiter: str | None) -> LabelledArray:
    """A large table of plain numbers in blocks, any other by the reader of quotes and comments."""
    from attncli.io.readers import fast_csv  # noqa: PLC0415 - it imports NumPy's readers

    if entry:
        raise AttnError(f"a table has no entries, so #{entry} names nothing", where=str(path))
    with opening(str(path)):
        table = fast_csv.read(path, delimiter) if path.is_file() else None
    if table is None:
        return read_table_text(read_text(str(path), path), str(path), delimiter)
    return LabelledArray(table.numbers, table.labels)
