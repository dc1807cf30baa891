"""Expressions: numbers written as fractions, products and square roots, `-2*sqrt(2)/3`, read without `eval`."""

import math
import re
from collections.abc import Callable

from attncli.base.errors import AttnError
from attncli.base.text import shorten

MAX_LENGTH = 100  # characters; a longer text is no number that somebody typed, and may be nested too deep

_NUMBER = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)(e[-+]?[0-9]+)?", re.IGNORECASE | re.ASCII)
_TOKEN = re.compile(rf"\s*({_NUMBER.pattern}|[a-z]+|\S)", re.IGNORECASE | re.ASCII)
DECIMAL = re.compile(rf"[-+]?({_NUMBER.pattern})", re.IGNORECASE | re.ASCII)
_FUNCTIONS: dict[str, Callable[[float], float]] = {"sqrt": math.sqrt}
_CONSTANTS = {"pi": math.pi}


def evaluate(text: str) -> float | None:
    """The number that an expression is; None where the text is none, as a word or a plain decimal number is none.

    `*` and `/` apply from left to right, `sqrt(…)` is the square root, `pi` is π; `+` and `-` stand before a factor,
    and between terms inside parentheses alone, so that neither a date nor two numbers is a difference. Each operation
    is that of floating-point numbers.

    Raises AttnError where an expression divides by zero, or its value is no finite number.

    >>> evaluate("1/2"), evaluate("-2*sqrt(2)"), evaluate("(1 + sqrt(5))/2")
    (0.5, -2.8284271247461903, 1.618033988749895)
    >>> evaluate("cat"), evaluate("0.5"), evaluate("2026-11-22")
    (None, None, None)
    """
    if len(text) > MAX_LENGTH or DECIMAL.fullmatch(text.strip()):
        return None
    tokens = _tokens(text)
    try:
        value = _Parser(tokens).parse() if tokens else None
    except (ArithmeticError, ValueError):  # a division by zero, the root of a negative number, a number too large
        value = math.nan
    if value is not None and not math.isfinite(value):
        raise AttnError(f"{shorten(text.strip())} is no finite number")
    return value


def _tokens(text: str) -> list[str]:
    """The numbers, names and signs of a text."""
    return [match[1] for match in _TOKEN.finditer(text)]


class _NoExpressionError(Exception):
    """The tokens are no expression."""


class _Parser:
    """Evaluates tokens while it reads them: one method for each rule of the grammar.

    sum = product {("+" | "-") product}; product = factor {("*" | "/") factor};
    factor = ["+" | "-"] (number | constant | [function] "(" sum ")")
    """

    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._at = 0

    def parse(self) -> float | None:
        """The value of all tokens, a product; None where they are none."""
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
        """The next token, which is passed, where it is one of the choices; otherwise None."""
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
        if sign := self._take("+", "-"):
            return -self._factor() if sign == "-" else self._factor()
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
        """Pass a token; raises _NoExpressionError where another one is next."""
        if self._take(token) is None:
            raise _NoExpressionError
