"""Numbers, booleans, words and windows: parsed, converted from any type, and checked against a range.

Scalars in text follow YAML 1.2's core schema, in decimal only: `1e3` is a number, `010` is ten, `no` and `0x10` are
words. No reader accepts hexadecimal, octal and binary numbers, as CSV and JSON lack them.
"""

import re
from collections.abc import Callable
from numbers import Real
from typing import Any

from attncli.base.errors import AttnError, ErrorPath, UnknownNameError
from attncli.base.lazy_numpy import Array, np
from attncli.base.text import repr_excerpt, shorten
from attncli.numbers.parsing import DECIMAL, DECIMAL_COMMA, SPACES, TypedNumber, non_finite, number_hint, number_of_text
from attncli.problem.arrays import to_lists, to_python_number

UNLIMITED = float("inf")
MAX_COUNT = 2**53  # more keys than any machine holds; floats count exactly up to it
# Other spellings of true and false.
BOOLEAN_WORDS = dict.fromkeys(("yes", "true", "on", "1"), True) | dict.fromkeys(("no", "false", "off", "0"), False)
MAX_INTEGER_DIGITS = 300  # a longer integer is read as a float, or is too large for one

_INTEGER = re.compile(r"[-+]?[0-9]+\Z")
_RADIX = re.compile(r"0o[0-7]+\Z|0x[0-9a-fA-F]+\Z")
_WORDS: dict[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **{sign + word: float(f"{sign}inf") for sign in ("", "+", "-") for word in (".inf", ".Inf", ".INF")},
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
}
_IN_BRACKETS = re.compile(r"\[([^\[\],]*|[^\[\]]*;[^\[\]]*)\]")  # `[1 0; 0 1]`, which YAML does not read
_END_OF_ROW = re.compile(r"[;\n]")
_SEPARATOR = re.compile(rf"\s*,\s*|{SPACES}")

ReadCell = Callable[[str, ErrorPath], Any]


def is_number(value: Any) -> bool:
    """Whether a value is a Python or NumPy number; booleans are not."""
    return isinstance(value, Real) and not isinstance(value, bool)


def to_word(value: Any, words: tuple[str, ...], path: ErrorPath) -> str:
    """One of some choices, or any word if there are none; a NumPy or PyTorch type counts as its name.

    >>> to_word(np.dtype("float32"), ("float32", "float64"), ("dtype",))
    'float32'
    """
    word = value if isinstance(value, str) else _name_of_type(value)
    if word is None or (words and word not in words):
        name = repr_excerpt(value) if word is None else word
        raise UnknownNameError("word", name, words, where=path, subject=value)
    return word


def _name_of_type(value: Any) -> str | None:
    """The name of a dtype or scalar type, "longdouble" on every machine; None for any other value."""
    if (type(value).__module__, type(value).__name__) == ("torch", "dtype"):
        return str(value).removeprefix("torch.")
    scalar_type = value.type if isinstance(value, np.dtype) else value
    is_numpy_type = isinstance(scalar_type, type) and issubclass(scalar_type, np.generic)
    return scalar_type.__name__ if is_numpy_type else None


def to_boolean(value: Any, path: ErrorPath) -> bool:
    """A Python or NumPy boolean."""
    if isinstance(value, np.bool_ if type(value).__module__ == "numpy" else bool):
        return bool(value)
    is_bit = is_number(value) and value in (0, 1)
    meant = BOOLEAN_WORDS.get(str(value).casefold()) if is_bit or isinstance(value, str) else None
    hint = "write true or false" if meant is None else f"write {str(meant).lower()}"
    raise AttnError(f"{repr_excerpt(value)} is neither true nor false", where=path, hint=hint, subject=value)


def to_integer(value: Any, path: ErrorPath, least: float | None) -> int:
    """An integer, at least `least`.

    >>> to_integer(2.0, ("heads",), least=1)
    2
    """
    number = to_python_number(value)
    if not is_number(number) or not to_float(number).is_integer():
        raise AttnError(f"{repr_excerpt(value)} is not a whole number", where=path, subject=value)
    if least is not None and number < least:
        raise AttnError(f"{repr_excerpt(value)} is out of range", where=path, hint=f"expected {least:g} or more")
    return int(number)


