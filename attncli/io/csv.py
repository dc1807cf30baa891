"""Tables as text: commas, semicolons, tabs or spaces; a header row, a label column, both or neither; comments."""

import csv
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass

from attncli.base.errors import AttnError, ErrorPath
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import count_of, most_common, shorten
from attncli.numbers.parsing import DECIMAL, DECIMAL_COMMA, SPACES, TypedNumber, non_finite, number_hint

MALFORMED_NUMBER = re.compile(r"\s*[-+]?[0-9.,'’_\s]*[0-9][0-9.,'’_\s]*%?\s*\Z")
THOUSANDS = re.compile(r"[-+]?[0-9]{1,3},[0-9]{3}")  # `1,500` is ambiguous
OPENING = re.compile(r'(?:^|[,;\t]) *"')
CLOSING = re.compile(r'[^"]*(?:""[^"]*)*"(?!")')
NUMERALS = "0123456789+-.eE "

# Invalid around numbers, although Python strips them (except NUL) as spaces; labels may have them, except NUL.
CONTROL_CHARACTERS = "\0\x0b\x0c\x1c\x1d\x1e\x1f"
_CONTROL = re.compile(f"[{CONTROL_CHARACTERS}]")

Row = tuple[int, list[str]]  # the line in the file, its cells


@dataclass(frozen=True)
class Table:
    """The numbers [rows columns] of a table, the labels of rows and columns if any, and the rows' lines."""

    numbers: Array
    labels: tuple[str, ...] | None
    columns: tuple[str, ...] | None
    lines: Sequence[int]


@dataclass(frozen=True)
class Layout:
    """The form of a table: its delimiter, the cells of its header, and whether its first column has labels."""

    delimiter: str
    columns: tuple[str, ...] | None
    has_labels: bool


def layout(text: str, name: str, delimiter: str | None = None) -> Layout:
    """The layout of a table, from its first lines; raises AttnError if they are not a table."""
    delimiter, rows = _rows(text, name, delimiter)
    if len(rows) < 2:
        raise AttnError("has no numbers", where=name)
    return _layout(rows, delimiter)


def _layout(rows: Sequence[Row], delimiter: str) -> Layout:
    """The layout of two rows or more, or of one row of numbers."""
    header, body = (rows[0][1], rows[1:]) if _is_header(rows) else (None, rows)
    columns = tuple(cell.strip() for cell in header) if header else None
    return Layout(delimiter, columns, bool(body) and _has_labels(header, body))


def are_labels(labels: Sequence[str], layout: Layout) -> bool:
    """Whether the first column has labels."""
    return all(labels) and (layout.columns is not None or _are_words(labels, labels))


def read(text: str, name: str, delimiter: str | None = None) -> Table:
    r"""Parse a table; without a delimiter the first one in a row is used.

    A first row without a number is a header; a first column without a number, or under an empty header cell, has
    the labels. Raises AttnError with the line of a cell that is not a number, of a control character, or of a row of
    another length.

    >>> table = read("cat,1,2\ndog,3,4\n", "words.csv")
    >>> table.numbers.tolist(), table.labels
    ([[1.0, 2.0], [3.0, 4.0]], ('cat', 'dog'))
    """
    return _table(*_rows(text, name, delimiter), name)


def _table(delimiter: str, rows: Sequence[Row], name: str) -> Table:
    """The table of these rows."""
    if not rows:
        raise AttnError("has no numbers", where=name)
    found = _layout(rows, delimiter)
    header, body = (rows[0], rows[1:]) if found.columns is not None else (None, rows)
    if not body:
        raise AttnError("has a header and no numbers", where=name)
    skip = 1 if found.has_labels else 0
    rows_of_numbers = [_numbers(cells[skip:], (name, f"line {line}")) for line, cells in body]
    _check_lengths(body, name, skip)
    numbers = np.array(rows_of_numbers, dtype=np.float64)
    _check_header(header, numbers.shape[1], name, skip)
    if found.has_labels and (unnamed_line := next((line for line, cells in body if not cells[0].strip()), None)):
        raise AttnError("an empty label", where=(name, f"line {unnamed_line}"), hint="name the row")
    labels = tuple(cells[0] for _, cells in body) if found.has_labels else None
    columns = found.columns[-numbers.shape[1] :] if found.columns is not None else None
    return Table(numbers, labels, columns, tuple(line for line, _ in body))


