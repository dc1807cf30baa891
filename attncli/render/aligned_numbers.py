"""The numbers of one grid as text, aligned on the decimal point."""

from attncli.base.lazy_numpy import Array, np
from attncli.base.numerals import decimal


def align_numbers(values: Array, max_decimals: int) -> list[list[str]]:
    """The text of each number of a table [rows columns], so that the decimal points of right-aligned texts are aligned.

    All numbers have as many decimals as the one that needs most, up to `max_decimals`, so that zeros at the end of an
    inexact one stay; a number that is exactly 0 is `0`, one that only rounds to 0 is `0.0000`. A table of very large or
    very small numbers is written with powers of ten.

    >>> import numpy
    >>> align_numbers(numpy.array([[0.5, 2], [0, 10.25]]), 4)
    [['0.50', '2.00'], ['0   ', '10.25']]
    """
    values = values.astype(np.float64) if values.dtype.itemsize < 8 else values  # float16 has no 1e9 to compare with
    if needs_exponents(values, max_decimals):
        return [[decimal(number, max_decimals) for number in row] for row in values]
    decimals = 0
    for number in values[np.isfinite(values)].ravel():
        decimals = max(decimals, _count_decimals(number, max_decimals))
        if decimals == max_decimals:
            break
    return [[_format_number(number, decimals) for number in row] for row in values]


def align_columns(values: Array, max_decimals: int) -> list[list[str]]:
    """The text of each number of a table [rows columns] whose columns are quantities with decimals of their own.

    >>> import numpy
    >>> align_columns(numpy.array([[2, 0.5], [3, 10.25]]), 4)
    [['2', '0.50'], ['3', '10.25']]
    """
    columns = [align_numbers(column[:, None], max_decimals) for column in values.T]
    return [[column[row][0] for column in columns] for row in range(len(values))]


def needs_exponents(values: Array, max_decimals: int) -> bool:
    """Whether a table's numbers, of eight bytes or more, are so large or so small that powers of ten are written.

    >>> import numpy
    >>> needs_exponents(numpy.array([1e-7, 2e-7]), 4), needs_exponents(numpy.array([1e-7, 2]), 4)
    (True, False)
    """
    magnitudes = abs(values[np.isfinite(values) & (values != 0)])
    return bool(magnitudes.size and (magnitudes.max() >= 1e9 or magnitudes.max() < 10.0**-max_decimals))


def _count_decimals(number: float, max_decimals: int) -> int:
    """How many decimals a number needs, up to `max_decimals`: all of them where fewer do not write it exactly."""
    if not max_decimals or number == round(float(number)):
        return 0
    text = f"{number:.{max_decimals}f}".rstrip("0")
    return len(text.partition(".")[2]) if float(text) == number else max_decimals


def _format_number(number: float, decimals: int) -> str:
    """A number with its decimals; text without a point is padded on the right, as wide as the point and decimals."""
    padding = " " * (decimals + 1) if decimals else ""
    if not np.isfinite(number):
        return decimal(number, 0) + padding
    if number == 0:
        return f"0{padding}"
    text = f"{number:.{decimals}f}"
    return text if text.strip("-0.") else text.removeprefix("-")  # what rounds to 0 has no sign
