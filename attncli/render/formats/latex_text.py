"""Text for LaTeX in plain ASCII: nothing in it is a command, a ligature or a character that an engine drops."""

import re
import unicodedata

from attncli.base.text import escape_control, greek_name

# Defined by the document where a label has a character that LaTeX has no command for: engines that read Unicode print
# it if the font has it, others its number. Nothing vanishes.
CHARACTER_COMMAND = r"\unicodecharacter"
CHARACTER_DEFINITION = (
    rf"\providecommand{{{CHARACTER_COMMAND}}}[1]{{\ifdefined\Uchar\iffontchar\font" + '"#1 '
    r'\Uchar"#1 \else\texttt{U+#1}\fi\else\texttt{U+#1}\fi}'
)

# Signs of this package as commands of math mode.
MATH_COMMANDS = {
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
    "≠": r"\ne",
    "°": r"{^\circ}",
    "●": r"\bullet",
    "▷": r"\triangleright",
    "░": r"\circ",
    "□": r"\diamond",  # plain LaTeX has no square
    "▲": r"\uparrow",
    "▼": r"\downarrow",
    "◆": r"\star",
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
# The commands of accents, by the combining character that Unicode decomposes a letter into.
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
NO_LIGATURE = r"\kern0pt "  # between two characters that engines would join, as `--` to a dash
_LIGATURES = re.compile(r"(?<=[-'`,!?])(?=[-'`,])")


def latex_text(text: str) -> str:
    r"""The text as LaTeX prints it, in ASCII: every character that is no letter or digit of it as a command.

    >>> print(latex_text("50% of [CLS]_é"))
    50\% of {[}CLS]\_\'{e}
    >>> print(latex_text("猫"))
    \unicodecharacter{732B}
    """
    pieces = _LIGATURES.split(escape_control(text))
    return NO_LIGATURE.join("".join(map(_character, piece)) for piece in pieces)


def latex_label(label: str) -> str:
    r"""A label as LaTeX prints it, with its blanks at both ends and between words.

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
    if character in MATH_COMMANDS or greek_name(character):
        return f"${math_character(character)}$"
    decomposed = unicodedata.normalize("NFD", character)
    letter, accents = decomposed[0], decomposed[1:]
    if letter.isascii() and all(accent in _ACCENTS for accent in accents):
        for accent in accents:
            letter = f"\\{_ACCENTS[accent]}{{{letter}}}"
        return letter
    return f"{CHARACTER_COMMAND}{{{ord(character):04X}}}"


# Greek letters that LaTeX has no command for: they look like these Latin ones.
_LATIN_LOOKALIKES = {
    "omicron": "o",
    "Alpha": "A",
    "Beta": "B",
    "Epsilon": "E",
    "Zeta": "Z",
    "Eta": "H",
    "Iota": "I",
    "Kappa": "K",
    "Mu": "M",
    "Nu": "N",
    "Omicron": "O",
    "Rho": "P",
    "Tau": "T",
    "Chi": "X",
}


def math_character(character: str) -> str | None:
    r"""The command of a sign or a Greek letter in math mode; None for other characters.

    >>> print(math_character("θ"), math_character("≤"), math_character("Σ"))
    \theta \le \Sigma
    """
    if character in MATH_COMMANDS:
        return MATH_COMMANDS[character]
    name = greek_name(character)
    return None if name is None else _LATIN_LOOKALIKES.get(name, f"\\{name}")
