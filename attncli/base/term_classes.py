"""The classes of terms: numbers and operations on terms, which write themselves and compute their value."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from decimal import Decimal, localcontext
from typing import Any

from attncli.base import exact
from attncli.base.dataclasses import dataclass
from attncli.base.numerals import MINUS, Style

SUM, PRODUCT, POWER, ATOM = range(4)  # how closely the parts of a term are bound; brackets bind what is looser
Vector = tuple[Decimal, ...]  # of one entry for a number


class Term(ABC):
    """What stands on one side of an equation."""

    binding: int = ATOM
    is_vector: bool = False
    __array_ufunc__ = None  # so that `x * term` of a number of NumPy's is a term

    @abstractmethod
    def text(self, style: Style, *, is_first: bool = True) -> str:
        """The term as it is written; after a sign (`is_first` false) a negative number is in brackets."""

    @abstractmethod
    def value(self, style: Style | None) -> Vector:
        """The value of the term, from the digits that are written; without a style from the numbers themselves."""

    @abstractmethod
    def entry(self, index: int) -> "Term":
        """The term of one entry, where vectors are among its parts."""

    @abstractmethod
    def is_exact(self, style: Style) -> bool:
        """Whether no number in it is rounded as it is written."""

    def __add__(self, other: Any) -> "Term":
        return total([self, other])

    def __radd__(self, other: Any) -> "Term":
        return total([other, self])

    def __sub__(self, other: Any) -> "Term":
        return Operation((self, number(other)), _write_difference, lambda a, b: a - b, SUM)

    def __rsub__(self, other: Any) -> "Term":
        return number(other) - self

    def __mul__(self, other: Any) -> "Term":
        return Operation((self, number(other)), _write_product, lambda a, b: a * b, PRODUCT)

    def __rmul__(self, other: Any) -> "Term":
        return number(other) * self

    def __truediv__(self, other: Any) -> "Term":
        return Operation((self, number(other)), _write_quotient, lambda a, b: a / b, PRODUCT)

    def __rtruediv__(self, other: Any) -> "Term":
        return number(other) / self

    def __pow__(self, other: Any) -> "Term":
        return Operation((self, number(other)), _write_power, lambda a, b: a**b, POWER)

    def __neg__(self) -> "Term":
        return Operation((self,), _write_negative, lambda a: -a, SUM)


@dataclass(frozen=True, eq=False)
class Number(Term):
    """A number, or a vector in brackets."""

    entries: tuple[float | Decimal, ...]
    is_vector: bool = False
    is_parameter: bool = False  # in no table, so that a small one has an exponent

    def text(self, style: Style, *, is_first: bool = True) -> str:
        """`0.5`, `(−2)` or `[0.5 −2]`."""
        text = self.text_of([self._own(style).text(entry) for entry in self.entries], style)
        return text if is_first or not text.startswith(MINUS) else f"({text})"

    def text_of(self, texts: Sequence[str], style: Style) -> str:
        """The texts of the entries, in brackets where it is a vector."""
        return f"[{' '.join(elide(texts, '…', style.max_terms))}]" if self.is_vector else texts[0]

    def value(self, style: Style | None) -> Vector:
        """The digits that are written, or all of them."""
        if style is not None:
            return tuple(map(self._own(style).rounded, self.entries))
        return tuple(map(Decimal, self.entries))

    def entry(self, index: int) -> Term:
        """One entry; a number is that of every entry."""
        return Number((self.entries[index],)) if self.is_vector else self

    def is_exact(self, style: Style) -> bool:
        """Whether the digits that are written are all of them."""
        return all(type(entry)(self._own(style).rounded(entry)) == entry for entry in self.entries)

    def _own(self, style: Style) -> Style:
        """The style of this number."""
        return replace(style, has_exponents=True) if self.is_parameter else style


@dataclass(frozen=True, eq=False)
class Operation(Term):
    """Terms that are put together: how that is written, and how it is computed."""

    operands: tuple[Term, ...]
    write: Callable[[Sequence[Term], Style, bool], str]  # the last says whether it stands first
    compute: Callable[..., Decimal]
    binding: int = ATOM

    @property
    def is_vector(self) -> bool:  # type: ignore[override] # a number says it, an operation knows it from its parts
        """Whether a part is a vector."""
        return any(operand.is_vector for operand in self.operands)

    def text(self, style: Style, *, is_first: bool = True) -> str:
        """The term as it is written."""
        return self.write(self.operands, style, is_first)

    def value(self, style: Style | None) -> Vector:
        """The value, entry by entry."""
        values = [operand.value(style) for operand in self.operands]
        count = max(map(len, values))
        with localcontext(exact.CONTEXT):
            return tuple(self.compute(*(value[at % len(value)] for value in values)) for at in range(count))

    def entry(self, index: int) -> Term:
        """The same of one entry of each part."""
        operands = tuple(operand.entry(index) for operand in self.operands)
        return Operation(operands, self.write, self.compute, self.binding)

    def is_exact(self, style: Style) -> bool:
        """Whether all parts are."""
        return all(operand.is_exact(style) for operand in self.operands)


def number(value: Any) -> Term:
    """A number, or an array [d] as a vector; a term stays as it is.

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


