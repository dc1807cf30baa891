"""Tables in text files, `.csv`, `.tsv` and `.txt`, as arrays with labels."""

from typing import TYPE_CHECKING, Any

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import np
from attncli.io.inputs import Input
from attncli.io.readers.descriptions import ArrayDescription, describe_array
from attncli.io.readers.slices import split_entry, take_labelled
from attncli.problem.arrays import LabelledArray
from attncli.problem.origins import ArrayOrigin

if TYPE_CHECKING:
    from attncli.io.readers.csv import Table


def read_table_file(source: Input, entry: str) -> LabelledArray:
    """The numbers and row labels of a table; the delimiter is the first one that its rows have.

    Raises AttnError that names the line of a cell that is no number, or where an entry is named.
    """
    return _read(source, entry, None)


def read_tab_table_file(source: Input, entry: str) -> LabelledArray:
    """The numbers and row labels of a table whose cells are separated by tabs."""
    return _read(source, entry, "\t")


def list_table(source: Input) -> list[ArrayDescription]:
    """The description of the table; all of it is read, because nothing else says how large it is."""
    return [describe_array("", _read(source, "", None))]


def list_tab_table(source: Input) -> list[ArrayDescription]:
    """The description of the table whose cells are separated by tabs."""
    return [describe_array("", _read(source, "", "\t"))]


def read_typed_table(source: Input) -> Any:
    """The rows of a table, by their labels where each has one of its own; the numbers know the digits typed.

    Where the columns have names it is an array of objects with labels.
    """
    return _read_typed(source, None)


def read_typed_tab_table(source: Input) -> Any:
    """The rows of a table whose cells are separated by tabs, as `read_typed_table` returns them."""
    return _read_typed(source, "\t")


def _read_typed(source: Input, delimiter: str | None) -> Any:
    """Every number with its text: however large a table is, it is read cell by cell."""
    from attncli.io.readers import csv  # noqa: PLC0415 - only expected numbers are read so

    text = source.text()
    rows, table = csv.typed_rows(text, source.name, delimiter)
    labels = None if table.labels is None or len(set(table.labels)) < len(table.labels) else table.labels
    columns = _names_of_columns(table)
    if columns is not None:
        return LabelledArray(np.array(rows, dtype=object), labels, columns=columns)
    return rows if labels is None else dict(zip(labels, rows, strict=True))


def _read(source: Input, entry: str, delimiter: str | None) -> LabelledArray:
    """A large table of plain numbers in blocks, any other by the reader of quotes and comments."""
    from attncli.io.readers import fast_csv  # noqa: PLC0415 - it imports NumPy's readers

    entry_name, index = split_entry(entry, (), source.name)
    if entry_name:
        raise AttnError(f"a table has no entries, so #{entry_name} names nothing", where=source.name)
    table = fast_csv.read(source, delimiter)
    if table is None:
        from attncli.io.readers import csv  # noqa: PLC0415 - large tables do not need it

        table = csv.read(source.text(), source.name, delimiter)
    origin = ArrayOrigin(source.name, table.lines)
    whole = LabelledArray(table.numbers, table.labels, origin=origin, columns=_names_of_columns(table))
    return take_labelled(whole, index, source.name)


def _names_of_columns(table: "Table") -> tuple[str, ...] | None:
    """The names in the header of a table; None where it only counts the columns, as in `,0,1,2`, or one has no name."""
    names = table.columns
    is_counted = names == tuple(map(str, range(table.numbers.shape[1])))
    return names if names is not None and all(names) and not is_counted else None
