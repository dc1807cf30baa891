"""Formulas and lines of arithmetic as trees, the source of LaTeX and MathML.

It reads a line token by token. Words outside brackets are text, unless they touch a sign of mathematics; everything
else is mathematics.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeAlias

from attncli.base.text import SCRIPT_MARKS, greek_name, plain_script, script_form
from attncli.render.document import LABEL_END, LABEL_START

FUNCTIONS = ("exp", "ln", "tanh", "sin", "cos", "max")  # LaTeX has commands of these names
LIMIT_FUNCTIONS = ("argmax", "argmin")  # their subscripts go below them, as in max
_NUMBER = r"[0-9]+(?:[.,][0-9]+)?(?:e[+−-][0-9]+)?"
_ENTRY = rf"(?:−?(?:{_NUMBER}|∞)|NaN|…)"
_TOKENS = re.compile(
    rf"""(?P<label>{LABEL_START}[^{LABEL_END}]*{LABEL_END}(?:\#[0-9]+)?)
    |(?P<vector>(?<![\w)\]{LABEL_END}])\[{_ENTRY}(?:\ {_ENTRY})*\])
    |(?P<number>{_NUMBER})
    |(?P<function>(?:{"|".join((*FUNCTIONS, *LIMIT_FUNCTIONS))})(?![A-Za-z]))
    |(?P<word>NaN|(?<=_)[A-Z]{{2,}}|[A-Za-z][a-z]+(?:_[a-z0-9]+)*[0-9]*|[a-z][0-9]+)
    |(?P<variable>[A-Za-z]\u0302?)
    |(?P<blank>\s+)
    |(?P<sign>.)""",
    re.VERBOSE | re.DOTALL,
)
OPERATORS = "=≈−+/·×≤≥→<>~"
SUBSCRIPT, SUPERSCRIPT = SCRIPTS = tuple(SCRIPT_MARKS.values())  # `_` and `^`
_OPENING, _CLOSING, _BARS = "([{⌊", ")]}⌋", "|‖"
_BOUNDARIES = "=≈−-+≤≥→<>~,;"  # end of a numerator to the left and of a denominator to the right


@dataclass(frozen=True)
class Symbol:
    """A number, letter, word, label, operator …: the kind of a token, and its text, a label's without marks.

    More kinds than tokens have: "name" is a word before brackets, "space" a visible space, and "script" a run of
    Unicode's subscripts or superscripts, as usual characters.
    """

    kind: str
    text: str


@dataclass(frozen=True)
class Brackets:
    """The content of brackets or bars."""

    opening: str
    content: "Formula"
    closing: str


@dataclass(frozen=True)
class Root:
    """A square root; empty if nothing follows the sign."""

    content: "Formula"


@dataclass(frozen=True)
class Script:
    """A subscript or superscript."""

    mark: str
    content: "Formula"


@dataclass(frozen=True)
class Scripted:
    """Subscripts and superscripts in the order of the line, and their base: none at the start."""

    base: "Base | None"
    scripts: tuple[Script, ...]


@dataclass(frozen=True)
class Fraction:
    """A numerator and a denominator, without the parentheses that a line needs."""

    numerator: "Formula"
    denominator: "Formula"


Base: TypeAlias = Symbol | Brackets | Root | Fraction  # items that may have scripts
Item: TypeAlias = Base | Scripted
Formula: TypeAlias = tuple[Item, ...]


@dataclass(frozen=True)
class Text:
    """Words, punctuation and spaces outside formulas."""

    symbols: tuple[Symbol, ...]


def read_line(line: str) -> Iterator[Text | Formula]:
    """The texts and the formulas of a line, in turn; a formula has no spaces at its ends.

    >>> [text, formula] = read_line("visible where j < 3")
    >>> "".join(symbol.text for symbol in text.symbols), [symbol.text for symbol in formula]
    ('visible where ', ['j', ' ', '<', ' ', '3'])
    """
    tokens = _tokenize(line)
    for is_text, part in groupby(zip(_text_flags(tokens), tokens, strict=True), lambda pair: pair[0]):
        run = [token for _, token in part]
        if is_text:
            yield Text(tuple(map(_symbol, run)))
        elif run := _trim(run):
            yield _formula(run)


def begins_with_operator(formula: Formula) -> bool:
    """Whether a formula begins with a binary operator, whose left side is the text before it: `high − 1`."""
    return len(formula) > 1 and formula[0] in (Symbol("sign", "−"), Symbol("sign", "+")) and is_blank(formula[1])


def split_number(text: str) -> tuple[str, int | None]:
    """The digits of a number, and its power of ten if it has one: `1.2e−07` is 1.2 times ten to the power of −7.

    >>> split_number("1.2e−07"), split_number("0.5")
    (('1.2', -7), ('0.5', None))
    """
    digits, _, power = text.replace("−", "-").partition("e")
    return digits, int(power) if power else None


def vector_entries(text: str) -> list[tuple[str, str]]:
    """The entries of a vector in brackets, each as its sign, if any, and the rest.

    >>> vector_entries("[1 −0.5 …]")
    [('', '1'), ('−', '0.5'), ('', '…')]
    """
    return [("−", entry[1:]) if entry.startswith("−") else ("", entry) for entry in text[1:-1].split(" ")]


def is_blank(item: object) -> bool:
    """Whether an item is a space."""
    return isinstance(item, Symbol) and item.kind in ("blank", "space")


def with_fractions(formula: Formula) -> Formula:
    """The formula with its fractions; brackets keep their content.

    >>> [formula] = read_line("s = (a + b) / 2")
    >>> with_fractions(formula)[-1].denominator
    (Symbol(kind='number', text='2'),)
    """
    items = list[Item]()
    start, index = 0, 0  # start of the product before the index
    while index < len(formula):
        if _is_spaced_slash(formula, index):
            rest = range(index + 1, len(formula))  # the next slash divides a fraction again
            ends = (at for at in rest if _is_boundary(formula[at]) or _is_spaced_slash(formula, at))
            end = next(ends, len(formula))
            fraction = Fraction(_operand(items[start:]), _operand(formula[index + 1 : end]))
            if fraction.numerator and fraction.denominator:
                items[start:], index = [fraction], end
                continue
        items.append(formula[index])
        index += 1
        start = len(items) if _is_boundary(items[-1]) else start
    return tuple(items)


def _is_spaced_slash(formula: Formula, index: int) -> bool:
    """Whether there is a slash with a space on both sides."""
    before, after = formula[:index][-1:], formula[index + 1 :][:1]
    return formula[index] == Symbol("sign", "/") and all(map(is_blank, before + after))


def _is_boundary(item: Item) -> bool:
    """Whether a product ends before an item."""
    return isinstance(item, Symbol) and item.kind == "sign" and item.text in _BOUNDARIES


def _operand(items: Sequence[Item]) -> Formula:
    """A product without spaces at its ends, and without the parentheses around it."""
    indices = [index for index, item in enumerate(items) if not is_blank(item)]
    operand = tuple(items[indices[0] : indices[-1] + 1]) if indices else ()
    if len(operand) == 1 and isinstance(operand[0], Brackets) and operand[0].opening == "(":
        return operand[0].content
    return operand


@dataclass(frozen=True)
class _Token:
    """A piece of a line: its group in the pattern, its text, and the number of open brackets around it."""

    kind: str
    text: str
    depth: int

    @property
    def is_word(self) -> bool:
        """Whether it is upright in print, as words and labels are."""
        return self.kind in ("word", "label")


def _tokenize(line: str) -> list[_Token]:
    """The tokens of a line; a closing bracket has the depth of its opening one."""
    tokens, depth = list[_Token](), 0
    # A circumflex belongs to the letter: Qₕ̂, C_all̂.
    line = re.sub(r"([A-Za-z])([^\sA-Za-z_]*(?:_[a-z]+)?[^\sA-Za-z_]*)\u0302", "\\1\u0302\\2", line)
    for found in _TOKENS.finditer(line):
        kind, text = found.lastgroup or "", found.group()
        script = script_form(text) if kind == "sign" else ""
        is_bracket = kind == "sign" and text in _OPENING + _CLOSING
        depth -= depth > 0 and is_bracket and text in _CLOSING
        tokens.append(_Token(script or kind, text, depth))
        depth += is_bracket and text in _OPENING
    return tokens


def _text_flags(tokens: Sequence[_Token]) -> list[bool]:
    """Marks the text tokens: phrases outside brackets, punctuation after them, and the spaces next to these.

    A single word is not text if it touches an operator or an opening bracket.
    """
    flags = [False] * len(tokens)
    for start, end in _phrases(tokens):
        words = [token for token in tokens[start:end] if token.kind != "blank"]
        neighbours = {tokens[at].text for at in (start - 1, end) if 0 <= at < len(tokens)}
        is_operand = _is_called(tokens, end - 1) or (end < len(tokens) and tokens[end].text in SCRIPTS)
        if len(words) > 1 or not (is_operand or neighbours & {*OPERATORS, *SCRIPTS}):
            flags[start:end] = [True] * (end - start)
    for index, token in enumerate(tokens):
        ends = index + 1 == len(tokens) or tokens[index + 1].kind == "blank"
        if token.kind == "sign" and token.text in ",;:" and token.depth == 0 and ends:
            flags[index : index + 2] = [True] * len(flags[index : index + 2])
    return flags


def _phrases(tokens: Sequence[_Token]) -> list[tuple[int, int]]:
    """Start and end of each phrase outside brackets, with the spaces at its ends; an article counts as a word.

    A word with a script does not.
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


