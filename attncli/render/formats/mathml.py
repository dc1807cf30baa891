"""Formulas and arithmetic as HTML: from the notation of records and explanations to text with MathML in it.

The elements are those of MathML Core, which browsers draw without a script.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import TypeGuard

from attncli.render.formats.formula_fractions import FormulaWithFractions, Fraction, with_fractions
from attncli.render.formats.formula_tokens import LIMIT_FUNCTIONS, OPERATORS
from attncli.render.formats.formula_tree import (
    SUBSCRIPT,
    SUPERSCRIPT,
    Brackets,
    Formula,
    Item,
    Root,
    Script,
    Scripted,
    Symbol,
    Text,
    begins_with_operator,
    is_blank,
    read_line,
)
from attncli.render.formats.mathml_symbols import (
    THIN_SPACE,
    WORD_SPACE,
    brackets_element,
    escaped,
    sign_element,
    slash_element,
    symbol_element,
)

_PLUS_MINUS = "+−-"
_PUNCTUATION = (",", ";", ":")
_START, _END = '<math displaystyle="true">', "</math>"
_TAG = re.compile("<[^>]*>")
_RELATIONS = "=≈→"
_MAX_UNBROKEN = 22  # characters: a phone has room for as many
_SUM = Symbol("sign", "Σ")
_EXTREMA = tuple(Symbol("function", name) for name in ("max", *LIMIT_FUNCTIONS))


def mathml_line(line: str) -> str:
    """A formula or a line of arithmetic as HTML: words as text, mathematics as `<math>`, everything escaped.

    A number is one element `<mn>` with the digits of the line, or two where it has a power of ten. A long formula is in
    several elements `<math>`: a line may end before an equals sign or an arrow.

    >>> mathml_line("where j < √d")
    'where <math displaystyle="true"><mi>j</mi><mo stretchy="false">&lt;</mo><msqrt><mi>d</mi></msqrt></math>'
    """
    written = ""
    for part in read_line(line):
        if not isinstance(part, Text):
            written += _formula(part, is_continued=bool(written) and begins_with_operator(part))
            continue
        text = "".join(escaped(symbol.text) for symbol in part.symbols)
        if written.endswith(_END) and text.startswith(_PUNCTUATION):
            written = f"{written.removesuffix(_END)}<mtext>{text[0]}</mtext>{_END}"  # else a line could begin with it
            text = text[1:]
        written += text
    return written


def _formula(formula: Formula, *, is_continued: bool) -> str:
    """A formula; a long one in several parts, between which a line may end: browsers break none themselves."""
    whole = _elements(formula, is_continued=is_continued)
    if len(_TAG.sub("", whole)) <= _MAX_UNBROKEN:
        return f"{_START}{whole}{_END}"
    starts = [0, *(at for at, item in enumerate(formula) if at > 0 and _is_sign(item, _RELATIONS)), len(formula)]
    parts = (formula[start:end] for start, end in pairwise(starts))
    return "<wbr/>".join(f"{_START}{_elements(part, is_continued=is_continued)}{_END}" for part in parts)


def _elements(formula: FormulaWithFractions, *, is_continued: bool = False) -> str:
    """The elements of a formula; a sign at the start of one that is continued has two sides."""
    items = with_fractions(formula)
    written, has_left = "", is_continued  # whether a term is to the left of a sign
    neighbours = zip((None, *items), items, (*items[1:], None), (*items[2:], None, None), strict=False)
    for before, item, after, operand in neighbours:
        if is_blank(item):
            written += _space(before, item, after)
            continue
        if _is_sign(item, _PLUS_MINUS):
            written += sign_element(item.text, has_left=has_left)
        elif _is_sign(item, "/"):
            written += slash_element(has_blank_before=is_blank(before), has_blank_after=is_blank(after))
        elif isinstance(item, Scripted):
            written += _scripted_element(item, is_applied=is_blank(after) and not _is_operator(operand))
        else:
            written += _element(item)
        has_left = not _is_operator(item)
    return written


def _row(formula: FormulaWithFractions) -> str:
    """A formula as one element."""
    return f"<mrow>{_elements(formula)}</mrow>"


def _element(item: Symbol | Brackets | Root | Fraction) -> str:
    """The element of an item without scripts that is no blank."""
    match item:
        case Fraction(numerator, denominator):
            return f"<mfrac>{_row(numerator)}{_row(denominator)}</mfrac>"
        case Root(content):
            return f"<msqrt>{_elements(content)}</msqrt>" if content else "<mo>√</mo>"
        case Brackets(opening, content, closing):
            return brackets_element(opening, _elements(content), closing, is_tall=_is_tall(content))
        case Symbol():
            return symbol_element(item)


def _scripted_element(item: Scripted, *, is_applied: bool) -> str:
    """An item with all its subscripts and all its superscripts; of a sum or a maximum of terms they stand below."""
    element = "<mrow></mrow>" if item.base is None else _element(item.base)
    scripts = [part for script in item.scripts for part in _flat(script)]
    lower, upper = (
        THIN_SPACE.join(_elements(script.content) for script in scripts if script.mark == mark)
        for mark in (SUBSCRIPT, SUPERSCRIPT)
    )
    if lower and upper:
        return f"<msubsup>{element}<mrow>{lower}</mrow><mrow>{upper}</mrow></msubsup>"
    if upper:
        return f"<msup>{element}<mrow>{upper}</mrow></msup>"
    has_limits = item.base == _SUM or (is_applied and item.base in _EXTREMA)
    tag = "munder" if has_limits else "msub"
    return f"<{tag}>{element}<mrow>{lower}</mrow></{tag}>"


def _is_tall(formula: FormulaWithFractions) -> bool:
    """Whether a formula has a fraction in it, so that the brackets around it grow."""
    return any(
        isinstance(base, Fraction) or (isinstance(base, Root | Brackets) and _is_tall(base.content))
        for item in with_fractions(formula)
        for base in (item.base if isinstance(item, Scripted) else item,)
    )


def _flat(script: Script) -> Iterator[Script]:
    """A script, and those of the word in it as further ones: the S of `K_allₛ` stands beside `all`, not below it."""
    match script.content:
        case (Scripted(Symbol("word") as word, scripts),):
            yield Script(script.mark, (word,))
            yield from scripts
        case _:
            yield script


def _space(before: Item | Fraction | None, blank: Item | Fraction | None, after: Item | Fraction | None) -> str:
    """What separates two items: nothing beside an operator, which has space of its own."""
    if _is_operator(before) or _is_operator(after):
        return ""
    return WORD_SPACE if isinstance(blank, Symbol) and blank.kind == "space" else THIN_SPACE


def _is_operator(item: Item | Fraction | None) -> bool:
    """Whether an item is an operator or a separator, with or without scripts; nothing is one too, beside a bracket."""
    base = item.base if isinstance(item, Scripted) else item
    return base is None or base == _SUM or _is_sign(base, f"{OPERATORS}-,;")


def _is_sign(item: object, signs: str) -> TypeGuard[Symbol]:
    """Whether an item is one of these characters."""
    return isinstance(item, Symbol) and item.kind == "sign" and item.text in signs
