"""Functions of decimal numbers to more digits than are ever shown; what has no value is NaN, what is too large ∞."""

from decimal import Context, Decimal, localcontext

CONTEXT = Context(prec=50, traps=[])
PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628621")
SMALLEST_TERM = Decimal("1e-45")  # of a series


def tanh(x: Decimal) -> Decimal:
    """The hyperbolic tangent.

    >>> round(tanh(Decimal("-0.5")), 8)
    Decimal('-0.46211716')
    """
    with localcontext(CONTEXT):
        power = (-2 * abs(x)).exp()
        return ((1 - power) / (1 + power)).copy_sign(x)


def cos(x: Decimal) -> Decimal:
    """The cosine of an angle in radians, by its series.

    >>> round(cos(Decimal(2)), 8)
    Decimal('-0.41614684')
    """
    with localcontext(CONTEXT):
        angle = x.remainder_near(2 * PI)
        term = total = Decimal(1)
        count = 0
        while abs(term) > SMALLEST_TERM:
            count += 2
            term *= -angle * angle / (count * (count - 1))
            total += term
        return total


def sin(x: Decimal) -> Decimal:
    """The sine of an angle in radians.

    >>> round(sin(Decimal(2)), 8)
    Decimal('0.90929743')
    """
    with localcontext(CONTEXT):
        return cos(x - PI / 2)
