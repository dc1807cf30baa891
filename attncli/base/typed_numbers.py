"""TypedNumber: a number as somebody typed it, which knows how many digits were typed."""

from decimal import Decimal, InvalidOperation
from functools import cached_property


class TypedNumber(float):
    """A number with the text that it was typed as: `0.50` is 0.5 to two decimals.

    >>> TypedNumber("0.50").half_unit, TypedNumber("1.2e-3").half_unit, TypedNumber("3").half_unit
    (0.005, 5e-05, 0.5)
    >>> TypedNumber("1/2", 0.5).half_unit is None
    True
    """

    text: str

    def __new__(cls, text: str, value: float | None = None) -> "TypedNumber":
        """The number of a text; `value` is given where the text is none of Python's floats, such as `1/2`."""
        number = super().__new__(cls, text if value is None else value)
        number.text = text
        return number

    @cached_property
    def decimal(self) -> Decimal | None:
        """The number with exactly the digits typed; None where a text has no digits to go by: `1/2`, `.nan`."""
        try:
            return Decimal(self.text)
        except InvalidOperation:
            return None

    @cached_property
    def half_unit(self) -> float | None:
        """Half a unit of the last digit typed; None where a text has no digits to go by: `1/2`, NaN, infinities."""
        exponent = None if self.decimal is None else self.decimal.as_tuple().exponent
        return float(Decimal(5).scaleb(exponent - 1)) if isinstance(exponent, int) else None
