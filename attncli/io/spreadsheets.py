"""Spreadsheets: the numbers of a sheet as a table, and work sheets that students fill in; needs openpyxl.

A work sheet has a hidden sheet with its problem as YAML, in which `expected` is null, and with the cell of each number.
"""

import io
import json
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from typing import Any

from attncli.base.errors import AttnError, UnknownNameError, missing_package
from attncli.base.text import delimited_rows
from attncli.io import tables, yaml
from attncli.io.documents import TEXT_KEYS, TYPED_KEYS, array_in_document
from attncli.io.entries import describe_value, hint_to_name_one, split_entry, take_labelled
from attncli.io.formats import ArrayDescription, Lines, Reader
from attncli.io.inputs import Input
from attncli.numbers.parsing import TypedNumber
from attncli.problem.arrays import GivenArray
from attncli.problem.fields import EXPECTED

PROBLEM_SHEET = "attn"  # hidden: lines of YAML in column A, then a path, a sheet and a cell in each row
DECIMALS = 6  # of numbers from students' formulas, if none is typed
_PRECISE = 10  # more decimals than anybody types
_CELL = re.compile(r"[A-Z]{1,3}[1-9][0-9]{0,5}", re.ASCII)

Place = tuple[list[str | int], str, str]  # the path of a number in the problem, its sheet and its cell


class _SpreadsheetReader(Reader):
    """Reads saved workbooks: the numbers, not the formulas."""

    def array(self, source: Input, entry: str) -> GivenArray:
        """The table of the only sheet, or of the named one; for a work sheet an array of its problem."""
        book = _open(source)
        if PROBLEM_SHEET in book.sheetnames:
            values, lines = self.problem(source)
            key, index = split_entry(entry, values, source.name)
            return take_labelled(array_in_document(values, lines, source.name, key), index, source.name)
        name, _ = split_entry(entry, book.sheetnames, source.name)
        if not name and len(book.sheetnames) != 1:
            hint = hint_to_name_one(source.name, book.sheetnames)
            raise AttnError("has several sheets", where=source.name, hint=hint)
        name = name or book.sheetnames[0]
        if name not in book.sheetnames:
            raise UnknownNameError("sheet", name, book.sheetnames, where=source.name)
        text = "".join(delimited_rows(_rows(book[name])))
        table = replace(source, name=f"{source.name}#{name}", content=text.encode())
        return tables.READER.array(table, entry.partition(name)[2])

    def problem(self, source: Input) -> tuple[Mapping[str, Any], Lines]:
        """The problem of a work sheet with its cells' numbers: current inputs, and the answers."""
        book = _open(source)
        if PROBLEM_SHEET not in book.sheetnames:
            hint = f"name a sheet of it: --embeddings '{source.name}#{book.sheetnames[0]}'"
            raise AttnError("is a spreadsheet that attn worksheet did not write", where=source.name, hint=hint)
        try:
            text, places = _parts(book[PROBLEM_SHEET])
            values, _ = yaml.read(text, source.name, TEXT_KEYS, TYPED_KEYS)
            if not isinstance(values, Mapping):
                raise TypeError(text)
            found = [(path, _value(book, sheet, cell)) for path, sheet, cell in places]
            for path, value in found:
                if path[0] != EXPECTED:
                    _put(values, path, value)
            for name in {str(path[1]) for path, _ in found if path[0] == EXPECTED}:
                own = [(path, value) for path, value in found if path[:2] == [EXPECTED, name]]
                for (path, _), number in zip(own, _typed([value for _, value in own]), strict=True):
                    _put(values, path, number)
        except (AttnError, ValueError, LookupError, TypeError):  # invalid YAML, path or cell, or different lists
            hint = "copy the answers into the work sheet as it was handed out"
            raise AttnError(f"its hidden sheet {PROBLEM_SHEET!r} was changed", where=source.name, hint=hint) from None
        return values, {}

    def descriptions(self, source: Input) -> Sequence[ArrayDescription]:
        """The keys of the problem of a work sheet; otherwise the sheets."""
        book = _open(source)
        if PROBLEM_SHEET in book.sheetnames:
            return [describe_value(key, value) for key, value in self.problem(source)[0].items()]
        return [ArrayDescription(page.title, (page.max_row, page.max_column), "sheet") for page in book]

    def expected(self, source: Input) -> Any:
        """The answers of a work sheet, by the names of results."""
        return self.problem(source)[0].get(EXPECTED, {})


