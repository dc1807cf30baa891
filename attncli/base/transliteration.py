"""Signs that an encoding lacks, in characters that it has: in ASCII `Sᵢⱼ = Qᵢ·Kⱼ` is `S_ij = Q_i*K_j`."""

import re
import unicodedata
from itertools import groupby

SCRIPT_MARKS = {"<sub>": "_", "<super>": "^"}  # the forms in which Unicode has scripts, and what stands for them

# The other signs that this package writes; Unicode itself knows the letters of scripts and the names of Greek ones.
_SIGNS = {
    "−": "-",
    "–": "-",
    "—": "-",
    "─": "-",
    "│": "|",
    "┤": "|",
    "┌": "+",
    "┐": "+",
    "└": "+",
    "┘": "+",
    "┬": "+",
    "×": "x",
    "±": "+/-",
    "≈": "~=",
    "≤": "<=",
    "≥": ">=",
    "≠": "!=",
    "→": "->",
    "∞": "inf",
    "√": "sqrt",
    "Σ": "sum",
    "·": ".",
    "…": "...",
    "‖": "||",
    "⌊": "floor(",
    "⌋": ")",
    "\u0302": "_hat",  # the combining circumflex of x̂
    "§": "section ",
    "°": "deg",
    "’": "'",
    "«": '"',
    "»": '"',
    "✓": "ok",
    "✗": "not ok",
    "●": "o",
    "▷": ">",
    "░": "#",
    "□": "?",
    "▲": "^",
    "▼": "v",
    "◆": "!",
}


def transliterate(text: str, encoding: str) -> str:
    r"""The text with the signs that an encoding lacks in characters that it has.

    A letter with an accent loses it; a character that nothing is known of, such as one of a label in another script,
    becomes an escape: `\u732b`.

    >>> transliterate("Sᵢⱼ = 2σ² √d·pos θ → −∞", "ascii")
    'S_ij = 2 sigma^2 sqrt(d)*pos theta -> -inf'
    >>> transliterate("Sᵢⱼ = 2σ² √d·pos θ → −∞", "cp1252")
    'S_ij = 2 sigma² sqrt(d)·pos theta -> -inf'
    """
    lacking = frozenset() if text.isascii() else {c for c in set(text) if not _has(encoding, c)}
    if not lacking:
        return text
    text = "".join(_without_accents(c) if c in lacking else c for c in text)
    if "√" in lacking:
        text = re.sub(r"√([\w.]+)", r"√(\1)", text)
    if "·" in lacking:
        text = re.sub(r"(?<=\S)·(?=\S)", "*", text)  # a product; elsewhere it is a sign of masks
    written, is_replaced = "", False
    for form, characters in groupby(text, lambda c: (script_form(c) or c) if c in lacking else ""):
        run = "".join(characters)
        piece = run if not form else _replacement(form, run)
        joins_words = written[-1:].isalnum() and piece[:1].isascii() and piece[:1].isalnum()
        written += f" {piece}" if joins_words and (form or is_replaced) else piece
        is_replaced = bool(form)
    return written


def script_form(character: str) -> str:
    """`<sub>` for a subscript, `<super>` for a superscript, otherwise nothing.

    >>> script_form("ᵢ"), script_form("ᵀ"), script_form("i")
    ('<sub>', '<super>', '')
    """
    form = unicodedata.decomposition(character).partition(" ")[0]
    return form if form in SCRIPT_MARKS else ""


def plain_script(scripts: str) -> str:
    """Subscripts or superscripts as usual characters.

    >>> plain_script("ᵢⱼ"), plain_script("ᵀ")
    ('ij', 'T')
    """
    return unicodedata.normalize("NFKC", scripts)


def greek_name(character: str) -> str | None:
    """The name of a Greek letter, as TeX has it; None for other characters.

    >>> greek_name("θ"), greek_name("Σ"), greek_name("a")
    ('theta', 'Sigma', None)
    """
    found = re.fullmatch(r"GREEK (SMALL|CAPITAL) LETTER (\w+)", unicodedata.name(character, ""))
    if found is None or not ("Α" <= character <= "Ω" or "α" <= character <= "ω"):
        return None
    name = {"LAMDA": "LAMBDA"}.get(found[2], found[2])
    return name.lower() if found[1] == "SMALL" else name.capitalize()


def _replacement(form: str, run: str) -> str:
    """What stands for a run of characters of one form: scripts, or one character, repeated."""
    if form in SCRIPT_MARKS:
        return SCRIPT_MARKS[form] + plain_script(run)
    return (_SIGNS.get(form) or greek_name(form) or _escape(form)) * len(run)


def _without_accents(character: str) -> str:
    """A Latin letter without its accents; other characters as they are."""
    letter = unicodedata.normalize("NFD", character)[0]
    return letter if letter.isascii() and letter.isalpha() else character


def _escape(character: str) -> str:
    """The escape that stands for a character."""
    return character.encode("ascii", "backslashreplace").decode()


def _has(encoding: str, character: str) -> bool:
    """Whether an encoding has a character."""
    try:
        character.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True