def total(terms: Iterable[Any]) -> Term:
    """`a + b + c`; one term alone stays as it is, none is 0.

    >>> total([1, -2, 3]).text(Style(4))
    '1 + (−2) + 3'
    """
    operands = tuple(map(number, terms)) or (number(0),)
    return operands[0] if len(operands) == 1 else Operation(operands, _write_sum, lambda *parts: sum(parts), SUM)


def elide(texts: Sequence[str], gap: str, max_terms: int | None) -> list[str]:
    """The texts, or the first and last of them around a gap that has the count of those left out.

    >>> elide(["1", "2", "3", "4", "5"], "… {} more …", 2)
    ['1', '… 3 more …', '5']
    """
    if max_terms is None or len(texts) <= max_terms:
        return list(texts)
    first, last = (max_terms + 1) // 2, max_terms // 2
    return [*texts[:first], gap.format(len(texts) - first - last), *texts[len(texts) - last :]]


def term_part(term: Term, style: Style, binding: int, *, is_first: bool = False) -> str:
    """A part of a term, in brackets where it is bound less closely."""
    return f"({term.text(style)})" if term.binding < binding else term.text(style, is_first=is_first)


def _write_sum(operands: Sequence[Term], style: Style, is_first: bool) -> str:
    texts = [term_part(operand, style, SUM, is_first=is_first and not at) for at, operand in enumerate(operands)]
    if style.max_terms is not None and len(texts) > style.max_terms:  # what hidden keys add says nothing
        shown = [text for operand, text in zip(operands, texts, strict=True) if any(operand.value(None))]
        zeros = len(texts) - len(shown)
        if shown and zeros:
            return " + ".join([*elide(shown, "… {} more …", style.max_terms), f"… {zeros} zeros …"])
    return " + ".join(elide(texts, "… {} more …", style.max_terms))


def _write_difference(operands: Sequence[Term], style: Style, is_first: bool) -> str:
    left, right = operands
    return f"{left.text(style, is_first=is_first)} {MINUS} {term_part(right, style, PRODUCT)}"


def _write_product(operands: Sequence[Term], style: Style, is_first: bool) -> str:
    left, right = operands
    return f"{term_part(left, style, PRODUCT, is_first=is_first)}·{term_part(right, style, PRODUCT)}"


def _write_quotient(operands: Sequence[Term], style: Style, is_first: bool) -> str:
    left, right = operands
    return f"{term_part(left, style, PRODUCT, is_first=is_first)}/{term_part(right, style, POWER)}"


def _write_power(operands: Sequence[Term], style: Style, _is_first: bool) -> str:
    base, exponent = operands
    text = exponent.text(style)
    mark = "²" if text == "2" else f"^{text}" if exponent.binding == ATOM and text[0] != MINUS else f"^({text})"
    return term_part(base, style, ATOM) + mark


def _write_negative(operands: Sequence[Term], style: Style, is_first: bool) -> str:
    text = MINUS + term_part(operands[0], style, PRODUCT)
    return text if is_first else f"({text})"