def to_finite(value: Any, path: ErrorPath) -> float:
    """A number that is neither infinite nor NaN, also written as `1/2`.

    >>> to_finite("1/sqrt(4)", ("scale",))
    0.5
    """
    number = _from_word(value, path) if isinstance(value, str) else to_python_number(value)
    if not is_number(number) or not abs(to_float(number)) < float("inf"):
        raise AttnError(f"{repr_excerpt(value)} is not a finite number", where=path, subject=value)
    return float(number)


def to_number(value: Any, path: ErrorPath) -> float:
    """A number that may be infinite, also as a word such as `inf` or as `1/2`, and is not NaN.

    >>> to_number("inf", ("mask", "window", "left"))
    inf
    """
    number = _from_word(value, path) if isinstance(value, str) else to_python_number(value)
    if is_number(number) and abs(to_float(number)) == UNLIMITED:
        return to_float(number)
    return to_finite(value, path)


def _from_word(word: str, path: ErrorPath) -> Any:
    """The number of an expression, or of a word for an infinity or NaN; any other text unchanged."""
    try:
        number = number_of_text(word)
    except AttnError as error:
        raise error.at(*path) from None
    return word if number is None else number


def to_number_above(value: Any, path: ErrorPath, limit: float) -> float:
    """A finite number greater than a limit."""
    number = to_finite(value, path)
    if number <= limit:
        raise AttnError(f"{number:g} is out of range", where=path, hint=f"expected a number greater than {limit:g}")
    return number


def to_number_from(value: Any, path: ErrorPath, least: float) -> float:
    """A finite number, at least a limit."""
    number = to_finite(value, path)
    if number < least:
        raise AttnError(f"{number:g} is out of range", where=path, hint=f"expected {least:g} or more")
    return number


def to_float(value: Any) -> float:
    """A number as a float; an integer beyond all floats is infinite."""
    try:
        return float(value)
    except OverflowError:
        return UNLIMITED if value > 0 else -UNLIMITED


def to_booleans(array: Array, path: ErrorPath, subject: Any, hint: str) -> Array:
    """An array of 0 and 1 as booleans; `hint` says what they mean."""
    if array.dtype.kind == "b":
        return array
    other = array[(array != 0) & (array != 1)]
    if other.size:
        raise AttnError(f"{other.flat[0]:g} is neither 0 nor 1", where=path, hint=hint, subject=subject)
    booleans: Array = array == 1
    return booleans


def to_counts(array: Array, path: ErrorPath, subject: Any) -> Array:
    """An array of integers from 0, as int64."""
    array = array.astype(np.float64)
    wrong = array[~((array >= 0) & (array == np.floor(array)) & (array < MAX_COUNT))]
    if wrong.size:
        raise AttnError(f"{wrong.flat[0]:g} is not a whole number from 0", where=path, subject=subject)
    return array.astype(np.int64)


def to_window(value: Any, path: ErrorPath) -> tuple[float, float]:
    """How many keys are visible to the left and to the right; −1 and infinity mean no limit.

    >>> to_window([2, -1], ("window",))
    (2, inf)
    """
    sides = to_lists(value)
    if not isinstance(sides, (list, tuple)) or len(sides) != 2:
        raise AttnError(f"{repr_excerpt(value)} is not a window", where=path, hint=_window_hint(value), subject=value)
    left, right = (_to_window_side(side, path, value) for side in sides)
    return left, right


def _window_hint(value: Any) -> str:
    """The hint for a window; for a single number also for a window that counts the query's own key.

    >>> _window_hint("4")
    "expected LEFT,RIGHT, such as 2,0; Hugging Face's sliding_window: 4 is 3,0"
    """
    (number,) = value if isinstance(value, (list, tuple)) and len(value) == 1 else (value,)
    text = number if isinstance(number, str) else repr_excerpt(number)
    keys = int(text) if text.isdecimal() and len(text) < len(str(MAX_COUNT)) else 0
    sliding_window = f"; Hugging Face's sliding_window: {keys} is {keys - 1},0" if keys else ""
    return f"expected LEFT,RIGHT, such as 2,0{sliding_window}"


