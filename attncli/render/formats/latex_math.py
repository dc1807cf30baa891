r"""Formulas and arithmetic for LaTeX: from the notation of records and explanations to text with `$…$` in it.

A line is read token by token. Words outside brackets are text, unless they stand next to a sign of mathematics;
everything else is in math mode.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

from attncli.base.transliteration import SCRIPT_MARKS, plain_script, script_form
from attncli.render.formats.latex_text import latex_label, latex_text, math_character

# A label of the user stands between these two in a line, so that no part of it is read as mathematics.
LABEL_START, LABEL_END = "\ue000", "\ue001"

_FUNCTIONS = ("exp", "tanh", "sin", "cos", "max")  # LaTeX has commands of these names
_LIMIT_FUNCTIONS = ("argmax", "argmin")  # their subscripts belong below them, as those of max
_NUMBER = r"\d+(?:\.\d+)?(?:e[+−-]\d+)?"
_ENTRY = rf"(?:−?(?:{_NUMBER}|∞)|NaN|…)"
_TOKENS = re.compile(
    rf"""(?P<label>{LABEL_START}[^{LABEL_END}]*{LABEL_END})
    |(?P<vector>(?<![\w)\]{LABEL_END}])\[{_ENTRY}(?:\ {_ENTRY})*\])
    |(?P<number>{_NUMBER})
    |(?P<function>(?:{"|".join((*_FUNCTIONS, *_LIMIT_FUNCTIONS))})(?![A-Za-z]))
    |(?P<word>NaN|[A-Za-z][a-z]+(?:_[a-z0-9]+)*[0-9]*|[a-z][0-9]+)
    |(?P<variable>[A-Za-z]\u0302?)
    |(?P<blank>\s+)
    |(?P<sign>.)""",
    re.VERBOSE | re.DOTALL,
)
_OPENING, _CLOSING = "([{", ")]}"
_OPERATORS = "=−+/·×≤≥→<>~"
_SCRIPTS = tuple(SCRIPT_MARKS.values())  # `_` and `^`
_MAX_MATRIX_COLUMNS = 10  # of the matrices of amsmath
_MATH_SIGNS = {"…": r"\dots", "Σ": r"\sum", "√": r"\surd", "~": r"\sim", "\\": r"\backslash", "^": r"\wedge"}


@dataclass(frozen=True)
class _Token:
    """A piece of a line: a group of the pattern, its text, and how many brackets are open around it."""

    kind: str
    text: str
    depth: int

    @property
    def is_word(self) -> bool:
        """Whether it is printed upright, as words and labels are."""
        return self.kind in ("word", "label")

    @property
    def latex(self) -> str:
        """The token as text."""
        return latex_label(self.text[1:-1]) if self.kind == "label" else latex_text(self.text)


def latex_line(line: str) -> str:
    r"""A formula or a line of arithmetic as text with math mode in it; needs the package amsmath.

    >>> print(latex_line("sᵢⱼ = qᵢ·kⱼ / √d, where j ≤ 3"))
    $s_{ij} = q_{i}\cdot k_{j} / \sqrt{d}$, where $j \le 3$
    >>> print(latex_line("0.5·[2 −1] = [1 −0.5]"))
    $0.5\cdot\begin{pmatrix}2 & -1\end{pmatrix} = \begin{pmatrix}1 & -0.5\end{pmatrix}$
    """
    tokens = _tokenize(line)
    written = ""
    for is_text, part in groupby(zip(_text_flags(tokens), tokens, strict=True), lambda pair: pair[0]):
        run: Sequence[_Token] = [token for _, token in part]
        if is_text:
            written += "".join(token.latex for token in run)
        elif run := _trim(run):
            # After text a sign before a blank has two sides: `high − 1`.
            is_binary = written and len(run) > 1 and run[0].text in "−+" and run[1].kind == "blank"
            written += f"${'{}' if is_binary else ''}{_mathematics(run)}$"
    return written


def _tokenize(line: str) -> list[_Token]:
    """The tokens of a line; a closing bracket is as deep as its opening one."""
    tokens, depth = list[_Token](), 0
    line = re.sub(r"([A-Za-z])([^\sA-Za-z]+)\u0302", "\\1\u0302\\2", line)  # a circumflex belongs to the letter: Qₕ̂
    for found in _TOKENS.finditer(line):
        kind, text = found.lastgroup or "", found.group()
        script = script_form(text) if kind == "sign" else ""
        is_bracket = kind == "sign" and text in _OPENING + _CLOSING
        depth -= depth > 0 and is_bracket and text in _CLOSING
        tokens.append(_Token(script or kind, text, depth))
        depth += is_bracket and text in _OPENING
    return tokens


def _text_flags(tokens: Sequence[_Token]) -> list[bool]:
    """Which tokens are text: phrases outside brackets, punctuation after them, and the blanks beside.

    A single word is none where it touches an operator or a bracket that opens.
    """
    flags = [False] * len(tokens)
    for start, end in _phrases(tokens):
        words = [token for token in tokens[start:end] if token.kind != "blank"]
        neighbours = {tokens[at].text for at in (start - 1, end) if 0 <= at < len(tokens)}
        is_called = _is_called(tokens, end - 1) or (end < len(tokens) and tokens[end].text in _SCRIPTS)
        if len(words) > 1 or not (is_called or neighbours & {*_OPERATORS, *_SCRIPTS}):
            flags[start:end] = [True] * (end - start)
    for index, token in enumerate(tokens):
        ends = index + 1 == len(tokens) or tokens[index + 1].kind == "blank"
        if token.kind == "sign" and token.text in ",;:" and token.depth == 0 and ends:
            flags[index : index + 2] = [True] * len(flags[index : index + 2])
    return flags


def _phrases(tokens: Sequence[_Token]) -> list[tuple[int, int]]:
    """Where words outside brackets begin and end, the blanks at their ends included; the article is one of them."""

    def is_part(index: int) -> bool:
        token = tokens[index]
        around = [at for at in (index - 2, index + 2) if 0 <= at < len(tokens)]
        is_article = token.text == "a" and len(around) == 2 and all(tokens[at].is_word for at in around)
        return token.depth == 0 and (token.is_word or token.kind == "blank" or is_article)

    phrases = []
    for is_phrase, run in groupby(range(len(tokens)), is_part):
        indices = list(run)
        if is_phrase and any(tokens[index].is_word for index in indices):
            phrases.append((indices[0], indices[-1] + 1))
    return phrases


def _mathematics(tokens: Sequence[_Token]) -> str:
    """Tokens in math mode."""
    pieces, index, last_script = list[str](), 0, ""
    while index < len(tokens):
        token = tokens[index]
        mark = _script_mark(tokens, index)
        if mark:
            script, index = _script(tokens, index)
            pieces.append(("{}" if mark in last_script else "") + f"{mark}{{{script}}}")
            last_script += mark
            continue
        last_script = ""
        if token.text == "√":
            argument, index = _argument(tokens, index + 1)
            pieces.append(f"\\sqrt{{{argument}}}" if argument else r"\surd")
            continue
        pieces.append(_MATH_OF_KIND.get(token.kind, _math_sign)(tokens, index))
        index += 1
    return _join(pieces)


def _trim(tokens: Sequence[_Token]) -> Sequence[_Token]:
    """The tokens without blanks at both ends."""
    positions = [position for position, token in enumerate(tokens) if token.kind != "blank"]
    return tokens[positions[0] : positions[-1] + 1] if positions else ()


def _join(pieces: Sequence[str]) -> str:
    """The pieces of a formula; a blank ends a command before a letter."""
    written = ""
    for piece in pieces:
        ends_in_command = re.search(r"\\[A-Za-z]+$", written)
        written += f" {piece}" if ends_in_command and piece[:1].isalpha() else piece
    return written


def _is_called(tokens: Sequence[_Token], index: int) -> bool:
    """Whether the token is the name of a function or table, with an opening bracket after it."""
    return index + 1 < len(tokens) and tokens[index].kind == "word" and tokens[index + 1].text in ("(", "[")


def _script_mark(tokens: Sequence[_Token], index: int) -> str:
    """The mark of the script that begins at an index, `_` or `^`; empty where none does."""
    token = tokens[index]
    if token.kind in SCRIPT_MARKS:
        return SCRIPT_MARKS[token.kind]
    return token.text if token.text in _SCRIPTS and _argument(tokens, index + 1)[0] else ""


def _script(tokens: Sequence[_Token], index: int) -> tuple[str, int]:
    """The content of the script that begins at an index, and the index after it."""
    kind, end = tokens[index].kind, index
    if kind not in SCRIPT_MARKS:
        return _argument(tokens, index + 1)
    while end < len(tokens) and tokens[end].kind == kind:
        end += 1
    content = plain_script("".join(token.text for token in tokens[index:end]))
    return (r"\top" if content == "T" else content.replace("−", "-")), end


def _argument(tokens: Sequence[_Token], index: int) -> tuple[str, int]:
    """What `√`, `_` or `^` at the index before apply to, and the index after it.

    It is what is in brackets, without them, or one token with its scripts; nothing where neither follows.
    """
    if index == len(tokens) or tokens[index].kind == "blank":
        return "", index
    token = tokens[index]
    if token.text in ("(", "{"):
        inner = range(index + 1, len(tokens))
        end = next((at for at in inner if tokens[at].depth == token.depth and tokens[at].text in _CLOSING), len(tokens))
        return _mathematics(_trim(tokens[index + 1 : end])), end + 1
    if token.kind == "sign" and math_character(token.text) is None:
        return "", index
    end = index + 1
    while end < len(tokens) and tokens[end].kind in SCRIPT_MARKS:
        end += 1
    return _mathematics(tokens[index:end]), end


def _math_number(tokens: Sequence[_Token], index: int) -> str:
    """`1.5`, or a number with a power of ten."""
    return _number(tokens[index].text)


def _number(text: str) -> str:
    """A number: `1.2e−07` is 1.2 times ten to the power of −7."""
    mantissa, e, exponent = text.replace("−", "-").partition("e")
    return rf"{mantissa}\times 10^{{{int(exponent)}}}" if e else mantissa


def _math_vector(tokens: Sequence[_Token], index: int) -> str:
    """The numbers in brackets as a matrix of one row."""
    entries = [_entry(entry) for entry in tokens[index].text[1:-1].split(" ")]
    row = " & ".join(entries)
    if len(entries) <= _MAX_MATRIX_COLUMNS:
        return rf"\begin{{pmatrix}}{row}\end{{pmatrix}}"
    return rf"\left(\begin{{array}}{{{'c' * len(entries)}}}{row}\end{{array}}\right)"


def _entry(text: str) -> str:
    """One entry of a vector."""
    if text == "NaN":
        return r"\text{NaN}"
    sign, magnitude = ("-", text[1:]) if text.startswith("−") else ("", text)
    return sign + {"∞": r"\infty", "…": r"\cdots"}.get(magnitude, _number(magnitude))


def _math_function(tokens: Sequence[_Token], index: int) -> str:
    """A function that LaTeX knows, or that has a subscript below it."""
    name = tokens[index].text
    return rf"\{name}" if name in _FUNCTIONS else rf"\operatorname*{{{name}}}"


def _math_word(tokens: Sequence[_Token], index: int) -> str:
    """A word: the name of a function where brackets follow, otherwise text."""
    return rf"\{'operatorname' if _is_called(tokens, index) else 'text'}{{{tokens[index].latex}}}"


def _math_variable(tokens: Sequence[_Token], index: int) -> str:
    """A letter, which may have a circumflex."""
    text = tokens[index].text
    return rf"\hat{{{text[0]}}}" if len(text) > 1 else text


def _math_blank(tokens: Sequence[_Token], index: int) -> str:
    """A blank: printed where it separates a word from what is no operator, or two numbers."""
    beside = [tokens[at] for at in (index - 1, index + 1) if 0 <= at < len(tokens)]
    if any(token.text in (*_OPERATORS, ",") for token in beside) or _is_called(tokens, index + 1):
        return " "
    is_printed = any(token.is_word for token in beside) or [token.kind for token in beside] == ["number"] * 2
    return r"\ " if is_printed else " "


def _math_sign(tokens: Sequence[_Token], index: int) -> str:
    """Any other character."""
    text = tokens[index].text
    command = _MATH_SIGNS.get(text) or math_character(text)
    if command:
        return command
    if text in "{}%&#$_":
        return f"\\{text}"
    return text if text.isascii() else rf"\text{{{latex_text(text)}}}"


_MATH_OF_KIND: dict[str, Callable[[Sequence[_Token], int], str]] = {
    "number": _math_number,
    "vector": _math_vector,
    "function": _math_function,
    "word": _math_word,
    "label": _math_word,
    "variable": _math_variable,
    "blank": _math_blank,
    "sign": _math_sign,
}
