"""Tables in text files, `.csv`, `.tsv` and `.txt`, as arrays with labels.

A library parses large tables of plain numbers, with a header, labels, both or neither, block by block. For quotes,
other cells or rows of different lengths `csv.py` reads the whole file again, and raises the errors.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from os import SEEK_END
from pathlib import Path
from typing import Any

from attncli.base.errors import AttnError
from attncli.base.lazy_numpy import Array, np
from attncli.io import csv
from attncli.io.entries import describe_array, split_slices_alone, take_labelled
from attncli.io.formats import ArrayDescription, Reader
from attncli.io.inputs import Input
from attncli.io.paths import opening
from attncli.problem.arrays import ArrayOrigin, GivenArray

MIN_SIZE = 2**14  # bytes: csv.py parses smaller tables directly
HEAD_SIZE, HEAD_ROWS = 2**12, 3  # bytes, and at least rows, for finding the layout
BLOCK_SIZE = 2**20  # bytes
NUMERALS = csv.NUMERALS.encode() + b"\t\n"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"  # some editors write it before UTF-8 text

Loads = Callable[[bytes], Any]


class _TableReader(Reader):
    """Reads tables with one delimiter between cells, by default the first one in their rows."""

    def __init__(self, delimiter: str | None = None) -> None:
        self.delimiter = delimiter

    def array(self, source: Input, entry: str) -> GivenArray:
        """The numbers and labels of a table; an error names the line of a cell that is not a number."""
        index = split_slices_alone(entry, source.name, "a table has no entries")
        table = read_fast(source, self.delimiter) or csv.read(source.text(), source.name, self.delimiter)
        origin = ArrayOrigin(source.name, table.lines)
        whole = GivenArray(table.numbers, table.labels, origin=origin, columns=_names_of_columns(table))
        return take_labelled(whole, index, source.name)

    def descriptions(self, source: Input) -> list[ArrayDescription]:
        """The description of the table, which must be read completely for its size."""
        return [describe_array("", self.array(source, ""))]

    def expected(self, source: Input) -> Any:
        """The rows, by label if labels are unique; the numbers know their typed digits.

        With column names it is an array of objects with labels. Even a large table is read cell by cell.
        """
        rows, table = csv.typed_rows(source.text(), source.name, self.delimiter)
        labels = None if table.labels is None or len(set(table.labels)) < len(table.labels) else table.labels
        columns = _names_of_columns(table)
        if columns is not None:
            return GivenArray(np.array(rows, dtype=object), labels, columns=columns)
        return rows if labels is None else dict(zip(labels, rows, strict=True))


READER, TAB_READER = _TableReader(), _TableReader("\t")


def _names_of_columns(table: csv.Table) -> tuple[str, ...] | None:
    """The names in the header of a table; None if it only counts columns, as in `,0,1,2`, or a name is missing."""
    names = table.columns
    is_counted = names == tuple(map(str, range(table.numbers.shape[1])))
    return names if names is not None and all(names) and not is_counted else None


def read_fast(source: Input, delimiter: str | None = None) -> csv.Table | None:
    """The table in an input; None if it is small, or has cells other than numbers and labels.

    Raises AttnError if the input can't be read, or is larger than its limit.
    """
    with source.open() as stream, opening(source.name):
        if stream.seek(0, SEEK_END) < MIN_SIZE:
            return None
    source.check_size()
    head = _head(source)
    try:
        layout = csv.layout(head.decode("utf-8-sig"), source.name, delimiter)
    except (UnicodeDecodeError, AttnError):
        return None
    labels: list[str] = []
    try:
        with opening(source.name):
            _check_characters(source)
            numbers = _numbers(source, layout, labels, has_comments=b"#" in head)
            lines = _lines_of_rows(source, len(numbers), layout)
    except ValueError:  # a control character, a row of another length, an empty cell, `1.2.3`, a label not in UTF-8
        return None
    labels_fit = not layout.has_labels or csv.are_labels(labels, layout)
    width = numbers.shape[1]
    columns_fit = layout.columns is None or len(layout.columns) in (width, width + layout.has_labels)
    if not (labels_fit and columns_fit and len(lines) == len(numbers) and np.isfinite(numbers).all()):
        return None
    columns = layout.columns[-numbers.shape[1] :] if layout.columns is not None else None
    return csv.Table(numbers, tuple(labels) if layout.has_labels else None, columns, lines)


def _head(source: Input) -> bytes:
    """The first lines; a single row may be longer than HEAD_SIZE."""
    lines, size, rows = list[bytes](), 0, 0
    with source.open() as stream, opening(source.name):
        for line in stream:
            lines.append(line)
            size += len(line)
            rows += not _is_no_row(line)
            if size >= HEAD_SIZE and rows >= HEAD_ROWS:
                break
    return b"".join(lines)


def _check_characters(source: Input) -> None:
    """Raise ValueError if the file has a control character that tables don't allow."""
    forbidden = [character.encode() for character in csv.CONTROL_CHARACTERS]
    with source.open() as stream:
        for block in iter(partial(stream.read, BLOCK_SIZE), b""):
            if any(character in block for character in forbidden):
                raise ValueError