def _is_called(tokens: Sequence[_Token], index: int) -> bool:
    """Whether the token names a function or table, before an opening bracket."""
    return index + 1 < len(tokens) and tokens[index].kind == "word" and tokens[index + 1].text in ("(", "[")


def _trim(tokens: Sequence[_Token]) -> list[_Token]:
    """The tokens without spaces at both ends."""
    positions = [position for position, token in enumerate(tokens) if token.kind != "blank"]
    return list(tokens[positions[0] : positions[-1] + 1]) if positions else []


def _formula(tokens: Sequence[_Token]) -> Formula:
    """The tree of tokens."""
    items, index = list[Item](), 0
    while index < len(tokens):
        script, index = _script(tokens, index)
        if script is None:
            item, index = _item(tokens, index)
            items.append(item)
            continue
        base = items.pop() if items and not is_blank(items[-1]) else None
        if isinstance(base, Scripted):
            items.append(Scripted(base.base, (*base.scripts, script)))
        else:
            items.append(Scripted(base, (script,)))
    return tuple(items)


def _script(tokens: Sequence[_Token], index: int) -> tuple[Script | None, int]:
    """The script at an index, and the index after it; None and the same index if there is none."""
    kind, end = tokens[index].kind, index
    if kind in SCRIPT_MARKS:
        while end < len(tokens) and tokens[end].kind == kind:
            end += 1
        content = plain_script("".join(token.text for token in tokens[index:end]))
        return Script(SCRIPT_MARKS[kind], (Symbol("script", content),)), end
    if tokens[index].text in SCRIPT_MARKS.values():
        argument, end = _argument(tokens, index + 1)
        if argument:
            return Script(tokens[index].text, argument), end
    return None, index


