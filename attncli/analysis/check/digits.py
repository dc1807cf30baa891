"""The digits that numbers were typed with: half a unit of the last one, or all the digits that a type has."""

from collections.abc import Sequence
from decimal import Decimal, InvalidOperation

from attncli.base.dataclasses import dataclass
from attncli.base.dtypes import HALF, Precision
from attncli.base.lazy_numpy import Array, np
from attncli.numbers.parsing import TypedNumber

EVERY_DIGIT = 15  # so many significant digits, or more, are all that a float64 has
LONG_FRACTION = 9  # decimals of a number that nobody rounds to by hand
NARROW_TYPES = (*reversed(HALF), "float32")


@dataclass(frozen=True)
class TypedDigits:
    """Half a unit of the last digit of each number, and the type of numbers that have every digit.

    `half_units` is NaN where a number has every digit, and is held to the rounding of `dtype`; None is no type of
    their own.
    """

    half_units: Array
    dtype: str | None = None


@dataclass(frozen=True)
class _Digits:
    """What the text of one number says: its last decimal, how many digits are significant, and how it was typed."""

    decimals: int
    significant: int
    is_whole: bool  # neither a decimal point nor an exponent
    has_exponent: bool
    is_text: bool  # as it was typed; trailing zeros of a float of Python are lost

    @property
    def has_own_unit(self) -> bool:
        """Whether its last digit says how exact it is."""
        return self.has_exponent or (self.is_text and not self.is_whole)


def typed_digits(numbers: Sequence[float]) -> TypedDigits:
    """The digits of the numbers of one quantity: TypedNumbers, which know their text, and floats of Python.

    A number typed with a decimal point or an exponent has the unit of its last digit. Whole numbers, and floats whose
    trailing zeros were lost, have the unit of the last decimal of any number. All numbers have every digit where all
    are whole, where one of them has EVERY_DIGIT significant digits, or where all are numbers of a narrow type with
    their long binary fractions: `0.0999755859375` is 0.1 in float16.

    >>> typed_digits([TypedNumber("0.50"), TypedNumber("1")]).half_units.tolist()
    [0.005, 0.005]
    >>> typed_digits([0.5, 0.1234]).half_units.tolist()
    [5e-05, 5e-05]
    >>> typed_digits([0.0999755859375, 0.5])
    TypedDigits(half_units=array([nan, nan]), dtype='float16')
    """
    all_digits = list(map(_digits, numbers))
    known = [digits for digits in all_digits if digits is not None]
    unknown = np.full(len(numbers), np.nan)
    if all(digits.is_whole for digits in known):
        return TypedDigits(unknown)
    narrow = _narrow_type(numbers)
    if narrow is not None and max(digits.decimals for digits in known) >= LONG_FRACTION:
        return TypedDigits(unknown, narrow)
    if max(digits.significant for digits in known) >= EVERY_DIGIT:
        return TypedDigits(unknown, narrow or "float64")
    shared = max((digits.decimals for digits in known if not digits.has_exponent), default=0)
    half_units = [np.nan if d is None else _half_unit(d.decimals if d.has_own_unit else shared) for d in all_digits]
    return TypedDigits(np.array(half_units))


def _half_unit(decimals: int) -> float:
    """Half a unit of the last of so many decimals."""
    return float(Decimal(5).scaleb(-decimals - 1))


def _digits(number: float) -> _Digits | None:
    """What the text of a number says; None where it has no digits to go by, such as `1/2`, NaN and the infinities."""
    is_text = isinstance(number, TypedNumber)
    text = number.text if isinstance(number, TypedNumber) else repr(float(number))
    try:
        _, digits, exponent = Decimal(text).as_tuple()
    except InvalidOperation:
        return None
    if not isinstance(exponent, int):
        return None
    has_exponent = "e" in text.lower()
    if not is_text and number.is_integer():  # `8.0` is how Python writes 8
        return _Digits(0, 0, is_whole=True, has_exponent=False, is_text=False)
    significant = len("".join(map(str, digits)).lstrip("0"))
    return _Digits(-exponent, significant, not has_exponent and "." not in text, has_exponent, is_text)


def _narrow_type(numbers: Sequence[float]) -> str | None:
    """The narrowest type that holds all these numbers exactly; None where none does."""
    array = np.array(numbers, dtype=np.float64)
    finite = array[np.isfinite(array)]
    with np.errstate(over="ignore"):
        return next((name for name in NARROW_TYPES if np.array_equal(Precision(name).round(finite), finite)), None)
