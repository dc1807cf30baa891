"""The numbers of one table as text, aligned on the decimal point: cell by cell, or a whole large table at once."""

import math
from collections.abc import Iterator, Sequence

from attncli.base.lazy_numpy import Array, np
from attncli.numbers.formatting import decimal, fixed_digits, fixed_text, fixed_width, has_fixed_digits

MIN_NUMBERS = 2**10  # cells in a table; a smaller table is written number by number
NUMBERS_PER_BLOCK = 2**14  # cells written at once
MASKED_SIGN = "╱"  # in place of a 0 that a mask hides
_CODES = {"∞": "\x01", "−": "\x02", MASKED_SIGN: "\x03"}  # characters that Latin-1 lacks
_WITH_BLANKS = bytes.maketrans(b"\0", b" ")


def align_numbers(values: Array, max_decimals: int, hidden: Array | None = None) -> list[list[str]]:
    """The text of each number of a table [rows columns], padded so that the decimal points align on the right.

    All numbers have as many decimals as the one that needs most, up to `max_decimals`. An inexact number keeps its
    trailing zeros: an exact 0 is `0`, a number that only rounds to 0 is `0.0000`. Very large or very small numbers have
    powers of ten. A 0 that a mask hides, true in `hidden` [rows columns], is `╱`.

    >>> import numpy
    >>> align_numbers(numpy.array([[0.5, 2], [0, 10.25]]), 4)
    [['0.50', '2.00'], ['0   ', '10.25']]
    >>> align_numbers(numpy.array([[1, 0], [0.5, 0.5]]), 4, numpy.array([[False, True], [False, False]]))
    [['1.0', '╱  '], ['0.5', '0.5']]
    """
    texts = _aligned(values, max_decimals)
    for row, column in np.argwhere(masked_zeros(values, hidden)).tolist():
        texts[row][column] = texts[row][column].replace("0", MASKED_SIGN, 1)
    return texts


def masked_zeros(values: Array, hidden: Array | None) -> Array:
    """True [rows columns] where a number is a 0 that a mask hides."""
    return np.zeros(values.shape, bool) if hidden is None else hidden & (values == 0)


def _aligned(values: Array, max_decimals: int) -> list[list[str]]:
    """The aligned text of each number, whatever a mask hides."""
    values = _at_least_doubles(values)
    if needs_exponents(values, max_decimals):
        return [[decimal(number, max_decimals) for number in row] for row in values.tolist()]
    decimals = _count_decimals(values, max_decimals)
    padding = _point_padding(decimals)
    return [[_format_number(number, decimals, padding) for number in row] for row in values.tolist()]


def align_columns(values: Array, max_decimals: int) -> list[list[str]]:
    """The text of each number of a table [rows columns] in which each column has its own number of decimals.

    >>> import numpy
    >>> align_columns(numpy.array([[2, 0.5], [3, 10.25]]), 4)
    [['2', '0.50'], ['3', '10.25']]
    """
    columns = [align_numbers(column[:, None], max_decimals) for column in values.T]
    return [[column[row][0] for column in columns] for row in range(len(values))]


def _at_least_doubles(values: Array) -> Array:
    """Numbers narrower than eight bytes as float64: float16 can't compare with 1e9."""
    return values.astype(np.float64) if values.dtype.itemsize < 8 else values


def needs_exponents(values: Array, max_decimals: int) -> bool:
    """Whether a table's numbers, of eight bytes or more, are so large or so small that they need powers of ten.

    >>> import numpy
    >>> needs_exponents(numpy.array([1e-7, 2e-7]), 4), needs_exponents(numpy.array([1e-7, 2]), 4)
    (True, False)
    """
    magnitudes = abs(values[np.isfinite(values) & (values != 0)])
    return bool(magnitudes.size and (magnitudes.max() >= 1e9 or magnitudes.max() < 10.0**-max_decimals))


def _count_decimals(values: Array, max_decimals: int) -> int:
    """How many decimals a table needs, up to `max_decimals`: the maximum if fewer would round a number.

    >>> import numpy
    >>> _count_decimals(numpy.array([[0.5, 2], [0, 10.25]]), 4)
    2
    """
    if not max_decimals:
        return 0
    first = _decimals_of_some(values[:1], max_decimals)  # mostly it needs them all
    return first if first == max_decimals else _decimals_of_some(values, max_decimals)


def _decimals_of_some(values: Array, max_decimals: int) -> int:
    """How many decimals a block of numbers needs, up to `max_decimals`."""
    finite = values[np.isfinite(values)]
    fractions = finite[finite != np.rint(finite)]
    if not fractions.size:
        return 0
    if fractions.dtype == np.float64 and has_fixed_digits(abs(fractions).max(), max_decimals):
        decimals, power = max_decimals, 10.0 ** (max_decimals - 1)
        while (np.rint(fractions * power) / power == fractions).all():  # each is exact with one decimal fewer
            decimals, power = decimals - 1, 10.0 ** (decimals - 2)
        return decimals
    decimals = 0
    for number in fractions:
        text = f"{number:.{max_decimals}f}".rstrip("0")
        if float(text) != number:
            return max_decimals
        decimals = max(decimals, len(text.partition(".")[2]))
    return decimals


def _point_padding(decimals: int) -> str:
    """Spaces that replace the point and the decimals in a text without a point."""
    return " " * (decimals + 1) if decimals else ""


def _format_number(number: float, decimals: int, padding: str) -> str:
    """A number with its decimals; text without a point is padded on the right."""
    if number == 0:
        return f"0{padding}"
    if not math.isfinite(number):
        return decimal(number, 0) + padding
    return fixed_text(number, decimals)


