"""Numbers from text: decimals with their typed digits, NaN and infinities, and expressions such as `2*sqrt(3)/5`."""

import math
import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from functools import cached_property
from typing import Any

from attncli.base.errors import AttnError
from attncli.base.text import shorten

MAX_LENGTH = 100  # characters; nobody types a longer number, and it could be nested too deep

_NUMBER = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)(e[-+]?[0-9]+)?", re.IGNORECASE | re.ASCII)
_TOKEN = re.compile(rf"\s*({_NUMBER.pattern}|[a-z]+|\S)", re.IGNORECASE | re.ASCII)
DECIMAL = re.compile(rf"[-+]?({_NUMBER.pattern})", re.IGNORECASE | re.ASCII)
_FUNCTIONS: dict[str, Callable[[float], float]] = {"sqrt": math.sqrt, "exp": math.exp}
_CONSTANTS = {"pi": math.pi}
_NON_FINITE = re.compile(r"([-+]?)\.?(inf|infinity|nan)", re.IGNORECASE | re.ASCII)
# Spaces that group a number's digits in some languages, and spaces that separate numbers.
_GROUPING = "\u00a0\u2007\u2009\u202f"
_GROUPED = re.compile(f"(?<=[0-9])[{_GROUPING}](?=[0-9])", re.ASCII)
SPACES = rf"[^\S{_GROUPING}]+"
DECIMAL_COMMA = re.compile(r"[-+]?[0-9]+,[0-9]+", re.ASCII)
_ROWS = re.compile(r"[-+0-9.,eE;\s\[\]]*", re.ASCII)  # numbers with commas in them, spaces between them
_COMMA, _POINT = re.compile("(?<=[0-9]),(?=[0-9])"), re.compile(r"(?<![\w.])([0-9]+)\.(?=[0-9])")
_NOT_DECIMAL = re.compile(r"[-+]?(0x[0-9a-f_]+|0o?[0-7_]+|0b[01_]+|[0-9][0-9_]*(\.[0-9_]*)?)", re.IGNORECASE | re.ASCII)


class TypedNumber(float):
    """A number with its typed text: `0.50` is 0.5 to two decimals.

    >>> TypedNumber("0.50").half_unit, TypedNumber("1.2e-3").half_unit, TypedNumber("3").half_unit
    (0.005, 5e-05, 0.5)
    >>> TypedNumber("1/2", 0.5).half_unit is None
    True
    """

    text: str

    def __new__(cls, text: str, value: float | None = None) -> "TypedNumber":
        """The number of a text; `value` is for a text that Python's float can't read, such as `1/2`."""
        number = super().__new__(cls, text if value is None else value)
        number.text = text
        return number

    @cached_property
    def decimal(self) -> Decimal | None:
        """The number with exactly the digits typed; None for a text without such digits: `1/2`, `.nan`."""
        try:
            return Decimal(self.text)
        except InvalidOperation:
            return None

    @cached_property
    def half_unit(self) -> float | None:
        """Half a unit of the last digit typed; None for a text without such digits: `1/2`, NaN, infinities."""
        exponent = None if self.decimal is None else self.decimal.as_tuple().exponent
        return float(Decimal(5).scaleb(exponent - 1)) if isinstance(exponent, int) else None


def with_decimal_points(value: Any) -> Any:
    """A text of numbers with points for decimal commas, or its one number; lists and mappings change in place.

    In a list a text of several numbers becomes a row.

    >>> with_decimal_points("0,50"), with_decimal_points("0,5 1; -2,25 0"), with_decimal_points(["1,5", "a,b", "0,5 1"])
    (0.5, '0.5 1; -2.25 0', [1.5, 'a,b', [0.5, 1.0]])
    """
    if isinstance(value, dict):
        value.update({key: with_decimal_points(entry) for key, entry in value.items()})
    elif isinstance(value, list):
        value[:] = [_row_of_text(with_decimal_points(entry)) for entry in value]
    elif isinstance(value, str) and _ROWS.fullmatch(value) and _COMMA.search(value):
        text = _COMMA.sub(".", value)
        return TypedNumber(text) if DECIMAL.fullmatch(text) else text
    return value


def text_with_points(text: str) -> str:
    """A text `NAME=NUMBERS` with points for decimal commas.

    >>> text_with_points("output=0,7 0,6; 1 2"), text_with_points("a,b.csv")
    ('output=0.7 0.6; 1 2', 'a,b.csv')
    """
    name, equals, numbers = text.partition("=")
    return f"{name}={_COMMA.sub('.', numbers)}" if equals and _ROWS.fullmatch(numbers) else text


def _row_of_text(value: Any) -> Any:
    """The numbers of a text of numbers and spaces; any other value unchanged."""
    words = value.split() if isinstance(value, str) else ()
    return list(map(TypedNumber, words)) if words and all(map(DECIMAL.fullmatch, words)) else value


def with_decimal_commas(text: str) -> str:
    """A text with decimal commas in its numbers; words with points stay.

    >>> with_decimal_commas("0.5·[1 2.25] = exp(−0.1), v1.0")
    '0,5·[1 2,25] = exp(−0,1), v1.0'
    """
    return _POINT.sub(r"\1,", text)


def non_finite(word: str) -> float | None:
    """NaN or an infinity, in any program's spelling; None for any other word.

    Every reader of matrices follows this rule: `nan`, `.nan`, `NaN`, `inf`, `-Infinity`, `+.INF`.

    >>> non_finite("-Infinity"), non_finite(".nan"), non_finite("info")
    (-inf, nan, None)
    """
    match = _NON_FINITE.fullmatch(word)
    return None if match is None else float(f"{match[1]}{match[2]}")


