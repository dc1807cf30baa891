"""Text: escapes, excerpts, sentences and delimited rows; and replacements for signs that an encoding lacks.

In ASCII `Sᵢⱼ = Qᵢ·Kⱼ` is `S_ij = Q_i*K_j`.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from html import escape
from itertools import groupby
from typing import TypeVar

SCRIPT_MARKS = {"<sub>": "_", "<super>": "^"}  # Unicode's forms of scripts, and their replacements
# The other signs that this package writes; Unicode itself knows the letters of scripts and the names of Greek ones.
_SIGNS = {
    "−": "-", "–": "-", "—": "-", "─": "-", "│": "|", "┤": "|", "┌": "+", "┐": "+", "└": "+", "┘": "+", "┬": "+",
    "×": "x", "±": "+/-", "≈": "~=", "≤": "<=", "≥": ">=", "≠": "!=", "→": "->", "∞": "inf", "√": "sqrt", "Σ": "sum",
    "·": ".", "…": "...", "‖": "||", "⌊": "floor(", "⌋": ")", "§": "section ", "°": "deg", "’": "'", "«": '"', "»": '"',
    "∘": "*", "\u0302": "_hat",  # the combining circumflex of x̂
    "✓": "ok", "✗": "not ok", "●": "o", "▷": ">", "╱": "/", "░": "#", "□": "?", "▲": "^", "▼": "v", "◆": "!",
    "½": "1/2",
}  # fmt: skip

# They change the direction of the text after them, so that a label may look like another one.
_OVERRIDES = re.compile("[\u202a-\u202e\u2066-\u2069]")
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

Value = TypeVar("Value", bound=Hashable)


def escape_control(text: str) -> str:
    r"""The text with control characters as escapes, so that no terminal interprets them and a line stays one line.

    >>> escape_control("a\nb")
    'a\\nb'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def html_text(text: str) -> str:
    r"""A text for HTML: without markup, and with control characters as escapes.

    >>> html_text("<b>\n")
    '&lt;b&gt;\\n'
    """
    return escape(escape_control(text))


def escape_unseen(text: str) -> str:
    r"""The text of several lines with control characters and changes of direction as escapes.

    >>> escape_unseen("a\x1b\u202eb")
    'a\\x1b\\u202eb'
    """
    return _UNSEEN.sub(lambda character: character[0].encode("unicode_escape").decode(), text)


def escape_overrides(text: str) -> str:
    r"""The text with changes of direction as escapes that JSON and YAML read back.

    >>> escape_overrides("a\u202eb")
    'a\\u202eb'
    """
    return text if text.isascii() else _OVERRIDES.sub(lambda character: f"\\u{ord(character[0]):04x}", text)


