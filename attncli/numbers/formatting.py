"""Numbers as text: with some decimals for readers, `5.7735` and `1.2e−07`, or with every digit for programs.

An array's numbers are formatted together. With fixed decimals their digits are those of whole numbers: each number
times a power of ten, rounded. Where the error of this product could change the rounding, Python formats the number.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from typing import Any

from attncli.base.lazy_numpy import Array, np

MINUS = "−"
CACHED_NUMBERS = 2**14
MAX_FIXED = 1e15  # numbers from here on are written with an exponent
MAX_SCALED = 2.0**43  # a number times the power of ten; below this Python has to format few
MAX_POWER = 22  # powers of ten up to this one are exact floats
_RELATIVE_ERROR = 2.0**-51  # above the error of the product
_ZERO, _POINT, _MINUS = b"0.-"
NUMBERS_PER_CHUNK = 2**15  # text of a few hundred kilobytes
MAX_WHOLE = 2**53  # floats can't hold all whole numbers from here on


@dataclass(frozen=True, eq=False)
class Style:
    """The style of a line's numbers: their decimals, and whether very small ones have an exponent.

    >>> Style(4).text(0.00001), Style(4, has_exponents=True).text(0.00001)
    ('0.0000', '1e−05')
    """

    decimals: int
    has_exponents: bool = False
    max_terms: int | None = None  # of a sum or a vector; a longer one loses its middle

    def text(self, number: float | Decimal) -> str:
        """A number as it is written."""
        return decimal(number, self.decimals, has_exponents=self.has_exponents)

    def rounded(self, number: float | Decimal) -> Decimal:
        """A number, rounded to the digits that are written.

        >>> Style(2).rounded(2 / 3)
        Decimal('0.67')
        """
        return parse(self.text(number))

    def unit(self, number: float | Decimal) -> Decimal:
        """One unit of a number's last decimal; 0 for NaN and infinities.

        >>> Style(2).unit(2 / 3), Style(2).unit(1.5e20)
        (Decimal('0.01'), Decimal('1E+18'))
        """
        if not is_finite(number):
            return Decimal(0)
        has_exponent = is_written_with_exponent(number, self)
        exponent = int(f"{number:.{self.decimals}e}".partition("e")[2]) if has_exponent else 0
        return Decimal(1).scaleb(exponent - self.decimals)

    def padded(self, number: float | Decimal) -> str:
        """A number with all its decimals, even if it is exact.

        >>> Style(4).padded(1.0), Style(4).padded(0.0)
        ('1.0000', '0.0000')
        """
        if not is_finite(number) or is_written_with_exponent(number, self):
            return self.text(number)
        return fixed_text(number, self.decimals).replace("-", MINUS)


def is_finite(number: float | Decimal) -> bool:
    """Whether it is neither NaN nor infinite; numbers beyond float64 are finite too.

    >>> is_finite(Decimal("1e400")), is_finite(math.inf)
    (True, False)
    """
    return number.is_finite() if isinstance(number, Decimal) else math.isfinite(number)


def is_written_with_exponent(number: float | Decimal, style: Style) -> bool:
    """Whether a finite number is written as `1.2e−07`."""
    least = 10.0**-style.decimals / 2
    is_small = style.has_exponents and number != 0 and number < least and number > -least
    return is_small or number >= MAX_FIXED or number <= -MAX_FIXED


@lru_cache(CACHED_NUMBERS, typed=True)  # lines of many cells repeat numbers
def decimal(number: float | Decimal, decimals: int, *, has_exponents: bool = True) -> str:
    """A number with so many decimals; an exact one has no trailing zeros.

    It has the minus sign U+2212, and an exponent from 10¹⁵ on. With `has_exponents` a number that would become `0.0000`
    has one too. Others are "NaN", "∞" and "−∞".

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
        mantissa, suffix = fixed_text(number, decimals), ""
    short = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    text = short if type(number)(short + suffix) == number else mantissa
    return (text + suffix).replace("-", MINUS)


@lru_cache(CACHED_NUMBERS)
def parse(text: str) -> Decimal:
    """Read back a text that `decimal` has written.

    >>> parse("−1.2e−07"), parse("∞")
    (Decimal('-1.2E-7'), Decimal('Infinity'))
    """
    return Decimal(text.replace(MINUS, "-").replace("∞", "Infinity"))


def fixed_text(number: float | Decimal, decimals: int) -> str:
    """A number with so many decimals, without a sign if it rounds to 0.

    >>> fixed_text(-0.126, 2), fixed_text(-0.001, 2)
    ('-0.13', '0.00')
    """
    return f"{number:z.{decimals}f}"


def has_fixed_digits(largest: float, decimals: int) -> bool:
    """Whether `fixed_digits` writes numbers up to the largest magnitude.

    >>> has_fixed_digits(1000.0, 4), has_fixed_digits(1000.0, 17)
    (True, False)
    """
    return decimals <= MAX_POWER and largest * 10.0**decimals < MAX_SCALED


def fixed_width(largest: float, decimals: int, *, has_sign: bool) -> int:
    """The width in characters of the largest magnitude, and of a sign.

    >>> fixed_width(99.996, 2, has_sign=True)
    7
    """
    return len(f"{largest:.{decimals}f}") + has_sign


