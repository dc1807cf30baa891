"""Literals: scalars, numbers and rows of numbers as people type them.

Scalars are those of YAML 1.2's core schema in decimal: `1e3` is a number, `010` is ten, `no` and `0x10` are words.
Hexadecimal, octal and binary numbers are not numbers in any reader: CSV and JSON have none.
"""

import re
from collections.abc import Callable
from typing import Any

from attncli.base.errors import AttnError, ErrorPath
from attncli.base.text import shorten
from attncli.numbers.parsing import TypedNumber, number_hint, number_of_text
from attncli.problem.numbers import is_number

MAX_INTEGER_DIGITS = 300  # digits; a longer one is read as a floating-point number, or is too large for one

_INTEGER = re.compile(r"[-+]?[0-9]+\Z")
_RADIX = re.compile(r"0o[0-7]+\Z|0x[0-9a-fA-F]+\Z")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
_WORDS: dict[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **{sign + word: float(f"{sign}inf") for sign in ("", "+", "-") for word in (".inf", ".Inf", ".INF")},
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
}
_IN_BRACKETS = re.compile(r"\[([^\[\],]*|[^\[\]]*;[^\[\]]*)\]")  # `[1 0; 0 1]`, which YAML does not read
_END_OF_ROW = re.compile(r"[;\n]")
_SEPARATOR = re.compile(r"\s*,\s*|\s+")

ReadCell = Callable[[str, ErrorPath], Any]


def scalar(text: str) -> Any:
    """The value of a plain word: a number, a boolean, None, or the word itself.

    Raises AttnError where a number is larger than any floating-point number.

    >>> scalar("1e3"), scalar("010"), scalar("no"), scalar("~")
    (1000.0, 10, 'no', None)
    """
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.match(text) and len(text) < MAX_INTEGER_DIGITS:
        return int(text)
    if _FLOAT.match(text):
        number = float(text)
        if number in (float("inf"), float("-inf")):
            raise AttnError(f"{shorten(text)} is too large for a floating-point number")
        return number
    return text


def is_word(text: str) -> bool:
    """Whether a plain text would be read as the word that it is, also by readers of hexadecimal and octal numbers."""
    try:
        return not _RADIX.match(text) and isinstance(scalar(text), str)
    except AttnError:
        return False


def read_number(text: str, path: ErrorPath) -> Any:
    """The number that a text is: decimal, a word for NaN or an infinity, or an expression; other text as YAML reads it.

    >>> read_number("1/2", ()), read_number("-inf", ()), read_number("cat", ())
    (0.5, -inf, 'cat')
    """
    try:
        value = scalar(text.strip())
        number = number_of_text(value) if isinstance(value, str) else None
    except AttnError as error:
        raise error.at(*path) from None
    return value if number is None else number


def read_digits(text: str, path: ErrorPath) -> Any:
    """What `read_number` reads, where it is a number with the digits that were typed.

    >>> read_digits("0.50", ()).text, read_digits("1/2", ())
    ('0.50', 0.5)
    """
    value = read_number(text, path)
    return TypedNumber(text.strip(), value) if is_number(value) else value


def read_typed_matrix(text: str, path: ErrorPath, read_cell: ReadCell = read_number) -> Any:
    """The rows of a text, each a list of cells; one cell alone as it is; None where the text is not a matrix.

    `;` or the end of a line ends a row, commas or spaces separate its cells, which `read_cell` reads: numbers, or the
    booleans `true` and `false`. A text whose first cell is one of them is a matrix; any other cell is then an error.

    >>> read_typed_matrix("1 0; 0 1", ()), read_typed_matrix("1/2, -2", ()), read_typed_matrix("words.csv", ())
    ([[1, 0], [0, 1]], [[0.5, -2]], None)
    """
    brackets = _IN_BRACKETS.fullmatch(text.strip())
    if text[:1] in ("[", "{") and not brackets:  # nested lists, which may be long
        return None
    lines = _END_OF_ROW.split(brackets[1] if brackets else text)
    rows = [_SEPARATOR.split(_without_inner_spaces(line).strip()) for line in lines]
    if len(rows) > 1 and rows[-1] == [""]:  # the last row may be ended too
        del rows[-1]
    if not _is_cell(read_cell(rows[0][0], path)):
        return None
    if len(rows) == len(rows[0]) == 1 and not brackets:
        return read_cell(text, path)
    return [
        [_cell(cell, (*path, *place, f"number {column}"), read_cell) for column, cell in enumerate(cells, 1)]
        for row, cells in enumerate(rows, 1)
        for place in ([f"row {row}"] if len(rows) > 1 else [],)
    ]


def _without_inner_spaces(line: str) -> str:
    """A line without the spaces inside parentheses, so that `(1 + sqrt(5))/2` is one cell."""
    depth, kept = 0, []
    for letter in line:
        depth += (letter == "(") - (letter == ")")
        if depth <= 0 or not letter.isspace():
            kept.append(letter)
    return "".join(kept)


def _is_cell(value: Any) -> bool:
    """Whether a value can be a cell: a number or a boolean."""
    return is_number(value) or isinstance(value, bool)


def _cell(cell: str, path: ErrorPath, read_cell: ReadCell) -> Any:
    """The number or the boolean in a cell; raises AttnError where it is neither."""
    value = read_cell(cell, path)
    if _is_cell(value):
        return value
    problem = f"{shorten(repr(cell))} is not a number" if cell else "is empty"
    raise AttnError(problem, where=path, hint=number_hint(cell))