def join_words(words: Sequence[str]) -> str:
    """The words as a list in a sentence.

    >>> join_words(["query", "key", "value"])
    'query, key and value'
    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def count_of(number: int, noun: str) -> str:
    """A number and its noun.

    >>> count_of(1, "row"), count_of(2, "row"), count_of(0, "query"), count_of(3, "axis")
    ('1 row', '2 rows', '0 queries', '3 axes')
    """
    return f"{number} {noun if number == 1 else _plural(noun)}"


def there_are(number: int, noun: str) -> str:
    """A clause with a number and its noun.

    >>> there_are(1, "label"), there_are(2, "label")
    ('there is 1 label', 'there are 2 labels')
    """
    return f"there {'is' if number == 1 else 'are'} {count_of(number, noun)}"


def _plural(noun: str) -> str:
    """The plural of a noun."""
    if noun.endswith("xis"):
        return f"{noun[:-2]}es"
    return f"{noun[:-1]}ies" if re.search(r"[^aeou]y\Z", noun) else f"{noun}s"


def sentence(text: str) -> str:
    """The text with a capital letter and a full stop.

    >>> sentence("the seed of the random numbers")
    'The seed of the random numbers.'
    """
    return f"{text[0].upper()}{text[1:]}."


def shorten(text: str, max_length: int = 40) -> str:
    """The text, cut off with `...` if it is longer than `max_length`.

    >>> shorten("one two three", 8)
    'one t...'
    """
    return text if len(text) <= max_length else f"{text[: max_length - 3]}..."


def repr_excerpt(value: object) -> str:
    r"""A value as Python writes it, on one line and cut off after 40 characters.

    >>> repr_excerpt([["a\nb"], (1, 2)])
    "[['a\\nb'], (1, 2)]"
    """
    try:
        return shorten(one_line(repr(value)))
    except (ValueError, RecursionError):  # Python refuses integers of many thousand digits, and deeply nested lists
        return f"<{type(value).__name__} too long to show>"


def one_line(text: str) -> str:
    r"""The lines of a text as one line, without their indentation.

    >>> one_line("[1,\n 2]")
    '[1, 2]'
    """
    return " ".join(line.strip() for line in text.splitlines())


def most_common(values: Sequence[Value]) -> Value:
    """The most common value; of equally common ones the first.

    >>> most_common([2, 3, 3, 2])
    2
    """
    return Counter(values).most_common(1)[0][0]


def first_duplicate(values: Sequence[Value]) -> Value:
    """The first value that occurs more than once; one must.

    >>> first_duplicate(["the", "cat", "sat", "cat", "the"])
    'the'
    """
    counts = Counter(values)
    return next(value for value in values if counts[value] > 1)


def delimited_rows(rows: Iterable[Sequence[object]], delimiter: str = ",") -> str:
    r"""The rows as delimited text (CSV, TSV), each ending in a newline.

    >>> delimited_rows([["cat", 1.5], ["a, b", 2]])
    'cat,1.5\n"a, b",2\n'
    """
    return "".join(delimiter.join(delimited_cell(cell, delimiter) for cell in row) + "\n" for row in rows)


def delimited_cell(cell: object, delimiter: str) -> str:
    """A number as Python writes it, or text, in quotes if readers would otherwise change it.

    Text needs quotes if it begins with `#` (a comment), begins or ends with a space, or has a character that delimits
    cells in this or another dialect.
    """
    if not isinstance(cell, str):
        return str(cell)
    if cell.isidentifier():
        return cell
    needs_quotes = cell.startswith("#") or cell != cell.strip() or any(c in cell for c in f',;\t\r\n"{delimiter}')
    return '"' + cell.replace('"', '""') + '"' if needs_quotes else cell


def without_formula(text: str) -> str:
    """A text, with an apostrophe before it if spreadsheets would read a formula; a number stays.

    >>> without_formula("=1+1"), without_formula("-1.5"), without_formula("cat")
    ("'=1+1", '-1.5', 'cat')
    """
    is_formula = text[:1] in ("=", "+", "-", "@", "\t", "\r") and not re.fullmatch(r"[-+]?[0-9.]+", text)
    return f"'{text}" if is_formula else text


def json_excerpt(value: object) -> str:
    """A value as JSON writes it, cut off after 40 characters.

    >>> json_excerpt([True, None, "yes"])
    '[true, null, "yes"]'
    """
    import json  # noqa: PLC0415 - only an error needs it

    try:
        return shorten(json.dumps(value, ensure_ascii=False, default=repr))
    except (TypeError, ValueError, RecursionError):  # keys or values that JSON does not have
        return repr_excerpt(value)


def transliterate(text: str, encoding: str) -> str:
    r"""The text with replacements for the signs that an encoding lacks.

    A letter loses its accent; an unknown character, such as a label's in another script, becomes an escape: `\u732b`.

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
        text = re.sub(r"(?<=\S)·(?=\S)", "*", text)  # a product; with spaces it is a sign of masks
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
    """The replacement for a run of characters of one form: scripts, or one character, repeated."""
    if form in SCRIPT_MARKS:
        return SCRIPT_MARKS[form] + plain_script(run)
    return (_SIGNS.get(form) or greek_name(form) or _escape(form)) * len(run)


def _without_accents(character: str) -> str:
    """A Latin letter without its accents; other characters as they are."""
    letter = unicodedata.normalize("NFD", character)[0]
    return letter if letter.isascii() and letter.isalpha() else character


def _escape(character: str) -> str:
    """The escape that replaces a character."""
    return character.encode("ascii", "backslashreplace").decode()


def _has(encoding: str, character: str) -> bool:
    """Whether an encoding has a character."""
    try:
        character.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True
