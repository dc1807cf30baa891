"""The tokens of formulas and of lines of arithmetic, and which of them are words of a sentence."""

import re
from collections.abc import Sequence
from itertools import groupby

from attncli.base.dataclasses import dataclass
from attncli.base.text import SCRIPT_MARKS, script_form

# A label of the user stands between these two in a line, so that no part of it is read as mathematics.
LABEL_START, LABEL_END = "\ue000", "\ue001"

FUNCTIONS = ("exp", "ln", "tanh", "sin", "cos", "max")  # LaTeX has commands of these names
LIMIT_FUNCTIONS = ("argmax", "argmin")  # their subscripts belong below them, as those of max
_NUMBER = r"[0-9]+(?:\.[0-9]+)?(?:e[+−-][0-9]+)?"
_ENTRY = rf"(?:−?(?:{_NUMBER}|∞)|NaN|…)"
_TOKENS = re.compile(
    rf"""(?P<label>{LABEL_START}[^{LABEL_END}]*{LABEL_END})
    |(?P<vector>(?<![\w)\]{LABEL_END}])\[{_ENTRY}(?:\ {_ENTRY})*\])
    |(?P<number>{_NUMBER})
    |(?P<function>(?:{"|".join((*FUNCTIONS, *LIMIT_FUNCTIONS))})(?![A-Za-z]))
    |(?P<word>NaN|(?<=_)[A-Z]{{2,}}|[A-Za-z][a-z]+(?:_[a-z0-9]+)*[0-9]*|[a-z][0-9]+)
    |(?P<variable>[A-Za-z]\u0302?)
    |(?P<blank>\s+)
    |(?P<sign>.)""",
    re.VERBOSE | re.DOTALL,
)
OPENING, CLOSING = "([{⌊", ")]}⌋"
OPERATORS = "=≈−+/·×≤≥→<>~"
SCRIPTS = tuple(SCRIPT_MARKS.values())  # `_` and `^`


@dataclass(frozen=True)
class Token:
    """A piece of a line: a group of the pattern, its text, and how many brackets are open around it."""

    kind: str
    text: str
    depth: int

    @property
    def is_word(self) -> bool:
        """Whether it is printed upright, as words and labels are."""
        return self.kind in ("word", "label")


def tokenize(line: str) -> list[Token]:
    """The tokens of a line; a closing bracket is as deep as its opening one."""
    tokens, depth = list[Token](), 0
    # A circumflex belongs to the letter: Qₕ̂, C_all̂.
    line = re.sub(r"([A-Za-z])([^\sA-Za-z_]*(?:_[a-z]+)?[^\sA-Za-z_]*)\u0302", "\\1\u0302\\2", line)
    for found in _TOKENS.finditer(line):
        kind, text = found.lastgroup or "", found.group()
        script = script_form(text) if kind == "sign" else ""
        is_bracket = kind == "sign" and text in OPENING + CLOSING
        depth -= depth > 0 and is_bracket and text in CLOSING
        tokens.append(Token(script or kind, text, depth))
        depth += is_bracket and text in OPENING
    return tokens


def text_flags(tokens: Sequence[Token]) -> list[bool]:
    """Which tokens are text: phrases outside brackets, punctuation after them, and the blanks beside.

    A single word is none where it touches an operator or a bracket that opens.
    """
    flags = [False] * len(tokens)
    for start, end in _phrases(tokens):
        words = [token for token in tokens[start:end] if token.kind != "blank"]
        neighbours = {tokens[at].text for at in (start - 1, end) if 0 <= at < len(tokens)}
        is_operand = is_called(tokens, end - 1) or (end < len(tokens) and tokens[end].text in SCRIPTS)
        if len(words) > 1 or not (is_operand or neighbours & {*OPERATORS, *SCRIPTS}):
            flags[start:end] = [True] * (end - start)
    for index, token in enumerate(tokens):
        ends = index + 1 == len(tokens) or tokens[index + 1].kind == "blank"
        if token.kind == "sign" and token.text in ",;:" and token.depth == 0 and ends:
            flags[index : index + 2] = [True] * len(flags[index : index + 2])
    return flags


def _phrases(tokens: Sequence[Token]) -> list[tuple[int, int]]:
    """Where words outside brackets begin and end, the blanks at their ends included; the article is one of them.

    A word with a script is none.
    """

    def is_part(index: int) -> bool:
        token = tokens[index]
        around = [at for at in (index - 2, index + 2) if 0 <= at < len(tokens)]
        is_article = token.text == "a" and len(around) == 2 and all(tokens[at].is_word for at in around)
        is_symbol = index + 1 < len(tokens) and tokens[index + 1].kind in SCRIPT_MARKS  # posᵢ
        is_text = (token.is_word and not is_symbol) or token.kind == "blank" or is_article
        return token.depth == 0 and is_text

    phrases = []
    for is_phrase, run in groupby(range(len(tokens)), is_part):
        indices = list(run)
        if is_phrase and any(tokens[index].is_word for index in indices):
            phrases.append((indices[0], indices[-1] + 1))
    return phrases


def is_called(tokens: Sequence[Token], index: int) -> bool:
    """Whether the token is the name of a function or table, with an opening bracket after it."""
    return index + 1 < len(tokens) and tokens[index].kind == "word" and tokens[index + 1].text in ("(", "[")
