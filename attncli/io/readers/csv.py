"""Tables as text: commas, semicolons, tabs or blanks; a header row, a label column, both or neither; comments."""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from attncli.errors import AttnError

NUMBER = re.compile(r"\s*[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\s*\Z")
BROKEN = re.compile(r"\s*[-+]?[0-9.,'’_\s]*[0-9][0-9.,'’_\s]*%?\s*\Z")
SPECIAL = {
    sign + word: float(sign + word[:3])
    for sign in ("", "+", "-")
    for word in ("inf", "infinity", "nan", "Inf", "Infinity", "NaN", "INF", "INFINITY", "NAN")
}
_NAMED = {"\t": "tabs", ";": "semicolons", ",": "commas", " ": "blanks"}

Row = tuple[int, list[str]]  # the line in the file, its cells


@dataclass(frozen=True)
class Table:
    """The numbers of a table, and the labels of its rows and columns where it has them."""

    numbers: list[list[float]]
    labels: tuple[str, ...] | None
    columns: tuple[str, ...] | None


def read(text: str, name: str) -> Table:
    """The table that a text holds.

    A first row without a number is a header; a first column without a number, or under an empty header cell, has
    the labels. Raises AttnError that names the line of a cell that is no number, or of a row of another length.
    """
    rows = list(_rows(text, name))
    if not rows:
        raise AttnError("has no numbers", where=name)
    header = rows[0] if _is_header(rows) else None
    body = rows[1:] if header else rows
    if not body:
        raise AttnError("has a header and no numbers", where=name)
    labelled = _has_labels(header[1] if header else None, body)
    skip = 1 if labelled else 0
    numbers = [_numbers(cells[skip:], f"{name}, line {line}") for line, cells in body]
    _same_lengths(numbers, header, body, name, skip)
    labels = tuple(cells[0].strip() for _, cells in body) if labelled else None
    columns = tuple(cell.strip() for cell in header[1][-len(numbers[0]) :]) if header else None
    return Table(numbers, labels, columns)


def _rows(text: str, name: str) -> Iterator[Row]:
    """The rows that are neither blank nor comments, with their lines; quoted cells may hold anything."""
    kept = list(_kept(text.replace("\r\n", "\n").replace("\r", "\n").split("\n")))
    if not kept:
        return
    delimiter = _delimiter(kept[0][1])
    if delimiter == " ":
        yield from ((at, line.split()) for at, line in kept)
        return
    reader = csv.reader((f"{line}\n" for _, line in kept), delimiter=delimiter, skipinitialspace=True, strict=True)
    start = 0
    try:
        for cells in reader:
            yield kept[start][0], cells
            start = reader.line_num
    except csv.Error as error:
        raise AttnError(f"is not CSV: {error}", where=f"{name}, line {kept[start][0]}") from None


def _kept(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """The lines that count, with their numbers; inside quotes every line does."""
    quoted = False
    for number, line in enumerate(lines, 1):
        if quoted or (line.strip() and not line.lstrip().startswith("#")):
            quoted ^= line.count('"') % 2 == 1
            yield number, line


def _delimiter(line: str) -> str:
    """What stands between the cells: a tab before a semicolon before a comma before blanks, outside quotes."""
    bare = re.sub(r'"[^"]*"', "", line)
    return next((mark for mark in "\t;," if mark in bare), " ")


def _is_number(cell: str) -> bool:
    return bool(NUMBER.match(cell)) or cell.strip() in SPECIAL


def _is_word(cell: str) -> bool:
    """Neither empty, nor a number, nor digits that were meant as one (`1,5`, `1.2.3`, `50%`); `nan` may be a word."""
    signed = cell.strip()[:1] in ("+", "-") and cell.strip() in SPECIAL
    return bool(cell.strip()) and not NUMBER.match(cell) and not BROKEN.match(cell) and not signed


def _is_header(rows: Sequence[Row]) -> bool:
    """Whether the first row names columns: all of its cells are words.

    The corner above the labels may be empty; then the columns may also be numbered from 0, as in `,0,1,2`.
    """
    first = rows[0][1]
    if first[0].strip() or len(first) == 1:
        return all(map(_is_word, first))
    numbered = [cell.strip() for cell in first[1:]] == [str(number) for number in range(len(first) - 1)]
    return numbered or all(map(_is_word, first[1:]))


def _has_labels(header: Sequence[str] | None, body: Sequence[Row]) -> bool:
    """Whether the first column has labels."""
    if header is not None and (not header[0].strip() or len(header) + 1 == len(body[0][1])):
        return True
    return len(body[0][1]) > 1 and all(_is_word(cells[0]) for _, cells in body)


def _numbers(cells: Sequence[str], where: str) -> list[float]:
    """The cells as numbers; the error names the column of the first that is none."""
    numbers = []
    for column, cell in enumerate(cells, 1):
        if not NUMBER.match(cell):
            if cell.strip() not in SPECIAL:
                raise _no_number(cell, f"{where}, number {column}")
            numbers.append(SPECIAL[cell.strip()])
            continue
        number = float(cell)
        if number in (float("inf"), float("-inf")):
            raise AttnError(f"{cell.strip()} is too large for a floating-point number", where=where)
        numbers.append(number)
    return numbers


def _no_number(cell: str, where: str) -> AttnError:
    text = cell.strip()
    if not text:
        return AttnError("an empty cell", where=where, hint="write a number, 0 for nothing")
    hint = None
    if re.fullmatch(r"[-+]?[0-9]+,[0-9]+", text):
        hint = f"write the decimal point as a point: {text.replace(',', '.')}"
    return AttnError(f"{text!r} is not a number", where=where, hint=hint)


def _same_lengths(
    numbers: Sequence[Sequence[float]], header: Row | None, body: Sequence[Row], name: str, skip: int
) -> None:
    """Every row has as many numbers as most rows have, and the header names each column."""
    lengths = [len(row) for row in numbers]
    usual = max(lengths, key=lengths.count)  # of equals the first
    for (line, _), length in zip(body, lengths, strict=True):
        if length != usual:
            raise AttnError(f"{length} numbers where the other rows have {usual}", where=f"{name}, line {line}")
    if usual == 0:
        raise AttnError("has labels and no numbers", where=name)
    if header and len(header[1]) not in (usual, usual + skip):
        raise AttnError(
            f"the header has {len(header[1])} cells for {usual + skip} columns",
            where=f"{name}, line {header[0]}",
        )