def align_characters(values: Array, max_decimals: int, hidden: Array | None = None) -> Array:
    r"""The characters of each number of a table [rows columns], uint8 [rows columns width], on the right after NUL.

    The same characters as `align_numbers`, without a string per cell: a table may have millions of cells. Spaces
    precede a number without decimals, as wide as the point and the decimals of the others.

    >>> import numpy
    >>> [bytes(cell) for cell in align_characters(numpy.array([[0.5, 12.25, 3]]), 4)[0]]
    [b'\x000.50', b'12.25', b'\x003.00']
    """
    values = _at_least_doubles(values)
    largest = abs(values[np.isfinite(values)]).max(initial=0)
    is_many = values.size >= MIN_NUMBERS and values.dtype.itemsize == 8
    if not is_many or needs_exponents(values, max_decimals) or not has_fixed_digits(largest, max_decimals):
        return _of_texts(align_numbers(values, max_decimals, hidden), values.shape)
    decimals = _count_decimals(values, max_decimals)
    words = {number: _point_padding(decimals) + decimal(number, 0) for number in (0.0, np.inf, -np.inf, np.nan)}
    width = max(fixed_width(largest, decimals, has_sign=True), *map(len, words.values()))
    characters = np.empty((*values.shape, width), np.uint8)
    rows_per_block = max(NUMBERS_PER_BLOCK // max(values.shape[1], 1), 1)
    for first in range(0, len(values), rows_per_block):
        block = values[first : first + rows_per_block].astype(np.float64).ravel()
        cells = fixed_digits(np.where(np.isfinite(block), block, 0), decimals, width)
        for number, word in words.items():
            is_word = np.isnan(block) if np.isnan(number) else block == number
            if is_word.any():
                cells[is_word] = _encoded([word], width)
        characters[first : first + rows_per_block] = cells.reshape(-1, *characters.shape[1:])
    if hidden is not None:
        characters[masked_zeros(values, hidden)] = _encoded([_point_padding(decimals) + MASKED_SIGN], width)
    return characters


def number_widths(characters: Array) -> list[int]:
    """How wide the widest number of each column of a table of characters [rows columns width] is."""
    width = characters.shape[2]
    is_used = characters.max(axis=0, initial=0) > 0
    widths: list[int] = np.where(is_used.any(axis=1), width - is_used.argmax(axis=1), 0).tolist()
    return widths


def padded_lines(characters: Array, widths: Sequence[int], gap: int) -> Iterator[str]:
    """The line of each row of a table of characters: each number after a gap, right-aligned in its column.

    >>> import numpy
    >>> list(padded_lines(align_characters(numpy.array([[0.5, 12.25], [0, 3]]), 4), [4, 5], 1))
    [' 0.50 12.25', '    0  3.00']
    """
    count, width = characters.shape[1:]
    index = list[int]()
    for column, column_width in enumerate(widths):
        end = (column + 1) * width
        index += [count * width] * (gap + max(column_width - width, 0))  # where NUL is
        index += range(end - min(width, column_width), end)
    positions = np.array(index)
    for block in _blocks(characters):
        cells = block.reshape(len(block), -1)
        lines = np.append(cells, np.zeros((len(cells), 1), np.uint8), axis=1).take(positions, axis=1)
        text = _decoded(lines.tobytes().translate(_WITH_BLANKS))
        yield from (text[start : start + len(index)] for start in range(0, len(text), len(index)))


def joined_lines(characters: Array, separator: str) -> Iterator[str]:
    """The line of each row of a table of characters: the numbers, with a separator between them.

    >>> import numpy
    >>> list(joined_lines(align_characters(numpy.array([[0.5, 12.25], [0, 3]]), 4), ", "))
    ['0.50, 12.25', '0, 3.00']
    """
    between = np.frombuffer(separator.encode(), np.uint8)
    end = np.frombuffer(b"\n".ljust(len(separator), b"\0"), np.uint8)
    for block in _blocks(characters):
        rows, columns, width = block.shape
        lines = np.empty((rows, columns, width + len(between)), np.uint8)
        lines[..., :width] = np.where(block == ord(" "), 0, block)
        lines[..., width:] = between
        lines[:, -1, width:] = end
        yield from _decoded(lines.tobytes().translate(None, b"\0")).split("\n")[:-1]


def _blocks(characters: Array) -> Iterator[Array]:
    """A table of characters, some rows at a time."""
    rows = max(NUMBERS_PER_BLOCK // max(characters.shape[1], 1), 1)
    for first in range(0, len(characters), rows):
        yield characters[first : first + rows]


def _of_texts(rows: Sequence[Sequence[str]], shape: tuple[int, ...]) -> Array:
    """The characters of a table's texts, padded on the right as in `align_numbers`."""
    cells = [cell.rstrip().rjust(len(cell)) for row in rows for cell in row]
    width = max(map(len, cells), default=1)
    return _encoded(cells, width).reshape(*shape, width)


def _encoded(texts: Sequence[str], width: int) -> Array:
    """The characters of texts, uint8 [count width], on the right after NUL."""
    text = "".join(text.rjust(width, "\0") for text in texts)
    for character, code in _CODES.items():
        text = text.replace(character, code)
    return np.frombuffer(text.encode("latin-1"), np.uint8).reshape(len(texts), width)


def _decoded(characters: bytes) -> str:
    """The text of characters."""
    text = characters.decode("latin-1")
    for character, code in _CODES.items():
        text = text.replace(code, character)
    return text
