"""Scalars of YAML 1.2's core schema in decimal: `1e3` is a number, `010` is ten, `no` and `0x10` are words.

Hexadecimal, octal and binary numbers are no numbers in any reader: CSV and JSON have none.
"""

import re
from typing import Any

from attncli.base.errors import AttnError
from attncli.base.text import shorten

MAX_INTEGER_DIGITS = 300  # digits; a longer one is read as a floating-point number, or is too large for one

_INTEGER = re.compile(r"[-+]?[0-9]+\Z")
_RADIX = re.compile(r"0o[0-7]+\Z|0x[0-9a-fA-F]+\Z")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?\Z")
_WORDS: dict[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **{sign + word: float(f"{sign}inf") for sign in ("", "+", "-") for word in (".inf", ".Inf", ".INF")},
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
}


def scalar(text: str) -> Any:
    """The value of a plain word: a number, a boolean, None, or the word itself.

    Raises AttnError where a number is larger than any floating-point number.

    >>> scalar("1e3"), scalar("010"), scalar("no"), scalar("~")
    (1000.0, 10, 'no', None)
    """
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.match(text) and len(text) < MAX_INTEGER_DIGITS:
        return int(text)
    if _FLOAT.match(text):
        number = float(text)
        if number in (float("inf"), float("-inf")):
            raise AttnError(f"{shorten(text)} is too large for a floating-point number")
        return number
    return text


def is_word(text: str) -> bool:
    """Whether a plain text would be read as the word that it is, also by readers of hexadecimal and octal numbers."""
    try:
        return not _RADIX.match(text) and isinstance(scalar(text), str)
    except AttnError:
        return False
