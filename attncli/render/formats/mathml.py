"""Formulas and arithmetic as HTML: the notation of records and explanations as text with MathML.

The elements belong to MathML Core, which browsers draw without a script.
"""

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import groupby, pairwise
from typing import TypeGuard

from attncli.base.text import html_text
from attncli.render.formats.formulas import (
    LIMIT_FUNCTIONS,
    OPERATORS,
    SUBSCRIPT,
    SUPERSCRIPT,
    Base,
    Brackets,
    Formula,
    Fraction,
    Item,
    Root,
    Script,
    Scripted,
    Symbol,
    Text,
    begins_with_operator,
    is_blank,
    read_line,
    split_number,
    vector_entries,
    with_fractions,
)

_THIN_SPACE, _WORD_SPACE, _ENTRY_SPACE = (f'<mspace width="{width}em"/>' for width in (0.17, 0.3, 0.7))
_SIGNS = {"-": "−", "~": "∼", "'": "′"}
_PLUS_MINUS = "+−-"
_PUNCTUATION = (",", ";", ":")
_START, _END = '<math displaystyle="true">', "</math>"
_TAG = re.compile("<[^>]*>")
_RELATIONS = "=≈→"
_MAX_UNBROKEN = 22  # characters: the width of a phone
_SUM = Symbol("sign", "Σ")
_EXTREMA = tuple(Symbol("function", name) for name in ("max", *LIMIT_FUNCTIONS))


@lru_cache(1024)  # the plans of a page share most formulas
def mathml_line(line: str) -> str:
    """A formula or a line of arithmetic as HTML: words as text, mathematics as `<math>`, everything escaped.

    A number is one element `<mn>` with the digits of the line, or two with a power of ten. A long formula has several
    elements `<math>`: a line may end before an equals sign or an arrow.

    >>> mathml_line("where j < √d")
    'where <math displaystyle="true"><mi>j</mi><mo stretchy="false">&lt;</mo><msqrt><mi>d</mi></msqrt></math>'
    """
    written = ""
    for part in read_line(line):
        if not isinstance(part, Text):
            written += _formula(part, is_continued=bool(written) and begins_with_operator(part))
            continue
        text = "".join(html_text(symbol.text) for symbol in part.symbols)
        if written.endswith(_END) and text.startswith(_PUNCTUATION):
            written = f"{written.removesuffix(_END)}<mtext>{text[0]}</mtext>{_END}"  # else a line could begin with it
            text = text[1:]
        written += text
    return written


def _formula(formula: Formula, *, is_continued: bool) -> str:
    """A formula; a long one in several pieces that a line may end between: browsers never break a formula."""
    whole = _elements(formula, is_continued=is_continued)
    if len(_TAG.sub("", whole)) <= _MAX_UNBROKEN:
        return f"{_START}{whole}{_END}"
    starts = [0, *(at for at, item in enumerate(formula) if at > 0 and _is_sign(item, _RELATIONS)), len(formula)]
    parts = (formula[start:end] for start, end in pairwise(starts))
    return "<wbr/>".join(f"{_START}{_elements(part, is_continued=is_continued)}{_END}" for part in parts)


def _elements(formula: Formula, *, is_continued: bool = False) -> str:
    """The elements of a formula; a sign at the start of a continued one is binary."""
    items = with_fractions(formula)
    written, has_left = "", is_continued  # whether a term is on the left of a sign
    neighbours = zip((None, *items), items, (*items[1:], None), (*items[2:], None, None), strict=False)
    for before, item, after, operand in neighbours:
        if is_blank(item):
            if not (_is_operator(before) or _is_operator(after)):  # an operator has its own space
                written += _WORD_SPACE if isinstance(item, Symbol) and item.kind == "space" else _THIN_SPACE
            continue
        if _is_sign(item, _PLUS_MINUS):
            written += _sign_element(item.text, has_left=has_left)
        elif _is_sign(item, "/"):
            left, right = ("0.2em" if is_blank(neighbour) else "0" for neighbour in (before, after))
            written += f'<mo lspace="{left}" rspace="{right}">/</mo>'
        elif isinstance(item, Scripted):
            written += _scripted_element(item, is_applied=is_blank(after) and not _is_operator(operand))
        else:
            written += _element(item)
        has_left = not _is_operator(item)
    return written


def _element(item: Base) -> str:
    """The element of an item without scripts, other than a space."""
    match item:
        case Fraction(numerator, denominator):
            above, below = (f"<mrow>{_elements(part)}</mrow>" for part in (numerator, denominator))
            return f"<mfrac>{above}{below}</mfrac>"
        case Root(content):
            return f"<msqrt>{_elements(content)}</msqrt>" if content else "<mo>√</mo>"
        case Brackets(opening, content, closing):
            stretchy = str(_is_tall(content)).lower()  # as tall as the content, or as a letter
            before, after = (f'<mo form="{form}" stretchy="{stretchy}">' for form in ("prefix", "postfix"))
            return f"<mrow>{before}{opening}</mo>{_elements(content)}{after}{closing}</mo></mrow>"
        case Symbol(kind, text):
            return _ELEMENT_OF_KIND.get(kind, _character)(text)


