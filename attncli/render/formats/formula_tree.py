"""The tree of a line of text and mathematics, which LaTeX and MathML are written from.

A line is read token by token. Words outside brackets are text, unless they stand next to a sign of mathematics;
everything else is mathematics.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TypeAlias

from attncli.base.dataclasses import dataclass
from attncli.base.text import SCRIPT_MARKS, greek_name, plain_script
from attncli.render.formats.formula_tokens import CLOSING, OPENING, OPERATORS, Token, is_called, text_flags, tokenize

SUBSCRIPT, SUPERSCRIPT = SCRIPT_MARKS.values()  # `_` and `^`
_BARS = ("|", "‖")


@dataclass(frozen=True)
class Symbol:
    """A number, a letter, a word, a label, an operator …: the kind of a token, and its text, of a label without marks.

    Kinds beside those of tokens: "name" is a word with brackets after it, "space" a blank that has to be seen, and
    "script" the characters of a run of Unicode's subscripts or superscripts, as usual characters.
    """

    kind: str
    text: str


@dataclass(frozen=True)
class Brackets:
    """What is in brackets, or between bars."""

    opening: str
    content: "Formula"
    closing: str


@dataclass(frozen=True)
class Root:
    """A square root; of nothing where nothing follows the sign."""

    content: "Formula"


@dataclass(frozen=True)
class Script:
    """A subscript or superscript."""

    mark: str
    content: "Formula"


@dataclass(frozen=True)
class Scripted:
    """Subscripts and superscripts in the order of the line, and what they belong to: nothing at the start."""

    base: "Symbol | Brackets | Root | None"
    scripts: tuple[Script, ...]


Item: TypeAlias = Symbol | Brackets | Root | Scripted
Formula: TypeAlias = tuple[Item, ...]


@dataclass(frozen=True)
class Text:
    """Words, punctuation and blanks outside formulas."""

    symbols: tuple[Symbol, ...]


def read_line(line: str) -> Iterator[Text | Formula]:
    """The texts and the formulas of a line, in turn; blanks at the ends of a formula are left out.

    >>> [text, formula] = read_line("visible where j < 3")
    >>> "".join(symbol.text for symbol in text.symbols), [symbol.text for symbol in formula]
    ('visible where ', ['j', ' ', '<', ' ', '3'])
    """
    tokens = tokenize(line)
    for is_text, part in groupby(zip(text_flags(tokens), tokens, strict=True), lambda pair: pair[0]):
        run = [token for _, token in part]
        if is_text:
            yield Text(tuple(map(_symbol, run)))
        elif run := _trim(run):
            yield _formula(run)


def _trim(tokens: Sequence[Token]) -> list[Token]:
    """The tokens without blanks at both ends."""
    positions = [position for position, token in enumerate(tokens) if token.kind != "blank"]
    return list(tokens[positions[0] : positions[-1] + 1]) if positions else []


def _formula(tokens: Sequence[Token]) -> Formula:
    """The tree of tokens."""
    items, index = list[Item](), 0
    while index < len(tokens):
        script, index = _script(tokens, index)
        if script is None:
            item, index = _item(tokens, index)
            items.append(item)
        elif items and not is_blank(items[-1]):
            items.append(_with_script(items.pop(), script))
        else:
            items.append(Scripted(None, (script,)))
    return tuple(items)


def _with_script(item: Item, script: Script) -> Scripted:
    """An item with one script more."""
    if isinstance(item, Scripted):
        return Scripted(item.base, (*item.scripts, script))
    return Scripted(item, (script,))


def _script(tokens: Sequence[Token], index: int) -> tuple[Script | None, int]:
    """The script that begins at an index, and the index after it; None, and the same index, where none does."""
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


def _argument(tokens: Sequence[Token], index: int) -> tuple[Formula, int]:
    """What `√`, `_` or `^` at the index before apply to, and the index after it.

    It is what is in brackets, without them, or one token with its scripts and with a minus before it; nothing where
    neither follows.
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


def _closing_bracket(tokens: Sequence[Token], index: int) -> int:
    """The index of the bracket that closes the one at an index; that after the last token where none does."""
    depth, inner = tokens[index].depth, range(index + 1, len(tokens))
    return next((at for at in inner if tokens[at].depth == depth and tokens[at].text in CLOSING), len(tokens))


def _closing_bar(tokens: Sequence[Token], index: int) -> int:
    """The index of the bar that closes the one at an index, likewise: blanks stand outside a pair of bars."""
    if index + 1 < len(tokens) and tokens[index + 1].kind != "blank":
        for at in range(index + 2, len(tokens)):
            if (tokens[at].text, tokens[at].depth) == (tokens[index].text, tokens[index].depth):
                return at if tokens[at - 1].kind != "blank" else len(tokens)
    return len(tokens)


def _item(tokens: Sequence[Token], index: int) -> tuple[Item, int]:
    """What begins at an index and is no script, and the index after it."""
    token = tokens[index]
    if token.text == "√":
        content, end = _argument(tokens, index + 1)
        return Root(content), end
    if token.kind == "sign" and token.text in (*OPENING, *_BARS):
        end = _closing_bracket(tokens, index) if token.text in OPENING else _closing_bar(tokens, index)
        if end < len(tokens):
            return Brackets(token.text, _formula(tokens[index + 1 : end]), tokens[end].text), end + 1
    if is_called(tokens, index):
        return Symbol("name", token.text), index + 1
    if token.kind == "blank" and _is_seen(tokens, index):
        return Symbol("space", token.text), index + 1
    return _symbol(token), index + 1


def _is_seen(tokens: Sequence[Token], index: int) -> bool:
    """Whether a blank separates a word from what is no operator, or two numbers."""
    beside = [tokens[at] for at in (index - 1, index + 1) if 0 <= at < len(tokens)]
    if any(token.text in (*OPERATORS, ",") for token in beside) or is_called(tokens, index + 1):
        return False
    return any(token.is_word for token in beside) or [token.kind for token in beside] == ["number"] * 2


def _symbol(token: Token) -> Symbol:
    """A token as a symbol."""
    return Symbol(token.kind, token.text[1:-1] if token.kind == "label" else token.text)


def begins_with_operator(formula: Formula) -> bool:
    """Whether a formula begins with a sign before a blank, which has two sides where text is before it: `high − 1`."""
    return len(formula) > 1 and formula[0] in (Symbol("sign", "−"), Symbol("sign", "+")) and is_blank(formula[1])


def is_blank(item: object) -> bool:
    """Whether an item is a blank."""
    return isinstance(item, Symbol) and item.kind in ("blank", "space")
