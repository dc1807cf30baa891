r"""Formulas and texts for LaTeX in plain ASCII: no character is a command, a ligature or dropped by an engine.

Formulas and lines of arithmetic, in the notation of records and explanations, become text with `$…$` in it.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator

from attncli.base.text import escape_control, greek_name
from attncli.render.formats.formulas import (
    FUNCTIONS,
    Brackets,
    Formula,
    Fraction,
    Item,
    Root,
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

_MAX_MATRIX_COLUMNS = 10  # of the matrices of amsmath
_MAX_MATRIX_WIDTH = 40  # characters: LaTeX never breaks a matrix, and a wider one would leave the page
BREAKABLE_GAP = r"\quad\allowbreak "  # between numbers: a line may end here
_MATH_SIGNS = {
    "…": r"\dots",
    "Σ": r"\sum",
    "~": r"\sim",
    "\\": r"\backslash",
    "^": r"\wedge",
    "'": "{'}",
}
# The document defines this if a label has a character without a LaTeX command: Unicode engines print the character if
# the font has it, others its number. Nothing vanishes.
CHARACTER_COMMAND = r"\unicodecharacter"
CHARACTER_DEFINITION = (
    rf"\providecommand{{{CHARACTER_COMMAND}}}[1]{{\ifdefined\Uchar\iffontchar\font" + '"#1 '
    r'\Uchar"#1 \else\texttt{U+#1}\fi\else\texttt{U+#1}\fi}'
)

# Signs of this package as commands of math mode.
_MATH_COMMANDS = {
    "−": "-",
    "∞": r"\infty",
    "→": r"\to",
    "×": r"\times",
    "·": r"\cdot",
    "≈": r"\approx",
    "≤": r"\le",
    "≥": r"\ge",
    "‖": r"\|",
    "⌊": r"\lfloor",
    "⌋": r"\rfloor",
    "±": r"\pm",
    "√": r"\surd",
    "≠": r"\ne",
    "°": r"{^\circ}",
    "●": r"\bullet",
    "▷": r"\triangleright",
    "╱": "/",
    "░": r"\circ",
    "□": r"\diamond",  # plain LaTeX has no square
    "▲": r"\uparrow",
    "▼": r"\downarrow",
    "◆": r"\star",
    "✓": r"\surd",
    "✗": r"\times",
}
_TEXT_COMMANDS = {
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\texttt{\char34}",
    "[": "{[}",  # after `\\` it would begin an argument
    "*": "{*}",
    "…": r"\ldots{}",
    "–": "--",
    "—": "---",
    "‘": "`",
    "’": "'",
    "“": "``",
    "”": "''",
    "§": r"\S{}",
    "ß": r"\ss{}",
    "æ": r"\ae{}",
    "Æ": r"\AE{}",
    "œ": r"\oe{}",
    "Œ": r"\OE{}",
    "ø": r"\o{}",
    "Ø": r"\O{}",
    "ł": r"\l{}",
    "Ł": r"\L{}",
}
# Commands for accents, by the combining characters of Unicode's decompositions.
_ACCENTS = {
    "\u0300": "`",
    "\u0301": "'",
    "\u0302": "^",
    "\u0303": "~",
    "\u0304": "=",
    "\u0306": "u",
    "\u0307": ".",
    "\u0308": '"',
    "\u030a": "r",
    "\u030b": "H",
    "\u030c": "v",
    "\u0323": "d",
    "\u0327": "c",
    "\u0331": "b",
}
_NO_LIGATURE = r"\kern0pt "  # between two characters that engines would join, such as `--` to a dash
_LIGATURES = re.compile(r"(?<=[-'`,!?])(?=[-'`,])")
# Greek letters without a LaTeX command: they look like these Latin ones.
_SAME_INITIAL = ("Alpha", "Beta", "Epsilon", "Zeta", "Iota", "Kappa", "Mu", "Nu", "Omicron", "Tau", "omicron")
_LATIN_LOOKALIKES = {"Eta": "H", "Rho": "P", "Chi": "X", **{name: name[0] for name in _SAME_INITIAL}}


def latex_line(line: str) -> str:
    r"""A formula or a line of arithmetic as text with math mode in it; needs the package amsmath.

    >>> print(latex_line("Sᵢⱼ = Qᵢ·Kⱼ / √d, where j ≤ 3"))
    $S_{ij} = Q_{i}\cdot K_{j} / \sqrt{d}$, where $j \le 3$
    >>> print(latex_line("0.5·[2 −1] = [1 −0.5]"))
    $0.5\cdot\begin{pmatrix}2 & -1\end{pmatrix} = \begin{pmatrix}1 & -0.5\end{pmatrix}$
    """
    written = ""
    for part in read_line(line):
        if isinstance(part, Text):
            for symbol in part.symbols:
                written += (latex_label if symbol.kind == "label" else latex_text)(symbol.text)
        else:
            is_binary = written and begins_with_operator(part)
            written += f"${'{}' if is_binary else ''}{latex_formula(part)}$"
    return written


def latex_display(line: str) -> str | None:
    r"""A formula for a line of its own, in math mode with fractions; None if the line is mostly words.

    >>> print(latex_display("Sᵢⱼ = Qᵢ·Kⱼ / √d"))
    S_{ij} =\frac{Q_{i}\cdot K_{j}}{\sqrt{d}}
    >>> latex_display("the same as scores")
    """
    parts = list(read_line(line))
    if not parts or isinstance(parts[0], Text):
        return None
    return "".join(
        rf"\text{{{latex_label(''.join(symbol.text for symbol in part.symbols))}}}"
        if isinstance(part, Text)
        else latex_formula(with_fractions(part))
        for part in parts
    )


def latex_text(text: str) -> str:
    r"""The text as LaTeX prints it, in ASCII: a command for every character except ASCII letters and digits.

    >>> print(latex_text("50% of [CLS]_é"))
    50\% of {[}CLS]\_\'{e}
    >>> print(latex_text("猫"))
    \unicodecharacter{732B}
    """
    pieces = _LIGATURES.split(escape_control(text))
    return _NO_LIGATURE.join("".join(map(_character, piece)) for piece in pieces)


def latex_label(label: str) -> str:
    r"""A label as LaTeX prints it, with the spaces at its ends and between words.

    >>> latex_label(" a  b")
    '\\ a \\ b'
    """
    return re.sub(r"^ | $|(?<= ) ", r"\\ ", latex_text(label))


def _character(character: str) -> str:
    """One character in text."""
    if character in _TEXT_COMMANDS:
        return _TEXT_COMMANDS[character]
    if character.isascii():
        return character
    if character in _MATH_COMMANDS or greek_name(character):
        return f"${_math_character(character)}$"
    decomposed = unicodedata.normalize("NFD", character)
    letter, accents = decomposed[0], decomposed[1:]
    if letter.isascii() and all(accent in _ACCENTS for accent in accents):
        for accent in accents:
            letter = f"\\{_ACCENTS[accent]}{{{letter}}}"
        return letter
    return f"{CHARACTER_COMMAND}{{{ord(character):04X}}}"


def _math_character(character: str) -> str | None:
    r"""The command of a sign or a Greek letter in math mode; None for other characters.

    >>> print(_math_character("θ"), _math_character("≤"), _math_character("Σ"))
    \theta \le \Sigma
    """
    if character in _MATH_COMMANDS:
        return _MATH_COMMANDS[character]
    name = greek_name(character)
    return None if name is None else _LATIN_LOOKALIKES.get(name, f"\\{name}")


def latex_formula(formula: Formula) -> str:
    """A formula in math mode; a space ends a command before a letter."""
    pieces = list(_pieces(formula))
    separated = [
        f" {piece}" if piece[:1].isalpha() and re.search(r"\\[A-Za-z]+$", before) else piece
        for before, piece in zip(("", *pieces), pieces, strict=False)
    ]
    return "".join(separated)


def _pieces(formula: Formula) -> Iterator[str]:
    """The commands and characters of a formula, in order."""
    marks = ""  # for consecutive scripts: a second subscript needs its own base
    for item in formula:
        base, scripts = (item.base, item.scripts) if isinstance(item, Scripted) else (item, ())
        if base is not None:
            marks = marks if is_blank(base) else ""
            yield from _base(base, has_script=bool(scripts))
        for script in scripts:
            yield ("{}" if script.mark in marks else "") + f"{script.mark}{{{latex_formula(script.content)}}}"
            marks += script.mark


def _base(base: Item, *, has_script: bool) -> Iterator[str]:
    """The commands and characters of a base."""
    match base:
        case Brackets(opening, content, closing):
            yield _sign(opening)
            yield from _pieces(content)
            yield _sign(closing)
        case Fraction(numerator, denominator):
            yield f"\\frac{{{latex_formula(numerator)}}}{{{latex_formula(denominator)}}}"
        case Root(content):
            yield f"\\sqrt{{{latex_formula(content)}}}" if content else r"\surd"
        case Symbol(kind, text):
            written = _MATH_OF_KIND.get(kind, _sign)(text)
            # A script on a number with a power of ten applies to the whole.
            yield f"({written})" if has_script and kind == "number" and "^" in written else written


def _number(text: str) -> str:
    """A number, with its power of ten where it has one."""
    digits, power = split_number(text.replace(",", "{,}"))  # without braces LaTeX adds a space after a comma
    return digits if power is None else rf"{digits}\times 10^{{{power}}}"


def _vector(text: str) -> str:
    """The numbers in brackets as a matrix of one row; a long row may break between two numbers."""
    entries = [_entry(*entry) for entry in vector_entries(text)]
    if len(entries) <= _MAX_MATRIX_COLUMNS and len(text) <= _MAX_MATRIX_WIDTH:
        return rf"\begin{{pmatrix}}{' & '.join(entries)}\end{{pmatrix}}"
    return rf"\bigl({BREAKABLE_GAP.join(entries)}\bigr)"


def _entry(sign: str, number: str) -> str:
    """One entry of a vector."""
    words = {"∞": r"\infty", "…": r"\cdots", "NaN": r"\text{NaN}"}
    return sign.replace("−", "-") + (words.get(number) or _number(number))


def _script(text: str) -> str:
    """The characters of a subscript or superscript."""
    if text == "T":
        return r"\top"
    plain = text.replace("−", "-")
    return "".join(character if character.isascii() else f"{{{_sign(character)}}}" for character in plain)


def _sign(text: str) -> str:
    """Any other character."""
    command = _MATH_SIGNS.get(text) or _math_character(text)
    if command:
        return command
    if text in "{}%&#$_":
        return f"\\{text}"
    return text if text.isascii() else rf"\text{{{latex_text(text)}}}"


_MATH_OF_KIND: dict[str, Callable[[str], str]] = {
    "number": _number,
    "vector": _vector,
    "function": lambda name: rf"\{name}" if name in FUNCTIONS else rf"\operatorname*{{{name}}}",
    "word": lambda text: rf"\text{{{latex_text(text)}}}",
    "label": lambda text: rf"\text{{{latex_label(text)}}}",
    "name": lambda text: rf"\operatorname{{{latex_text(text)}}}",
    "variable": lambda text: rf"\hat{{{text[0]}}}" if len(text) > 1 else text,
    "script": _script,
    "blank": lambda _text: " ",
    "space": lambda _text: r"\ ",
}