def fixed_digits(numbers: Array, decimals: int, width: int) -> Array:
    r"""The characters of finite float64 numbers [count], uint8 [count width], right-aligned after NUL.

    They equal `f"{number:.{decimals}f}"`, without a sign if the number rounds to 0. `has_fixed_digits` must be true of
    the numbers, and `width` large enough.

    >>> [bytes(row) for row in fixed_digits(np.array([0.5, -10.126]), 2, 6)]
    [b'\x00\x000.50', b'-10.13']
    """
    scaled = abs(numbers) * 10.0**decimals
    rounded = np.rint(scaled)
    is_uncertain = abs(abs(scaled - rounded) - 0.5) <= scaled * _RELATIVE_ERROR
    largest = int(rounded.max(initial=0))
    rest = rounded.astype(np.uint32 if largest < 2**32 else np.uint64)
    is_negative = (numbers < 0) & (rest > 0)
    characters = np.zeros((len(numbers), width), np.uint8)
    point = 1 if decimals else 0
    starts = np.full(len(numbers), width - (decimals + point + 1))  # of the characters of each number
    for place in range(max(len(str(largest)), decimals + 1)):
        quotient = rest // 10
        digits = (rest - quotient * 10).astype(np.uint8) + np.uint8(_ZERO)
        if place > decimals:
            has_digit = rest > 0
            digits *= has_digit
            starts -= has_digit
        characters[:, width - 1 - place - (point if place >= decimals else 0)] = digits
        rest = quotient
    if decimals:
        characters[:, width - 1 - decimals] = _POINT
    signed = np.flatnonzero(is_negative)
    characters[signed, starts[signed] - 1] = _MINUS
    if is_uncertain.any():
        _write_each(numbers, np.flatnonzero(is_uncertain), decimals, characters)
    return characters


def _write_each(numbers: Array, positions: Array, decimals: int, characters: Array) -> None:
    """Let Python format the numbers at some positions, equal numbers once."""
    width = characters.shape[1]
    distinct, indices = np.unique(numbers[positions], return_inverse=True)
    text = "".join(fixed_text(number, decimals).rjust(width, "\0") for number in distinct.tolist())
    characters[positions] = np.frombuffer(text.encode(), np.uint8).reshape(-1, width)[indices]


def format_rows(
    table: Array,
    non_finite: Mapping[str, str],
    separator: str = ", ",
    format_finite: Callable[[Any], str] | None = None,
) -> Iterator[list[str]]:
    """The text of each row of a table [rows columns], its numbers separated, in chunks of rows.

    Every number reads back the same. `non_finite` has the text for `nan`, `inf` and `-inf`, by default these words.
    `format_finite` writes every other number, by default Python, or orjson if it is installed. orjson writes the same
    numbers in its own spelling (`1e-7` for Python's `1e-07`), and only the comma of a `separator` that begins with it.

    >>> import numpy
    >>> list(format_rows(numpy.array([[1, 2], [3, 4]]), {}, " "))
    [['1 2', '3 4']]
    """
    rows_per_chunk = max(NUMBERS_PER_CHUNK // max(table.shape[1], 1), 1)
    is_orjson_table = table.dtype.kind == "f" and table.dtype.itemsize <= 8 and bool(table.shape[1])
    dumps = _orjson_rows() if is_orjson_table and format_finite is None else None
    for first in range(0, len(table), rows_per_chunk):
        chunk = table[first : first + rows_per_chunk]
        is_finite = chunk.dtype.kind != "f" or bool(np.isfinite(chunk).all())
        if is_finite and dumps is not None:
            lines = dumps(chunk)
            yield lines if separator.startswith(",") else [line.replace(",", separator) for line in lines]
        else:
            format_number = _number_formatter(chunk, is_finite, non_finite, format_finite)
            yield [separator.join(map(format_number, row)) for row in chunk.tolist()]


def format_whole(number: Any) -> str:
    """A finite number as Python writes it, a whole one without a point if it reads back the same.

    >>> format_whole(3.0), format_whole(-0.0), format_whole(0.1), format_whole(2.0**53)
    ('3', '-0.0', '0.1', '9007199254740992.0')
    """
    text = str(number)
    return text[:-2] if text.endswith(".0") and abs(number) < MAX_WHOLE and text != "-0.0" else text


def _number_formatter(
    chunk: Array, is_finite: bool, non_finite: Mapping[str, str], format_finite: Callable[[Any], str] | None
) -> Callable[[Any], str]:
    """The function that writes one number of a chunk, after `tolist`."""
    if chunk.dtype.kind == "b":
        return {True: "true", False: "false"}.__getitem__
    if format_finite is None:
        format_finite = repr if chunk.dtype.itemsize <= 8 else str
    if is_finite:
        return format_finite
    return lambda number: (
        non_finite.get(str(number), str(number)) if not math.isfinite(number) else format_finite(number)
    )


def _orjson_rows() -> Any:
    """The function that writes a chunk of rows with orjson; None if it is not installed.

    Like Python, it writes float32 numbers as the equal float64 numbers.
    """
    try:
        import orjson  # noqa: PLC0415 - an optional extra
    except ImportError:
        return None

    def dumps(chunk: Array) -> list[str]:
        doubles = np.ascontiguousarray(chunk, dtype=np.float64)
        text: str = orjson.dumps(doubles, option=orjson.OPT_SERIALIZE_NUMPY)[2:-2].decode("ascii")
        return text.split("],[")

    return dumps
