"""Masks combined by `~`, `&`, `|` and parentheses: the tree of an expression, parsed and written.

`~` binds before `&`, and `&` before `|`. A leaf is the name of a mask with its parameters, a file or a table. Its value
is first a text, then the parsed text, and in a problem an operator or a table.
"""

import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Union

from attncli.base.errors import AttnError, ErrorPath
from attncli.base.lazy_numpy import Array, np
from attncli.ops.records import Operator, format_value
from attncli.ops.registry import look_up

NOT, AND, OR = "~", "&", "|"
PRECEDENCE = {OR: 0, AND: 1, NOT: 2}
INDEX_SCORES = "index_scores"  # the argument of a mask that chooses keys
TABLE = "table"  # the name of a table's leaf
MAX_DEPTH = 100  # nested parentheses and `~`
END = "the end"
_WORDS = {"and": AND, "or": OR, "not": NOT}
_OPENING, _CLOSING, _SIGNS = "[{", "]}", frozenset("~&|()")

MaskPart = Union["MaskLeaf", "MaskExpression"]


@dataclass(frozen=True, eq=False)
class MaskLeaf:
    """A mask of an expression: an operator or a table in a problem, before that its text or the parsed text.

    `column` is its first letter's in the text of the expression, from 1.
    """

    value: Any
    column: int

    @property
    def name(self) -> str:
        """The name of the mask; `table` for a table."""
        return self.value.record.name if isinstance(self.value, Operator) else TABLE

    @property
    def operator(self) -> Operator:
        """The operator; for a table the one that reads it."""
        return self.value if isinstance(self.value, Operator) else Operator(look_up("mask", "mask"))

    @property
    def outline(self) -> str:
        """The text of the mask without the numbers in its arrays."""
        return str(self.value) if isinstance(self.value, Operator) else TABLE

    def signature(self, of_value: Callable[[Any], Hashable]) -> Hashable:
        """The facts for a plan: the signature of its value."""
        return of_value(self.value)

    def __str__(self) -> str:
        if not isinstance(self.value, Operator):
            return _array_text(self.value)
        name, given = self.value.record.name, self.value.given
        parameters = (f"{key}={_parameter_text(parameter)}" for key, parameter in given.items())
        return f"{name}:{','.join(parameters)}" if given else name


@dataclass(frozen=True, eq=False, repr=False)
class MaskExpression:
    """Masks combined by a sign: `~` has one operand, `&` and `|` have several."""

    sign: str
    parts: tuple[MaskPart, ...]

    @property
    def leaves(self) -> Iterator[MaskLeaf]:
        """Its leaves, in the order of the text."""
        for part in self.parts:
            if isinstance(part, MaskLeaf):
                yield part
            else:
                yield from part.leaves

    @property
    def named_leaves(self) -> Mapping[str, MaskLeaf]:
        """Its leaves by unique names: `window`, and `window_2` for a second one."""
        named: dict[str, MaskLeaf] = {}
        for leaf in self.leaves:
            named[free_name(leaf.name, named)] = leaf
        return named

    @property
    def rules(self) -> Sequence[MaskPart]:
        """The rules that each hide keys by themselves: the operands of an `&`, otherwise the expression."""
        return self.parts if self.sign == AND else (self,)

    @property
    def given(self) -> Mapping[str, Array]:
        """The tables of its leaves by the leaves' names, and the arrays of their operators as `document.ids`."""
        found: dict[str, Array] = {}
        for name, leaf in self.named_leaves.items():
            if isinstance(leaf.value, Operator):
                found |= {f"{name}.{parameter}": array for parameter, array in leaf.value.arrays.items()}
            else:
                found[name] = leaf.value
        return found

    def signature(self, of_value: Callable[[Any], Hashable]) -> Hashable:
        """The facts for a plan: the sign, and the signatures of the operands."""
        return self.sign, tuple(part.signature(of_value) for part in self.parts)

    def map(self, change: Callable[[MaskLeaf], Any]) -> "MaskExpression":
        """The same expression with other values of the leaves."""
        parts = (
            replace(part, value=change(part)) if isinstance(part, MaskLeaf) else part.map(change) for part in self.parts
        )
        return replace(self, parts=tuple(parts))

    @property
    def outline(self) -> str:
        """The text without the numbers in arrays, which plans lack."""
        return self._text(lambda leaf: leaf.outline)

    def __str__(self) -> str:
        return self._text(str)

    def __repr__(self) -> str:
        return f"MaskExpression({str(self)!r})"

    def _text(self, of_leaf: Callable[[MaskLeaf], str]) -> str:
        """The text, with the necessary parentheses."""
        parts = [of_leaf(part) if isinstance(part, MaskLeaf) else self._inner(part, of_leaf) for part in self.parts]
        return f"~{parts[0]}" if self.sign == NOT else f" {self.sign} ".join(parts)

    def _inner(self, part: "MaskExpression", of_leaf: Callable[[MaskLeaf], str]) -> str:
        """The text of an operand, in parentheses if it is an expression that does not bind more tightly."""
        text = part._text(of_leaf)
        return text if PRECEDENCE[part.sign] > PRECEDENCE[self.sign] or part.sign == NOT else f"({text})"


