"""The numbers of one grid as text, aligned on the decimal point."""

import math

from attncli.base.lazy_numpy import Array, np
from attncli.numbers.formatting import decimal, fixed_text, has_fixed_digits


def align_numbers(values: Array, max_decimals: int) -> list[list[str]]:
    """The text of each number of a table [rows columns], so that the decimal points of right-aligned texts are aligned.

    All numbers have as many decimals as the one that needs most, up to `max_decimals`, so that zeros at the end of an
    inexact one stay; a number that is exactly 0 is `0`, one that only rounds to 0 is `0.0000`. A table of very large or
    very small numbers is written with powers of ten.

    >>> import numpy
    >>> align_numbers(numpy.array([[0.5, 2], [0, 10.25]]), 4)
    [['0.50', '2.00'], ['0   ', '10.25']]
    """
    values = at_least_doubles(values)
    if needs_exponents(values, max_decimals):
        return [[decimal(number, max_decimals) for number in row] for row in values.tolist()]
    decimals = count_decimals(values, max_decimals)
    padding = point_padding(decimals)
    return [[_format_number(number, decimals, padding) for number in row] for row in values.tolist()]


def align_columns(values: Array, max_decimals: int) -> list[list[str]]:
    """The text of each number of a table [rows columns] whose columns are quantities with decimals of their own.

    >>> import numpy
    >>> align_columns(numpy.array([[2, 0.5], [3, 10.25]]), 4)
    [['2', '0.50'], ['3', '10.25']]
    """
    columns = [align_numbers(column[:, None], max_decimals) for column in values.T]
    return [[column[row][0] for column in columns] for row in range(len(values))]


def at_least_doubles(values: Array) -> Array:
    """Numbers of less than eight bytes as float64; float16 has no 1e9 to compare with."""
    return values.astype(np.float64) if values.dtype.itemsize < 8 else values


def needs_exponents(values: Array, max_decimals: int) -> bool:
    """Whether a table's numbers, of eight bytes or more, are so large or so small that powers of ten are written.

    >>> import numpy
    >>> needs_exponents(numpy.array([1e-7, 2e-7]), 4), needs_exponents(numpy.array([1e-7, 2]), 4)
    (True, False)
    """
    magnitudes = abs(values[np.isfinite(values) & (values != 0)])
    return bool(magnitudes.size and (magnitudes.max() >= 1e9 or magnitudes.max() < 10.0**-max_decimals))


def count_decimals(values: Array, max_decimals: int) -> int:
    """How many decimals the numbers of a table need, up to `max_decimals`: all where fewer do not write one exactly.

    >>> import numpy
    >>> count_decimals(numpy.array([[0.5, 2], [0, 10.25]]), 4)
    2
    """
    if not max_decimals:
        return 0
    first = _count_decimals(values[:1], max_decimals)  # mostly it needs them all
    return first if first == max_decimals else _count_decimals(values, max_decimals)


def _count_decimals(values: Array, max_decimals: int) -> int:
    """How many decimals some numbers need, up to `max_decimals`."""
    finite = values[np.isfinite(values)]
    fractions = finite[finite != np.rint(finite)]
    if not fractions.size:
        return 0
    if fractions.dtype == np.float64 and has_fixed_digits(abs(fractions).max(), max_decimals):
        decimals = max_decimals
        while _are_exact(fractions, decimals - 1):
            decimals -= 1
        return decimals
    decimals = 0
    for number in fractions:
        decimals = max(decimals, _decimals_of(number, max_decimals))
        if decimals == max_decimals:
            break
    return decimals


def point_padding(decimals: int) -> str:
    """The blanks behind text without a point, as wide as the point and the decimals of other numbers."""
    return " " * (decimals + 1) if decimals else ""


def _are_exact(numbers: Array, decimals: int) -> bool:
    """Whether so many decimals write each number exactly; of numbers with fixed digits."""
    power = 10.0**decimals
    return bool((np.rint(numbers * power) / power == numbers).all())


def _decimals_of(number: float, max_decimals: int) -> int:
    """How many decimals a fraction needs, up to `max_decimals`: all of them where fewer do not write it exactly."""
    text = f"{number:.{max_decimals}f}".rstrip("0")
    return len(text.partition(".")[2]) if float(text) == number else max_decimals


def _format_number(number: float, decimals: int, padding: str) -> str:
    """A number with its decimals; text without a point is padded on the right."""
    if number == 0:
        return f"0{padding}"
    if not math.isfinite(number):
        return decimal(number, 0) + padding
    return fixed_text(number, decimals)