def number_of_text(text: str) -> float | None:
    """The number of a text that is not a plain decimal: NaN, an infinity, `1/2`, `sqrt(3)`; else None.

    Raises AttnError if an expression divides by zero, or its value is not finite.

    >>> number_of_text("-inf"), number_of_text("1/2"), number_of_text("2")
    (-inf, 0.5, None)
    """
    number = non_finite(text)
    return evaluate(text) if number is None else number


def evaluate(text: str) -> float | None:
    """The number of an expression; None for other texts, such as a word or a plain decimal number.

    `*` and `/` apply from left to right, `sqrt(…)` is the square root, `exp(…)` the power of e, `pi` is π. `+` and `-`
    come before a factor; between terms they need parentheses, so that neither a date nor two numbers is a difference.
    Each operation is in floating point.

    Raises AttnError if an expression divides by zero, or its value is not finite.

    >>> evaluate("1/2"), evaluate("-2*sqrt(2)"), evaluate("(1 + sqrt(5))/2")
    (0.5, -2.8284271247461903, 1.618033988749895)
    >>> evaluate("cat"), evaluate("0.5"), evaluate("2026-11-22"), evaluate("--1")
    (None, None, None, None)
    """
    if len(text) > MAX_LENGTH or DECIMAL.fullmatch(text.strip()):
        return None
    tokens = [match[1] for match in _TOKEN.finditer(text)]
    try:
        value = _Parser(tokens).parse() if tokens else None
    except (ArithmeticError, ValueError):  # division by zero, the root of a negative number, overflow
        value = math.nan
    if value is not None and not math.isfinite(value):
        raise AttnError(f"{shorten(text.strip())} is not a finite number")
    return value


def number_hint(word: str) -> str | None:
    """How to correct a word that is meant as a number: with a comma, a sign `−`, hexadecimal, in quotes.

    >>> number_hint("1,5"), number_hint("0x1F"), number_hint("cat")
    ('use a decimal point: 1.5', 'write it in decimal digits: 31', None)
    >>> number_hint("1.5")
    'write it without quotes'
    """
    ways = {
        "write it without quotes": word,  # readers parsed it as text
        "use a hyphen as the minus sign: {}": word.replace("−", "-"),  # as this program prints it
        "write its digits without spaces: {}": _GROUPED.sub("", word),
    }
    if (way := next((way for way, plain in ways.items() if DECIMAL.fullmatch(plain)), None)) is not None:
        return way.format(ways[way])
    if DECIMAL_COMMA.fullmatch(word):
        return f"use a decimal point: {word.replace(',', '.')}"
    return _decimal_hint(word) if _NOT_DECIMAL.fullmatch(word) else None


def _decimal_hint(word: str) -> str | None:
    """A Python number, such as 0x1F, in decimal digits; None for other words."""
    try:
        number: float = int(word, 0)
    except ValueError:
        try:
            number = float(word)
        except ValueError:
            return None
    return f"write it in decimal digits: {number}"


class _NoExpressionError(Exception):
    """The tokens are not an expression."""


class _Parser:
    """Evaluates tokens as it reads them: one method for each rule of the grammar.

    sum = product {("+" | "-") product}; product = factor {("*" | "/") factor};
    factor = ["+" | "-"] (number | constant | [function] "(" sum ")")
    """

    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._at = 0

    def parse(self) -> float | None:
        """The value of all tokens, a product; None if they are not one."""
        try:
            value = self._product()
        except _NoExpressionError:
            return None
        return value if self._next is None else None

    @property
    def _next(self) -> str | None:
        """The next token; None at the end."""
        return self._tokens[self._at] if self._at < len(self._tokens) else None

    def _take(self, *choices: str) -> str | None:
        """Pass and return the next token if it is one of the choices; otherwise None."""
        token = self._next
        if token not in choices:
            return None
        self._at += 1
        return token

    def _sum(self) -> float:
        """Terms, added from left to right."""
        value = self._product()
        while sign := self._take("+", "-"):
            term = self._product()
            value = value + term if sign == "+" else value - term
        return value

    def _product(self) -> float:
        """Factors, multiplied and divided from left to right."""
        value = self._factor()
        while operation := self._take("*", "/"):
            factor = self._factor()
            value = value * factor if operation == "*" else value / factor
        return value

    def _factor(self) -> float:
        """A number, a constant, a parenthesis or a function of one, with its sign."""
        sign = self._take("+", "-")
        value = self._unsigned_factor()
        return -value if sign == "-" else value

    def _unsigned_factor(self) -> float:
        """A number, a constant, a parenthesis or a function of one, without a sign."""
        if name := self._take(*_CONSTANTS):
            return _CONSTANTS[name]
        if name := self._take("(", *_FUNCTIONS):
            if name != "(":
                self._expect("(")
            value = self._sum()
            self._expect(")")
            return value if name == "(" else _FUNCTIONS[name](value)
        if self._next is None or not _NUMBER.fullmatch(self._next):
            raise _NoExpressionError
        self._at += 1
        return float(self._tokens[self._at - 1])

    def _expect(self, token: str) -> None:
        """Pass a token; raises _NoExpressionError if another one is next."""
        if self._take(token) is None:
            raise _NoExpressionError