def free_name(name: str, taken: Mapping[str, Any]) -> str:
    """The name, with a number if it is taken: `window_2`.

    >>> free_name("window", {"window": 1, "window_2": 2}), free_name("causal", {})
    ('window_3', 'causal')
    """
    number, found = 1, name
    while found in taken:
        number += 1
        found = f"{name}_{number}"
    return found


def column_path(key: str, leaf: MaskLeaf) -> ErrorPath:
    """The path of an error in a leaf of a key's expression: `mask`, `column 10`."""
    return key, f"column {leaf.column}"


def operators_of_mask(value: Any) -> Sequence[Operator]:
    """The operators in a mask: itself, or an expression's; none for a table."""
    if isinstance(value, MaskExpression):
        return [leaf.value for leaf in value.leaves if isinstance(leaf.value, Operator)]
    return [value] if isinstance(value, Operator) else []


def reads_index_scores(value: Any) -> bool:
    """Whether a mask chooses keys by index scores."""
    return any(INDEX_SCORES in operator.record.shapes.arrays for operator in operators_of_mask(value))


def reads_rows(part: MaskPart) -> bool:
    """Whether a part of an expression chooses among the keys that other rules leave."""
    leaves = part.leaves if isinstance(part, MaskExpression) else (part,)
    return any(leaf.operator.record.reads_rows for leaf in leaves)


def is_mask_expression(text: str) -> bool:
    """Whether a text has an operator sign outside brackets; `~/` begins a path.

    >>> [is_mask_expression(text) for text in ("~causal", "~/mask.csv", "mask.npy[0:2]", "a | b")]
    [True, False, False, True]
    """
    return any(token in _SIGNS for token, _ in _tokens(text))


def parse_mask(text: str) -> MaskPart:
    """The tree of an expression, with the text of each leaf as its value.

    Raises AttnError whose path is the column, from 1, of the syntax error.

    >>> tree = parse_mask("causal & (window:left=3,right=0 | ~prefix:size=4)")
    >>> [leaf.value for leaf in tree.leaves], [leaf.column for leaf in tree.leaves]
    (['causal', 'window:left=3,right=0', 'prefix:size=4'], [1, 11, 36])
    >>> parse_mask("causal & (prefix:size=4")
    Traceback (most recent call last):
        ...
    attncli.base.errors.AttnError: column 24: the ( of column 10 is not closed; add )
    """
    parser = _Parser(text)
    tree = parser.alternatives(0)
    token, column = parser.next
    if token == ")":
        raise AttnError("there is no ( before this )", where=f"column {column}", hint="leave it out, or add (")
    if token != END:
        raise AttnError(f"expected & or |, found {token!r}", where=f"column {column}")
    return tree