def _numbers(source: Input, layout: csv.Layout, labels: list[str], *, has_comments: bool) -> Array:
    """The numbers; appends labels to the list. Raises ValueError if a line has anything else."""
    loads = _orjson() if layout.delimiter != " " else None
    has_header = layout.columns is not None
    if loads is None and not layout.has_labels and not has_comments and source.content is None:
        # NumPy is fastest if it opens the file itself.
        return _by_numpy(source.path, layout.delimiter, encoding="utf-8-sig", skiprows=int(has_header))
    parts: list[Array] = []
    for block in _blocks(source):
        lines = b"\n".join(line for line in block.split(b"\n") if line.lstrip()[:1] != b"#") if b"#" in block else block
        if has_header and lines.strip():
            lines, has_header = lines.partition(b"\n")[2], False
        if lines.strip():
            lines = _split_labels(lines, layout.delimiter.encode(), labels) if layout.has_labels else lines
            parts.append(_by_orjson(loads, lines, layout.delimiter) if loads else _by_text(lines, layout.delimiter))
    return np.concatenate(parts)


def _lines_of_rows(source: Input, count: int, layout: csv.Layout) -> Sequence[int]:
    """The line number of each of so many rows, skipping empty lines and comments."""
    header = 0 if layout.columns is None else 1
    with source.open() as stream:
        ends = sum(block.count(b"\n") for block in iter(partial(stream.read, BLOCK_SIZE), b""))
        stream.seek(-1, SEEK_END)
        if ends + (stream.read() != b"\n") == header + count:
            return range(header + 1, header + 1 + count)
        stream.seek(0)
        return tuple(number for number, line in enumerate(stream, 1) if not _is_no_row(line))[header:]


def _is_no_row(line: bytes) -> bool:
    """Whether a line is empty or a comment."""
    return line.lstrip()[:1] in (b"", b"#")


def _blocks(source: Input) -> Iterator[bytes]:
    """The lines of a file, in blocks."""
    with source.open() as stream:
        rest = stream.read(len(BYTE_ORDER_MARK)).removeprefix(BYTE_ORDER_MARK)
        while part := stream.read(BLOCK_SIZE):
            lines, _, after = part.rpartition(b"\n")
            if lines or part.startswith(b"\n"):
                yield rest + lines
                rest = after
            else:
                rest += part
        yield rest


def _split_labels(lines: bytes, delimiter: bytes, labels: list[str]) -> bytes:
    """The lines without their first cells, which it appends to the labels."""
    if b'"' in lines:
        raise ValueError
    cells = [line.partition(delimiter) for line in lines.split(b"\n") if line.strip()]
    labels += map(str.strip, b"\n".join([label for label, _, _ in cells]).decode("utf-8").split("\n"))
    return b"\n".join([numbers for _, _, numbers in cells])


def _by_numpy(lines: Iterable[str] | Path, delimiter: str, **more: Any) -> Array:
    """Lines of numbers as an array, by NumPy."""
    separator = None if delimiter == " " else delimiter
    numbers: Array = np.loadtxt(lines, delimiter=separator, comments=None, ndmin=2, **more)
    return numbers


def _by_text(lines: bytes, delimiter: str) -> Array:
    """Bytes of such lines."""
    return _by_numpy(lines.decode("ascii").splitlines(), delimiter)


def _orjson() -> Loads | None:
    """The parser of orjson, if it is installed."""
    try:
        import orjson  # noqa: PLC0415 - an optional extra
    except ImportError:
        return None
    loads: Loads = orjson.loads
    return loads


def _by_orjson(loads: Loads, lines: bytes, delimiter: str) -> Array:
    """Lines of numbers by orjson; empty lines, and spellings that are not JSON (`.5`, `+1`, `007`, `-0`), by NumPy."""
    lines = lines.replace(b"\r\n", b"\n").strip()
    if lines.translate(None, NUMERALS + delimiter.encode()):
        raise ValueError
    cells = b"[" + lines.replace(delimiter.encode(), b",").replace(b"\n", b",") + b"]"
    try:
        numbers = np.array(loads(cells), dtype=np.float64)
    except ValueError:
        return _by_text(lines, delimiter)
    loses_sign = not numbers.all() and (b"-0," in cells or b"-0]" in cells)  # orjson reads -0 as an integer
    return _by_text(lines, delimiter) if loses_sign else numbers.reshape(-1, _row_length(lines, delimiter))


def _row_length(lines: bytes, delimiter: str) -> int:
    """The number of cells in each line; raises ValueError if lines differ."""
    characters, end = np.frombuffer(lines, np.uint8), ord("\n")
    between = np.append(characters[(characters == end) | (characters == ord(delimiter))], np.uint8(end))
    ends = between == end
    width = int(ends.argmax()) + 1
    if len(between) % width or not (ends.reshape(-1, width)[:, -1].all() and ends.sum() == len(between) // width):
        raise ValueError
    return width
