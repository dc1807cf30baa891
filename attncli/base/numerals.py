"""Numbers as text with so many decimals: `5.7735`, `0.0900`, `1.2e−07`; exact ones without zeros at their end."""

import math
from decimal import Decimal
from functools import lru_cache

from attncli.base.dataclasses import dataclass

MINUS = "−"
CACHED_NUMBERS = 2**14
MAX_FIXED = 1e15  # numbers from here on are written with an exponent


@dataclass(frozen=True)
class Style:
    """How the numbers of a line are written: their decimals, and whether very small ones have an exponent.

    >>> Style(4).text(0.00001), Style(4, has_exponents=True).text(0.00001)
    ('0.0000', '1e−05')
    """

    decimals: int
    has_exponents: bool = False
    max_terms: int | None = None  # of a sum or a vector; of a longer one the middle is left out

    def text(self, number: float | Decimal) -> str:
        """A number as it is written."""
        return decimal(number, self.decimals, has_exponents=self.has_exponents)

    def rounded(self, number: float | Decimal) -> Decimal:
        """A number with the digits that are written.

        >>> Style(2).rounded(2 / 3)
        Decimal('0.67')
        """
        return parse(self.text(number))

    def unit(self, number: float | Decimal) -> Decimal:
        """One unit of the last decimal of a number; 0 of what is not finite.

        >>> Style(2).unit(2 / 3), Style(2).unit(1.5e20)
        (Decimal('0.01'), Decimal('1E+18'))
        """
        if not is_finite(number):
            return Decimal(0)
        exponent = self._exponent(number) if is_written_with_exponent(number, self) else 0
        return Decimal(1).scaleb(exponent - self.decimals)

    def padded(self, number: float | Decimal) -> str:
        """A number with all its decimals, also where it is exact.

        >>> Style(4).padded(1.0), Style(4).padded(0.0)
        ('1.0000', '0.0000')
        """
        if not is_finite(number) or is_written_with_exponent(number, self):
            return self.text(number)
        return _fixed(number, self.decimals).replace("-", MINUS)

    def _exponent(self, number: float | Decimal) -> int:
        """The exponent that a number is written with."""
        return int(f"{number:.{self.decimals}e}".partition("e")[2])


def is_finite(number: float | Decimal) -> bool:
    """Whether it is neither NaN nor infinite; numbers beyond those of eight bytes are finite too.

    >>> is_finite(Decimal("1e400")), is_finite(math.inf)
    (True, False)
    """
    return number.is_finite() if isinstance(number, Decimal) else math.isfinite(number)


def is_written_with_exponent(number: float | Decimal, style: Style) -> bool:
    """Whether a finite number is written as `1.2e−07`."""
    least = 10.0**-style.decimals / 2
    is_small = style.has_exponents and number != 0 and number < least and number > -least
    return is_small or number >= MAX_FIXED or number <= -MAX_FIXED


@lru_cache(CACHED_NUMBERS, typed=True)  # the lines of many cells have the same numbers, in the same style
def decimal(number: float | Decimal, decimals: int, *, has_exponents: bool = True) -> str:
    """A number with so many decimals; one that they write exactly has no zeros at its end.

    Parameters
    ----------
    number : float or Decimal
        Numbers of 10¹⁵ and more are written with an exponent.
    decimals : int ≥ 0
        How many digits follow the point at most.
    has_exponents : bool, optional
        Whether numbers that would have no digit left are written with an exponent too, and not as `0.0000`.

    Returns
    -------
    str
        With the minus sign U+2212; "NaN", "∞" and "−∞" for what is not finite.

    Examples
    --------
    >>> [decimal(number, 4) for number in (10.0, 5.773502691896258, 0.08995, -0.5, 1.2e-7, float("inf"))]
    ['10', '5.7735', '0.0900', '−0.5', '1.2e−07', '∞']
    >>> decimal(1.2e-7, 4, has_exponents=False)
    '0.0000'
    """
    number = number if isinstance(number, Decimal) else float(number)
    if not is_finite(number):
        if Decimal(number).is_nan():
            return "NaN"
        return "∞" if number > 0 else f"{MINUS}∞"
    if is_written_with_exponent(number, Style(decimals, has_exponents)):
        mantissa, _, exponent = f"{number:.{decimals}e}".partition("e")
        suffix = f"e{int(exponent):+03d}"
    else:
        mantissa, suffix = _fixed(number, decimals), ""
    short = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    text = short if type(number)(short + suffix) == number else mantissa
    return (text + suffix).replace("-", MINUS)


@lru_cache(CACHED_NUMBERS)
def parse(text: str) -> Decimal:
    """The number of a text that `decimal` has written.

    >>> parse("−1.2e−07"), parse("∞")
    (Decimal('-1.2E-7'), Decimal('Infinity'))
    """
    return Decimal(text.replace(MINUS, "-").replace("∞", "Infinity"))


def _fixed(number: float | Decimal, decimals: int) -> str:
    """A number with a fixed count of decimals; one that rounds to 0 has no sign."""
    text = f"{number:.{decimals}f}"
    return text if text.strip("-0.") else text.removeprefix("-")
