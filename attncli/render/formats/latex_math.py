r"""Formulas and arithmetic for LaTeX: from the notation of records and explanations to text with `$…$` in it."""

import re
from collections.abc import Callable, Iterator

from attncli.render.formats.formula_tokens import FUNCTIONS
from attncli.render.formats.formula_tree import (
    Brackets,
    Formula,
    Root,
    Scripted,
    Symbol,
    Text,
    begins_with_operator,
    is_blank,
    read_line,
)
from attncli.render.formats.latex_text import latex_label, latex_text, math_character

_MAX_MATRIX_COLUMNS = 10  # of the matrices of amsmath
_MAX_MATRIX_WIDTH = 40  # characters: in a wider matrix, which is never broken, numbers would be beyond the page
BREAKABLE_GAP = r"\quad\allowbreak "  # between numbers: a line may end in it
_MATH_SIGNS = {
    "…": r"\dots",
    "Σ": r"\sum",
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
    written = ""
    for part in read_line(line):
        if isinstance(part, Text):
            written += "".join(map(_text, part.symbols))
        else:
            is_binary = written and begins_with_operator(part)
            written += f"${'{}' if is_binary else ''}{_mathematics(part)}$"
    return written


def _text(symbol: Symbol) -> str:
    """A symbol as text."""
    return latex_label(symbol.text) if symbol.kind == "label" else latex_text(symbol.text)


def _mathematics(formula: Formula) -> str:
    """A formula in math mode; a blank ends a command before a letter."""
    pieces = list(_pieces(formula))
    separated = [
        f" {piece}" if piece[:1].isalpha() and re.search(r"\\[A-Za-z]+$", before) else piece
        for before, piece in zip(("", *pieces), pieces, strict=False)
    ]
    return "".join(separated)


def _pieces(formula: Formula) -> Iterator[str]:
    """The commands and characters of a formula, in order."""
    marks = ""  # of the scripts that follow each other: a second subscript needs a base of its own
    for item in formula:
        base, scripts = (item.base, item.scripts) if isinstance(item, Scripted) else (item, ())
        if base is not None:
            marks = marks if is_blank(base) else ""
            yield from _base(base, has_script=bool(scripts))
        for script in scripts:
            yield ("{}" if script.mark in marks else "") + f"{script.mark}{{{_mathematics(script.content)}}}"
            marks += script.mark


def _base(base: Symbol | Brackets | Root, *, has_script: bool) -> Iterator[str]:
    """The commands and characters of what may have scripts."""
    if isinstance(base, Brackets):
        yield _sign(base.opening)
        yield from _pieces(base.content)
        yield _sign(base.closing)
    elif isinstance(base, Root):
        yield f"\\sqrt{{{_mathematics(base.content)}}}" if base.content else r"\surd"
    else:
        written = _MATH_OF_KIND.get(base.kind, _sign)(base.text)
        # The power of a number with a power of ten is that of both.
        yield f"({written})" if has_script and base.kind == "number" and "^" in written else written


def _number(text: str) -> str:
    """A number: `1.2e−07` is 1.2 times ten to the power of −7."""
    mantissa, e, exponent = text.replace("−", "-").partition("e")
    return rf"{mantissa}\times 10^{{{int(exponent)}}}" if e else mantissa


def _vector(text: str) -> str:
    """The numbers in brackets as a matrix of one row; a long row may be broken between two numbers."""
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


def _function(name: str) -> str:
    """A function that LaTeX knows, or that has a subscript below it."""
    return rf"\{name}" if name in FUNCTIONS else rf"\operatorname*{{{name}}}"


def _variable(text: str) -> str:
    """A letter, which may have a circumflex."""
    return rf"\hat{{{text[0]}}}" if len(text) > 1 else text


def _script(text: str) -> str:
    """The characters of a subscript or superscript."""
    if text == "T":
        return r"\top"
    plain = text.replace("−", "-")
    return "".join(character if character.isascii() else f"{{{_sign(character)}}}" for character in plain)


def _sign(text: str) -> str:
    """Any other character."""
    command = _MATH_SIGNS.get(text) or math_character(text)
    if command:
        return command
    if text in "{}%&#$_":
        return f"\\{text}"
    return text if text.isascii() else rf"\text{{{latex_text(text)}}}"


_MATH_OF_KIND: dict[str, Callable[[str], str]] = {
    "number": _number,
    "vector": _vector,
    "function": _function,
    "word": lambda text: rf"\text{{{latex_text(text)}}}",
    "label": lambda text: rf"\text{{{latex_label(text)}}}",
    "name": lambda text: rf"\operatorname{{{latex_text(text)}}}",
    "variable": _variable,
    "script": _script,
    "blank": lambda _text: " ",
    "space": lambda _text: r"\ ",
}
