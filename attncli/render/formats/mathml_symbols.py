"""The elements of MathML for the symbols of formulas: numbers, letters, words, signs and the blanks between them."""

from collections.abc import Callable
from html import escape
from itertools import groupby

from attncli.base.text import escape_control
from attncli.render.formats.formula_tree import Symbol

THIN_SPACE, WORD_SPACE, _ENTRY_SPACE = (f'<mspace width="{width}em"/>' for width in (0.17, 0.3, 0.7))
_SIGNS = {"-": "−", "~": "∼", "'": "′"}


def escaped(text: str) -> str:
    """Text for HTML and XML."""
    return escape(escape_control(text))


def symbol_element(symbol: Symbol) -> str:
    """The element of a symbol that is no blank.

    >>> symbol_element(Symbol("number", "1e−07"))
    '<mrow><mn>1</mn><mo>×</mo><msup><mn>10</mn><mn>−7</mn></msup></mrow>'
    """
    return _ELEMENT_OF_KIND.get(symbol.kind, _character)(symbol.text)


def brackets_element(opening: str, content: str, closing: str, *, is_tall: bool) -> str:
    """Elements between brackets or bars, which are as tall as these or as a letter."""
    before, after = (f'<mo form="{form}" stretchy="{str(is_tall).lower()}">' for form in ("prefix", "postfix"))
    return f"<mrow>{before}{opening}</mo>{content}{after}{closing}</mo></mrow>"


def sign_element(sign: str, *, has_left: bool) -> str:
    """The element of a plus or minus: between two terms, or before one."""
    return f'<mo form="{"infix" if has_left else "prefix"}">{_SIGNS.get(sign, sign)}</mo>'


def slash_element(*, has_blank_before: bool, has_blank_after: bool) -> str:
    """The element of a slash that is no fraction, with its blanks."""
    left, right = ("0.2em" if has_blank else "0" for has_blank in (has_blank_before, has_blank_after))
    return f'<mo lspace="{left}" rspace="{right}">/</mo>'


def _number(text: str) -> str:
    """A number: `1.2e−07` is 1.2 times ten to the power of −7."""
    mantissa, e, exponent = text.replace("−", "-").partition("e")
    if not e:
        return f"<mn>{text}</mn>"
    power = str(int(exponent)).replace("-", "−")
    return f"<mrow><mn>{mantissa}</mn><mo>×</mo><msup><mn>10</mn><mn>{power}</mn></msup></mrow>"


def _vector(text: str) -> str:
    """The numbers in brackets, as a row."""
    entries = _ENTRY_SPACE.join(map(_entry, text[1:-1].split(" ")))
    return f"<mrow><mo>[</mo>{entries}<mo>]</mo></mrow>"


def _entry(text: str) -> str:
    """One entry of a vector, with its sign."""
    magnitude = text.removeprefix("−")
    element = _number(magnitude) if magnitude[0].isdecimal() else f"<mi>{magnitude}</mi>"
    return element if magnitude == text else f"{sign_element('−', has_left=False)}{element}"


def _variable(text: str) -> str:
    """A letter, which may have a circumflex."""
    letter = f"<mi>{text[0]}</mi>"
    return letter if len(text) == 1 else f'<mover accent="true">{letter}<mo stretchy="false">^</mo></mover>'


def _script(text: str) -> str:
    """The characters of a subscript or superscript: a number has one element, each letter its own."""
    if text == "T":
        return "<mo>⊤</mo>"
    runs = ((is_number, "".join(run)) for is_number, run in groupby(text, str.isdecimal))
    return "".join(f"<mn>{run}</mn>" if is_number else "".join(map(_character, run)) for is_number, run in runs)


def _character(text: str) -> str:
    """Any other character: a letter, an operator, or one that is no mathematics."""
    if text == "Σ":
        return "<mo>∑</mo>"
    if text in "∞…" or text.isalpha():
        return f"<mi>{escaped(text)}</mi>"
    # A bracket without its other half must not grow with the line.
    return f'<mo stretchy="false">{escaped(_SIGNS.get(text, text))}</mo>'


_ELEMENT_OF_KIND: dict[str, Callable[[str], str]] = {
    "number": _number,
    "vector": _vector,
    "variable": _variable,
    "script": _script,
    "function": lambda text: f"<mi>{text}</mi>",
    "name": lambda text: f"<mi>{escaped(text)}</mi>",
    "word": lambda text: f"<mtext>{escaped(text)}</mtext>",
    "label": lambda text: f"<mtext>{escaped(text)}</mtext>",
}
