"""Words for numbers: NaN, the infinities and expressions, and what to write for those that are no number."""

import re

from attncli.base.expressions import DECIMAL, evaluate

_NON_FINITE = re.compile(r"([-+]?)\.?(inf|infinity|nan)", re.IGNORECASE | re.ASCII)
_DECIMAL_COMMA = re.compile(r"[-+]?[0-9]+,[0-9]+", re.ASCII)
_NOT_DECIMAL = re.compile(r"[-+]?(0x[0-9a-f_]+|0o?[0-7_]+|0b[01_]+|[0-9][0-9_]*(\.[0-9_]*)?)", re.IGNORECASE | re.ASCII)


def non_finite(word: str) -> float | None:
    """The number that a word stands for: NaN or an infinity, as any program spells them; None for any other word.

    Every reader of matrices has this rule: `nan`, `.nan`, `NaN`, `inf`, `-Infinity`, `+.INF`.

    >>> non_finite("-Infinity"), non_finite(".nan"), non_finite("info")
    (-inf, nan, None)
    """
    match = _NON_FINITE.fullmatch(word)
    return None if match is None else float(f"{match[1]}{match[2]}")


def number_of_text(text: str) -> float | None:
    """The number that a text stands for beside plain decimal ones: NaN, an infinity, `1/2`, `sqrt(3)`; None for others.

    Raises AttnError where an expression divides by zero, or its value is no finite number.

    >>> number_of_text("-inf"), number_of_text("1/2"), number_of_text("2")
    (-inf, 0.5, None)
    """
    number = non_finite(text)
    return evaluate(text) if number is None else number


def number_hint(word: str) -> str | None:
    """What to write for a word that is meant as a number and is none: with a comma, a sign `−`, hexadecimal, in quotes.

    >>> number_hint("1,5"), number_hint("0x1F"), number_hint("cat")
    ('write the decimal point as a point: 1.5', 'write it in decimal digits: 31', None)
    >>> number_hint("1.5")
    'write it without quotes'
    """
    if DECIMAL.fullmatch(word):  # readers took it for text
        return "write it without quotes"
    if "−" in word and DECIMAL.fullmatch(plain := word.replace("−", "-")):  # as this program prints it
        return f"write the minus sign as a hyphen: {plain}"
    if _DECIMAL_COMMA.fullmatch(word):
        return f"write the decimal point as a point: {word.replace(',', '.')}"
    if not _NOT_DECIMAL.fullmatch(word):
        return None
    try:
        number: float = int(word, 0)
    except ValueError:
        try:
            number = float(word)
        except ValueError:
            return None
    return f"write it in decimal digits: {number}"
