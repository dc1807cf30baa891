"""Terms of arithmetic: they write themselves with some digits, and have the value that these digits give.

`number(2) * 3 + 1` is a term; so are sums, powers and functions of terms. Vectors are terms, computed entry by entry. A
value has 50 digits; an undefined one is NaN, one that is too large is infinite.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Context, Decimal, localcontext
from functools import partial, reduce
from typing import Any

from attncli.numbers.formatting import MINUS, Style

CONTEXT = Context(prec=50, traps=[])
_PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628621")
_SMALLEST_SUMMAND = Decimal("1e-45")  # where a series ends
SUM, PRODUCT, POWER, ATOM = range(4)  # precedence of operations; a looser operand gets brackets
Vector = tuple[Decimal, ...]  # a number has one entry


class Term(ABC):
    """One side of an equation."""

    binding: int = ATOM
    is_vector: bool = False
    __array_ufunc__ = None  # so that `x * term` is a term if x is a NumPy number

    @abstractmethod
    def text(self, style: Style, *, is_first: bool = True) -> str:
        """The term as it is written; after a sign (`is_first` false) a negative number is in brackets."""

    @abstractmethod
    def value(self, style: Style | None) -> Vector:
        """The term's value, from the digits that are written; without a style from the numbers themselves."""

    @abstractmethod
    def entry(self, index: int) -> "Term":
        """The term of one entry, if it contains vectors."""

    @abstractmethod
    def is_exact(self, style: Style) -> bool:
        """Whether writing it rounds no number."""

    def __add__(self, other: Any) -> "Term":
        return total([self, other])

    def __radd__(self, other: Any) -> "Term":
        return total([other, self])

    def __sub__(self, other: Any) -> "Term":
        return _Operation((self, number(other)), _write_difference, lambda a, b: a - b, SUM)

    def __rsub__(self, other: Any) -> "Term":
        return number(other) - self

    def __mul__(self, other: Any) -> "Term":
        return _Operation((self, number(other)), _write_product, lambda a, b: a * b, PRODUCT)

    def __rmul__(self, other: Any) -> "Term":
        return number(other) * self

    def __truediv__(self, other: Any) -> "Term":
        return _Operation((self, number(other)), _write_quotient, lambda a, b: a / b, PRODUCT)

    def __rtruediv__(self, other: Any) -> "Term":
        return number(other) / self

    def __pow__(self, other: Any) -> "Term":
        return _Operation((self, number(other)), _write_power, lambda a, b: a**b, POWER)

    def __neg__(self) -> "Term":
        return _Operation((self,), _write_negative, lambda a: -a, SUM)


@dataclass(frozen=True, eq=False)
class Number(Term):
    """A number, or a vector in brackets."""

    entries: tuple[float | Decimal, ...]
    is_vector: bool = False
    is_parameter: bool = False  # it is in no table, so a small one has an exponent

    def text(self, style: Style, *, is_first: bool = True) -> str:
        """`0.5`, `(−2)` or `[0.5 −2]`."""
        text = self.text_of([self._own(style).text(entry) for entry in self.entries], style)
        return text if is_first or not text.startswith(MINUS) else f"({text})"

    def text_of(self, texts: Sequence[str], style: Style) -> str:
        """The texts of the entries, in brackets for a vector."""
        return f"[{' '.join(_elide(texts, '…', style.max_terms))}]" if self.is_vector else texts[0]

    def value(self, style: Style | None) -> Vector:
        """The written digits, or all of them."""
        if style is not None:
            return tuple(map(self._own(style).rounded, self.entries))
        return tuple(map(Decimal, self.entries))

    def entry(self, index: int) -> Term:
        """One entry; a number is every entry."""
        return Number((self.entries[index],)) if self.is_vector else self

    def is_exact(self, style: Style) -> bool:
        """Whether all digits are written."""
        return all(type(entry)(self._own(style).rounded(entry)) == entry for entry in self.entries)

    def _own(self, style: Style) -> Style:
        """The style for this number."""
        return replace(style, has_exponents=True) if self.is_parameter else style


_Write = Callable[[Sequence[Term], Style, bool], str]  # the last argument: whether the operation comes first


@dataclass(frozen=True, eq=False)
class _Operation(Term):
    """An operation on terms: how to write it, and how to compute it."""

    operands: tuple[Term, ...]
    write: _Write
    compute: Callable[..., Decimal]
    binding: int = ATOM

    @property
    def is_vector(self) -> bool:  # type: ignore[override] # here it follows from the operands
        """Whether an operand is a vector."""
        return any(operand.is_vector for operand in self.operands)

    def text(self, style: Style, *, is_first: bool = True) -> str:
        """The term as it is written."""
        return self.write(self.operands, style, is_first)

    def value(self, style: Style | None) -> Vector:
        """The value, entry by entry."""
        values = [operand.value(style) for operand in self.operands]
        count = max(map(len, values))
        with localcontext(CONTEXT):
            return tuple(self.compute(*(value[at % len(value)] for value in values)) for at in range(count))

    def entry(self, index: int) -> Term:
        """The same for one entry of each operand."""
        operands = tuple(operand.entry(index) for operand in self.operands)
        return _Operation(operands, self.write, self.compute, self.binding)

    def is_exact(self, style: Style) -> bool:
        """Whether all operands are."""
        return all(operand.is_exact(style) for operand in self.operands)