def _scripted_element(item: Scripted, *, is_applied: bool) -> str:
    """An item with all its subscripts and superscripts; a sum or a maximum of terms has them below."""
    element = "<mrow></mrow>" if item.base is None else _element(item.base)
    scripts = [part for script in item.scripts for part in _flat(script)]
    lower, upper = (
        _THIN_SPACE.join(_elements(script.content) for script in scripts if script.mark == mark)
        for mark in (SUBSCRIPT, SUPERSCRIPT)
    )
    if lower and upper:
        return f"<msubsup>{element}<mrow>{lower}</mrow><mrow>{upper}</mrow></msubsup>"
    if upper:
        return f"<msup>{element}<mrow>{upper}</mrow></msup>"
    has_limits = item.base == _SUM or (is_applied and item.base in _EXTREMA)
    tag = "munder" if has_limits else "msub"
    return f"<{tag}>{element}<mrow>{lower}</mrow></{tag}>"


def _is_tall(formula: Formula) -> bool:
    """Whether a formula contains a fraction, so that its brackets grow."""
    return any(
        isinstance(base, Fraction) or (isinstance(base, Root | Brackets) and _is_tall(base.content))
        for item in with_fractions(formula)
        for base in (item.base if isinstance(item, Scripted) else item,)
    )


def _flat(script: Script) -> Iterator[Script]:
    """A script with the scripts of its word as further ones: the S of `K_allₛ` is next to `all`, not below it.

    A sign above a subscript's letter moves likewise: `W_Vᵀ` is W_V transposed.
    """
    match script.content:
        case (Scripted(Symbol("word" | "variable" as kind) as base, scripts),) if (
            kind == "word" or script.mark == SUBSCRIPT
        ):
            yield Script(script.mark, (base,))
            yield from scripts
        case _:
            yield script


def _is_operator(item: Item | None) -> bool:
    """Whether an item is an operator or a separator, with or without scripts; so is nothing, next to a bracket."""
    base = item.base if isinstance(item, Scripted) else item
    return base is None or base == _SUM or _is_sign(base, f"{OPERATORS}-,;")


def _is_sign(item: object, signs: str) -> TypeGuard[Symbol]:
    """Whether an item is one of these characters."""
    return isinstance(item, Symbol) and item.kind == "sign" and item.text in signs


def _sign_element(sign: str, *, has_left: bool) -> str:
    """The element of a plus or minus: between two terms, or before one."""
    return f'<mo form="{"infix" if has_left else "prefix"}">{_SIGNS.get(sign, sign)}</mo>'


def _number(text: str) -> str:
    """A number, with its power of ten if it has one.

    >>> _number("1e−07")
    '<mrow><mn>1</mn><mo>×</mo><msup><mn>10</mn><mn>−7</mn></msup></mrow>'
    """
    digits, power = split_number(text)
    if power is None:
        return f"<mn>{digits}</mn>"
    exponent = str(power).replace("-", "−")
    return f"<mrow><mn>{digits}</mn><mo>×</mo><msup><mn>10</mn><mn>{exponent}</mn></msup></mrow>"


def _vector(text: str) -> str:
    """The numbers in brackets, as a row."""
    entries = _ENTRY_SPACE.join(_entry(*entry) for entry in vector_entries(text))
    return f"<mrow><mo>[</mo>{entries}<mo>]</mo></mrow>"


def _entry(sign: str, number: str) -> str:
    """One entry of a vector."""
    element = _number(number) if number[0].isdecimal() else f"<mi>{number}</mi>"
    return f"{_sign_element(sign, has_left=False)}{element}" if sign else element


def _variable(text: str) -> str:
    """A letter, which may have a circumflex."""
    letter = f"<mi>{text[0]}</mi>"
    return letter if len(text) == 1 else f'<mover accent="true">{letter}<mo stretchy="false">^</mo></mover>'


def _script(text: str) -> str:
    """The characters of a subscript or superscript: one element for a number, one for each letter."""
    if text == "T":
        return "<mo>⊤</mo>"
    runs = ((is_number, "".join(run)) for is_number, run in groupby(text, str.isdecimal))
    return "".join(f"<mn>{run}</mn>" if is_number else "".join(map(_character, run)) for is_number, run in runs)


def _character(text: str) -> str:
    """Any other character: a letter, an operator, or one that is not mathematics."""
    if text == "Σ":
        return "<mo>∑</mo>"
    if text in "∞…" or text.isalpha():
        return f"<mi>{html_text(text)}</mi>"
    # An unpaired bracket must not grow with the line.
    return f'<mo stretchy="false">{html_text(_SIGNS.get(text, text))}</mo>'


_ELEMENT_OF_KIND: dict[str, Callable[[str], str]] = {
    "number": _number,
    "vector": _vector,
    "variable": _variable,
    "script": _script,
    "function": lambda text: f"<mi>{text}</mi>",
    "name": lambda text: f"<mi>{html_text(text)}</mi>",
    "word": lambda text: f"<mtext>{html_text(text)}</mtext>",
    "label": lambda text: f"<mtext>{html_text(text)}</mtext>",
}
