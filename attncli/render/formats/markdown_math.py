r"""Formulas and lines of arithmetic in Markdown: `$…$` as GitHub, Jupyter and VS Code show it, otherwise code.

Markdown may take a backslash before a punctuation mark for its own, and `*` for emphasis, inside of mathematics too;
and the words of MathJax know no commands. So there is neither in what is written here.
"""

import re
from collections.abc import Sequence

from attncli.base.text import escape_control
from attncli.render.document import LABEL_END, LABEL_START
from attncli.render.formats.formulas import Symbol, Text, read_line
from attncli.render.formats.latex_math import BREAKABLE_GAP, CHARACTER_COMMAND, latex_formula

ESCAPES = str.maketrans({character: f"\\{character}" for character in "\\`*_{}[]<>#|&~$"})
_WORDS = re.compile(r"\\text\{((?:[^{}\\]|\\_|\\#|\\ )*)\}")
_NUMBERED = re.compile(r"\\#([0-9]+)$")  # `the#2` is the second of two equal tokens
_INSTEAD = {
    BREAKABLE_GAP: r"\quad ",
    r"\operatorname*": r"\operatorname",
    r"\|": r"\Vert ",
    r"\{": r"\lbrace ",
    r"\}": r"\rbrace ",
    r"\ ": "~",
}
_MISREAD = re.compile(r"\\[^A-Za-z\s_]|[*`$\"]|\\text\{")


def escape(text: str) -> str:
    """Text that Markdown reads neither as markup, HTML nor mathematics, without the marks of labels."""
    return escape_control(_without_marks(text)).translate(ESCAPES)


def markdown_line(line: str) -> str:
    r"""A formula or a line of arithmetic as Markdown with mathematics in it; as code where that would be misread.

    >>> print(markdown_line("Sᵢⱼ = Qᵢ·Kⱼ / √d, where j ≤ 3"))
    $S_{ij} = Q_{i}\cdot K_{j} / \sqrt{d}$, where $j \le 3$
    >>> print(markdown_line("Q(word_1) = 2"))
    $Q(\mathrm{word\_1}) = 2$
    """
    typeset = _typeset(line)
    return f"`{_without_marks(line)}`" if typeset is None else typeset


def markdown_lines(lines: Sequence[str]) -> str:
    """Lines of arithmetic below each other, typeset; a block of code where one of them would be misread."""
    typeset = [_typeset(line.strip()) for line in lines]
    whole = [line for line in typeset if line is not None]
    return "\\\n".join(whole) if len(whole) == len(lines) else code(lines)


def code(lines: Sequence[str]) -> str:
    """Lines as a block of code."""
    return "\n".join(["```", *(escape_control(_without_marks(line)) for line in lines), "```"])


def markdown_formula(latex: str) -> str | None:
    """A formula in LaTeX as Markdown may have it between dollars; None where it would be misread."""
    if CHARACTER_COMMAND in latex:
        return None
    text = re.sub("([<>]) ?", lambda sign: r"\lt " if sign[1] == "<" else r"\gt ", _WORDS.sub(_word, latex))
    for command, other in _INSTEAD.items():
        text = text.replace(command, other)
    return None if _MISREAD.search(text) else text


def _typeset(line: str) -> str | None:
    """A line with mathematics in it; None where it would be misread."""
    written = ""
    for part in read_line(line):
        if isinstance(part, Text):
            written += "".join(escape(symbol.text) for symbol in part.symbols)
            continue
        if written and len(part) == 1 and isinstance(part[0], Symbol) and part[0].kind == "number":  # as in `head 1`
            written += escape(part[0].text)
            continue
        formula = markdown_formula(latex_formula(part))
        if formula is None or written[-1:].isalnum():
            return None
        written += f"${formula.strip()}$"
    return written


def _word(found: re.Match[str]) -> str:
    """A word in upright letters; the number of one of equal tokens is its subscript."""
    word, *number = _NUMBERED.split(found[1])
    upright = rf"\mathrm{{{word.replace(' ', '~')}}}"
    return f"{upright}_{{{number[0]}}}" if number else upright


def _without_marks(text: str) -> str:
    return text.replace(LABEL_START, "").replace(LABEL_END, "")
