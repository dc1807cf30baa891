"""Fractions in formulas: `Qᵢ·Kⱼ / √d` is one; a slash without blanks, as in `exp(S/T)` or 4/√2, stays in the line."""

from collections.abc import Sequence
from typing import TypeAlias

from attncli.base.dataclasses import dataclass
from attncli.render.formats.formula_tree import Brackets, Item, Symbol, is_blank

_SLASH = Symbol("sign", "/")
_BOUNDARIES = "=≈−-+≤≥→<>~,;"  # what ends a numerator to the left and a denominator to the right


@dataclass(frozen=True)
class Fraction:
    """A numerator and a denominator, without the parentheses that a line needs around them."""

    numerator: "FormulaWithFractions"
    denominator: "FormulaWithFractions"


FormulaWithFractions: TypeAlias = tuple[Item | Fraction, ...]


def with_fractions(formula: FormulaWithFractions) -> FormulaWithFractions:
    """The formula with its fractions; what is in brackets stays as it is.

    >>> from attncli.render.formats.formula_tree import read_line
    >>> [formula] = read_line("s = (a + b) / 2")
    >>> with_fractions(formula)[-1].denominator
    (Symbol(kind='number', text='2'),)
    """
    items = list[Item | Fraction]()
    start, index = 0, 0  # start is where the product before the index begins
    while index < len(formula):
        if _is_spaced_slash(formula, index):
            end = _end_of_product(formula, index + 1)
            fraction = Fraction(_operand(items[start:]), _operand(formula[index + 1 : end]))
            if fraction.numerator and fraction.denominator:
                items[start:], index = [fraction], end
                continue
        items.append(formula[index])
        index += 1
        start = len(items) if _is_boundary(items[-1]) else start
    return tuple(items)


def _is_spaced_slash(formula: FormulaWithFractions, index: int) -> bool:
    """Whether there is a slash with a blank on both sides."""
    before, after = formula[:index][-1:], formula[index + 1 :][:1]
    return formula[index] == _SLASH and all(map(is_blank, before + after))


def _is_boundary(item: Item | Fraction) -> bool:
    """Whether a product ends before an item."""
    return isinstance(item, Symbol) and item.kind == "sign" and item.text in _BOUNDARIES


def _end_of_product(formula: FormulaWithFractions, start: int) -> int:
    """The index after the product that begins at an index: a fraction is divided by what is after the next slash."""
    ends = (at for at in range(start, len(formula)) if _is_boundary(formula[at]) or _is_spaced_slash(formula, at))
    return next(ends, len(formula))


def _operand(items: Sequence[Item | Fraction]) -> FormulaWithFractions:
    """A product without blanks at its ends, and without the parentheses around it."""
    indices = [index for index, item in enumerate(items) if not is_blank(item)]
    operand = tuple(items[indices[0] : indices[-1] + 1]) if indices else ()
    if len(operand) == 1 and isinstance(operand[0], Brackets) and operand[0].opening == "(":
        return operand[0].content
    return operand