def number(value: Any) -> Term:
    """A number, or an array [d] as a vector; a term stays.

    >>> number(0.5).text(Style(4)), number([1, -2]).text(Style(4))
    ('0.5', '[1 −2]')
    """
    if isinstance(value, Term):
        return value
    if isinstance(value, (list, tuple)):
        return Number(tuple(float(entry) for entry in value), is_vector=True)
    if getattr(value, "ndim", 0):  # a model's matrix has thousands of long rows
        return Number(tuple(value.astype(float).tolist()), is_vector=True)
    return Number((value if isinstance(value, Decimal) else float(value),))


def total(terms: Iterable[Any], own: int | None = None) -> Term:
    """`a + b + c`; no terms are 0. A long sum is written as its largest terms and `own`.

    >>> total([1, -2, 3]).text(Style(4))
    '1 + (−2) + 3'
    >>> total([1, -2, 0, 3, 4], own=0).text(Style(4, max_terms=2))
    '1 + 4 + … 2 more … + … 1 zeros …'
    """
    operands = tuple(map(number, terms)) or (number(0),)
    write = partial(_write_sum, own=own)
    return operands[0] if len(operands) == 1 else _Operation(operands, write, lambda *parts: sum(parts), SUM)


def parameter(value: float) -> Term:
    """An operator's parameter, which is in no table: a small one is written with an exponent.

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
    """The largest of some numbers; for vectors entry by entry.

    >>> largest([1, -2]).text(Style(4))
    'max(1, −2)'
    """
    return _function("max", lambda *values: reduce(Decimal.max, values), *terms)


def smallest(terms: Iterable[Any]) -> Term:
    """The smallest of some numbers; for vectors entry by entry.

    >>> smallest([1, -2]).text(Style(4))
    'min(1, −2)'
    """
    return _function("min", lambda *values: reduce(Decimal.min, values), *terms)


def floor(x: Any) -> Term:
    """The largest whole number that is not greater.

    >>> floor(number(7) / 2).text(Style(4)), floor(number(7) / 2).value(None)
    ('⌊7/2⌋', (Decimal('3'),))
    """
    to_whole = partial(Decimal.to_integral_value, rounding=ROUND_FLOOR)
    return _Operation((number(x),), lambda operands, style, _: f"⌊{operands[0].text(style)}⌋", to_whole)


def remainder(x: Any, y: Any) -> Term:
    """The remainder of a division, with the sign of the divisor.

    >>> remainder(number(-7), 2).text(Style(4)), remainder(number(-7), 2).value(None)
    ('−7 mod 2', (Decimal('1'),))
    """
    return _Operation((number(x), number(y)), _infix(" mod ", PRODUCT, POWER), _remainder, PRODUCT)


def arctan(x: Any) -> Term:
    """The angle, in radians, with this tangent.

    >>> arctan(1).text(Style(4)), round(arctan(1).value(None)[0], 8)
    ('arctan(1)', Decimal('0.78539816'))
    """
    return _function("arctan", _arctan, x)


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
    return _function("tanh", _tanh, x)


def cos(x: Any) -> Term:
    """The cosine of an angle in radians.

    >>> cos(2).text(Style(4))
    'cos(2)'
    """
    return _function("cos", _cos, x)


def sin(x: Any) -> Term:
    """The sine of an angle in radians.

    >>> sin(2).text(Style(4))
    'sin(2)'
    """
    return _function("sin", _sin, x)


def sqrt(x: Any) -> Term:
    """The square root.

    >>> sqrt(3).text(Style(4)), sqrt(number(3) + 1).text(Style(4))
    ('√3', '√(3 + 1)')
    """
    return _Operation((number(x),), lambda operands, style, _: f"√{_part(operands[0], style, ATOM)}", Decimal.sqrt)


def cube_root(x: Any) -> Term:
    """The cube root; a negative number has a negative one.

    >>> cube_root(-8).text(Style(4)), round(cube_root(-8).value(None)[0], 8)
    ('∛(−8)', Decimal('-2.00000000'))
    """

    def compute(x: Decimal) -> Decimal:
        return (abs(x) ** (Decimal(1) / 3)).copy_sign(x)

    return _Operation((number(x),), lambda operands, style, _: f"∛{_part(operands[0], style, ATOM)}", compute)


def absolute(x: Any) -> Term:
    """The absolute value.

    >>> absolute(number(1) - 3).text(Style(4))
    '|1 − 3|'
    """
    return _Operation((number(x),), lambda operands, style, _: f"|{operands[0].text(style)}|", abs)


def _elide(texts: Sequence[str], gap: str, max_terms: int | None) -> list[str]:
    """The texts, or the first and last of them around the count of those left out.

    >>> _elide(["1", "2", "3", "4", "5"], "… {} more …", 2)
    ['1', '… 3 more …', '5']
    """
    if max_terms is None or len(texts) <= max_terms:
        return list(texts)
    first, last = (max_terms + 1) // 2, max_terms // 2
    return [*texts[:first], gap.format(len(texts) - first - last), *texts[len(texts) - last :]]


def _part(term: Term, style: Style, binding: int, *, is_first: bool = False) -> str:
    """An operand, in brackets if it binds less tightly."""
    return f"({term.text(style)})" if term.binding < binding else term.text(style, is_first=is_first)


def _write_sum(operands: Sequence[Term], style: Style, is_first: bool, own: int | None = None) -> str:
    positions: Sequence[int] = range(len(operands))
    gaps: list[str] = []
    limit = style.max_terms
    if limit is not None and len(operands) > limit:
        style = replace(style, has_exponents=True)
        positions, gaps = _largest_terms(operands, limit, own)
    texts = [_part(operands[at], style, SUM, is_first=is_first and at == positions[0]) for at in positions]
    return " + ".join([*texts, *gaps])


def _largest_terms(operands: Sequence[Term], count: int, own: int | None) -> tuple[Sequence[int], list[str]]:
    """The positions of the terms to write of a long sum, and the words for the others.

    The largest are written; zeros of hidden keys are not, unless every term is 0.
    """
    sizes = [max(abs(x) if not x.is_nan() else Decimal("Infinity") for x in term.value(None)) for term in operands]
    order = sorted(range(len(operands)), key=lambda at: (at != own, -sizes[at]))[:count]
    shown = sorted(at for at in order if sizes[at] or at == own) if any(sizes) else sorted(order)
    zeros = sum(not size for at, size in enumerate(sizes) if at not in shown) if any(sizes) else 0
    counts = {"more": len(operands) - len(shown) - zeros, "zeros": zeros}
    return shown, [f"… {number} {what} …" for what, number in counts.items() if number]


def _infix(sign: str, least_left: int, least_right: int) -> _Write:
    """The function that writes two operands around a sign, each in brackets if it binds less tightly."""

    def write(operands: Sequence[Term], style: Style, is_first: bool) -> str:
        left, right = operands
        return f"{_part(left, style, least_left, is_first=is_first)}{sign}{_part(right, style, least_right)}"

    return write


_write_difference = _infix(f" {MINUS} ", SUM, PRODUCT)
_write_product = _infix("·", PRODUCT, PRODUCT)
_write_quotient = _infix("/", PRODUCT, POWER)


def _write_power(operands: Sequence[Term], style: Style, _is_first: bool) -> str:
    base, exponent = operands
    text = exponent.text(style)
    mark = "²" if text == "2" else f"^{text}" if exponent.binding == ATOM and text[0] != MINUS else f"^({text})"
    return _part(base, style, ATOM) + mark


def _write_negative(operands: Sequence[Term], style: Style, is_first: bool) -> str:
    text = MINUS + _part(operands[0], style, PRODUCT)
    return text if is_first else f"({text})"


def _function(name: str, compute: Callable[..., Decimal], *arguments: Any) -> Term:
    """A function by its name."""

    def write(operands: Sequence[Term], style: Style, _is_first: bool) -> str:
        texts = [operand.text(style) for operand in operands]
        return f"{name}({', '.join(_elide(texts, '… {} more …', style.max_terms))})"

    return _Operation(tuple(map(number, arguments)), write, compute)


def _tanh(x: Decimal) -> Decimal:
    """The hyperbolic tangent of a decimal number.

    >>> round(_tanh(Decimal("-0.5")), 8)
    Decimal('-0.46211716')
    """
    with localcontext(CONTEXT):
        power = (-2 * abs(x)).exp()
        return ((1 - power) / (1 + power)).copy_sign(x)


def _remainder(x: Decimal, y: Decimal) -> Decimal:
    """A number minus the largest whole multiple of another that is not greater."""
    return x - y * (x / y).to_integral_value(rounding=ROUND_FLOOR)


def _arctan(x: Decimal) -> Decimal:
    """The arctangent, by the series for a sixteenth of the angle.

    >>> round(_arctan(Decimal(-2)), 8)
    Decimal('-1.10714872')
    """
    with localcontext(CONTEXT):
        for _ in range(4):  # the tangent of half the angle
            x = x / (1 + (1 + x * x).sqrt())
        summand = total = x
        count = 1
        while abs(summand) > _SMALLEST_SUMMAND:
            summand *= -x * x
            count += 2
            total += summand / count
        return 16 * total


def _cos(x: Decimal) -> Decimal:
    """The cosine of an angle in radians, by its series.

    >>> round(_cos(Decimal(2)), 8)
    Decimal('-0.41614684')
    """
    with localcontext(CONTEXT):
        angle = x.remainder_near(2 * _PI)
        summand = total = Decimal(1)
        count = 0
        while abs(summand) > _SMALLEST_SUMMAND:
            count += 2
            summand *= -angle * angle / (count * (count - 1))
            total += summand
        return total


def _sin(x: Decimal) -> Decimal:
    """The sine of an angle in radians.

    >>> round(_sin(Decimal(2)), 8)
    Decimal('0.90929743')
    """
    with localcontext(CONTEXT):
        return _cos(x - _PI / 2)
