r"""Formulas and arithmetic for LaTeX: from the notation of records and explanations to text with `$…$` in it.

A line is read token by token. Words outside brackets are text, unless they stand next to a sign of mathematics;
everything else is in math mode.
"""

import re
from collections.abc import Callable, Sequence
from itertools import groupby

from attncli.base.transliteration import SCRIPT_MARKS, plain_script
from attncli.render.formats.latex_text import latex_text, math_character
from attncli.render.formats.latex_tokens import (
    CLOSING,
    FUNCTIONS,
    OPERATORS,
    SCRIPTS,
    Token,
    is_called,
    text_flags,
    tokenize,
)

_MAX_MATRIX_COLUMNS = 10  # of the matrices of amsmath
_MAX_MATRIX_WIDTH = 40  # characters: in a wider matrix, which is never broken, numbers would be beyond the page
BREAKABLE_GAP = r"\quad\allowbreak "  # between numbers: a line may end in it
_MATH_SIGNS = {
    "…": r"\dots",
    "Σ": r"\sum",
    "√": r"\surd",
    "~": r"\sim",
    "\\": r"\backslash",
    "^": r"\wedge",
    "'": "{'}",
}


def latex_line(line: str) -> str:
    r"""A formula or a line of arithmetic as text with math mode in it; needs the package amsmath.

    >>> print(latex_line("Sᵢⱼ = Qᵢ·Kⱼ / √d, where j ≤ 3"))
    $S_{ij} = Q_{i}\cdot K_{j} / \sqrt{d}$, where $j \le 3$
    >>> print(latex_line("0.5·[2 −1] = [1 −0.5]"))
    $0.5\cdot\begin{pmatrix}2 & -1\end{pmatrix} = \begin{pmatrix}1 & -0.5\end{pmatrix}$
    """
    tokens = tokenize(line)
    written = ""
    for is_text, part in groupby(zip(text_flags(tokens), tokens, strict=True), lambda pair: pair[0]):
        run: Sequence[Token] = [token for _, token in part]
        if is_text:
            written += "".join(token.latex for token in run)
        elif run := _trim(run):
            # After text a sign before a blank has two sides: `high − 1`.
            is_binary = written and len(run) > 1 and run[0].text in "−+" and run[1].kind == "blank"
            written += f"${'{}' if is_binary else ''}{_mathematics(run)}$"
    return written


def _mathematics(tokens: Sequence[Token]) -> str:
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
        last_script = last_script if token.kind == "blank" else ""
        if token.text == "√":
            argument, index = _argument(tokens, index + 1)
            pieces.append(f"\\sqrt{{{argument}}}" if argument else r"\surd")
            continue
        pieces.append(_MATH_OF_KIND.get(token.kind, _math_sign)(tokens, index))
        index += 1
    return _join(pieces)


def _trim(tokens: Sequence[Token]) -> Sequence[Token]:
    """The tokens without blanks at both ends."""
    positions = [position for position, token in enumerate(tokens) if token.kind != "blank"]
    return tokens[positions[0] : positions[-1] + 1] if positions else ()


def _join(pieces: Sequence[str]) -> str:
    """The pieces of a formula; a blank ends a command before a letter."""
    separated = [
        f" {piece}" if piece[:1].isalpha() and re.search(r"\\[A-Za-z]+$", before) else piece
        for before, piece in zip(("", *pieces), pieces, strict=False)
    ]
    return "".join(separated)


def _script_mark(tokens: Sequence[Token], index: int) -> str:
    """The mark of the script that begins at an index, `_` or `^`; empty where none does."""
    token = tokens[index]
    if token.kind in SCRIPT_MARKS:
        return SCRIPT_MARKS[token.kind]
    return token.text if token.text in SCRIPTS and _argument(tokens, index + 1)[0] else ""


def _script(tokens: Sequence[Token], index: int) -> tuple[str, int]:
    """The content of the script that begins at an index, and the index after it."""
    kind, end = tokens[index].kind, index
    if kind not in SCRIPT_MARKS:
        return _argument(tokens, index + 1)
    while end < len(tokens) and tokens[end].kind == kind:
        end += 1
    content = plain_script("".join(token.text for token in tokens[index:end]))
    return (r"\top" if content == "T" else content.replace("−", "-")), end