def _to_window_side(side: Any, path: ErrorPath, subject: Any) -> float:
    """How many keys are visible on one side."""
    if isinstance(side, str):
        infinity = non_finite(side)
        side = side if infinity is None else infinity
    converted = to_python_number(side)
    number = to_float(converted) if is_number(converted) else -UNLIMITED
    if number == -1 or number >= MAX_COUNT:
        return UNLIMITED
    if not number.is_integer() or number < 0:
        hint = "expected a whole number, or inf or -1 for no limit"
        raise AttnError(f"{repr_excerpt(side)} is not a side of a window", where=path, hint=hint, subject=subject)
    return int(number)


def scalar(text: str) -> Any:
    """The value of a plain word: a number, a boolean, None, or the word itself.

    Raises AttnError if a number is too large for a float.

    >>> scalar("1e3"), scalar("010"), scalar("no"), scalar("~")
    (1000.0, 10, 'no', None)
    """
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.match(text) and len(text) < MAX_INTEGER_DIGITS:
        return int(text)
    if DECIMAL.fullmatch(text):
        number = float(text)
        if number in (float("inf"), float("-inf")):
            raise AttnError(f"{shorten(text)} is too large for a floating-point number")
        return number
    return text


def is_word(text: str) -> bool:
    """Whether any reader takes a plain text for a word, even one that reads hexadecimal and octal numbers."""
    try:
        return not _RADIX.match(text) and isinstance(scalar(text), str)
    except AttnError:
        return False


def read_number(text: str, path: ErrorPath) -> Any:
    """A text's number: decimal, a word for NaN or an infinity, or an expression; other text as YAML reads it.

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
    """The value from `read_number`, with its typed digits if it is a decimal number.

    >>> read_digits("0.50", ()).text, read_digits("1/2", ())
    ('0.50', 0.5)
    """
    value = read_number(text, path)
    return TypedNumber(text.strip(), value) if is_number(value) else value


def read_typed_matrix(text: str, path: ErrorPath, read_cell: ReadCell = read_number) -> Any:
    """The rows of a text, each a list of cells; a single cell alone; None if the text is not a matrix.

    `;` or the end of a line ends a row; commas or spaces separate its cells. `read_cell` reads a cell: a number, or
    `true` or `false`. A text whose first cell is valid is a matrix; any other cell is then an error.

    >>> read_typed_matrix("1 0; 0 1", ()), read_typed_matrix("1/2, -2", ()), read_typed_matrix("words.csv", ())
    ([[1, 0], [0, 1]], [[0.5, -2]], None)
    """
    brackets = _IN_BRACKETS.fullmatch(text.strip())
    if text[:1] in ("[", "{") and not brackets:  # nested lists may be long
        return None
    lines = _END_OF_ROW.split(brackets[1] if brackets else text)
    given = [line for line in lines if line.strip()]
    if given and all(map(_is_of_decimal_commas, given)):
        first = lines[0].strip()
        separated = ", ".join(re.split("[, ]+", first))
        hint = f"write {first.replace(',', '.')}, or if commas separate numbers {separated}"
        raise AttnError("has commas inside its numbers, and spaces between them", where=path, hint=hint)
    rows = [_SEPARATOR.split(_without_inner_spaces(line).strip()) for line in lines]
    if len(rows) > 1 and rows[-1] == [""]:  # the last row may end with `;`
        del rows[-1]
    if not _is_cell(read_cell(rows[0][0], path)):
        return None
    if len(rows) == len(rows[0]) == 1 and not brackets and ";" not in text:
        return read_cell(text, path)
    return [
        [_cell(cell, (*path, *place, f"number {column}"), read_cell) for column, cell in enumerate(cells, 1)]
        for row, cells in enumerate(rows, 1)
        for place in ([f"row {row}"] if len(rows) > 1 else [],)
    ]


def _is_of_decimal_commas(line: str) -> bool:
    """Whether a row has several numbers with decimal commas: `1,5 0,5`, but not `1,5` or `1, 5`."""
    words = line.split()
    return len(words) > 1 and all(DECIMAL_COMMA.fullmatch(word) for word in words)


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
    """The number or the boolean in a cell; raises AttnError for anything else."""
    value = read_cell(cell, path)
    if _is_cell(value):
        return value
    problem = f"{shorten(repr(cell))} is not a number" if cell else "is empty"
    raise AttnError(problem, where=path, hint=number_hint(cell))