def typed_rows(text: str, name: str, delimiter: str | None = None) -> tuple[list[list[TypedNumber]], Table]:
    r"""The numbers of a table with their typed digits, and the table; raises AttnError like `read`.

    >>> rows, table = typed_rows("cat,0.10,2\ndog,0.30,4\n", "words.csv")
    >>> rows[0][0].text, table.labels
    ('0.10', ('cat', 'dog'))
    """
    delimiter, rows = _rows(text, name, delimiter)
    table = _table(delimiter, rows, name)
    width = table.numbers.shape[1]
    typed = [
        [TypedNumber(cell.strip(), number) for cell, number in zip(cells[-width:], numbers, strict=True)]
        for (_, cells), numbers in zip(rows[-len(table.numbers) :], table.numbers.tolist(), strict=True)
    ]
    return typed, table


def _rows(text: str, name: str, delimiter: str | None) -> tuple[str, list[Row]]:
    """The delimiter, and the rows that are neither empty nor comments; quoted cells may have any characters.

    Spaces around the first cell, which may be a label, are removed unless it is quoted.
    """
    if "\0" in text:
        line = len(_lines(text[: text.index("\0")]))
        raise AttnError("has the character NUL", where=(name, f"line {line}"), hint="leave it out")
    records = list(_records(_lines(text)))
    # The first row with a delimiter decides; otherwise spaces.
    delimiter = delimiter or next(filter(None, (_delimiter(record) for _, record in records)), " ")
    if delimiter == " " and '"' not in text:
        for line, record in records:
            _check_characters(record, (name, f"line {line}"))
        return delimiter, [(line, _split(record)) for line, record in records]
    row, rows = (0, ""), list[Row]()

    def lines_of_records() -> Iterator[str]:
        nonlocal row
        for row in records:
            yield f"{row[1].strip() if delimiter == ' ' else row[1]}\n"

    try:
        for cells in csv.reader(lines_of_records(), delimiter=delimiter, skipinitialspace=True, strict=True):
            line, record = row
            if not record.lstrip().startswith('"'):
                cells[0] = cells[0].strip(" \t")
            rows.append((line, cells))
    except csv.Error as error:
        raise AttnError(f"is not CSV: {error}", where=(name, f"line {row[0]}")) from None
    if delimiter == ";" and has_decimal_commas(cell for _, cells in rows for cell in cells):
        rows = [(line, [_with_point(cell) for cell in cells]) for line, cells in rows]
    return delimiter, rows


def _split(record: str) -> list[str]:
    """The cells between spaces, except spaces that group a number's digits."""
    return record.split() if record.isascii() else re.split(SPACES, record.strip(" \t"))


def has_decimal_commas(cells: Iterable[str]) -> bool:
    """Whether cells between semicolons have decimal commas, as spreadsheets write them in many countries.

    They do if some number has a comma, none has a point, and not every comma may separate thousands.

    >>> has_decimal_commas(["1,5", "2"]), has_decimal_commas(["1,5", "2.5"]), has_decimal_commas(["1,500", "2"])
    (True, False, False)
    """
    numbers = [cell.strip() for cell in cells]
    commas = [number for number in numbers if DECIMAL_COMMA.fullmatch(number)]
    has_points = any("." in number and DECIMAL.fullmatch(number) for number in numbers)
    return not has_points and not all(THOUSANDS.fullmatch(number) for number in commas)


def _with_point(cell: str) -> str:
    """A number with a point for its decimal comma; any other cell unchanged."""
    return cell.replace(",", ".") if DECIMAL_COMMA.fullmatch(cell.strip()) else cell


def _check_characters(cells: str, path: ErrorPath) -> None:
    """Raise AttnError if cells that should be numbers have a control character."""
    if control := _CONTROL.search(cells):
        raise AttnError(f"has the control character {control[0]!a}", where=path, hint="leave it out")


