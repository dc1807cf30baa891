"""Terms of arithmetic: they write themselves with some digits, and evaluate to what these digits give.

`number(2) * 3 + 1` is a term; so are sums, powers and functions of terms. A vector is a term too, and is computed
entry by entry.
"""

from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from functools import reduce
from typing import Any

from attncli.base import exact
from attncli.base.numerals import Style
from attncli.base.term_classes import ATOM, Number, Operation, Term, elide, number, term_part, total

__all__ = [
    "Number",
    "Term",
    "absolute",
    "cos",
    "exp",
    "largest",
    "ln",
    "number",
    "parameter",
    "products",
    "sin",
    "sqrt",
    "tanh",
    "total",
]


def parameter(value: float) -> Term:
    """A number that the user gave an operator, in no table: a small one is written with its exponent.

    >>> parameter(1e-6).text(Style(4)), number(1e-6).text(Style(4))
    ('1e−06', '0.0000')
    """
    return Number((float(value),), is_parameter=True)


def products(left: Iterable[Any], right: Iterable[Any]) -> Term:
    """`a·x + b·y + c·z`: numbers on the left, numbers or vectors on the right, as many of each.

    >>> products([2, 0], [4, -1]).text(Style(4))
    '2·4 + 0·(−1)'
    """
    return total([number(a) * b for a, b in zip(left, right, strict=True)])


def largest(terms: Iterable[Any]) -> Term:
    """The largest of some numbers, of vectors entry by entry.

    >>> largest([1, -2]).text(Style(4))
    'max(1, −2)'
    """
    return _function("max", lambda *values: reduce(Decimal.max, values), *terms)


def exp(x: Any) -> Term:
    """The exponential.

    >>> exp(number(1) - 3).text(Style(4)), round(exp(number(1) - 3).value(None)[0], 4)
    ('exp(1 − 3)', Decimal('0.1353'))
    """
    return _function("exp", Decimal.exp, x)


def ln(x: Any) -> Term:
    """The natural logarithm.

    >>> ln(2).text(Style(4))
    'ln(2)'
    """
    return _function("ln", Decimal.ln, x)


def tanh(x: Any) -> Term:
    """The hyperbolic tangent.

    >>> tanh(0.5).text(Style(4))
    'tanh(0.5)'
    """
    return _function("tanh", exact.tanh, x)


def cos(x: Any) -> Term:
    """The cosine of an angle in radians.

    >>> cos(2).text(Style(4))
    'cos(2)'
    """
    return _function("cos", exact.cos, x)


def sin(x: Any) -> Term:
    """The sine of an angle in radians.

    >>> sin(2).text(Style(4))
    'sin(2)'
    """
    return _function("sin", exact.sin, x)


def sqrt(x: Any) -> Term:
    """The square root.

    >>> sqrt(3).text(Style(4)), sqrt(number(3) + 1).text(Style(4))
    ('√3', '√(3 + 1)')
    """
    return Operation((number(x),), lambda operands, style, _: f"√{term_part(operands[0], style, ATOM)}", Decimal.sqrt)


def absolute(x: Any) -> Term:
    """The absolute value.

    >>> absolute(number(1) - 3).text(Style(4))
    '|1 − 3|'
    """
    return Operation((number(x),), lambda operands, style, _: f"|{operands[0].text(style)}|", abs)


def _function(name: str, compute: Callable[..., Decimal], *arguments: Any) -> Term:
    """A function by its name."""

    def write(operands: Sequence[Term], style: Style, _is_first: bool) -> str:
        texts = [operand.text(style) for operand in operands]
        return f"{name}({', '.join(elide(texts, '… {} more …', style.max_terms))})"

    return Operation(tuple(map(number, arguments)), write, compute)