READER = _SpreadsheetReader()


def _open(source: Input) -> Any:
    """The workbook of an input; raises AttnError if it is damaged, or openpyxl is missing."""
    try:
        import openpyxl  # noqa: PLC0415 - an extra
    except ImportError:
        raise missing_package("openpyxl", "sheet", source.name) from None
    try:
        with redirect_stdout(io.StringIO()), warnings.catch_warnings():  # openpyxl prints values out of range
            warnings.simplefilter("ignore")  # about damaged parts: the file is read without them, or raises an error
            return openpyxl.load_workbook(io.BytesIO(source.read()), data_only=True)
    except AttnError:
        raise
    except Exception as error:  # noqa: BLE001 - openpyxl may raise anything for a damaged file
        hint = "open it in a spreadsheet program, and save it as .xlsx"
        raise AttnError(f"is not a valid spreadsheet ({type(error).__name__})", where=source.name, hint=hint) from None


def _rows(page: Any) -> Iterator[list[Any]]:
    """The rows of a sheet that are not empty."""
    for row in page.iter_rows(values_only=True):
        if any(value is not None for value in row):
            yield ["" if value is None else value for value in row]


def _parts(page: Any) -> tuple[str, list[Place]]:
    """The YAML of a hidden sheet, and the cells of the numbers."""
    rows = list(page.iter_rows(min_col=1, max_col=4, values_only=True))
    text = "\n".join(str(row[0]) for row in rows if row[0] is not None) + "\n"
    return text, [(_path(row[1]), str(row[2]), _cell_name(row[3])) for row in rows if row[1]]


def _path(text: Any) -> list[str | int]:
    """The path of a number; raises ValueError or TypeError for other texts."""
    path = json.loads(text)
    if not isinstance(path, list) or not path or not all(type(part) is str or _is_position(part) for part in path):
        raise ValueError(text)
    return path


def _is_position(part: Any) -> bool:
    """Whether an element of a path is a position in a list."""
    return type(part) is int and part >= 0


def _cell_name(name: Any) -> str:
    """The name of one cell; raises ValueError or TypeError for any other text."""
    if not _CELL.fullmatch(name):
        raise ValueError(name)
    return str(name)


def _value(book: Any, sheet: str, cell: str) -> Any:
    """The value of a cell; None if a student has removed its sheet."""
    value = book[sheet][cell].value if sheet in book.sheetnames else None
    return value if value is None or isinstance(value, (int, float)) else str(value).strip() or None


def _put(values: Any, path: Sequence[str | int], value: Any) -> None:
    """Replace an existing value in nested lists and mappings; raises LookupError if there is none."""
    for part in path[:-1]:
        values = values[part]
    if isinstance(values, Mapping) and path[-1] not in values:
        raise LookupError(path[-1])
    values[path[-1]] = value


def _typed(values: Sequence[Any]) -> list[Any]:
    """The answers of a result as numbers that know their digits.

    Answers from formulas have as many decimals as typed ones.
    """
    numbers = [value for value in values if isinstance(value, (int, float))]
    is_typed = [value == round(value, _PRECISE) for value in numbers]
    typed = max((_decimals(value) for value, is_own in zip(numbers, is_typed, strict=True) if is_own), default=0)
    decimals = typed or (0 if all(is_typed) else DECIMALS)
    return [_typed_number(value, decimals) if isinstance(value, (int, float)) else value for value in values]


def _decimals(value: float) -> int:
    """The decimals of a typed number."""
    return len(f"{value:.{_PRECISE}f}".rstrip("0").partition(".")[2])


def _typed_number(value: float, decimals: int) -> TypedNumber:
    text = f"{value:.{decimals}f}"
    return TypedNumber(text, float(text))