def _tokens(text: str) -> Iterator[tuple[str, int]]:
    """Each sign and each text between signs, with its column from 1; signs in brackets don't count."""
    depth = start = 0
    for at, letter in enumerate(text):
        depth += (letter in _OPENING) - (letter in _CLOSING)
        is_path = letter == NOT and text[at + 1 : at + 2] == "/"
        if letter in _SIGNS and depth <= 0 and not is_path:
            yield from _leaf(text[start:at], start)
            yield letter, at + 1
            start = at + 1
    yield from _leaf(text[start:], start)


def _leaf(text: str, start: int) -> Iterator[tuple[str, int]]:
    """The stripped text and its column; None if it is only spaces."""
    if stripped := text.strip():
        yield stripped, start + 1 + len(text) - len(text.lstrip())


class _Parser:
    """A recursive-descent parser: alternatives between `|`, factors between `&`, then `~`, `(` and leaves."""

    def __init__(self, text: str) -> None:
        self._tokens = [*_tokens(text), (END, len(text) + 1)]
        self._at = 0

    @property
    def next(self) -> tuple[str, int]:
        """The next token and its column."""
        return self._tokens[self._at]

    def alternatives(self, depth: int) -> MaskPart:
        """Factors with `|` between them."""
        return self._joined(OR, self._factors, depth)

    def _factors(self, depth: int) -> MaskPart:
        """Masks with `&` between them."""
        return self._joined(AND, self._mask, depth)

    def _joined(self, sign: str, read_part: Callable[[int], MaskPart], depth: int) -> MaskPart:
        """Operands with a sign between them; nested operands of the same sign are merged."""
        parts = [read_part(depth)]
        while self.next[0] == sign:
            self._at += 1
            parts.append(read_part(depth))
        if len(parts) == 1:
            return parts[0]
        flat = (part.parts if isinstance(part, MaskExpression) and part.sign == sign else (part,) for part in parts)
        return MaskExpression(sign, tuple(inner for part in flat for inner in part))

    def _mask(self, depth: int) -> MaskPart:
        """A leaf, a negated mask, or an expression in parentheses."""
        token, column = self.next
        if depth > MAX_DEPTH:
            raise AttnError(f"more than {MAX_DEPTH} nested ( or ~", where=f"column {column}")
        if token in (END, AND, OR, ")"):
            found = token if token == END else repr(token)
            hint = f"write one {token}" if token in (AND, OR) and self._follows(token) else None
            raise AttnError(f"expected a mask, found {found}", where=f"column {column}", hint=hint)
        self._at += 1
        if token == NOT:
            return MaskExpression(NOT, (self._mask(depth + 1),))
        if token != "(":
            _check_words(token, column)
            return MaskLeaf(token, column)
        inner = self.alternatives(depth + 1)
        last, end = self.next
        if last == END:
            raise AttnError(f"the ( of column {column} is not closed", where=f"column {end}", hint="add )")
        if last != ")":
            raise AttnError(f"expected &, | or ), found {last!r}", where=f"column {end}")
        self._at += 1
        return inner

    def _follows(self, token: str) -> bool:
        """Whether the same sign directly precedes the next token."""
        return self._at > 0 and self._tokens[self._at - 1][0] == token


def _check_words(text: str, column: int) -> None:
    """Raise AttnError if a leaf has words instead of signs: `causal and prefix:size=2`."""
    found = re.search(r"(?<!\S)(and|or|not)(?!\S)", text, re.IGNORECASE)
    if found is not None:
        hint = f"write {_WORDS[found[1].lower()]}"
        raise AttnError(f"{found[1]!r} is not a sign", where=f"column {column + found.start()}", hint=hint)


def _parameter_text(value: Any) -> str:
    """A parameter's value in an expression, an array as a list."""
    return _array_text(value) if getattr(value, "ndim", 0) else format_value(value)


def _array_text(array: Any) -> str:
    """The numbers of an array: separated by spaces for one axis, as nested lists for more."""
    numbers = np.asarray(array)
    numbers = numbers.astype(int) if numbers.dtype.kind == "b" else numbers
    if numbers.ndim == 1 and len(numbers) > 1:
        return " ".join(format_value(number) for number in numbers.tolist())
    return str(numbers.tolist())
