"""Numbers as a person writes them: `2·2 + 0·(−4) = 4`, `[0.5 1 −2]`."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

MINUS = "−"
WIDEST = 6  # numbers of a vector that is worked out whole; of a wider one only the first number is
LONGEST = 12  # terms of a sum that are written out before the middle is left out


def decimal(number: float, places: int) -> str:
    """A number with at most so many decimals, without trailing zeros: `10`, `5.7735`, `−0.5`, `1.2e−07`."""
    number = float(number)
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "∞" if number > 0 else f"{MINUS}∞"
    if number != 0 and not 10.0**-places / 2 <= abs(number) < 1e15:
        text = f"{number:.{places}e}"
        mantissa, exponent = text.split("e")
        text = f"{_trim(mantissa)}e{exponent}"
    else:
        text = _trim(f"{number:.{places}f}")
    return text.replace("-", MINUS)


def _trim(text: str) -> str:
    """Without trailing zeros, and without a minus before nothing."""
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


@dataclass(frozen=True)
class ArithmeticWriter:
    """Writes numbers and sums for one cell; `query` and `key` are the names of its row and its column."""

    places: int
    query: str
    key: str
    row: int
    column: int

    def __call__(self, number: Any) -> str:
        """A number, or a vector in brackets."""
        if getattr(number, "ndim", 0):
            return f"[{' '.join(self._elide([self(entry) for entry in number], '…'))}]"
        return decimal(number, self.places)

    def factor(self, number: Any) -> str:
        """A number that something stands before: a negative one in parentheses."""
        text = self(number)
        return f"({text})" if text.startswith(MINUS) else text

    def minus(self, left: Any, right: Any) -> str:
        """`left − right`."""
        return f"{self(left)} {MINUS} {self.factor(right)}"

    def sum(self, terms: Iterable[Any]) -> str:
        """`a + b + c`."""
        return self.join([self.factor(term) if at else self(term) for at, term in enumerate(terms)])

    def products(self, left: Iterable[Any], right: Iterable[Any]) -> str:
        """`a·x + b·y + c·z`, for numbers or vectors on the right."""
        pairs = enumerate(zip(left, right, strict=True))
        return self.join([f"{self.factor(a) if at else self(a)}·{self.factor(b)}" for at, (a, b) in pairs])

    def linear_combination(
        self, name: str, letter: str, left: Any, right: Any, result: Any, *, plus: Any = None
    ) -> str:
        """The line `name = a·[x …] + b·[y …] = […]`: rows of `right`, as much of each as `left` says, `plus` a vector.

        Of a result that is wide only the first number, named by the letter of its axis, is worked out.
        """
        if len(result) > WIDEST:
            name, right, result = f"{name}[{letter}1]", [row[0] for row in right], result[0]
            plus = None if plus is None else plus[0]
        rest = "" if plus is None else f" + {self.factor(plus)}"
        return f"{name} = {self.products(left, right)}{rest} = {self(result)}"

    def join(self, terms: Sequence[str]) -> str:
        """Terms with plus signs between them; of a long sum the middle is left out, with the count."""
        return " + ".join(self._elide(terms, "… {} more …"))

    @staticmethod
    def _elide(terms: Sequence[str], gap: str) -> list[str]:
        """The terms, or the first and last of them around a gap that says how many are left out."""
        if len(terms) <= LONGEST:
            return list(terms)
        kept = LONGEST // 2
        return [*terms[:kept], gap.format(len(terms) - 2 * kept), *terms[-kept:]]