def _lines(text: str) -> list[str]:
    """The lines of a text, which may end in LF, CRLF or CR."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _records(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """The rows that are neither empty nor comments, each with its first line; a quotation may extend over several."""
    start, parts, in_quotes = 0, list[str](), False
    for number, line in enumerate(lines, 1):
        if not parts and is_no_row(line):
            continue
        start = start if parts else number
        parts.append(line)
        in_quotes = _is_open(line, in_quotes) if '"' in line else in_quotes
        if not in_quotes:
            yield start, "\n".join(parts)
            parts = []
    if parts:
        yield start, "\n".join(parts)


def is_no_row(line: str) -> bool:
    """Whether a line is empty or a comment."""
    return line.lstrip()[:1] in ("", "#")


def _is_open(line: str, in_quotes: bool) -> bool:
    """Whether a quotation is open at the end of a line; one begins only where a cell begins (`5" pipe` has none)."""
    at = 0
    while match := (CLOSING.match if in_quotes else OPENING.search)(line, at):
        at, in_quotes = match.end(), not in_quotes
    return in_quotes


def _delimiter(record: str) -> str:
    """The delimiter of a row, outside quotes: a tab before a semicolon before a comma."""
    unquoted = re.sub(r'"(?:[^"]|"")*"', "", record)
    return next((mark for mark in "\t;," if mark in unquoted), "")


def _is_word(cell: str) -> bool:
    """Whether a cell has a word, not a number or a malformed one (`1,5`, `1.2.3`, `50%`)."""
    if cell[:1].isalpha():  # as in most words, but no number
        return True
    return bool(cell.strip()) and not DECIMAL.fullmatch(cell.strip()) and not MALFORMED_NUMBER.match(cell)


def _are_words(cells: Sequence[str], names: Sequence[str]) -> bool:
    """Whether cells are labels: all are words, and not all of `names` are words for NaN or an infinity.

    `nan` may be a word of a vocabulary; a row or column of only such words has numbers.
    """
    return all(map(_is_word, cells)) and any(non_finite(cell.strip()) is None for cell in names)


def _is_header(rows: Sequence[Row]) -> bool:
    """Whether the first row names columns: all of its cells are words.

    The corner above the labels may be empty; then the columns may also be numbered from 0, as in `,0,1,2`.
    """
    first = rows[0][1]
    if first[0].strip() or len(first) == 1:
        # A trailing comma makes an empty cell.
        headings = first if first[-1].strip() or len(first) < 3 else first[:-1]
        return _are_words(headings, headings[1:] or headings)
    is_numbered = [cell.strip() for cell in first[1:]] == [str(number) for number in range(len(first) - 1)]
    return is_numbered or _are_words(first[1:], first[1:])


def _has_labels(header: Sequence[str] | None, body: Sequence[Row]) -> bool:
    """Whether the first column has labels."""
    if header is not None and (not header[0].strip() or len(header) + 1 == len(body[0][1])):
        return True
    first = [cells[0] for _, cells in body if cells[0].strip()]
    return len(body[0][1]) > 1 and bool(first) and _are_words(first, first)


def _numbers(cells: Sequence[str], path: ErrorPath) -> list[float]:
    """The cells as numbers; the error names the column of the first that is not a number."""
    if not "".join(cells).strip(NUMERALS):
        with suppress(ValueError):
            numbers = list(map(float, cells))
            if all(map(math.isfinite, numbers)):
                return numbers
    numbers = []
    for column, cell in enumerate(cells, 1):
        _check_characters(cell, (*path, f"number {column}"))
        text = cell.strip()
        is_decimal = DECIMAL.fullmatch(text) is not None
        number = float(text) if is_decimal else non_finite(text)
        if number is None:
            place = (*path, f"number {column}")
            if not text:
                raise AttnError("an empty cell", where=place, hint="write a number, 0 for nothing")
            raise AttnError(f"{shorten(text)!r} is not a number", where=place, hint=number_hint(text))
        if is_decimal and math.isinf(number):
            raise AttnError(f"{shorten(text)} is too large for a floating-point number", where=path)
        numbers.append(number)
    return numbers


def _check_lengths(body: Sequence[Row], name: str, skip: int) -> None:
    """Raise AttnError if a row's number of cells differs from most rows', or there are no numbers."""
    lengths = [len(cells) - skip for _, cells in body]
    common_length = most_common(lengths)
    for (line, _), length in zip(body, lengths, strict=True):
        if length != common_length:
            raise AttnError(
                f"{count_of(length, 'number')} where the other rows have {common_length}", where=(name, f"line {line}")
            )
    if common_length == 0:
        raise AttnError("has labels and no numbers", where=name)


def _check_header(header: Row | None, width: int, name: str, skip: int) -> None:
    """Raise AttnError unless the header names the columns of numbers and, at most, the labels' column."""
    if header and len(header[1]) not in (width, width + skip):
        raise AttnError(
            f"the header has {count_of(len(header[1]), 'cell')} for {count_of(width + skip, 'column')}",
            where=(name, f"line {header[0]}"),
        )