def _argument(tokens: Sequence[_Token], index: int) -> tuple[Formula, int]:
    """The argument of the `√`, `_` or `^` before an index, and the index after it.

    It is the content of brackets, or one token with its scripts and a minus before it; empty if neither follows.
    """
    if index == len(tokens) or tokens[index].kind == "blank":
        return (), index
    token = tokens[index]
    if token.text == "−":
        argument, end = _argument(tokens, index + 1)
        return ((_symbol(token), *argument), end) if argument else ((), index)
    if token.text in ("(", "{"):
        end = _closing_bracket(tokens, index)
        return _formula(_trim(tokens[index + 1 : end])), end + 1
    is_operand = token.kind != "sign" or token.text == "∞" or greek_name(token.text) is not None
    if not is_operand:
        return (), index
    end = index + 1
    while end < len(tokens) and tokens[end].kind in SCRIPT_MARKS:
        end += 1
    return _formula(tokens[index:end]), end


def _closing_bracket(tokens: Sequence[_Token], index: int) -> int:
    """The index of the bracket that closes the one at an index; the index after the last token if none does."""
    depth, inner = tokens[index].depth, range(index + 1, len(tokens))
    return next((at for at in inner if tokens[at].depth == depth and tokens[at].text in _CLOSING), len(tokens))


def _closing_bar(tokens: Sequence[_Token], index: int) -> int:
    """The index of the bar that closes the one at an index, likewise: spaces surround a pair of bars."""
    if index + 1 < len(tokens) and tokens[index + 1].kind != "blank":
        for at in range(index + 2, len(tokens)):
            if (tokens[at].text, tokens[at].depth) == (tokens[index].text, tokens[index].depth):
                return at if tokens[at - 1].kind != "blank" else len(tokens)
    return len(tokens)


def _item(tokens: Sequence[_Token], index: int) -> tuple[Item, int]:
    """The item at an index, which is not a script, and the index after it."""
    token = tokens[index]
    if token.text == "√":
        content, end = _argument(tokens, index + 1)
        return Root(content), end
    if token.kind == "sign" and token.text in _OPENING + _BARS:
        end = _closing_bracket(tokens, index) if token.text in _OPENING else _closing_bar(tokens, index)
        if end < len(tokens):
            return Brackets(token.text, _formula(tokens[index + 1 : end]), tokens[end].text), end + 1
    if _is_called(tokens, index):
        return Symbol("name", token.text), index + 1
    if token.kind == "blank" and _is_seen(tokens, index):
        return Symbol("space", token.text), index + 1
    return _symbol(token), index + 1


def _is_seen(tokens: Sequence[_Token], index: int) -> bool:
    """Whether a space is visible: after a word, unless an operator follows, or between two numbers."""
    neighbours = [tokens[at] for at in (index - 1, index + 1) if 0 <= at < len(tokens)]
    if any(token.text in (*OPERATORS, ",") for token in neighbours) or _is_called(tokens, index + 1):
        return False
    return any(token.is_word for token in neighbours) or [token.kind for token in neighbours] == ["number"] * 2


def _symbol(token: _Token) -> Symbol:
    """A token as a symbol."""
    return Symbol(token.kind, token.text[1:].replace(LABEL_END, "") if token.kind == "label" else token.text)
