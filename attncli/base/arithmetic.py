"""Numbers and sums as they are written by hand: `2·2 + 0·(−4) = 4`, `[0.5 1 −2]`."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

MINUS = "−"
MAX_FEATURES = (
    6  # the longest vector whose arithmetic is shown whole; of a longer one that of the first number is shown
)
MAX_TERMS = 12  # the longest sum that is shown whole; of a longer one the middle is left out


def decimal(number: float, decimals: int) -> str:
    """A number with at most so many decimals, without trailing zeros.

    Parameters
    ----------
    number : float
        Numbers that would have no digit left, and those of 10¹⁵ and more, are written with an exponent.
    decimals : int ≥ 0
        How many digits follow the point at most.

    Returns
    -------
    str
        With the minus sign U+2212; "NaN", "∞" and "−∞" for what is not finite.

    Examples
    --------
    >>> [decimal(number, 4) for number in (10.0, 5.773502691896258, -0.5, 1.2e-7, float("inf"))]
    ['10', '5.7735', '−0.5', '1.2e−07', '∞']
    """
    number = float(number)
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "∞" if number > 0 else f"{MINUS}∞"
    if number != 0 and not 10.0**-decimals / 2 <= abs(number) < 1e15:
        mantissa, exponent = f"{number:.{decimals}e}".split("e")
        text = f"{_trim(mantissa)}e{exponent}"
    else:
        text = _trim(f"{number:.{decimals}f}")
    return text.replace("-", MINUS)


def _trim(text: str) -> str:
    """The text of a number without trailing zeros, and without the minus of −0."""
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


@dataclass(frozen=True)
class ArithmeticWriter:
    """Writes the numbers and sums of the arithmetic of one cell; `by_hand` functions get one.

    Parameters
    ----------
    decimals : int
        How many digits follow the point at most.
    query, key : str
        The labels of the cell's row and column.
    row, column : int
        Their indices, counted from 0.

    Examples
    --------
    >>> import numpy as np
    >>> write = ArithmeticWriter(decimals=2, query="cat", key="the", row=0, column=0)
    >>> query, key = np.array([2, -1]), np.array([0.5, 3])
    >>> f"q({write.query})·k({write.key}) = {write.products(query, key)} = {write(query @ key)}"
    'q(cat)·k(the) = 2·0.5 + (−1)·3 = −2'
    """

    decimals: int
    query: str
    key: str
    row: int
    column: int

    def __call__(self, number: Any) -> str:
        """A number, or a vector in brackets.

        Examples
        --------
        >>> write = ArithmeticWriter(2, "q", "k", 0, 0)
        >>> import numpy as np
        >>> write(0.125), write(np.array([1, -2]))
        ('0.12', '[1 −2]')
        """
        if getattr(number, "ndim", 0):
            return f"[{' '.join(self._elide([self(entry) for entry in number], '…'))}]"
        return decimal(number, self.decimals)

    def factor(self, number: Any) -> str:
        """A number after an operator sign: a negative one in parentheses.

        Examples
        --------
        >>> ArithmeticWriter(2, "q", "k", 0, 0).factor(-2)
        '(−2)'
        """
        text = self(number)
        return f"({text})" if text.startswith(MINUS) else text

    def minus(self, left: Any, right: Any) -> str:
        """`left − right`.

        Examples
        --------
        >>> ArithmeticWriter(2, "q", "k", 0, 0).minus(1, -2)
        '1 − (−2)'
        """
        return f"{self(left)} {MINUS} {self.factor(right)}"

    def sum(self, terms: Iterable[Any]) -> str:
        """`a + b + c`; of a long sum the middle is left out.

        Examples
        --------
        >>> ArithmeticWriter(2, "q", "k", 0, 0).sum([1, -2, 3])
        '1 + (−2) + 3'
        """
        return self.join([self.factor(term) if at else self(term) for at, term in enumerate(terms)])

    def products(self, left: Iterable[Any], right: Iterable[Any]) -> str:
        """`a·x + b·y + c·z`: numbers on the left, numbers or vectors on the right, as many of each.

        Examples
        --------
        >>> ArithmeticWriter(2, "q", "k", 0, 0).products([2, 0], [4, -1])
        '2·4 + 0·(−1)'
        """
        pairs = enumerate(zip(left, right, strict=True))
        return self.join([f"{self.factor(a) if at else self(a)}·{self.factor(b)}" for at, (a, b) in pairs])

    def linear_combination(
        self, name: str, letter: str, left: Any, right: Any, result: Any, *, plus: Any = None
    ) -> str:
        """The line `name = a·[x …] + b·[y …] = […]`: the rows of a matrix times the numbers of a vector.

        Parameters
        ----------
        name : str
            What the result is called.
        letter : str
            The letter of the result's axis. Of a result of more than MAX_FEATURES numbers only the first is worked
            out, and named by it: `c(cat)[e1]`.
        left : array [m]
            The factors.
        right : array [m e]
            The rows.
        result : array [e]
            The sum.
        plus : array [e], optional
            A vector that is added.

        Returns
        -------
        str

        Examples
        --------
        >>> import numpy as np
        >>> weights, values = np.array([0.5, 0.5]), np.array([[2, 0], [4, 2]])
        >>> ArithmeticWriter(2, "q", "k", 0, 0).linear_combination("c", "e", weights, values, weights @ values)
        'c = 0.5·[2 0] + 0.5·[4 2] = [3 1]'
        """
        if len(result) > MAX_FEATURES:
            name, right, result = f"{name}[{letter}1]", [row[0] for row in right], result[0]
            plus = None if plus is None else plus[0]
        rest = "" if plus is None else f" + {self.factor(plus)}"
        return f"{name} = {self.products(left, right)}{rest} = {self(result)}"

    def join(self, terms: Sequence[str]) -> str:
        """Terms with plus signs between them; of more than MAX_TERMS the middle is left out, with the count.

        Examples
        --------
        >>> ArithmeticWriter(2, "q", "k", 0, 0).join(["2·1", "3·4"])
        '2·1 + 3·4'
        """
        return " + ".join(self._elide(terms, "… {} more …"))

    @staticmethod
    def _elide(terms: Sequence[str], gap: str) -> list[str]:
        """The terms, or the first and last of them around a gap that has the number of those left out."""
        if len(terms) <= MAX_TERMS:
            return list(terms)
        half = MAX_TERMS // 2
        return [*terms[:half], gap.format(len(terms) - 2 * half), *terms[-half:]]
