"""Expressions in the rows of a family: Python's arithmetic and comparisons on the values of config.json."""

import ast
import math
import operator
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from attncli.base.errors import AttnError
from attncli.base.text import json_excerpt

Function = Callable[..., Any]


def _contains(item: Any, items: Any) -> bool:
    """Whether there are items, and the item among them."""
    return item is not None and items is not None and item in items


def _without(mapping: Mapping[str, Any] | None, *names: str) -> Mapping[str, Any] | None:
    """A mapping without some of its entries."""
    return None if mapping is None else {name: value for name, value in mapping.items() if name not in names}


def _smallest(value: Any) -> Any:
    """The smallest number of a list, or the number: an image's side may be either."""
    return min(value) if isinstance(value, (list, tuple)) else value


_BINARY: Mapping[type[ast.AST], Function] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_COMPARISONS: Mapping[type[ast.AST], Function] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: _contains,
    ast.NotIn: lambda item, items: not _contains(item, items),
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}
_UNARY: Mapping[type[ast.AST], Function] = {ast.USub: operator.neg, ast.Not: operator.not_}
_FUNCTIONS: Mapping[str, Function] = {
    "float": float,
    "int": int,
    "len": len,
    "log": math.log,
    "max": max,
    "min": min,
    "smallest": _smallest,
    "str": str,
    "without": _without,
}
_BRACES = re.compile(r"\{([^{}]*)\}")


@dataclass
class Names:
    """The names that expressions may read, and the names read so far: a missing name is None.

    `where` is their file; `defaults` are the names that it leaves out: `by_any_name(a, b)`, one value that files have
    under several names, takes them last. `functions` are called by name, like `_FUNCTIONS`.
    """

    values: Mapping[str, Any]
    where: str = ""
    defaults: Collection[str] = ()
    functions: Mapping[str, Function] = field(default_factory=dict)
    read: dict[str, Any] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        value = self.values.get(name)
        if value is not None:
            self.read[name] = value
        return value

    def is_left_out(self, node: ast.AST) -> bool:
        """Whether a node is not a value of the file: a constant, or the name of a default."""
        return isinstance(node, ast.Constant) or (isinstance(node, ast.Name) and node.id in self.defaults)

    def unread(self) -> "Names":
        """The same names, none of them read."""
        return Names(self.values, self.where, self.defaults, self.functions)


def evaluate(text: str, names: Names) -> Any:
    """The value of an expression; raises AttnError, with the expression, if a value that it needs is missing.

    >>> evaluate("head_dim or hidden_size // heads", Names({"hidden_size": 8, "heads": 2}))
    4
    """
    try:
        return _evaluate(_parsed(text), names)
    except (TypeError, ArithmeticError, LookupError, ValueError, AttributeError):
        raise AttnError(f"can't compute {_missing(text, names)}", where=names.where) from None


def fill(template: str, names: Names) -> Any:
    """The text with each expression in braces replaced by its value; if it is only one expression, the value itself.

    >>> fill("layers.{layer}.attn[0:{2 * size}]", Names({"layer": 3, "size": 4}))
    'layers.3.attn[0:8]'
    >>> fill("{2 * size}", Names({"size": 4}))
    8
    """
    alone = _BRACES.fullmatch(template)
    if alone is not None:
        return evaluate(alone[1], names)
    return _BRACES.sub(lambda match: str(evaluate(match[1], names)), template)


@cache
def _parsed(text: str) -> ast.expr:
    """The tree of an expression."""
    return ast.parse(text.strip(), mode="eval").body


def _missing(text: str, names: Names) -> str:
    """An expression with the values that it finds: `a // b (a is 8, b is missing)`."""
    nodes = list(ast.walk(_parsed(text)))
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    read = [node.id for node in nodes if isinstance(node, ast.Name) and id(node) not in called]
    found = {name: names.values.get(name) for name in read}
    values = (f"{name} is {'missing' if value is None else json_excerpt(value)}" for name, value in found.items())
    return f"{text} ({', '.join(values)})"


def _evaluate(node: ast.AST, names: Names) -> Any:  # noqa: PLR0911 - one for each kind of node
    """The value of one node; other kinds of nodes are not part of the language."""
    match node:
        case ast.Constant(value):
            return value
        case ast.Name(name):
            return names[name]
        case ast.Attribute(owner, name):
            value = _evaluate(owner, names)
            return None if value is None else value.get(name)
        case ast.Subscript(owner, index):
            return _evaluate(owner, names)[_evaluate(index, names)]
        case ast.List(items) | ast.Tuple(items):
            return [_evaluate(item, names) for item in items]
        case ast.BinOp(left, sign, right):
            return _BINARY[type(sign)](_evaluate(left, names), _evaluate(right, names))
        case ast.UnaryOp(sign, value):
            return _UNARY[type(sign)](_evaluate(value, names))
        case ast.Compare(left, [sign], [right]):
            return _COMPARISONS[type(sign)](_evaluate(left, names), _evaluate(right, names))
        case ast.BoolOp(sign, operands):
            return _decided((_evaluate(operand, names) for operand in operands), ends_at=isinstance(sign, ast.Or))
        case ast.IfExp(test, yes, no):
            return _evaluate(yes if _evaluate(test, names) else no, names)
        case ast.Call(ast.Name("first" | "by_any_name" as name), arguments, []):
            return _first(arguments if name == "first" else sorted(arguments, key=names.is_left_out), names)
        case ast.Call(ast.Name(name), arguments, []):
            function = names.functions.get(name) or _FUNCTIONS[name]
            return function(*(_evaluate(argument, names) for argument in arguments))
    raise ValueError(f"{ast.unparse(node)} is not an expression")


def _first(nodes: Sequence[ast.AST], names: Names) -> Any:
    """The first value that is present; it reads no later one."""
    values = (_evaluate(node, names) for node in nodes)
    return next((value for value in values if value is not None), None)


def _decided(values: Iterator[Any], *, ends_at: bool) -> Any:
    """The first value whose truth equals `ends_at`, which decides `and` or `or`; otherwise the last one."""
    value: Any = None
    for value in values:
        if bool(value) == ends_at:
            break
    return value
