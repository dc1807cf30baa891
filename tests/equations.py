"""Lines of arithmetic, evaluated again from the digits that are printed: `2·2 + 0·(−4) = 4`.

A parser and intervals of its own: nothing here is the program's code.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Number = Any  # of 80 bits, or an array of such
TOKENS = re.compile(r"\s*(\d+(?:\.\d+)?(?:e[+−-]\d+)?|NaN|∞|[a-z]+|[-+−·/²^√|()\[\],]|\S)")
EPSILONS = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52, "longdouble": 2.0**-63}
SLACK = 1e-15  # of the evaluation itself, relative
STATEMENT = r"by iteration until"  # of a number that no line gives
LOOK_UP = r"\w+\[[\d, ]+\]|V\w*\(|C\("  # the left sides that are no arithmetic
SENTENCE_END = r"(?:, rounded down.*|: beyond the table.*| \(over [^)]*\))$"


@dataclass
class Interval:
    """All numbers, or vectors entry by entry, between two ends."""

    low: Number
    high: Number

    def through(self, function: Callable[..., Number], *others: "Interval") -> "Interval":
        """The interval of a function that rises or falls in each argument."""
        corners = [()]  # type: list[tuple[Number, ...]]
        for interval in (self, *others):
            corners = [(*corner, end) for corner in corners for end in (interval.low, interval.high)]
        values = [np.asarray(function(*corner)) for corner in corners]
        return Interval(np.fmin.reduce(values), np.fmax.reduce(values))

    def oscillating(self, function: Callable[..., Number]) -> "Interval":
        """The interval of a sine or cosine: its slope is at most 1."""
        middle, half = (self.low + self.high) / 2, (self.high - self.low) / 2
        return Interval(function(middle) - half, function(middle) + half)


class NoArithmeticError(Exception):
    """A piece of a line that is no arithmetic."""


class Parser:
    """Evaluates one side of an equation; `widen` gives the interval of each number that is printed."""

    def __init__(self, text: str, widen: Callable[[str], Interval]) -> None:
        self.tokens = [*TOKENS.findall(text), ""]
        self.widen = widen

    def whole(self) -> Interval:
        """The value of the whole text."""
        value = self.sum()
        if self.tokens[0]:
            raise NoArithmeticError
        return value

    def take(self, *wanted: str) -> str:
        """The next token if it is one of those wanted, otherwise nothing."""
        return self.tokens.pop(0) if self.tokens[0] in wanted else ""

    def sum(self) -> Interval:
        value = self.product().through(np.negative) if self.take("−") else self.product()
        while sign := self.take("+", "−"):
            value = value.through(np.add if sign == "+" else np.subtract, self.product())
        return value

    def product(self) -> Interval:
        value = self.power()
        while sign := self.take("·", "/"):
            value = value.through(np.multiply if sign == "·" else np.divide, self.power())
        return value

    def power(self) -> Interval:
        base = self.atom()
        if self.take("²"):
            square = base.through(np.square)
            return Interval(np.where(base.low * base.high < 0, 0, square.low), square.high)
        return base.through(np.power, self.atom()) if self.take("^") else base

    def atom(self) -> Interval:
        token = self.tokens.pop(0)
        if re.match(r"\d|NaN|∞", token):
            return self.widen(token)
        if token in ("(", "⌊"):
            inside = self.closed(self.sum(), ")" if token == "(" else "⌋")
            return inside if token == "(" else inside.through(np.floor)
        if token == "|":
            inside = self.closed(self.sum(), "|")
            size = inside.through(np.abs)
            return Interval(np.where(inside.low * inside.high < 0, 0, size.low), size.high)
        if token == "√":
            square = self.atom()  # of which rounding may have made 0
            low = np.where(square.high < 0, square.low, np.maximum(square.low, 0))
            return Interval(low, square.high).through(np.sqrt)
        if token in ("∛", "[", "⌊"):
            read = {"∛": lambda: self.atom().through(np.cbrt), "[": self.vector}
            read["⌊"] = lambda: self.closed(self.sum(), "⌋").through(np.floor)
            return read[token]()
        if token in ("exp", "tanh", "ln", "cos", "sin", "arctan", "max", "min") and self.take("("):
            arguments = [self.sum()]
            while self.take(","):
                arguments.append(self.sum())
            self.closed(arguments[0], ")")
            return self.call(token, arguments)
        raise NoArithmeticError

    @staticmethod
    def call(name: str, arguments: list[Interval]) -> Interval:
        if name in ("cos", "sin"):
            return arguments[0].oscillating(getattr(np, name))
        if name in ("max", "min"):
            value = arguments[0]
            for other in arguments[1:]:
                value = value.through({"max": np.maximum, "min": np.minimum}[name], other)
            return value
        return arguments[0].through({"exp": np.exp, "tanh": np.tanh, "ln": np.log, "arctan": np.arctan}[name])

    def vector(self) -> Interval:
        entries = []
        while not self.take("]"):
            entries.append(self.widen(self.tokens.pop(0)).through(np.negative) if self.take("−") else self.atom())
        return Interval(np.array([x.low for x in entries]), np.array([x.high for x in entries]))

    def closed(self, value: Interval, bracket: str) -> Interval:
        if not self.take(bracket):
            raise NoArithmeticError
        return value


def read(text: str) -> Number:
    """A number as it is printed."""
    return np.longdouble(text.replace("−", "-").replace("∞", "inf"))


def last_unit(text: str) -> float:
    """One unit of the last digit of a number that is printed."""
    digits, _, exponent = text.replace("−", "-").partition("e")
    return 10.0 ** (int(exponent or 0) - len(digits.partition(".")[2]))


def point(text: str) -> Interval:
    """A number, exactly as it is printed."""
    return Interval(read(text), read(text))


def half_a_unit(decimals: int) -> Callable[[str], Interval]:
    """A number with at least so many decimals may be rounded; others are exact to 53 bits."""

    def widen(text: str) -> Interval:
        is_rounded = len(text.partition("e")[0].partition(".")[2]) >= decimals
        bits = abs(read(text)) * 2.0**-53 if np.isfinite(read(text)) else 0
        half = np.maximum(bits, last_unit(text) / 2 if is_rounded else 0)
        return Interval(read(text) - half, read(text) + half)

    return widen


def relative(epsilon: float, decimals: int) -> Callable[[str], Interval]:
    """A number that was rounded as it was computed, and as it was printed; functions go on with the unrounded one."""

    def widen(text: str) -> Interval:
        interval = half_a_unit(decimals)(text)
        width = 4 * epsilon * abs(read(text)) if np.isfinite(read(text)) else 0
        return Interval(interval.low - width, interval.high + width)

    return widen


def value_of(text: str, widen: Callable[[str], Interval] = point) -> Any:
    """The value of a text, or None where it is no arithmetic."""
    with np.errstate(all="ignore"):
        try:
            return Parser(text, widen).whole()
        except (NoArithmeticError, IndexError, ValueError):
            return None


def numbers(text: str) -> list[str]:
    """The numbers of a result: those of a vector, or one."""
    return text.strip("[]").split()


@dataclass
class Count:
    """How many equations were checked."""

    equal: int = 0
    near: int = 0
    rounded: int = 0


def check_line(line: str, decimals: int, dtype: str = "float64", count: Count | None = None) -> None:
    """Assert that a line holds with the digits that are printed.

    `=`: the value of the left side, rounded to the digits of the right side, is the right side, ties either way; a
    right side with fewer than `decimals` decimals is the value itself. `≈`: within what rounding of the numbers on the
    left explains. `, in float32 x`: what the type has made of it, or `, of unrounded numbers x` of nearly the same.
    """
    count = count or Count()
    if "…" in line:
        return
    line = re.sub(SENTENCE_END, "", line)
    if re.search(STATEMENT, line):
        return
    line, *typed_parts = re.split(f", (?:in {dtype}|of unrounded numbers) ", line, maxsplit=1)
    typed = "".join(typed_parts)
    left, sign, right = re.match(r"(?:(.*) (=|≈) )?(.*)$", line).groups()  # it always matches
    if not sign:
        return
    left = left.split(" = ")[-1].split(": ")[-1]
    if typed:
        widened = value_of(left, relative(EPSILONS[dtype], decimals))
        for low, high, text in zip(
            np.atleast_1d(widened.low), np.atleast_1d(widened.high), numbers(typed), strict=True
        ):
            slack = 16 * EPSILONS[dtype] * max(np.abs(read(text)), 1) + last_unit(text)
            assert not low - slack > read(text), line
            assert not high + slack < read(text), line
        count.rounded += 1
    value = value_of(left, point if sign == "=" else half_a_unit(decimals + 2))
    if value is None:
        assert re.match(LOOK_UP, left), line
        return
    low, high, texts = np.atleast_1d(value.low), np.atleast_1d(value.high), numbers(right)
    for at, text in enumerate(texts):
        assert_rounds_to(low[at % len(low)], high[at % len(high)], text, sign, decimals, line)
    count.equal += sign == "="
    count.near += sign == "≈"


def assert_rounds_to(low: Number, high: Number, text: str, sign: str, decimals: int, line: str) -> None:
    """Assert that the result that is printed is the rounding of a number between two ends."""
    result = read(text)
    if not np.isfinite(result):
        assert np.isnan(result) or low == result, line
        return
    has_all_digits = len(text.partition("e")[0].partition(".")[2]) == decimals or "e" in text
    half = last_unit(text) / 2 * (1 + 1e-6) if has_all_digits else 0.0
    if sign == "=":
        assert abs(low - result) <= half + SLACK * max(1, abs(result)), (line, low)
    else:
        assert low - half <= result <= high + half, (line, low, high)


def assert_equations_hold(lines: list[str], decimals: int, dtype: str = "float64") -> Count:
    """Every line holds."""
    count = Count()
    for line in lines:
        check_line(line, decimals, dtype, count)
    return count
