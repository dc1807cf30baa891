"""Numbers with fixed decimals as characters, all numbers of an array at once.

The digits are those of a whole number: of each number times a power of ten, rounded. Where the error of that product
may decide how it is rounded, as in the middle between two, Python writes the number.
"""

from attncli.base.lazy_numpy import Array, np

MAX_SCALED = 2.0**43  # numbers times the power of ten: of those below it Python has to write few
MAX_POWER = 22  # powers of ten up to this one are floating-point numbers
_RELATIVE_ERROR = 2.0**-51  # more than that of the product
_ZERO, _POINT, _MINUS = b"0.-"


def has_fixed_digits(largest: float, decimals: int) -> bool:
    """Whether `fixed_digits` writes numbers up to the largest magnitude.

    >>> has_fixed_digits(1000.0, 4), has_fixed_digits(1000.0, 17)
    (True, False)
    """
    return decimals <= MAX_POWER and largest * 10.0**decimals < MAX_SCALED


def fixed_width(largest: float, decimals: int, *, has_sign: bool) -> int:
    """The characters that the largest magnitude of some numbers has, and a sign.

    >>> fixed_width(99.996, 2, has_sign=True)
    7
    """
    return len(f"{largest:.{decimals}f}") + has_sign


def fixed_digits(numbers: Array, decimals: int, width: int) -> Array:
    r"""The characters of finite float64 numbers [count], uint8 [count width], on the right and with NUL before them.

    They are those of `f"{number:.{decimals}f}"`, without the sign of a number that rounds to 0. `has_fixed_digits` is
    true of the numbers, and `width` has room for them.

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


def fixed_text(number: float, decimals: int) -> str:
    """A number with so many decimals, without the sign of one that rounds to 0.

    >>> fixed_text(-0.126, 2), fixed_text(-0.001, 2)
    ('-0.13', '0.00')
    """
    text = f"{number:.{decimals}f}"
    return text if text.strip("-0.") else text.removeprefix("-")


def _write_each(numbers: Array, positions: Array, decimals: int, characters: Array) -> None:
    """Write the characters of the numbers at some positions anew, as Python has them; equal numbers once."""
    width = characters.shape[1]
    distinct, indices = np.unique(numbers[positions], return_inverse=True)
    text = "".join(fixed_text(number, decimals).rjust(width, "\0") for number in distinct.tolist())
    characters[positions] = np.frombuffer(text.encode(), np.uint8).reshape(-1, width)[indices]