def _argument(tokens: Sequence[Token], index: int) -> tuple[str, int]:
    """What `√`, `_` or `^` at the index before apply to, and the index after it.

    It is what is in brackets, without them, or one token with its scripts; nothing where neither follows.
    """
    if index == len(tokens) or tokens[index].kind == "blank":
        return "", index
    token = tokens[index]
    if token.text in ("(", "{"):
        inner = range(index + 1, len(tokens))
        end = next((at for at in inner if tokens[at].depth == token.depth and tokens[at].text in CLOSING), len(tokens))
        return _mathematics(_trim(tokens[index + 1 : end])), end + 1
    if token.kind == "sign" and math_character(token.text) is None:
        return "", index
    end = index + 1
    while end < len(tokens) and tokens[end].kind in SCRIPT_MARKS:
        end += 1
    return _mathematics(tokens[index:end]), end


def _math_number(tokens: Sequence[Token], index: int) -> str:
    """`1.5`, or a number with a power of ten, in parentheses where it has a script."""
    number = _number(tokens[index].text)
    has_script = "^" in number and index + 1 < len(tokens) and _script_mark(tokens, index + 1)
    return f"({number})" if has_script else number


def _number(text: str) -> str:
    """A number: `1.2e−07` is 1.2 times ten to the power of −7."""
    mantissa, e, exponent = text.replace("−", "-").partition("e")
    return rf"{mantissa}\times 10^{{{int(exponent)}}}" if e else mantissa


def _math_vector(tokens: Sequence[Token], index: int) -> str:
    """The numbers in brackets as a matrix of one row; a long row may be broken between two numbers."""
    text = tokens[index].text
    entries = [_entry(entry) for entry in text[1:-1].split(" ")]
    if len(entries) <= _MAX_MATRIX_COLUMNS and len(text) <= _MAX_MATRIX_WIDTH:
        return rf"\begin{{pmatrix}}{' & '.join(entries)}\end{{pmatrix}}"
    return rf"\bigl({BREAKABLE_GAP.join(entries)}\bigr)"


def _entry(text: str) -> str:
    """One entry of a vector."""
    if text == "NaN":
        return r"\text{NaN}"
    sign, magnitude = ("-", text[1:]) if text.startswith("−") else ("", text)
    return sign + {"∞": r"\infty", "…": r"\cdots"}.get(magnitude, _number(magnitude))


def _math_function(tokens: Sequence[Token], index: int) -> str:
    """A function that LaTeX knows, or that has a subscript below it."""
    name = tokens[index].text
    return rf"\{name}" if name in FUNCTIONS else rf"\operatorname*{{{name}}}"


def _math_word(tokens: Sequence[Token], index: int) -> str:
    """A word: the name of a function where brackets follow, otherwise text."""
    return rf"\{'operatorname' if is_called(tokens, index) else 'text'}{{{tokens[index].latex}}}"


def _math_variable(tokens: Sequence[Token], index: int) -> str:
    """A letter, which may have a circumflex."""
    text = tokens[index].text
    return rf"\hat{{{text[0]}}}" if len(text) > 1 else text


def _math_blank(tokens: Sequence[Token], index: int) -> str:
    """A blank: printed where it separates a word from what is no operator, or two numbers."""
    beside = [tokens[at] for at in (index - 1, index + 1) if 0 <= at < len(tokens)]
    if any(token.text in (*OPERATORS, ",") for token in beside) or is_called(tokens, index + 1):
        return " "
    is_printed = any(token.is_word for token in beside) or [token.kind for token in beside] == ["number"] * 2
    return r"\ " if is_printed else " "


def _math_sign(tokens: Sequence[Token], index: int) -> str:
    """Any other character."""
    text = tokens[index].text
    command = _MATH_SIGNS.get(text) or math_character(text)
    if command:
        return command
    if text in "{}%&#$_":
        return f"\\{text}"
    return text if text.isascii() else rf"\text{{{latex_text(text)}}}"


_MATH_OF_KIND: dict[str, Callable[[Sequence[Token], int], str]] = {
    "number": _math_number,
    "vector": _math_vector,
    "function": _math_function,
    "word": _math_word,
    "label": _math_word,
    "variable": _math_variable,
    "blank": _math_blank,
    "sign": _math_sign,
}
